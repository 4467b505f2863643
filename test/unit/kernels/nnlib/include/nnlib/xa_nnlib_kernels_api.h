/* The functions of nnlib that kernels call: names and parameters are the vendor's. */
#ifndef XA_NNLIB_KERNELS_API_H
#define XA_NNLIB_KERNELS_API_H

#define DECLARE_MATMUL(name, type)                                                                                                              \
  WORD32 name(type *p_out, const type *p_mat1, const type *p_mat2, const WORD32 *p_bias, WORD32 rows, WORD32 cols, WORD32 row_stride,          \
              WORD32 vec_count, WORD32 vec_offset, WORD32 out_offset, WORD32 out_stride, WORD32 mat1_zero_bias, WORD32 vec1_zero_bias,          \
              WORD32 out_multiplier, WORD32 out_shift, WORD32 out_zero_bias)
DECLARE_MATMUL(xa_nn_matmul_asym8sxasym8s_asym8s, WORD8);
DECLARE_MATMUL(xa_nn_matmul_asym8uxasym8u_asym8u, UWORD8);

#define DECLARE_RELU(name, type)                                                                                                    \
  WORD32 name(type *p_out, const type *p_vec, WORD32 inp_zero_bias, WORD32 out_multiplier, WORD32 out_shift, WORD32 out_zero_bias, \
              WORD32 quantized_activation_min, WORD32 quantized_activation_max, WORD32 vec_length)
DECLARE_RELU(xa_nn_vec_relu_asym8s_asym8s, WORD8);
DECLARE_RELU(xa_nn_vec_relu_asym8u_asym8u, UWORD8);

#endif
