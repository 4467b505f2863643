/* Transposes matrices of floats in squares of 4 x 4. */
#include "transpose.h"

#include "apart.h"

#ifdef FL_SHUFFLE
/* Floats of a line of the cache: those of a row are read, and a line's of the transpose written, while they are there. */
#define LINE 16

/* Transposes 4 x 4 floats. */
FL_INLINE void transpose_quads(const float *from, size_t from_step, float *to, size_t to_step) {
  const fl_quad a = fl_load_quad(from), b = fl_load_quad(from + from_step), c = fl_load_quad(from + 2 * from_step), d = fl_load_quad(from + 3 * from_step);
  const fl_quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const fl_quad ab_last = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_last = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const fl_quad columns[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                           __builtin_shufflevector(ab_last, cd_last, 0, 1, 4, 5), __builtin_shufflevector(ab_last, cd_last, 2, 3, 6, 7)};
  FL_UNROLL
  for (int i = 0; i < 4; ++i) {
    memcpy(to + (size_t)i * to_step, &columns[i], sizeof(fl_quad));
  }
}
#endif

void fl_transpose(const float *from, size_t from_step, size_t rows, size_t columns, float *to, size_t to_step) {
#ifdef FL_SHUFFLE
  if (rows >= 4 && columns >= 4) {
    for (size_t first = 0; first < columns; first += LINE) {
      for (size_t i = 0; i < rows; i += 4) {
        const size_t row = i + 4 <= rows ? i : rows - 4;
        for (size_t j = first; j < columns && j < first + LINE; j += 4) {
          const size_t column = j + 4 <= columns ? j : columns - 4;
          transpose_quads(from + row * from_step + column, from_step, to + column * to_step + row, to_step);
        }
      }
    }
    return;
  }
#endif
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      to[j * to_step + i] = from[i * from_step + j];
    }
  }
}
