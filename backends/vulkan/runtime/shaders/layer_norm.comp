// Each row minus its mean, divided by its standard deviation, times a weight and plus a bias.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"
#include "lanes.glsl"

layout(constant_id = 2) const bool has_weight = false;
layout(constant_id = 3) const bool has_bias = false;
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) readonly buffer Weight { ELEMENT weight[]; };
layout(binding = 2) readonly buffer Bias { ELEMENT bias[]; };
layout(binding = 3) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint rows;
  uint count;
  uint turns;
  float epsilon;
};

void main() {
  for (uint turn = 0; turn < turns; ++turn) {
    const uint row = own_row(turn), start = min(row, rows - 1) * count;
    float sum = 0.0, squares = 0.0;
    for (uint i = lane(); i < count; i += lanes) {
      sum += float(x[start + i]);
    }
    const float mean = whole(SUM, sum) / float(count);
    for (uint i = lane(); i < count; i += lanes) {
      const float distance = float(x[start + i]) - mean;
      squares += distance * distance;
    }
    const float factor = inversesqrt(whole(SUM, squares) / float(count) + epsilon);
    for (uint i = lane(); i < count && row < rows; i += lanes) {
      const float found = (float(x[start + i]) - mean) * factor * (has_weight ? float(weight[i]) : 1.0);
      y[start + i] = ELEMENT(has_bias ? found + float(bias[i]) : found);
    }
  }
}
