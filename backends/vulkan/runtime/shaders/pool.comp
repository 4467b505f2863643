// Pools of the planes of images.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool is_mean = false;
layout(constant_id = 1) const bool counts_pads = false;
layout(constant_id = 2) const int kernel_height = 1;
layout(constant_id = 3) const int kernel_width = 1;
layout(constant_id = 4) const int stride_height = 1;
layout(constant_id = 5) const int stride_width = 1;
layout(constant_id = 6) const int pad_height = 0;
layout(constant_id = 7) const int pad_width = 0;
layout(constant_id = 8) const int gap_height = 1; // dilation
layout(constant_id = 9) const int gap_width = 1;
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  int height;
  int width;
  int new_height;
  int new_width;
};

void main() {
  for (uint index = gl_GlobalInvocationID.x; index < count; index += gl_NumWorkGroups.x * 64) {
    const uint places = uint(new_height * new_width), place = index % places, start = index / places * uint(height * width);
    const int row = int(place) / new_width * stride_height - pad_height, column = int(place) % new_width * stride_width - pad_width;
    float found = is_mean ? 0.0 : -INFINITY, inside = 0.0;
    for (int i = 0; i < kernel_height; ++i) {
      for (int j = 0; j < kernel_width; ++j) {
        const int at_row = row + i * gap_height, at_column = column + j * gap_width;
        if (at_row >= 0 && at_row < height && at_column >= 0 && at_column < width) {
          const float value = float(x[start + uint(at_row * width + at_column)]);
          found = is_mean ? found + value : larger(found, value);
          inside += 1.0;
        }
      }
    }
    y[index] = ELEMENT(!is_mean ? found : found / (counts_pads ? float(kernel_height * kernel_width) : inside));
  }
}
