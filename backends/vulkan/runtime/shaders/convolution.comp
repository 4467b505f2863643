// Convolutions of images in groups of channels, with a bias for each output, and a function of each element. An invocation computes one place of up to 8
// outputs of a group.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint number = 0;
layout(constant_id = 1) const bool has_bias = false;
layout(constant_id = 2) const uint quads = 0; // 4 outputs each; 0: a group has one output
layout(constant_id = 3) const int kernel_height = 1;
layout(constant_id = 4) const int kernel_width = 1;
layout(constant_id = 5) const int stride_height = 1;
layout(constant_id = 6) const int stride_width = 1;
layout(constant_id = 7) const int pad_height = 0;
layout(constant_id = 8) const int pad_width = 0;
layout(constant_id = 9) const int gap_height = 1; // dilation
layout(constant_id = 10) const int gap_width = 1;
layout(constant_id = 11) const bool is_transposed = false;
layout(constant_id = 12) const bool is_int8 = false; // the weight
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) readonly buffer Weight { ELEMENT weight[]; };
layout(binding = 2) readonly buffer Bias { ELEMENT bias[]; };
layout(binding = 1) readonly buffer Words { int words[]; };
layout(binding = 3) readonly buffer Scales { float scales[]; };
layout(binding = 4) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint groups;
  uint inputs; // of a group
  uint outputs;
  int height; // of an input
  int width;
  uint new_height;
  uint new_width;
  uint input_step; // strides of the weight
  uint output_step;
  float first;
  float second;
};

// Returns where a place of the result reads its input in one direction; -1: nowhere.
int source(int place, int index, int stride, int pad, int gap, int size) {
  const int at = is_transposed ? place + pad - index * gap : place * stride - pad + index * gap;
  const int found = is_transposed ? at / stride : at;
  return at < 0 || (is_transposed && found * stride != at) || found >= size ? -1 : found;
}

float of_weight(uint i) { return is_int8 ? OF_INT8(words, i) : float(weight[i]); }

void main() {
  const uint place = gl_GlobalInvocationID.x, each = max(4 * quads, 1), parts = (outputs + each - 1) / each;
  const uint group = gl_WorkGroupID.y / parts, output_of = gl_WorkGroupID.y % parts * each, image = gl_WorkGroupID.z;
  if (place >= new_height * new_width) {
    return;
  }
  const int row = int(place / new_width), column = int(place % new_width);
  const uint plane = uint(height * width), start = (image * groups + group) * inputs * plane;
  // An output that the group does not have is computed as its last one, and not stored.
  // The weight of a group is [outputs, inputs] of kernels, or, transposed, [inputs, outputs].
  const uint at_group = group * inputs * outputs * uint(kernel_height * kernel_width);
  const uvec4 places = output_of + uvec4(0, 1, 2, 3);
  const uvec4 at_some = at_group + min(places, uvec4(outputs - 1)) * output_step;
  const uvec4 at_others = at_group + min(places + 4, uvec4(outputs - 1)) * output_step;
  vec4 some = vec4(0), others = vec4(0);
  for (uint channel = 0; channel < inputs; ++channel) {
    for (int i = 0; i < kernel_height; ++i) {
      const int from = source(row, i, stride_height, pad_height, gap_height, height);
      for (int j = 0; j < kernel_width && from >= 0; ++j) {
        const int at = source(column, j, stride_width, pad_width, gap_width, width);
        if (at >= 0) {
          const float value = float(x[start + channel * plane + uint(from * width + at)]);
          const uint kernel = channel * input_step + uint(i * kernel_width + j);
          if (quads == 0) {
            some.x = fma(value, of_weight(at_some.x + kernel), some.x);
          } else {
            const uvec4 w = at_some + kernel;
            some = fma(vec4(value), vec4(of_weight(w.x), of_weight(w.y), of_weight(w.z), of_weight(w.w)), some);
          }
          if (quads == 2) {
            const uvec4 w = at_others + kernel;
            others = fma(vec4(value), vec4(of_weight(w.x), of_weight(w.y), of_weight(w.z), of_weight(w.w)), others);
          }
        }
      }
    }
  }
  for (uint i = 0; i < each && output_of + i < outputs; ++i) {
    const uint channel = group * outputs + output_of + i;
    const float sum = i < 4 ? some[i] : others[i - 4], scaled = is_int8 ? sum * scales[channel] : sum;
    const float found = has_bias ? scaled + float(bias[channel]) : scaled;
    y[(image * groups * outputs + channel) * new_height * new_width + place] = ELEMENT(apply(number, found, first, second));
  }
}
