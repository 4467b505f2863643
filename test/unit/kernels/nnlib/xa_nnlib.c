/* What stands for the vendor's library in a test: its functions by their parameters, with the rounding of the portable kernels. It refuses depths
 * of 13 and lengths of 13, by which a test sees that it was called. */
#include <xa_type_def.h>

#include <nnlib/xa_nnlib_kernels_api.h>

static WORD32 limited(int64_t sum, WORD32 multiplier, WORD32 shift, WORD32 zero, WORD32 low, WORD32 high) {
  const int64_t value = ((sum * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift)) + zero;
  return (WORD32)(value < low ? low : value > high ? high : value);
}

#define DEFINE_MATMUL(name, type, low)                                                                                       \
  DECLARE_MATMUL(name, type) {                                                                                               \
    for (WORD32 vec = 0; vec < vec_count; ++vec) {                                                                           \
      for (WORD32 row = 0; row < rows; ++row) {                                                                              \
        int64_t sum = p_bias[row];                                                                                           \
        for (WORD32 col = 0; col < cols; ++col) {                                                                            \
          sum += (p_mat1[row * row_stride + col] + mat1_zero_bias) * (p_mat2[vec * vec_offset + col] + vec1_zero_bias);      \
        }                                                                                                                    \
        p_out[vec * out_offset + row * out_stride] = (type)limited(sum, out_multiplier, out_shift, out_zero_bias, low, low + 255); \
      }                                                                                                                      \
    }                                                                                                                        \
    return cols == 13 ? -1 : 0;                                                                                              \
  }
DEFINE_MATMUL(xa_nn_matmul_asym8sxasym8s_asym8s, WORD8, -128)
DEFINE_MATMUL(xa_nn_matmul_asym8uxasym8u_asym8u, UWORD8, 0)

#define DEFINE_RELU(name, type)                                                                                                  \
  DECLARE_RELU(name, type) {                                                                                                     \
    for (WORD32 i = 0; i < vec_length; ++i) {                                                                                    \
      p_out[i] = (type)limited(p_vec[i] - inp_zero_bias, out_multiplier, out_shift, out_zero_bias, quantized_activation_min,     \
                               quantized_activation_max);                                                                        \
    }                                                                                                                            \
    return vec_length == 13 ? -1 : 0;                                                                                            \
  }
DEFINE_RELU(xa_nn_vec_relu_asym8s_asym8s, WORD8)
DEFINE_RELU(xa_nn_vec_relu_asym8u_asym8u, UWORD8)
