// One number in each element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"

layout(local_size_x = 64) in;
layout(binding = 0) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  float number;
};

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    y[i] = ELEMENT(number);
  }
}
