/* A Cortex-M under QEMU: its vectors, and the calls of semihosting. */
#include "bare.h"

extern uint8_t bare_stack_top[];
void Reset_Handler(void);

uintptr_t bare_call(uintptr_t number, uintptr_t argument) {
  register uintptr_t r0 __asm__("r0") = number;
  register uintptr_t r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

/* The start is a function of its own: where it begins, the compiler may save registers of the floating-point unit, which is on by then. */
void Reset_Handler(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: coprocessors 10 and 11 are the floating-point unit and Helium */
  __asm__ volatile("dsb\nisb" ::: "memory");
  bare_start();
}

#define FAULT ((void *)bare_fault)

__attribute__((section(".vectors"), used)) static void *const vectors[] = {bare_stack_top, (void *)Reset_Handler, FAULT, FAULT, FAULT, FAULT, FAULT};
