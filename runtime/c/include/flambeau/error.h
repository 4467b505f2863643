/* The status and the text of an error. */
#ifndef FLAMBEAU_ERROR_H
#define FLAMBEAU_ERROR_H

#include "flambeau/status.h"

#ifndef FL_ERROR_TEXT
#define FL_ERROR_TEXT 512
#endif

/* Filled by each function of the library that fails. The text is one zero-terminated line, which names the method, the instruction, the operator
 * and the argument concerned; a text that is too long is cut and ends in "...". Belongs to the caller. Every function accepts a NULL pointer
 * instead, and then writes no text. */
typedef struct fl_error {
  fl_status status;
  char text[FL_ERROR_TEXT];
} fl_error;

#endif
