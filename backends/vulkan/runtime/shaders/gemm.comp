// Products of matrices, with a bias that is repeated where its strides are 0, and a function of each element. An invocation computes 4 rows by 4 columns.
// Columns of one invocation are 8 apart, so that neighbours read neighbouring elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "functions.glsl"

layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const uint number = 0;
layout(constant_id = 1) const bool has_bias = false;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) readonly buffer Bias { float bias[]; };
layout(binding = 3) writeonly buffer Y { float y[]; };
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

vec4 product(float factor, vec4 row, vec4 sum) { return fma(vec4(factor), row, sum); }

void main() {
  const uint row = gl_WorkGroupID.y * 32 + gl_LocalInvocationID.y * 4, column = gl_WorkGroupID.x * 32 + gl_LocalInvocationID.x;
  const uint batch = gl_WorkGroupID.z;
  // What is outside of the matrix is computed from its last row and column, and not stored.
  const uvec4 at_a = batch * batch_of_a + min(row + uvec4(0, 1, 2, 3), uvec4(rows - 1)) * inner;
  const uvec4 at_b = batch * batch_of_b + min(column + uvec4(0, 8, 16, 24), uvec4(columns - 1)) * column_of_b;
  vec4 sums[4] = vec4[4](vec4(0), vec4(0), vec4(0), vec4(0));
  for (uint k = 0; k < inner; ++k) {
    const uvec4 at = at_b + k * row_of_b;
    const vec4 factors = vec4(b[at.x], b[at.y], b[at.z], b[at.w]);
    sums[0] = product(a[at_a.x + k], factors, sums[0]);
    sums[1] = product(a[at_a.y + k], factors, sums[1]);
    sums[2] = product(a[at_a.z + k], factors, sums[2]);
    sums[3] = product(a[at_a.w + k], factors, sums[3]);
  }
  for (uint i = 0; i < 4 && row + i < rows; ++i) {
    for (uint j = 0; j < 4 && column + 8 * j < columns; ++j) {
      float sum = sums[i][j];
      if (has_bias) {
        sum += bias[(row + i) * row_of_bias + (column + 8 * j) * column_of_bias];
      }
      y[(batch * rows + row + i) * columns + column + 8 * j] = apply(number, sum, first, second);
    }
  }
}
