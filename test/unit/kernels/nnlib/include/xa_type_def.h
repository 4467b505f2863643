/* The types of nnlib's interface. */
#ifndef XA_TYPE_DEF_H
#define XA_TYPE_DEF_H

#include <stdint.h>

typedef int8_t WORD8;
typedef uint8_t UWORD8;
typedef int32_t WORD32;

#endif
