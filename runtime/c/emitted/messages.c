/* The texts of failures of fl_resize, for programs that are emitted with their sources. The library has them in its core. */
#include "core/internal.h"

#define FL_MESSAGE(number, name, status, text) const char fl_text_##name[] = text;
#include "flambeau/messages.def"
