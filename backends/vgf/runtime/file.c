/* Reads VGF files: schema/vgf.fbs of Arm's VGF library. */
#include "file.h"

#include <string.h>

#include "flambeau/library.h"

enum { HEADER = 128, SECTIONS = 4, CONSTANTS_HEADER = 16, CONSTANT = 24, LABEL = 8 };
enum { INPUT, OUTPUT, INTERMEDIATE, CONSTANT_RESOURCE };
enum { GRAPH = 1, SPIRV = 1 };
enum { DENSE = -1 }; /* of the dimension in which a constant is sparse */

/* Fields of the tables */
enum { MODULES = 0, MODULE_TYPE = 0, MODULE_ENTRY = 2, MODULE_CODE_TYPE = 3, MODULE_CODE = 4, CODE_WORDS = 0 };
enum { SEGMENTS = 0, SEGMENT_TYPE = 0, SEGMENT_MODULE = 2, SEGMENT_SETS = 3, SEGMENT_INPUTS = 4, SEGMENT_OUTPUTS = 5, SEGMENT_CONSTANTS = 6 };
enum { SLOT_BINDING = 0, SLOT_RESOURCE = 1 };
enum { RESOURCES = 0, RESOURCE_FORMAT = 1, RESOURCE_CATEGORY = 2, RESOURCE_DESCRIPTION = 3, DESCRIPTION_SHAPE = 0 };

static fl_status damaged(const char *what) { return fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged or unsupported: %s", what); }

/* ---- The file ---- */

static int open_section(const fl_payload *payload, uint32_t index, fl_flatbuffer *section) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  const uint64_t at = fl_flatbuffer_number(data + 16 + 16 * index, 8), size = fl_flatbuffer_number(data + 24 + 16 * index, 8);
  const int fits = at >= HEADER && at <= payload->size && size <= payload->size - at && size <= INT32_MAX;
  *section = (fl_flatbuffer){fits ? data + at : data, fits ? (uint32_t)size : 0};
  return fits;
}

/* Finds the words of the module that the only segment calls. */
static fl_status read_module(const fl_payload *payload, vgf_file *file, uint32_t segment) {
  fl_flatbuffer in;
  uint32_t count = 0, words = 0, name = 0;
  const uint64_t index = fl_flatbuffer_value(&file->sequence, segment, SEGMENT_MODULE, 4, 0);
  (void)open_section(payload, 0, &in);
  const uint32_t modules = fl_flatbuffer_vector(&in, fl_flatbuffer_root(&in), MODULES, 4, &count);
  const uint32_t module = index < count ? fl_flatbuffer_element(&in, modules, (uint32_t)index) : 0;
  const uint32_t code = fl_flatbuffer_target(&in, fl_flatbuffer_field(&in, module, MODULE_CODE, 4));
  if (fl_flatbuffer_value(&in, module, MODULE_TYPE, 1, 0) != GRAPH || fl_flatbuffer_value(&in, module, MODULE_CODE_TYPE, 1, 0) != SPIRV) {
    return damaged("its segment calls no graph in SPIR-V");
  }
  const uint32_t at = fl_flatbuffer_vector(&in, code, CODE_WORDS, 4, &words), entry = fl_flatbuffer_vector(&in, module, MODULE_ENTRY, 1, &name);
  if (entry == 0 || fl_flatbuffer_checked(&in, entry, (uint64_t)name + 1) == 0 || in.data[entry + name] != 0 || memchr(in.data + entry, 0, name) != NULL) {
    return damaged("its graph has no name");
  }
  if (words < 5 || fl_flatbuffer_number(in.data + at, 4) != 0x07230203 || (uintptr_t)(in.data + at) % 4 != 0) {
    return damaged("its module is not in SPIR-V");
  }
  file->words = (const uint32_t *)(const void *)(in.data + at);
  file->word_count = words;
  file->entry = (const char *)in.data + entry;
  for (size_t next = 5; next < words;) { /* each instruction says its length */
    const size_t length = file->words[next] >> 16;
    if (length == 0 || length > words - next) {
      return damaged("an instruction of its module ends behind it");
    }
    next += length;
  }
  return FL_OK;
}

