// Products of matrices, with a bias that is repeated where its strides are 0, and a function of each element. An invocation computes `height` rows by 8
// columns. These columns are as far apart as a row of invocations is long, so that neighbours read neighbouring elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

layout(constant_id = 0) const uint number = 0;
layout(constant_id = 1) const bool has_bias = false;
layout(constant_id = 2) const uint height = 8; // 8 at most
layout(constant_id = 5) const bool is_left = false; // which factor is the weight of int8, where there is one: a or b
layout(local_size_x_id = 3, local_size_y_id = 4) in;
layout(binding = 0) readonly buffer A { ELEMENT a[]; };
layout(binding = 1) readonly buffer B { ELEMENT b[]; };
layout(binding = 2) readonly buffer Bias { ELEMENT bias[]; };
#ifdef INT8
layout(binding = 0) readonly buffer WordsOfA { int words_of_a[]; };
layout(binding = 1) readonly buffer WordsOfB { int words_of_b[]; };
layout(binding = 3) readonly buffer Scales { float scales[]; };
#endif
layout(binding = 4) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint rows;
  uint columns;
  uint inner;
  uint batch_of_a; // strides
  uint batch_of_b;
  uint row_of_b;
  uint column_of_b;
  uint row_of_bias;
  uint column_of_bias;
  float first;
  float second;
};

// The rows of an invocation are variables of their own: not every driver keeps arrays in registers.
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(i)                                                             \
  const uint at_a##i = batch * batch_of_a + min(row + i, rows - 1) * inner; \
  vec4 left##i = vec4(0), right##i = vec4(0);
#define ADD(i)                             \
  if (i < height) {                        \
    const vec4 factor = vec4(of_a(at_a##i + k)); \
    left##i = fma(factor, some, left##i);    \
    right##i = fma(factor, others, right##i); \
  }
#define STORE(i)                             \
  if (i < height && row + i < rows) {        \
    store(row + i, column, left##i);         \
    store(row + i, column + 4 * apart, right##i); \
  }

#ifdef INT8
float of_a(uint i) { return is_left ? OF_INT8(words_of_a, i) : float(a[i]); }

float of_b(uint i) { return is_left ? float(b[i]) : OF_INT8(words_of_b, i); }

float scaled(float sum, uint row, uint column) { return sum * scales[is_left ? row : column]; }
#else
float of_a(uint i) { return float(a[i]); }

float of_b(uint i) { return float(b[i]); }

float scaled(float sum, uint row, uint column) { return sum; }
#endif

void store(uint row, uint column, vec4 sums) {
  for (uint j = 0; j < 4 && column + j * gl_WorkGroupSize.x < columns; ++j) {
    const uint at = column + j * gl_WorkGroupSize.x;
    const float product = scaled(sums[j], row, at);
    const float sum = has_bias ? product + float(bias[row * row_of_bias + at * column_of_bias]) : product;
    y[(gl_WorkGroupID.z * rows + row) * columns + at] = ELEMENT(apply(number, sum, first, second));
  }
}

void main() {
  const uint apart = gl_WorkGroupSize.x;
  const uint row = gl_GlobalInvocationID.y * height, column = gl_WorkGroupID.x * apart * 8 + gl_LocalInvocationID.x, batch = gl_WorkGroupID.z;
  if (row >= rows || column >= columns) {
    return;
  }
  // What is outside of the matrix is computed from its last row and column, and not stored.
  const uvec4 places = apart * uvec4(0, 1, 2, 3);
  const uvec4 at_left = batch * batch_of_b + min(column + places, uvec4(columns - 1)) * column_of_b;
  const uvec4 at_right = batch * batch_of_b + min(column + places + 4 * apart, uvec4(columns - 1)) * column_of_b;
  EACH_ROW(START)
  for (uint k = 0; k < inner; ++k) {
    const uvec4 from = at_left + k * row_of_b, on = at_right + k * row_of_b;
    const vec4 some = vec4(of_b(from.x), of_b(from.y), of_b(from.z), of_b(from.w));
    const vec4 others = vec4(of_b(on.x), of_b(on.y), of_b(on.z), of_b(on.w));
    EACH_ROW(ADD)
  }
  EACH_ROW(STORE)
}
