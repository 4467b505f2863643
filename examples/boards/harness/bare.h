/* What machines without an operating system have in common. */
#ifndef BARE_H
#define BARE_H

#include "board.h"

/* A call of semihosting, by which QEMU acts for the program. */
uintptr_t bare_call(uintptr_t number, uintptr_t argument);
/* Gives variables their values and runs `main`; the stack is in place. */
_Noreturn void bare_start(void);
_Noreturn void bare_fault(void);

#endif