static fl_status read_segment(const fl_payload *payload, vgf_file *file) {
  const fl_flatbuffer *const in = &file->sequence;
  uint32_t count = 0, sets = 0;
  const uint32_t segments = fl_flatbuffer_vector(in, fl_flatbuffer_root(in), SEGMENTS, 4, &count);
  const uint32_t segment = count == 1 ? fl_flatbuffer_element(in, segments, 0) : 0;
  if (segment == 0 || fl_flatbuffer_value(in, segment, SEGMENT_TYPE, 1, 0) != GRAPH) {
    return damaged("it is not one graph");
  }
  (void)fl_flatbuffer_vector(in, segment, SEGMENT_SETS, 4, &sets);
  file->slots[INPUT] = fl_flatbuffer_vector(in, segment, SEGMENT_INPUTS, 4, &file->counts[INPUT]);
  file->slots[OUTPUT] = fl_flatbuffer_vector(in, segment, SEGMENT_OUTPUTS, 4, &file->counts[OUTPUT]);
  file->used = fl_flatbuffer_vector(in, segment, SEGMENT_CONSTANTS, 4, &file->used_count);
  if (sets != 1 || file->counts[OUTPUT] == 0) {
    return damaged("its graph has no outputs, or several sets of descriptors");
  }
  return read_module(payload, file, segment);
}

static uint64_t category(const vgf_file *file, uint64_t resource) {
  return fl_flatbuffer_value(&file->resources, fl_flatbuffer_element(&file->resources, file->first_resource, (uint32_t)resource), RESOURCE_CATEGORY, 1, 0);
}

/* Checks that the bindings are of the inputs and outputs in their order. */
static fl_status check_arguments(const vgf_file *file) {
  uint32_t next = 0;
  for (uint32_t side = INPUT; side <= OUTPUT; ++side) {
    for (uint32_t i = 0; i < file->counts[side]; ++i, ++next) {
      while (next < file->resource_count && category(file, next) == CONSTANT_RESOURCE) {
        ++next;
      }
      const uint32_t slot = fl_flatbuffer_element(&file->sequence, file->slots[side], i);
      if (slot == 0 || next == file->resource_count || category(file, next) != side || fl_flatbuffer_value(&file->sequence, slot, SLOT_RESOURCE, 4, 0) != next) {
        return damaged("its inputs or outputs are not in the order of its resources");
      }
    }
  }
  for (; next < file->resource_count; ++next) {
    if (category(file, next) != CONSTANT_RESOURCE) {
      return damaged("it has resources that its graph does not name");
    }
  }
  return FL_OK;
}

static fl_status read_constants(const fl_payload *payload, vgf_file *file) {
  fl_flatbuffer in;
  (void)open_section(payload, 3, &in);
  if (in.size == 0) {
    return FL_OK;
  }
  if (in.size < CONSTANTS_HEADER || memcmp(in.data, "CONST00", 8) != 0) {
    return damaged("its constants are in another form");
  }
  file->constant_count = fl_flatbuffer_number(in.data + 8, 8);
  if (file->constant_count > (in.size - CONSTANTS_HEADER) / CONSTANT) {
    return damaged("its constants end behind it");
  }
  file->constants = in.data + CONSTANTS_HEADER;
  file->constant_data = file->constants + CONSTANT * file->constant_count;
  file->constant_bytes = in.size - CONSTANTS_HEADER - CONSTANT * file->constant_count;
  return FL_OK;
}

/* Checks that the file ends with our label, which has the checksum of all bytes before it; or, in one of another compiler, with its last section. */
static fl_status check_label(const fl_payload *payload) {
  const uint8_t *const data = (const uint8_t *)payload->data, *const label = data + payload->size - LABEL;
  uint64_t end = HEADER;
  if (memcmp(label, "FLVG", 4) == 0) {
    const int is_whole = fl_flatbuffer_number(label + 4, 4) == fl_library_adler32(data, payload->size - LABEL);
    return is_whole ? FL_OK : damaged("it has another checksum than its label says");
  }
  for (uint32_t i = 0; i < SECTIONS; ++i) {
    fl_flatbuffer section;
    (void)open_section(payload, i, &section);
    const uint64_t last = (uint64_t)(section.data - data) + section.size;
    end = last > end ? last : end;
  }
  return payload->size <= (end + 7) / 8 * 8 ? FL_OK : damaged("what is behind its last section is not its label");
}

