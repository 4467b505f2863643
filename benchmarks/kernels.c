/* Measures how close the expensive kernels come to the peak of this machine: floating-point operations per second, relative to a loop of
 * independent FMAs in the same process, and bytes per second for kernels that memory limits. One thread; the best of many runs.
 *
 *   cmake -S runtime/c -B build/c && cmake --build build/c
 *   cc -O3 -march=native -Iruntime/c -Iruntime/c/include benchmarks/kernels.c build/c/libflambeau.a -lm -o build/kernels && build/kernels
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "flambeau/kernel.h"
#include "kernels/conv2d.h"

static double peak;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* does not count the time of other programs */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twelve chains of FMAs hide the latency of machines with two pipes and up to six cycles. */
static double measure_peak(void) {
  double best = 0;
  for (int run = 0; run < 20; ++run) {
    fl_vec a[12];
    FL_UNROLL
    for (int i = 0; i < 12; ++i) {
      a[i] = fl_set((float)i);
    }
    volatile float one = 1.0f, little = 1e-9f; /* keeps the compiler from simplifying */
    fl_vec x = fl_set(one), y = fl_set(little);
    const int steps = 200000;
    const double start = now();
    for (int s = 0; s < steps; ++s) {
      FL_UNROLL
      for (int i = 0; i < 12; ++i) {
        a[i] = fl_fma(a[i], x, y);
        FL_HOLD(a[i]);
      }
    }
    volatile float sink = 0; /* keeps the results alive */
    FL_UNROLL
    for (int i = 0; i < 12; ++i) {
      sink = sink + a[i][0];
    }
    const double rate = 12.0 * 2 * FL_LANES * steps / (now() - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  return best;
}

static float *filled(size_t n) {
  float *x = aligned_alloc(64, (n * sizeof(float) + 127) / 64 * 64);
  if (!x) {
    exit(1);
  }
  for (size_t i = 0; i < n; ++i) {
    x[i] = (float)(i * 2654435761u % 1000) * 1e-3f - 0.5f;
  }
  return x;
}

/* Runs `work` until a third of a second is over and prints the best time. */
#define MEASURE(name, flops, bytes, work)                                                                                             \
  do {                                                                                                                                \
    double best = 1e9;                                                                                                                \
    const double begin = now();                                                                                                       \
    do {                                                                                                                              \
      const double start = now();                                                                                                     \
      work;                                                                                                                           \
      const double time = now() - start;                                                                                              \
      best = time < best ? time : best;                                                                                               \
    } while (now() - begin < 0.3);                                                                                                    \
    printf("%-44s %9.3f ms %8.1f GFLOP/s %5.1f %% of peak %7.1f GB/s\n", name, 1e3 * best, 1e-9 * (flops) / best,                      \
           1e-9 * (flops) / best / peak * 100, 1e-9 * (bytes) / best);                                                                \
  } while (0)

static void products(void) {
  static const struct {
    const char *name;
    size_t m, n, k;
  } shapes[] = {{"product 128x384x384 (MiniLM qkv)", 128, 384, 384},  {"product 128x1536x384 (MiniLM up)", 128, 1536, 384},
                {"product 128x384x1536 (MiniLM down)", 128, 384, 1536}, {"product 128x768x768", 128, 768, 768},
                {"product 128x3072x768 (BERT up)", 128, 3072, 768},   {"product 128x768x3072 (BERT down)", 128, 768, 3072},
                {"product 256x256x256", 256, 256, 256},               {"product 512x512x512", 512, 512, 512},
                {"product 1024x1024x1024", 1024, 1024, 1024},         {"product 197x192x192 (DeiT)", 197, 192, 192},
                {"product 197x768x192 (DeiT up)", 197, 768, 192},     {"product 3136x144x24 (MobileNetV2)", 3136, 144, 24},
                {"product 196x96x576 (MobileNetV2)", 196, 96, 576},   {"product 49x1280x320 (MobileNetV2)", 49, 1280, 320},
                {"product 196x256x1024 (ResNet-50)", 196, 256, 1024}, {"product 1x4096x4096", 1, 4096, 4096},
                {"product 1x512x512", 1, 512, 512}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const size_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
    float *a = filled(m * k), *b = filled(fl_packed_size(k, n)), *c = filled(m * n);
    const fl_gemm g = {n, 1, k, b, NULL, FL_ACTIVATION_NONE, 0};
    MEASURE(shapes[i].name, 2.0 * (double)m * (double)n * (double)k, 4.0 * (double)(n * k), fl_gemm_dense(&g, a, k, m, c, n, NULL, 0));
    free(a);
    free(b);
    free(c);
  }
}

static void convolutions(void) {
  static const struct {
    const char *name;
    size_t channels, out, size, kernel, stride;
    int depthwise;
  } shapes[] = {{"conv 7x7 3->64 224x224 stride 2", 3, 64, 224, 7, 2, 0},   {"conv 3x3 3->32 224x224 stride 2", 3, 32, 224, 3, 2, 0},
                {"conv 3x3 64->64 56x56", 64, 64, 56, 3, 1, 0},             {"conv 3x3 128->128 28x28", 128, 128, 28, 3, 1, 0},
                {"conv 3x3 256->256 14x14", 256, 256, 14, 3, 1, 0},         {"conv 3x3 512->512 7x7", 512, 512, 7, 3, 1, 0},
                {"conv 3x3 64->128 56x56 stride 2", 64, 128, 56, 3, 2, 0},  {"conv 1x1 64->256 56x56", 64, 256, 56, 1, 1, 0},
                {"conv 1x1 1024->256 14x14", 1024, 256, 14, 1, 1, 0},       {"depthwise 3x3 32 112x112", 32, 32, 112, 3, 1, 1},
                {"depthwise 3x3 96 112x112 stride 2", 96, 96, 112, 3, 2, 1}, {"depthwise 3x3 144 56x56", 144, 144, 56, 3, 1, 1},
                {"depthwise 3x3 384 14x14", 384, 384, 14, 3, 1, 1},         {"depthwise 5x5 120 28x28", 120, 120, 28, 5, 1, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const size_t c = shapes[i].channels, o = shapes[i].out, s = shapes[i].size, k = shapes[i].kernel, p = k / 2;
    const size_t out = (s + 2 * p - k) / shapes[i].stride + 1;
    fl_conv2d conv = {1, s, s, c, out, out, o, k, k, shapes[i].stride, shapes[i].stride, p, p, 1, 1, NULL, NULL, NULL, NULL, NULL, FL_ACTIVATION_RELU6};
    float *input = filled(s * s * c), *weight = filled(fl_packed_size(k * k * c, o)), *bias = filled(o), *result = filled(out * out * o);
    float *scratch = filled(fl_conv2d_scratch_size(&conv, 0) / sizeof(float) + 1);
    conv.input = input;
    conv.weight = weight;
    conv.bias = bias;
    conv.out = result;
    const double flops = 2.0 * (double)(out * out * o * k * k) * (double)(shapes[i].depthwise ? 1 : c);
    const double bytes = 4.0 * (double)(s * s * c + out * out * o);
    if (shapes[i].depthwise) {
      MEASURE(shapes[i].name, flops, bytes, fl_conv2d_depthwise(&conv));
    } else {
      MEASURE(shapes[i].name, flops, bytes, fl_conv2d_run(&conv, scratch));
    }
    free(input);
    free(weight);
    free(bias);
    free(result);
    free(scratch);
  }
}

fl_status fl_attention_out(fl_context *context, fl_value *const *args, size_t count);
size_t fl_attention_scratch(fl_value *const *args, size_t count);

static void attention(void) {
  static const int32_t shapes[][4] = {{12, 128, 128, 64}, {12, 128, 128, 32}, {3, 197, 197, 64}, {12, 512, 512, 64}, {12, 1024, 1024, 64}, {32, 1, 1024, 64}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const int32_t heads = shapes[i][0], length = shapes[i][1], keys = shapes[i][2], width = shapes[i][3];
    int32_t sizes[2][4] = {{1, heads, length, width}, {1, heads, keys, width}};
    int32_t strides[2][4] = {{heads * length * width, width, heads * width, 1}, {heads * keys * width, width, heads * width, 1}};
    const uint8_t order[4] = {0, 2, 1, 3};
    float *data[4];
    fl_tensor tensors[4];
    fl_value values[9];
    fl_value *args[9];
    memset(tensors, 0, sizeof tensors);
    memset(values, 0, sizeof values);
    for (int t = 0; t < 4; ++t) {
      const int kv = t == 1 || t == 2;
      data[t] = filled((size_t)heads * (size_t)(kv ? keys : length) * (size_t)width);
      tensors[t].data = data[t];
      tensors[t].sizes = sizes[kv];
      tensors[t].strides = strides[kv];
      tensors[t].dim_order = order;
      tensors[t].rank = 4;
      tensors[t].dtype = FL_FLOAT32;
    }
    for (int a = 0; a < 9; ++a) {
      args[a] = &values[a];
      values[a].tag = a < 3 || a >= 7 ? FL_TENSOR : a == 3 ? FL_NONE : a == 5 ? FL_DOUBLE : FL_BOOLEAN;
      if (values[a].tag == FL_TENSOR) {
        values[a].as.tensor = &tensors[a < 3 ? a : 3];
      } else if (a == 5) {
        values[a].as.real = 0.125;
      }
    }
    fl_context context = {0};
    context.scratch_size = fl_attention_scratch(args, 9);
    context.scratch = filled(context.scratch_size / sizeof(float));
    char name[64];
    snprintf(name, sizeof name, "attention %d heads, %d x %d, width %d", heads, length, keys, width);
    const double flops = 4.0 * heads * (double)length * keys * width;
    MEASURE(name, flops, 8.0 * heads * (double)keys * width, if (fl_attention_out(&context, args, 9) != FL_OK) { puts(context.message); });
    free(context.scratch);
    for (int t = 0; t < 4; ++t) {
      free(data[t]);
    }
  }
}

static void activations(void) {
  static const char *const names[] = {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"};
  const size_t n = 16384;
  float *x = filled(n), *y = filled(n);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    fl_activation a = FL_ACTIVATION_NONE;
    (void)fl_activation_from_name(names[i], strlen(names[i]), &a);
    double best = 1e9;
    for (int run = 0; run < 500; ++run) {
      memcpy(y, x, n * sizeof(float));
      const double start = now();
      fl_activate(a, y, n);
      const double time = now() - start;
      best = time < best ? time : best;
    }
    printf("%-44s %9.3f ns for each element\n", names[i], 1e9 * best / (double)n);
  }
  free(x);
  free(y);
}

int main(void) {
  peak = measure_peak();
  printf("peak: %.1f GFLOP/s with %d lanes\n", peak, FL_LANES);
  products();
  convolutions();
  attention();
  activations();
  return 0;
}
