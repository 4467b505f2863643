/* Implements bare.h, and what the harness needs of a machine. */
#include "bare.h"

#include <string.h>

extern uint8_t bare_data_start[], bare_data_end[], bare_data_load[], bare_bss_start[], bare_bss_end[], bare_stack_limit[];
int main(void);

void board_write(const char *text) { (void)bare_call(0x04, (uintptr_t)text); }

_Noreturn void board_exit(int status) {
  const uintptr_t block[2] = {0x20026, (uintptr_t)status}; /* the application ended */
  (void)bare_call(0x20, (uintptr_t)block);
  for (;;) {
  }
}

uint8_t *board_stack_limit(void) { return bare_stack_limit; }

/* RISC-V takes addresses of handlers that are multiples of four. */
__attribute__((aligned(4))) _Noreturn void bare_fault(void) {
  board_write("failed run: the processor reported a fault\n");
  board_exit(2);
}

_Noreturn void bare_start(void) {
  memcpy(bare_data_start, bare_data_load, (size_t)(bare_data_end - bare_data_start));
  memset(bare_bss_start, 0, (size_t)(bare_bss_end - bare_bss_start));
  board_exit(main());
}
