/* A machine with an operating system, or WebAssembly with WASI. */
#include "board.h"

#include <stdio.h>
#include <stdlib.h>

enum { STACK = 128 * 1024 };

void board_write(const char *text) { fputs(text, stdout); }

_Noreturn void board_exit(int status) { exit(status); }

__attribute__((noinline)) uint8_t *board_stack_limit(void) {
  static uint8_t *limit;
  uint8_t here = 0;
  if (limit == NULL) {
    limit = (uint8_t *)((uintptr_t)&here - STACK);
  }
  return limit;
}
