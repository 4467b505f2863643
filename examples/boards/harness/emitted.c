/* The form of a program that is C. */
#include "board.h"
#include "net.h"

program_bytes program_memory = {0, 0, 0, 0};

const char *program_start(void) {
  net_init();
  for (uint32_t i = 0; i < case_input_count; ++i) {
    memcpy(fl_get_tensor(net_forward_inputs[i])->data, case_inputs[i].data, case_inputs[i].size);
  }
  return NULL;
}

const char *program_run(void) { return net_forward() == FL_OK ? NULL : net_forward_run.context.message; }

const fl_tensor *program_output(uint32_t index) { return fl_get_tensor(net_forward_outputs[index]); }
