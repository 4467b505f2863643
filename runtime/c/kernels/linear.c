/* aten::linear and flambeau::linear: act(x W^T + b + addend), with a weight that is unpacked, or packed ahead of time. */
#include "loops.h"
#include "matmul.h"
#include "optional.h"

size_t fl_linear_scratch(fl_value *const *args, size_t count) {
  (void)count;
  const fl_tensor *input = fl_get_tensor(args[0]);
  const fl_tensor *weight = fl_get_tensor(args[1]);
  if (!input || !weight || input->rank < 1 || weight->rank != 2 || input->dtype != FL_FLOAT32) {
    return 0;
  }
  const size_t rows = fl_rows_of(input), n = (size_t)weight->sizes[0], k = (size_t)weight->sizes[1];
  return sizeof(float) * fl_matmul_scratch((fl_matrix){NULL, rows, n, n, 1}, (fl_matrix){NULL, rows, k, k, 1},
                                           (fl_matrix){NULL, k, n, (size_t)weight->strides[1], (size_t)weight->strides[0]});
}

fl_status fl_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_TENSOR_ARGUMENT(out, 3);
  FL_CHECK(context, input->rank >= 1 && weight->rank == 2, "the input needs a dimension, and the weight two");
  FL_CHECK(context, input->dtype == weight->dtype && input->dtype == out->dtype, "the operands and the result must have one dtype");
  FL_CHECK(context, input->sizes[input->rank - 1] == weight->sizes[1], "the input's last dimension must be the weight's");
  FL_CHECK(context, fl_is_contiguous(input), "the input must be contiguous");
  const int32_t features = weight->sizes[0];
  FL_CHECK(context, !bias || (bias->dtype == out->dtype && bias->rank == 1 && bias->sizes[0] == features),
           "the bias must have one value for each output feature");
  FL_TRY(fl_resize_features(context, out, input, features));
  const size_t rows = fl_rows_of(input), n = (size_t)features, k = (size_t)weight->sizes[1];
  const size_t n_stride = (size_t)weight->strides[0], k_stride = (size_t)weight->strides[1];
  if (fl_is(out->dtype, FL_FLOAT32)) {
    fl_matmul(context, (fl_matrix){out->data, rows, n, n, 1}, (fl_matrix){input->data, rows, k, k, 1},
              (fl_matrix){weight->data, k, n, k_stride, n_stride}, bias ? bias->data : NULL);
    return FL_OK;
  }
  fl_matmul_any((fl_any_matrix){out->data, 0, rows, n, n, 1, out->dtype}, (fl_any_matrix){input->data, 0, rows, k, k, 1, input->dtype},
                (fl_any_matrix){weight->data, 0, k, n, k_stride, n_stride, weight->dtype});
  for (size_t i = 0; bias && i < rows * n; ++i) {
    if (fl_is_real(out->dtype)) {
      fl_write_real(out->dtype, out->data, i, fl_read_real(out->dtype, out->data, i) + fl_read_real(bias->dtype, bias->data, i % n));
    } else {
      fl_write_integer(out->dtype, out->data, i,
                       fl_read_integer(out->dtype, out->data, i) + fl_read_integer(bias->dtype, bias->data, i % n));
    }
  }
  return FL_OK;
}

fl_status fl_packed_linear_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(input, 0);
  FL_TENSOR_ARGUMENT(weight, 1);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 2);
  FL_OPTIONAL_TENSOR_ARGUMENT(addend, 3);
  FL_INT_ARGUMENT(features, 4);
  FL_ACTIVATION_ARGUMENT(activation, 5);
  FL_TENSOR_ARGUMENT(out, 6);
  FL_CHECK(context, input->dtype == FL_FLOAT32 && weight->dtype == FL_FLOAT32 && out->dtype == FL_FLOAT32, "only float32 is supported");
  FL_CHECK(context, input->rank >= 1 && weight->rank == 3 && weight->sizes[2] == FL_PANEL && fl_is_contiguous(weight),
           "the weight must be packed: [ceil(features / 16), k, 16]");
  FL_CHECK(context, features >= 0 && features <= INT32_MAX && (features + FL_PANEL - 1) / FL_PANEL == weight->sizes[0],
           "the packed weight has another number of output features");
  FL_CHECK(context, input->sizes[input->rank - 1] == weight->sizes[1], "the input's last dimension must be the weight's");
  FL_CHECK(context, fl_is_contiguous(input), "the input must be contiguous");
  FL_CHECK(context, !bias || (bias->dtype == FL_FLOAT32 && bias->rank == 1 && bias->sizes[0] == features),
           "the bias must have one value for each output feature");
  FL_TRY(fl_resize_features(context, out, input, features));
  FL_CHECK(context, !addend || (addend->dtype == FL_FLOAT32 && fl_same_sizes(addend, out) && fl_is_contiguous(addend)),
           "the addend must have the result's shape");
  const size_t n = (size_t)features, k = (size_t)weight->sizes[1];
  const fl_gemm g = {n, 1, k, weight->data, bias ? bias->data : NULL, activation, 0, NULL};
  fl_gemm_dense(context, &g, input->data, k, fl_rows_of(input), out->data, n, addend ? addend->data : NULL, n);
  return FL_OK;
}
