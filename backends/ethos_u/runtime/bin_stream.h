/* The payload that Vela's result becomes: blocks with names. Source: backends/arm/runtime/VelaBinStream.h of ExecuTorch 1.5. */
#ifndef FLAMBEAU_ETHOS_U_BIN_STREAM_H
#define FLAMBEAU_ETHOS_U_BIN_STREAM_H

#include "flambeau/backend.h"

/* Bytes in the payload, or in the named data of the program. */
typedef struct ethos_u_block {
  const uint8_t *data;
  size_t size;
} ethos_u_block;

typedef struct ethos_u_stream {
  ethos_u_block commands; /* the actions of the driver, with the command stream */
  ethos_u_block weights;
  ethos_u_block arguments[2]; /* a place for each input and for each output */
  size_t scratch;             /* bytes of the memory in which they and all between them lie */
  uint32_t counts[2];         /* of inputs and outputs */
} ethos_u_stream;

/* An input or an output. */
typedef struct ethos_u_argument {
  size_t element_bytes;
  size_t offset; /* in the scratch memory */
  size_t bytes;
} ethos_u_argument;

/* Reads a payload and checks every part of it. On failure sets `*message` to the reason. */
fl_status fl_ethos_u_read(const fl_payload *payload, ethos_u_stream *stream, const char **message);
/* Returns argument `index` of a stream that was read: first the inputs, then the outputs. */
ethos_u_argument fl_ethos_u_argument(const ethos_u_stream *stream, uint32_t index);

#endif
