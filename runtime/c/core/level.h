/* The instruction set that a file is compiled for. */
#ifndef FLAMBEAU_CORE_LEVEL_H
#define FLAMBEAU_CORE_LEVEL_H

/* FL_LEVEL is the name of the best level of x86-64 that it has, as kernel_levels.cmake names them, or of another architecture; "" where it has none. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512VNNI__)
#define FL_LEVEL "x86-64-v4+vnni"
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define FL_LEVEL "x86-64-v4"
#elif defined(__AVX2__) && defined(__FMA__)
#define FL_LEVEL "x86-64-v3"
#elif defined(__x86_64__)
#define FL_LEVEL "x86-64"
#elif defined(__aarch64__)
#define FL_LEVEL "aarch64"
#else
#define FL_LEVEL ""
#endif

#endif
