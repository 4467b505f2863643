/* Reads payloads, and the options of an application. */
#ifndef FLAMBEAU_OPENVINO_PAYLOAD_H
#define FLAMBEAU_OPENVINO_PAYLOAD_H

#include "library.h"

typedef struct ov_payload {
  int is_compiled;       /* 1: the model is OpenVINO's export; 0: it is text, with constants */
  int is_lines;          /* 1: the model is lines, of which fl_ov_write_model makes OpenVINO's text */
  int is_labelled;       /* 1: the payload has a label, so the fields from it are set */
  const char *model;
  char *written;         /* the model, to be freed, where it is not the payload's; else NULL */
  const uint8_t *constants;
  size_t model_bytes;
  size_t constant_bytes;
  uint32_t inputs;
  uint32_t outputs;
} ov_payload;

enum { OV_DEVICE_BYTES = 80, OV_PROPERTIES = 7 };

typedef struct ov_settings {
  const char *library;
  char device[OV_DEVICE_BYTES];
  char precision[8];
  const char *properties[2 * OV_PROPERTIES]; /* names and values of OpenVINO's properties, alternating */
  size_t property_count;
  int is_measured; /* 1: OpenVINO measures the time of each layer */
} ov_settings;

/* Checks a payload, and stores its parts in `found`. */
fl_status fl_ov_read_payload(const fl_payload *payload, ov_payload *found);
/* Writes the text of the model for OpenVINO from the lines of the payload, with the places of its constants and of the weights that it names in one
 * block, from the first of them on: all stay in the program's memory. */
fl_status fl_ov_write_model(const fl_payload *payload, ov_payload *read);
/* Stores the settings of a delegate in `found`: the options of the application, or else those with which the payload was compiled. */
fl_status fl_ov_read_settings(const fl_backend *self, const fl_payload *payload, ov_settings *found);
/* Makes a compiled model from OpenVINO's export in a payload. */
fl_status fl_ov_import(const ov_library *library, ov_core *core, const ov_payload *payload, const ov_settings *set, ov_compiled_model **compiled);

#endif
