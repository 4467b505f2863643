// Rows that several invocations of a workgroup compute together. A tensor is [outer, count, inner], and a row is along `count`.

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kind = 0;
layout(constant_id = 1) const uint lanes = 64; // invocations for a row, a power of 2

shared float parts[64];

const uint SUM = 0, LARGEST = 1, SMALLEST = 2;

float combined(uint how, float left, float right) {
  return how == SUM ? left + right : how == LARGEST ? larger(left, right) : smaller(left, right);
}

uint lane() { return gl_LocalInvocationID.x % lanes; }

// Returns the number of the row of an invocation.
uint own_row(uint turn) { return (turn * gl_NumWorkGroups.x + gl_WorkGroupID.x) * (64 / lanes) + gl_LocalInvocationID.x / lanes; }

// Returns what the parts of a row are together. All invocations of the workgroup call it.
float whole(uint how, float part) {
  if (lanes == 1) {
    return part;
  }
  barrier();
  parts[gl_LocalInvocationID.x] = part;
  for (uint distance = lanes / 2; distance > 0; distance /= 2) {
    barrier();
    if (lane() < distance) {
      parts[gl_LocalInvocationID.x] = combined(how, parts[gl_LocalInvocationID.x], parts[gl_LocalInvocationID.x + distance]);
    }
  }
  barrier();
  return parts[gl_LocalInvocationID.x / lanes * lanes];
}
