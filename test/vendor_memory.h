/* The memory of a library that is loaded at run time: where it ends nobody may read or write, and it runs out when a test says so. */
#ifndef VENDOR_MEMORY_H
#define VENDOR_MEMORY_H

#include <stddef.h>

/* Begins to serve the library whose path ends with `name`; returns 0 if it is not loaded. */
int vendor_find(const char *name);
/* Leaves to the library, for as long as the program runs, what it has allocated until now. */
void vendor_keep(void);
/* Takes back all memory that the library allocated since vendor_keep, also what it has not freed. */
void vendor_take_back(void);
/* Lets `count` allocations fail, after `first` more that succeed. Those of less than 1024 bytes do not count, and succeed: a backend may make room
 * for what its library does not check. */
void vendor_fail(unsigned long first, unsigned long count);
/* Returns how many allocations the library asked for since vendor_fail. */
unsigned long vendor_asked(void);

#endif