fl_status fl_vgf_read(const fl_payload *payload, vgf_file *file) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  memset(file, 0, sizeof *file);
  if (payload->size < HEADER || memcmp(data, "VGF1", 4) != 0) {
    return damaged("it does not begin as a VGF file");
  }
  if (data[8] != 0) {
    return damaged("it is of a newer version of the format than 0");
  }
  fl_status status = check_label(payload);
  if (status != FL_OK) {
    return status;
  }
  for (uint32_t i = 0; i < SECTIONS; ++i) {
    if (!open_section(payload, i, &file->sequence)) {
      return damaged("a section ends behind it");
    }
  }
  (void)open_section(payload, 1, &file->sequence);
  (void)open_section(payload, 2, &file->resources);
  file->first_resource = fl_flatbuffer_vector(&file->resources, fl_flatbuffer_root(&file->resources), RESOURCES, 4, &file->resource_count);
  status = read_segment(payload, file);
  status = status == FL_OK ? read_constants(payload, file) : status;
  return status == FL_OK ? check_arguments(file) : status;
}

/* ---- Tensors ---- */

int fl_vgf_dtype(int32_t format) {
  static const int32_t formats[][2] = {{13, FL_UINT8},    {14, FL_INT8},     {75, FL_INT16},  {76, FL_FLOAT16},
                                       {99, FL_INT32},    {100, FL_FLOAT32}, {111, FL_INT64}, {1000460000, FL_BOOL}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    if (formats[i][0] == format) {
      return formats[i][1];
    }
  }
  return -1;
}

static fl_status read_tensor(const vgf_file *file, uint64_t index, vgf_tensor *tensor) {
  const fl_flatbuffer *const in = &file->resources;
  const uint32_t resource = index < file->resource_count ? fl_flatbuffer_element(in, file->first_resource, (uint32_t)index) : 0;
  uint32_t rank = 0;
  const uint32_t shape = fl_flatbuffer_vector(in, fl_flatbuffer_target(in, fl_flatbuffer_field(in, resource, RESOURCE_DESCRIPTION, 4)), DESCRIPTION_SHAPE, 8, &rank);
  *tensor = (vgf_tensor){.format = (int32_t)fl_flatbuffer_value(in, resource, RESOURCE_FORMAT, 4, 0), .rank = rank > 0 ? rank : 1, .sizes = {1}, .elements = 1};
  if (rank > VGF_MOST_RANK || fl_vgf_dtype(tensor->format) < 0) {
    return damaged("a tensor has too many dimensions, or elements of another type");
  }
  for (uint32_t i = 0; i < rank; ++i) {
    tensor->sizes[i] = (int64_t)fl_flatbuffer_number(in->data + shape + 8 * i, 8);
    if (tensor->sizes[i] < 1 || (uint64_t)tensor->sizes[i] > INT32_MAX / tensor->elements) {
      return damaged("a tensor has an unknown size, or is too large");
    }
    tensor->elements *= (uint64_t)tensor->sizes[i];
  }
  return FL_OK;
}

fl_status fl_vgf_argument(const vgf_file *file, uint32_t index, vgf_tensor *tensor, uint32_t *binding) {
  const uint32_t side = index < file->counts[INPUT] ? INPUT : OUTPUT;
  const uint32_t slot = fl_flatbuffer_element(&file->sequence, file->slots[side], side == INPUT ? index : index - file->counts[INPUT]);
  *binding = (uint32_t)fl_flatbuffer_value(&file->sequence, slot, SLOT_BINDING, 4, 0);
  return read_tensor(file, fl_flatbuffer_value(&file->sequence, slot, SLOT_RESOURCE, 4, 0), tensor);
}

fl_status fl_vgf_constant(const vgf_file *file, uint32_t index, vgf_tensor *tensor, const uint8_t **data) {
  const uint64_t constant = fl_flatbuffer_number(file->sequence.data + file->used + 4 * index, 4);
  if (constant >= file->constant_count) {
    return damaged("its graph reads a constant that is not there");
  }
  const uint8_t *const told = file->constants + CONSTANT * constant;
  const uint64_t size = fl_flatbuffer_number(told + 8, 8), at = fl_flatbuffer_number(told + 16, 8);
  const fl_status status = read_tensor(file, fl_flatbuffer_number(told, 4), tensor);
  if (status != FL_OK) {
    return status;
  }
  if ((int32_t)fl_flatbuffer_number(told + 4, 4) != DENSE) {
    return damaged("a constant is sparse");
  }
  const uint64_t needed = tensor->elements * fl_dtype_size((int8_t)fl_vgf_dtype(tensor->format));
  if (at > file->constant_bytes || size > file->constant_bytes - at || size < needed) {
    return damaged("a constant ends behind it");
  }
  *data = file->constant_data + at;
  return FL_OK;
}
