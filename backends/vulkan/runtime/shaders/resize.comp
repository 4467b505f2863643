// The planes of images in another size: each element is the nearest one before it, or is interpolated between four.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "element.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool is_bilinear = false;
layout(constant_id = 1) const bool aligns_corners = false;
layout(binding = 0) readonly buffer X { ELEMENT x[]; };
layout(binding = 1) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Pushed {
  uint count;
  uint height;
  uint width;
  uint new_height;
  uint new_width;
  float step_height; // what one element of the result is in those of the image
  float step_width;
};

float source(uint place, float size) {
  return is_bilinear && !aligns_corners ? max((float(place) + 0.5) * size - 0.5, 0.0) : float(place) * size;
}

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 64) {
    const uint place = i % (new_height * new_width), start = i / (new_height * new_width) * height * width;
    const float row = source(place / new_width, step_height), column = source(place % new_width, step_width);
    const uint top = min(uint(row), height - 1), left = min(uint(column), width - 1);
    if (is_bilinear) {
      const uint bottom = min(top + 1, height - 1), right = min(left + 1, width - 1);
      const float down = row - float(top), along = column - float(left);
      const float above = mix(float(x[start + top * width + left]), float(x[start + top * width + right]), along);
      const float below = mix(float(x[start + bottom * width + left]), float(x[start + bottom * width + right]), along);
      y[i] = ELEMENT(mix(above, below, down));
    } else {
      y[i] = x[start + top * width + left];
    }
  }
}
