/* Implements emitted.h. */
#include "flambeau/emitted.h"

fl_status fl_emitted_call(fl_emitted *program, uint32_t at, fl_kernel_fn kernel, fl_value *const *args, size_t count, const fl_tensor *over) {
  fl_context *context = &program->context;
  /* Kernels advance `scratch` as they take pieces of it. */
  *context = (fl_context){.scratch = program->scratch, .scratch_size = program->scratch_size, .message = "it gave no reason", .over = over,
                          .random = &program->random};
  program->instruction = at;
  program->status = kernel(context, args, count);
  return program->status;
}

int fl_emitted_is_false(const fl_value *condition) {
  if (condition->tag == FL_BOOLEAN) {
    return condition->as.boolean == 0;
  }
  const uint8_t *data = (const uint8_t *)condition->as.tensor->data;
  const size_t count = fl_numel(condition->as.tensor);
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == 0) {
      return 1;
    }
  }
  return 0;
}

fl_status fl_emitted_resize(fl_emitted *program, const fl_value *input, const int32_t *sizes, uint8_t rank) {
  program->context.over = NULL;
  program->status = fl_resize(&program->context, input->as.tensor, sizes, rank);
  return program->status;
}
