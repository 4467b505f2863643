// The sum, mean, largest or smallest element of each row.
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
  uint turns; // rows that each group of lanes computes, one after the other
  float factor;
};

void main() {
  for (uint turn = 0; turn < turns; ++turn) {
    const uint row = own_row(turn), known = min(row, rows - 1), start = known / inner * count * inner + known % inner;
    float found = kind == SUM ? 0.0 : kind == LARGEST ? -INFINITY : INFINITY;
    for (uint i = lane(); i < count; i += lanes) {
      found = combined(kind, found, float(x[start + i * inner]));
    }
    found = whole(kind, found);
    if (lane() == 0 && row < rows) {
      y[row] = ELEMENT(kind == SUM ? found * factor : found);
    }
  }
}
