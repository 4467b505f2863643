/* Backends that the library was built with: none. An application passes its own in fl_registry. */
#include "flambeau/backend.h"

const fl_backend *const *fl_builtin_backends(size_t *count) {
  *count = 0;
  return NULL;
}
