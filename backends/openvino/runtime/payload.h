/* What a payload and the options of an application say. */
#ifndef FLAMBEAU_OPENVINO_PAYLOAD_H
#define FLAMBEAU_OPENVINO_PAYLOAD_H

#include "library.h"

typedef struct ov_payload {
  int is_compiled;       /* the model is what OpenVINO exports; else it is text, with constants */
  int is_labelled;       /* what follows from the label is known */
  const char *model;
  const uint8_t *constants;
  size_t model_bytes;
  size_t constant_bytes;
  uint32_t inputs;
  uint32_t outputs;
} ov_payload;

enum { OV_DEVICE_BYTES = 80, OV_PROPERTIES = 5 };

typedef struct ov_settings {
  const char *library;
  char device[OV_DEVICE_BYTES];
  char precision[8];
  const char *properties[2 * OV_PROPERTIES]; /* names and values, as OpenVINO has them */
  size_t property_count;
} ov_settings;

/* Checks a payload, and finds its parts. */
fl_status fl_ov_read_payload(const fl_payload *payload, ov_payload *found);
/* The options of the application, else those that the payload was compiled with. */
fl_status fl_ov_read_settings(const fl_backend *self, const fl_payload *payload, ov_settings *found);
/* Makes a model of what OpenVINO has exported. */
fl_status fl_ov_import(const ov_library *library, ov_core *core, const ov_payload *payload, const ov_settings *set, ov_compiled_model **compiled);

#endif
