/* Reads a payload, which is a VGF file of one graph. */
#ifndef FLAMBEAU_VGF_FILE_H
#define FLAMBEAU_VGF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "flambeau/backend.h"
#include "flambeau/flatbuffer.h"

enum { VGF_MOST_RANK = 16 };

/* A tensor of the file. A scalar has one dimension of size 1 here. */
typedef struct vgf_tensor {
  int32_t format; /* of Vulkan */
  uint32_t rank;
  int64_t sizes[VGF_MOST_RANK];
  uint64_t elements;
} vgf_tensor;

typedef struct vgf_file {
  fl_flatbuffer resources;
  uint32_t first_resource;
  uint32_t resource_count;
  const uint8_t *constants; /* what describes each constant, 24 bytes */
  uint64_t constant_count;
  const uint8_t *constant_data;
  uint64_t constant_bytes;
  const uint32_t *words; /* the module in SPIR-V */
  size_t word_count;
  const char *entry;
  fl_flatbuffer sequence;
  uint32_t slots[2]; /* where the bindings of the inputs and of the outputs are */
  uint32_t counts[2];
  uint32_t used; /* where the numbers of the constants are that the graph reads */
  uint32_t used_count;
} vgf_file;

/* Reads the file, and refuses one that is damaged or that has other parts than one graph. */
fl_status fl_vgf_read(const fl_payload *payload, vgf_file *file);
/* Stores argument `index` of the delegate, the inputs before the outputs, and the binding by which the graph knows it. */
fl_status fl_vgf_argument(const vgf_file *file, uint32_t index, vgf_tensor *tensor, uint32_t *binding);
/* Stores constant `index` of the graph and its bytes, in the file. */
fl_status fl_vgf_constant(const vgf_file *file, uint32_t index, vgf_tensor *tensor, const uint8_t **data);
/* Returns the type of the elements of a tensor, an fl_dtype; -1 for a format that is unknown. */
int fl_vgf_dtype(int32_t format);

#endif
