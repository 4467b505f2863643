/* Copies parts of images with zeros around them. */
#include "padded.h"

void fl_copy_padded(const fl_conv2d *c, const float *input, int64_t row, int64_t column, size_t rows, size_t columns, float *to) {
  const int64_t width = (int64_t)c->width, wanted = (int64_t)columns;
  const int64_t left = column >= 0 ? 0 : column < -wanted ? wanted : -column;
  const int64_t end = width - column;
  const int64_t right = end < left ? left : end > wanted ? wanted : end;
  const size_t pixel = c->channels;
  for (size_t i = 0; i < rows; ++i, to += columns * pixel) {
    const int64_t from = row + (int64_t)i;
    if (from < 0 || from >= (int64_t)c->height) {
      memset(to, 0, columns * pixel * sizeof(float));
      continue;
    }
    memset(to, 0, (size_t)left * pixel * sizeof(float));
    if (right > left) {
      memcpy(to + (size_t)left * pixel, input + ((size_t)from * c->width + (size_t)(column + left)) * pixel,
             (size_t)(right - left) * pixel * sizeof(float));
    }
    memset(to + (size_t)right * pixel, 0, (size_t)(wanted - right) * pixel * sizeof(float));
  }
}
