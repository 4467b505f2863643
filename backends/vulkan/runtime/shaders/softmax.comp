// exp(x) divided by the sum of exp(x), or its logarithm, along each row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"
#include "lanes.glsl"

layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint rows;
  uint count;
  uint inner;
  uint turns;
};

void main() {
  for (uint turn = 0; turn < turns; ++turn) {
    const uint row = own_row(turn), known = min(row, rows - 1), start = known / inner * count * inner + known % inner;
    float most = -INFINITY, sum = 0.0;
    for (uint i = lane(); i < count; i += lanes) {
      most = larger(most, float(x[start + i * inner]));
    }
    most = whole(LARGEST, most);
    for (uint i = lane(); i < count; i += lanes) {
      sum += exponential(float(x[start + i * inner]) - most);
    }
    sum = whole(SUM, sum);
    const float factor = 1.0 / sum, logarithm_of_sum = logarithm(sum);
    for (uint i = lane(); i < count && row < rows; i += lanes) {
      const uint at = start + i * inner;
      const float distance = float(x[at]) - most;
      y[at] = ELEMENT(kind == 0 ? exponential(distance) * factor : distance - logarithm_of_sum);
    }
  }
}
