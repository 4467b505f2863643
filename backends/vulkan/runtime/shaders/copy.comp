// Elements of one tensor at their places in another. Both are found by strides, which may be 0 or negative.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint rank = 1;
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  int from;
  int to;
  uint sizes[6];
  int steps_from[6];
  int steps_to[6];
};

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    uint rest = i;
    int at = from, goal = to;
    for (uint dim = rank; dim-- > 0;) {
      const int index = int(rest % sizes[dim]);
      rest /= sizes[dim];
      at += index * steps_from[dim];
      goal += index * steps_to[dim];
    }
    y[goal] = x[at];
  }
}
