// Functions of one number. Drivers differ in what they give for NaN, infinities, and arguments far from 0, so no function depends on it: NaN is told by
// its bits, and arguments stay within what every driver computes.

#define INFINITY uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

float larger(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : max(a, b); }

float smaller(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : min(a, b); }

float exponential(float x) { return is_nan(x) ? x : x > 88.7228 ? INFINITY : x < -103.9 ? 0.0 : exp(x); }

// exp(x) - 1, whose difference loses what a small x says.
float exponential_less_one(float x) {
  return abs(x) < 0.03 ? x * (1.0 + x * (0.5 + x * (0.16666667 + x * 0.041666668))) : exponential(x) - 1.0;
}

float logarithm(float x) {
  return is_nan(x) || x < 0.0 ? NOT_A_NUMBER : x == 0.0 ? -INFINITY : x == INFINITY ? INFINITY : log(x);
}

float sigmoid(float x) {
  const float small = exponential(-abs(x));
  return is_nan(x) ? x : (x < 0.0 ? small : 1.0) / (1.0 + small);
}

float hyperbolic_tangent(float x) {
  const float square = x * x;
  if (abs(x) < 0.25) {
    return x * (1.0 - square * (0.33333334 - square * (0.13333334 - square * (0.053968254 - square * 0.021869488))));
  }
  const float small = exponential(-2.0 * abs(x)), size = (1.0 - small) / (1.0 + small);
  return is_nan(x) ? x : x < 0.0 ? -size : size;
}

// The error function: its series near 0, elsewhere a rational approximation of its distance from 1, to 2e-7.
float error_function(float x) {
  const float size = abs(x), square = x * x;
  if (size < 0.5) {
    return 1.1283792 * x * (1.0 - square * (0.33333334 - square * (0.1 - square * (0.023809524 - square * (0.0046296297 - square * 0.00075757573)))));
  }
  const float t = 1.0 / (1.0 + 0.3275911 * min(size, 6.0));
  const float rest = t * (0.25482959 + t * (-0.28449674 + t * (1.4214138 + t * (-1.4531521 + t * 1.0614054))));
  const float found = 1.0 - rest * exponential(-min(square, 80.0));
  return is_nan(x) ? x : x < 0.0 ? -found : found;
}

float hard_sigmoid(float x) { return is_nan(x) ? x : clamp(x + 3.0, 0.0, 6.0) * 0.16666667; }

// Function `number` of x; some have parameters.
float apply(uint number, float x, float first, float second) {
  switch (number) {
    case 1: return abs(x);
    case 2: return ceil(x);
    case 3: return error_function(x);
    case 4: return exponential(x);
    case 5: return floor(x);
    case 6: return logarithm(x);
    case 7: return -x;
    case 8: return 1.0 / x;
    case 9: return is_nan(x) || x < 0.0 ? NOT_A_NUMBER : x == INFINITY ? 0.0 : inversesqrt(x);
    case 10: return is_nan(x) || x < 0.0 ? NOT_A_NUMBER : x == INFINITY || x == 0.0 ? x : sqrt(x);
    case 11: return hard_sigmoid(x);
    case 12: return is_nan(x) ? x : x * clamp(x + 3.0, 0.0, 6.0) / 6.0;
    case 13: return larger(x, 0.0);
    case 14: return sigmoid(x);
    case 15: return x * sigmoid(x);
    case 16: return hyperbolic_tangent(x);
    case 17: return 0.5 * x * (1.0 + error_function(x * 0.70710677));
    case 18: return 0.5 * x * (1.0 + hyperbolic_tangent(0.79788458 * (x + 0.044715 * x * x * x)));
    case 19: return smaller(larger(x, first), second);
    case 20: return is_nan(x) || x > 0.0 ? x : x * first;
    case 21: return is_nan(x) || x > 0.0 ? x : first * exponential_less_one(x);
    default: return x;
  }
}

// Function `number` of two numbers.
float apply_both(uint number, float left, float right) {
  switch (number) {
    case 0: return left + right;
    case 1: return left - right;
    case 2: return left * right;
    case 3: return left / right;
    case 4: return larger(left, right);
    default: return smaller(left, right);
  }
}
