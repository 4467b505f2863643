/* An error in words. */
#ifndef FLAMBEAU_ERROR_H
#define FLAMBEAU_ERROR_H

#include "flambeau/status.h"

#ifndef FL_ERROR_TEXT
#define FL_ERROR_TEXT 512
#endif

/* Filled by each function of the library that fails: one line that names the method, the instruction, the operator and the argument concerned,
 * zero-terminated, ending in "..." when it was too long. Belongs to the caller; a NULL pointer is accepted everywhere and loses the text only. */
typedef struct fl_error {
  fl_status status;
  char text[FL_ERROR_TEXT];
} fl_error;

#endif
