// Elements of float16 as such of float32, or the other way round.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"

#ifdef HALF
#define OTHER float
#else
#define OTHER float16_t
#endif

layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { OTHER x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed { uint count; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    y[i] = ELEMENT(x[i]);
  }
}
