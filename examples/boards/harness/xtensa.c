/* An Xtensa machine under QEMU: the start, and the calls of its simulator in place of those of semihosting. */
#include "bare.h"

#include <string.h>

__asm__(".section .vectors, \"ax\"\n"
        "  j board_reset\n" /* the literals of what follows come next */
        "  .align 4\n"
        "  .literal_position\n"
        ".global board_reset\n"
        "board_reset:\n"
        "  movi a1, bare_stack_top\n"
        "  movi a2, bare_start\n"
        "  jx a2\n"
        "  .text\n");

enum { EXIT = 1, WRITE = 4 };

static void simulator_call(uintptr_t number, uintptr_t first, uintptr_t second, uintptr_t third) {
  register uintptr_t a2 __asm__("a2") = number;
  register uintptr_t a3 __asm__("a3") = first;
  register uintptr_t a4 __asm__("a4") = second;
  register uintptr_t a5 __asm__("a5") = third;
  __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
}

uintptr_t bare_call(uintptr_t number, uintptr_t argument) {
  if (number == 0x04) {
    simulator_call(WRITE, 1, argument, strlen((const char *)argument));
  } else {
    simulator_call(EXIT, ((const uintptr_t *)argument)[1], 0, 0);
  }
  return 0;
}
