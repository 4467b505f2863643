// Elements of int8 times the scale of their channel. A tensor is [outer, channels, inner].
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"

layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { int words[]; };
layout(binding = 1) readonly buffer Scales { float scales[]; };
layout(binding = 2) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  uint channels;
  uint inner;
};

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    y[i] = ELEMENT(OF_INT8(words, i) * scales[i / inner % channels]);
  }
}
