/* A RISC-V machine under QEMU: the start, and the calls of semihosting. */
#include "bare.h"

__asm__(".section .vectors, \"ax\"\n"
        ".globl board_reset\n"
        "board_reset:\n"
        "  .option push\n  .option norelax\n  la gp, __global_pointer$\n  .option pop\n"
        "  la sp, bare_stack_top\n"
        "  la tp, bare_tls_start\n"
        "  la t0, bare_fault\n  csrw mtvec, t0\n"
        "  li t0, 0x6600\n  csrs mstatus, t0\n" /* floating point and vectors are on */
        "  j bare_start\n"
        ".section .text.bare_call, \"ax\"\n"
        "  .option push\n  .option norvc\n  .balign 16\n"
        ".globl bare_call\n"
        "bare_call:\n"
        "  slli x0, x0, 0x1f\n  ebreak\n  srai x0, x0, 7\n  ret\n"
        "  .option pop\n"
        "  .text\n");
