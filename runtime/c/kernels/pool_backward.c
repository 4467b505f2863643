/* Kernels of gradients of pooling. */
#include "element.h"
#include "loops.h"
#include "pool_backward.def"

/* Adds each window's gradient to the place of its largest element. */
fl_status fl_max_pool2d_with_indices_backward_out(fl_context *context, fl_value *const *args, size_t count) {
  FL_TENSOR_ARGUMENT(gradient, 0);
  FL_TENSOR_ARGUMENT(input, 1);
  FL_TENSOR_ARGUMENT(indices, 7);
  FL_TENSOR_ARGUMENT(out, 8);
  (void)count;
  FL_CHECK(context, input->rank == 3 || input->rank == 4, "the input must have 3 or 4 dimensions");
  FL_CHECK(context, fl_is_float(input->dtype) && gradient->dtype == input->dtype && out->dtype == input->dtype, "the tensors must be of one floating type");
  FL_CHECK(context, indices->dtype == FL_INT64 && fl_same_sizes(indices, gradient) && gradient->rank == input->rank,
           "the indices must be of int64 and have the shape of the gradient");
  FL_CHECK(context, fl_is_contiguous(gradient) && fl_is_contiguous(indices) && fl_is_contiguous(out), "the tensors must be contiguous");
  for (uint8_t d = 0; d + 2 < input->rank; ++d) {
    FL_CHECK(context, gradient->sizes[d] == input->sizes[d], "the gradient must have the planes of the input");
  }
  FL_TRY(fl_resize(context, out, input->sizes, input->rank));
  const int64_t plane = (int64_t)input->sizes[input->rank - 2] * input->sizes[input->rank - 1];
  const size_t windows = (size_t)gradient->sizes[gradient->rank - 2] * (size_t)gradient->sizes[gradient->rank - 1], n = fl_numel(gradient);
  const int64_t *const place = indices->data;
  for (size_t i = 0; i < n; ++i) {
    FL_CHECK_NUMBERS(context, place[i] >= 0 && place[i] < plane, "index % is out of range for % elements of a plane", place[i], plane);
  }
  memset(out->data, 0, fl_numel(out) * fl_dtype_size(out->dtype));
  for (size_t i = 0; i < n; ++i) {
    const size_t to = i / windows * (size_t)plane + (size_t)place[i];
    fl_write_real(out->dtype, out->data, to, fl_read_real(out->dtype, out->data, to) + fl_read_real(gradient->dtype, gradient->data, i));
  }
  return FL_OK;
}
