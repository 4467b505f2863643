/* Reads payloads, and the options of an application. */
#ifndef FLAMBEAU_ONNXRUNTIME_PAYLOAD_H
#define FLAMBEAU_ONNXRUNTIME_PAYLOAD_H

#include "library.h"

typedef struct ort_payload {
  const void *model;
  size_t size;
  uint32_t inputs;
  uint32_t outputs;
} ort_payload;

typedef struct ort_settings {
  const char *library;
  int threads;
  int says_all; /* nonzero: ONNX Runtime writes what it does to standard error */
} ort_settings;

/* Checks the label of a payload, and stores its parts in `found`. */
fl_status fl_ort_read_payload(const fl_payload *payload, ort_payload *found);
/* Stores the settings of a delegate in `found`. */
fl_status fl_ort_read_settings(const fl_backend *self, ort_settings *found);

#endif
