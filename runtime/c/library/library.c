/* Libraries that are found when a program is loaded: their functions, what their users share, the weights that they need, and the reasons of failures. */
#define _GNU_SOURCE /* dladdr */
#include "flambeau/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "flambeau/runtime.h"

void *fl_library_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

/* Returns the texts one after the other, to be freed; NULL without memory. */
static char *joined(const char *first, const char *second, const char *third, const char *fourth) {
  const size_t size = strlen(first) + strlen(second) + strlen(third) + strlen(fourth) + 1;
  char *const text = (char *)malloc(size);
  if (text != NULL) {
    (void)snprintf(text, size, "%s%s%s%s", first, second, third, fourth);
  }
  return text;
}

/* Calls `open` for the entries of a folder whose names begin with `prefix`, until it returns a library. */
static void *first_entry(const char *folder, const char *prefix, void *(*open)(const char *path, const char *const more[2]), const char *const more[2]) {
  void *handle = NULL;
  DIR *const listing = folder == NULL ? NULL : opendir(folder);
  for (const struct dirent *entry; listing != NULL && handle == NULL && (entry = readdir(listing)) != NULL;) {
    char *const path = strncmp(entry->d_name, prefix, strlen(prefix)) == 0 ? joined(folder, "/", entry->d_name, "") : NULL;
    if (path != NULL) {
      handle = open(path, more);
    }
    free(path);
  }
  if (listing != NULL) {
    (void)closedir(listing);
  }
  return handle;
}

static void *open_file(const char *path, const char *const more[2]) {
  (void)more;
  return fl_library_open(path);
}

/* Opens a library in folder more[0] of the site-packages in `path`, a folder of Python's modules; its name begins with more[1]. */
static void *open_in_packages(const char *path, const char *const more[2]) {
  char *const folder = joined(path, "/site-packages/", more[0], "");
  void *const handle = first_entry(folder, more[1], open_file, NULL);
  free(folder);
  return handle;
}

void *fl_library_open_packaged(const char *folder, const char *prefix) {
  static const char program[] = "/proc/self/exe";
  const char *const more[2] = {folder, prefix};
  Dl_info own;
  if (dladdr((const void *)program, &own) == 0 || own.dli_fname == NULL) {
    return NULL;
  }
  const int is_shared = strstr(own.dli_fname, ".so") != NULL || strstr(own.dli_fname, ".dylib") != NULL;
  /* The name of a program may be only the word that was typed. */
  char *file = is_shared ? NULL : realpath(program, NULL);
  file = file != NULL ? file : joined(own.dli_fname, "", "", "");
  char *const slash = file == NULL ? NULL : strrchr(file, '/');
  void *handle = NULL;
  if (slash != NULL) {
    *slash = 0;
    char *const place = joined(file, is_shared ? "/../../../" : "/../lib", is_shared ? folder : "", "");
    handle = is_shared ? first_entry(place, prefix, open_file, NULL) : first_entry(place, "python", open_in_packages, more);
    free(place);
  }
  free(file);
  return handle;
}

void fl_library_close(void *handle) { (void)dlclose(handle); }

const char *fl_library_bind(void *handle, const fl_library_symbol *symbols, size_t count, void *table) {
  for (size_t i = 0; i < count; ++i) {
    void *const found = dlsym(handle, symbols[i].name);
    if (found != NULL) {
      memcpy((char *)table + symbols[i].place, &found, sizeof found);
    } else if (!symbols[i].is_optional) {
      return symbols[i].name;
    }
  }
  return NULL;
}

typedef struct shared {
  struct shared *next;
  const void *handle;
  size_t number;
  void *(*make)(const void *table, size_t number);
  void *object;
  size_t users;
} shared;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static shared *all;

/* Returns what is shared already, or a new one without users; NULL when it cannot be made. The caller holds the lock. */
static shared *find(const void *handle, size_t number, void *(*make)(const void *table, size_t number), const void *table) {
  shared *found = all;
  while (found != NULL && (found->handle != handle || found->number != number || found->make != make)) {
    found = found->next;
  }
  if (found != NULL) {
    return found;
  }
  found = (shared *)malloc(sizeof *found);
  void *const object = found == NULL ? NULL : make(table, number);
  if (object == NULL) {
    free(found);
    return NULL;
  }
  *found = (shared){all, handle, number, make, object, 0};
  all = found;
  return found;
}

void *fl_library_share(const void *handle, size_t number, void *(*make)(const void *table, size_t number), const void *table) {
  (void)pthread_mutex_lock(&lock);
  shared *const found = find(handle, number, make, table);
  if (found != NULL) {
    ++found->users;
  }
  (void)pthread_mutex_unlock(&lock);
  return found == NULL ? NULL : found->object;
}

void fl_library_release(const void *object, void (*drop)(const void *table, void *shared), const void *table) {
  (void)pthread_mutex_lock(&lock);
  shared **place = &all;
  while ((*place)->object != object) {
    place = &(*place)->next;
  }
  shared *const found = *place;
  if (--found->users == 0) {
    *place = found->next;
    drop(table, found->object);
    free(found);
  }
  (void)pthread_mutex_unlock(&lock);
}

fl_library_names fl_library_names_of(const fl_payload *payload) {
  const uint64_t steps = (uint64_t)payload->size * 8 + (uint64_t)fl_program_named_data_count(payload->program) * 8 + 65536;
  return (fl_library_names){payload->program, 0, steps};
}

fl_status fl_library_find_named(fl_library_names *names, const char *reader, uint32_t index, const char *key, uint32_t length, const void **data,
                                size_t *size) {
  const uint32_t count = memchr(key, 0, length) == NULL ? fl_program_named_data_count(names->program) : 0;
  const uint32_t cost = 1 + length / 32;
  const int shown = length < 80 ? (int)length : 80;
  for (uint32_t i = 0, at = names->next; i < count; ++i, ++at) {
    at = at < count ? at : 0;
    if (names->budget < cost) {
      return fl_library_fail(FL_NOT_SUPPORTED, "%s %u: finding '%.*s' among %u named data takes too long: put named data in the order of the %ss", reader,
                             index, shown, key, count, reader);
    }
    names->budget -= cost;
    const char *const name = fl_program_named_data_key(names->program, at);
    if (strncmp(name, key, length) == 0 && name[length] == 0 && fl_program_named_data_at(names->program, at, data, size)) {
      names->next = at + 1;
      return FL_OK;
    }
  }
  return fl_library_fail(FL_NOT_FOUND, "%s %u: the program has no named data '%.*s', which holds its weights", reader, index, shown, key);
}

static _Thread_local char last_message[400];

fl_status fl_library_fail(fl_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(last_message, sizeof last_message, format, arguments);
  va_end(arguments);
  return status;
}

const char *fl_library_message(void) { return last_message; }

int fl_library_adds_in_32_bits(void) {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const int has_avx512_vnni = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 11 & 1u) != 0;
  return has_avx512_vnni || (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1u) != 0);
#else
  return 1;
#endif
}

uint32_t fl_library_adler32(const uint8_t *data, size_t size) {
  enum { PRIME = 65521, RUN = 5552 }; /* RUN bytes cannot overflow the sums */
  uint32_t low = 1, high = 0;
  while (size > 0) {
    const size_t run = size < RUN ? size : RUN;
    for (size_t i = 0; i < run; ++i) {
      low += data[i];
      high += low;
    }
    low %= PRIME;
    high %= PRIME;
    data += run;
    size -= run;
  }
  return high << 16 | low;
}
