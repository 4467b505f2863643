// Functions of elements one after the other. What they read is numbered: up to 4 inputs, and then the results of steps.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"
#include "functions.glsl"

#define STEP(k)                                                       \
  layout(constant_id = 2 + 3 * k) const uint function##k = 0;         \
  layout(constant_id = 3 + 3 * k) const uint left##k = 0;             \
  layout(constant_id = 4 + 3 * k) const uint right##k = 0;
#define EACH_STEP(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint inputs = 1;
layout(constant_id = 1) const uint steps = 1;
EACH_STEP(STEP)
layout(binding = 0) readonly buffer A { ELEMENT a[]; };
layout(binding = 1) readonly buffer B { ELEMENT b[]; };
layout(binding = 2) readonly buffer C { ELEMENT c[]; };
layout(binding = 3) readonly buffer D { ELEMENT d[]; };
layout(binding = 4) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  uint periods[8];     // of each input: element i / first % second is read, or element i where the first is 0
  float parameters[16]; // two of each step
};

const uint OF_TWO = 64;

uint place(uint input_number, uint i) {
  const uint inner = periods[2 * input_number];
  return inner == 0 ? i : i / inner % periods[2 * input_number + 1];
}

#define COMPUTE(k)                                                                                              \
  if (k < steps) {                                                                                              \
    if (function##k < OF_TWO) {                                                                                 \
      known[4 + k] = apply(function##k, known[left##k], parameters[2 * k], parameters[2 * k + 1]);               \
    } else {                                                                                                    \
      known[4 + k] = apply_both(function##k - OF_TWO, known[left##k], known[right##k]);                          \
    }                                                                                                           \
  }

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    float known[12];
    known[0] = float(a[place(0, i)]);
    if (inputs > 1) {
      known[1] = float(b[place(1, i)]);
    }
    if (inputs > 2) {
      known[2] = float(c[place(2, i)]);
    }
    if (inputs > 3) {
      known[3] = float(d[place(3, i)]);
    }
    EACH_STEP(COMPUTE)
    y[i] = ELEMENT(known[3 + steps]);
  }
}
