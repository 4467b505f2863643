/* For the part of a backend that adapts a library which is found when a program is loaded, so that compiling needs nothing of it. */
#ifndef FLAMBEAU_LIBRARY_H
#define FLAMBEAU_LIBRARY_H

#include <stddef.h>

#include "flambeau/backend.h"

/* A function of a library, and the offset of its pointer in the backend's table of functions. */
typedef struct fl_library_symbol {
  const char *name;
  size_t place;
  int is_optional;
} fl_library_symbol;

/* Loads a library that is never unloaded, because libraries keep threads and what they have detected of the machine. NULL: dlerror() says why. */
void *fl_library_open(const char *path);
/* Loads a library of a Python package in the environment of this code: in the same site-packages as the shared library of Flambeau, or in that beside
 * the folder of the program. `folder` is its folder in site-packages, `prefix` what its name begins with. NULL: there is none. */
void *fl_library_open_packaged(const char *folder, const char *prefix);
void fl_library_close(void *handle);
/* Stores the pointers of `count` functions in a table. Returns the name of the first function that the library lacks and that is not optional, else
 * NULL. The place of an optional function that it lacks stays as it is. */
const char *fl_library_bind(void *handle, const fl_library_symbol *symbols, size_t count, void *table);

/* Returns what all users of a library with one number and one `make` share, a pool of threads or a device: what is there, else what `make` gives for `table`, the
 * library's functions. NULL when it cannot be made. Safe on several threads. */
void *fl_library_share(const void *handle, size_t number, void *(*make)(const void *table, size_t number), const void *table);
/* Ends a use; the last one lets `drop` free what is shared. */
void fl_library_release(const void *shared, void (*drop)(const void *table, void *shared), const void *table);

/* A search for the weights of a payload among the named data of its program. */
typedef struct fl_library_names {
  const struct fl_program *program;
  uint32_t next;   /* behind those found last */
  uint64_t budget; /* steps that are left */
} fl_library_names;

fl_library_names fl_library_names_of(const fl_payload *payload);
/* Stores position and size of the named data whose name has the `length` bytes of `key`. Begins behind those found last, because compilers write them in
 * the order of their payloads' constants. Each name on the way takes from a budget proportional to the payload's size: any order is searched, and no
 * file takes long. `reader` and `index` say in messages what needs them: "value", 3. */
fl_status fl_library_find_named(fl_library_names *names, const char *reader, uint32_t index, const char *key, uint32_t length, const void **data,
                                size_t *size);

/* Returns whether the processor adds products of 8-bit numbers in 32 bits. x86 processors without VNNI add two of them in 16 bits, which saturate. */
int fl_library_adds_in_32_bits(void);

/* Returns the Adler-32 of bytes. */
uint32_t fl_library_adler32(const uint8_t *data, size_t size);

/* Stores the reason of a failure, in one line, for the thread. Returns `status`. */
fl_status fl_library_fail(fl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the reason of the thread's last failure. */
const char *fl_library_message(void);

#endif
