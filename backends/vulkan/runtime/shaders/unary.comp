// A function of each element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint number = 0;
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  float first;
  float second;
};

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    y[i] = ELEMENT(apply(number, float(x[i]), first, second));
  }
}
