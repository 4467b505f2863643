/* The three parts of a test on a board: the machine, the form of the program, and the case that it computes. */
#ifndef BOARD_H
#define BOARD_H

#include "flambeau/kernel.h"

/* The machine. */
void board_write(const char *text);
_Noreturn void board_exit(int status);
/* The lowest address that the stack may reach. */
uint8_t *board_stack_limit(void);

/* The program: C with calls, or a .pte that a library loads. Both functions return NULL, or why they failed. */
const char *program_start(void);
const char *program_run(void);
const fl_tensor *program_output(uint32_t index);
/* Bytes of the memory that the program was given at run time: of all, with what alignment takes, and what its parts asked for. */
typedef struct program_bytes {
  size_t all, records, scratch, planned;
} program_bytes;
extern program_bytes program_memory;

/* The case: inputs, the outputs of the machine that compiled the program, and how far floats may be from them, in units of the largest one. */
typedef struct case_tensor {
  const void *data;
  size_t size;
} case_tensor;

extern const case_tensor case_inputs[], case_outputs[];
extern const uint32_t case_input_count, case_output_count;
extern const float case_tolerance;
/* The .pte, where the form is one. */
extern const uint8_t case_program[];
extern const size_t case_program_size, case_memory_size;
extern uint8_t case_memory[];

#endif
