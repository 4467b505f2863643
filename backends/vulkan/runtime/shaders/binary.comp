// A function of the elements of two tensors, which are repeated where their strides are 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint number = 0;
layout(constant_id = 1) const uint rank = 1;
layout(binding = 0) readonly buffer A { ELEMENT a[]; };
layout(binding = 1) readonly buffer B { ELEMENT b[]; };
layout(binding = 2) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  uint sizes[6];
  uint steps_of_a[6];
  uint steps_of_b[6];
};

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    uint rest = i, at_a = 0, at_b = 0;
    for (uint dim = rank; dim-- > 0;) {
      const uint index = rest % sizes[dim];
      rest /= sizes[dim];
      at_a += index * steps_of_a[dim];
      at_b += index * steps_of_b[dim];
    }
    y[i] = ELEMENT(apply_both(number, float(a[at_a]), float(b[at_b])));
  }
}
