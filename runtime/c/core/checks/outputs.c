/* Checks that each output tensor gets a content: it is an input, has an initial value, or an instruction writes it or a value in its memory. */
#include "core/schema.h"

fl_status fl_check_outputs(const fl_method *method, const fl_plan *plan) {
  uint32_t work = fl_budget(method->program);
  for (uint32_t i = 0; i < method->output_count; ++i) {
    const fl_port *port = &method->outputs[i];
    fl_tensor_record record;
    if (port->tensor == NULL || (port->value->flags & (FL_VALUE_WRITTEN | FL_VALUE_INPUT)) != 0) {
      continue;
    }
    int is_written = fl_plan_tensor(plan, (uint32_t)(port->value - method->values), &record) && (record.buffer != 0 || record.bytes == 0);
    for (uint32_t j = 0; !is_written && work > 0 && j < method->value_count; ++j, --work) {
      const fl_value *value = &method->values[j];
      const fl_tensor *t = fl_tensor_of(value);
      is_written = t != NULL && (value->flags & (FL_VALUE_WRITTEN | FL_VALUE_INPUT)) != 0 && fl_lies_on(port->tensor, t);
    }
    if (!is_written) {
      return FL_BLAME(&plan->origin, OUTPUT_NOT_WRITTEN, FL_NUMBER(i), FL_NUMBER(port->value - method->values));
    }
  }
  return FL_OK;
}
