/* Exits with 0 when this machine executes the instructions that the compiler was allowed to use. */
int main(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) {
    return 1;
  }
#endif
#ifdef __AVX512F__
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return 1;
  }
#endif
#endif
  return 0;
}
