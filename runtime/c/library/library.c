/* Libraries that are found when a program is loaded: their functions, what their users share, and the reasons of failures. */
#include "flambeau/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *fl_library_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

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
  void *object;
  size_t users;
} shared;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static shared *all;

/* Returns what is shared already, or a new one without users; NULL when it cannot be made. The caller holds the lock. */
static shared *find(const void *handle, size_t number, void *(*make)(const void *table, size_t number), const void *table) {
  shared *found = all;
  while (found != NULL && (found->handle != handle || found->number != number)) {
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
  *found = (shared){all, handle, number, object, 0};
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

static _Thread_local char last_message[400];

fl_status fl_library_fail(fl_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(last_message, sizeof last_message, format, arguments);
  va_end(arguments);
  return status;
}

const char *fl_library_message(void) { return last_message; }
