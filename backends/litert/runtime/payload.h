/* Reads payloads, and the options of an application. */
#ifndef FLAMBEAU_LITERT_PAYLOAD_H
#define FLAMBEAU_LITERT_PAYLOAD_H

#include "library.h"

typedef struct lrt_payload {
  const void *model;
  size_t size;
  uint32_t inputs;
  uint32_t outputs;
  const uint8_t *ranges; /* of the first sizes of the inputs that the run decides; NULL if it decides none */
} lrt_payload;

typedef struct lrt_settings {
  const char *library;
  int mode; /* the kernels, by LiteRT's number */
  int threads;
  int says_all; /* 1: LiteRT writes what it does to standard error */
} lrt_settings;

/* Checks a payload, and stores its parts in `found`. */
fl_status fl_lrt_read_payload(const fl_payload *payload, lrt_payload *found);
/* Returns the least first size of input `index`, and stores the greatest in `most`. */
uint32_t fl_lrt_least_size(const lrt_payload *payload, size_t index, uint32_t *most);
/* Stores the settings of a delegate in `found`: the options of the application, or else those with which the payload was compiled. */
fl_status fl_lrt_read_settings(const fl_backend *self, const fl_payload *payload, lrt_settings *found);

#endif
