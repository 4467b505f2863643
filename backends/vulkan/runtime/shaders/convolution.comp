// Convolutions of images in groups of channels, with a bias for each output, and a function of each element. An invocation computes up to 4 places of up to
// 8 outputs of a group. These places are as far apart as a workgroup is long, so that neighbours read neighbouring elements.
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
layout(constant_id = 12) const uint places = 1; // of an invocation, 4 at most
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) readonly buffer Weight { ELEMENT weight[]; };
layout(binding = 2) readonly buffer Bias { ELEMENT bias[]; };
#ifdef INT8
layout(binding = 1) readonly buffer Words { int words[]; };
layout(binding = 3) readonly buffer Scales { float scales[]; };
#endif
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

// Where the window of a place begins in its input in one direction. Of a transposed convolution, what divided by the stride is where it begins, and it goes
// backwards.
int window(int place, int stride, int pad) {
  if (is_transposed) {
    return place + pad;
  }
  return place * stride - pad;
}

// Returns where an element of a window lies, `distance` from where this begins; -1: nowhere.
int source(int start, int distance, int stride, int size) {
  int at = start + distance;
  if (is_transposed) {
    const int steps = start - distance;
    at = steps / stride;
    at = steps < 0 || at * stride != steps ? -1 : at;
  }
  return at < size ? at : -1;
}

#ifdef INT8
float of_weight(uint i) { return OF_INT8(words, i); }

float scaled(float sum, uint channel) { return sum * scales[channel]; }
#else
float of_weight(uint i) { return float(weight[i]); }

float scaled(float sum, uint channel) { return sum; }
#endif

// The places of an invocation are variables of their own: not every driver keeps arrays in registers.
#define EACH_PLACE(DO) DO(0) DO(1) DO(2) DO(3)
#define START(p)                                                                     \
  const uint place##p = min(first_place + p * gl_WorkGroupSize.x, size - 1);         \
  const int top##p = window(int(place##p / new_width), stride_height, pad_height);   \
  const int left##p = window(int(place##p % new_width), stride_width, pad_width);    \
  vec4 some##p = vec4(0), others##p = vec4(0);
#define FIND_LINE(p)                                                              \
  const int row##p = source(top##p, i * gap_height, stride_height, height);       \
  const uint line##p = plane_of_x + uint(max(row##p, 0) * width);
#define ADD(p)                                                                    \
  if (p < places) {                                                               \
    const int column = source(left##p, j * gap_width, stride_width, width);       \
    const float found = float(x[line##p + uint(max(column, 0))]);                 \
    const float value = row##p >= 0 && column >= 0 ? found : 0.0;                 \
    if (quads == 0) {                                                             \
      some##p.x = fma(value, few.x, some##p.x);                                   \
    } else {                                                                      \
      some##p = fma(vec4(value), few, some##p);                                   \
    }                                                                             \
    if (quads == 2) {                                                             \
      others##p = fma(vec4(value), more, others##p);                              \
    }                                                                             \
  }
#define STORE(p)                                                     \
  if (p < places && first_place + p * gl_WorkGroupSize.x < size) { \
    store(place##p, some##p, others##p);                            \
  }

uint each() { return max(4 * quads, 1); }

uint parts() { return (outputs + each() - 1) / each(); }

void store(uint place, vec4 some, vec4 others) {
  const uint group = gl_WorkGroupID.y / parts(), output_of = gl_WorkGroupID.y % parts() * each();
  for (uint i = 0; i < each() && output_of + i < outputs; ++i) {
    const uint channel = group * outputs + output_of + i;
    const float sum = scaled(i < 4 ? some[i] : others[i - 4], channel), found = has_bias ? sum + float(bias[channel]) : sum;
    y[(gl_WorkGroupID.z * groups * outputs + channel) * new_height * new_width + place] = ELEMENT(apply(number, found, first, second));
  }
}

void main() {
  const uint first_place = gl_WorkGroupID.x * gl_WorkGroupSize.x * places + gl_LocalInvocationID.x, size = new_height * new_width;
  const uint group = gl_WorkGroupID.y / parts(), output_of = gl_WorkGroupID.y % parts() * each(), image = gl_WorkGroupID.z;
  if (first_place >= size) {
    return;
  }
  const uint plane = uint(height * width), start = (image * groups + group) * inputs * plane;
  // An output that the group does not have is computed as its last one, and not stored.
  // The weight of a group is [outputs, inputs] of kernels, or, transposed, [inputs, outputs].
  const uint at_group = group * inputs * outputs * uint(kernel_height * kernel_width);
  const uvec4 numbers = output_of + uvec4(0, 1, 2, 3);
  const uvec4 at_some = at_group + min(numbers, uvec4(outputs - 1)) * output_step;
  const uvec4 at_others = at_group + min(numbers + 4, uvec4(outputs - 1)) * output_step;
  EACH_PLACE(START)
  for (uint channel = 0; channel < inputs; ++channel) {
    const uint plane_of_x = start + channel * plane;
    for (int i = 0; i < kernel_height; ++i) {
      EACH_PLACE(FIND_LINE)
      for (int j = 0; j < kernel_width; ++j) {
        const uint kernel = channel * input_step + uint(i * kernel_width + j);
        const uvec4 w = at_some + kernel, v = at_others + kernel;
        vec4 few = vec4(0), more = vec4(0);
        if (quads == 0) {
          few.x = of_weight(w.x);
        } else {
          few = vec4(of_weight(w.x), of_weight(w.y), of_weight(w.z), of_weight(w.w));
        }
        if (quads == 2) {
          more = vec4(of_weight(v.x), of_weight(v.y), of_weight(v.z), of_weight(v.w));
        }
        EACH_PLACE(ADD)
      }
    }
  }
  EACH_PLACE(STORE)
}
