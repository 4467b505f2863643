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

/* ---- FlatBuffers. Position 0 stands for what is absent; what is outside of the section is absent too ---- */

static uint64_t number(const uint8_t *at, uint32_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes);
  return value;
}

static uint32_t checked(const vgf_section *in, uint64_t at, uint64_t bytes) {
  return at != 0 && at <= in->size && bytes <= in->size - at ? (uint32_t)at : 0;
}

static uint32_t field(const vgf_section *in, uint32_t table, uint32_t id, uint32_t bytes) {
  if (checked(in, table, 4) == 0) {
    return 0;
  }
  const int64_t start = (int64_t)table - (int32_t)number(in->data + table, 4);
  const uint32_t fields = start > 0 ? checked(in, (uint64_t)start, 4) : 0;
  const uint64_t length = fields == 0 ? 0 : number(in->data + fields, 2);
  if (6 + 2 * (uint64_t)id > length || checked(in, fields, length) == 0) {
    return 0;
  }
  const uint64_t offset = number(in->data + fields + 4 + 2 * id, 2);
  return offset < 4 ? 0 : checked(in, table + offset, bytes);
}

static uint64_t value(const vgf_section *in, uint32_t table, uint32_t id, uint32_t bytes, uint64_t otherwise) {
  const uint32_t at = field(in, table, id, bytes);
  return at == 0 ? otherwise : number(in->data + at, bytes);
}

static uint32_t target(const vgf_section *in, uint32_t at) { return at == 0 ? 0 : checked(in, at + number(in->data + at, 4), 4); }

/* Returns the first of the elements of a vector, and stores their number. */
static uint32_t vector(const vgf_section *in, uint32_t table, uint32_t id, uint32_t bytes, uint32_t *count) {
  const uint32_t at = target(in, field(in, table, id, 4));
  const uint64_t found = at == 0 ? 0 : number(in->data + at, 4);
  *count = at != 0 && checked(in, (uint64_t)at + 4, found * bytes) != 0 ? (uint32_t)found : 0;
  return *count == 0 ? 0 : at + 4;
}

static uint32_t element(const vgf_section *in, uint32_t first, uint32_t index) { return target(in, first + 4 * index); }

static uint32_t root(const vgf_section *in) { return in->size < 4 ? 0 : checked(in, number(in->data, 4), 4); }

/* ---- The file ---- */

static int open_section(const fl_payload *payload, uint32_t index, vgf_section *section) {
  const uint8_t *const data = (const uint8_t *)payload->data;
  const uint64_t at = number(data + 16 + 16 * index, 8), size = number(data + 24 + 16 * index, 8);
  const int fits = at >= HEADER && at <= payload->size && size <= payload->size - at && size <= INT32_MAX;
  *section = (vgf_section){fits ? data + at : data, fits ? (uint32_t)size : 0};
  return fits;
}

/* Finds the words of the module that the only segment calls. */
static fl_status read_module(const fl_payload *payload, vgf_file *file, uint32_t segment) {
  vgf_section in;
  uint32_t count = 0, words = 0, name = 0;
  const uint64_t index = value(&file->sequence, segment, SEGMENT_MODULE, 4, 0);
  (void)open_section(payload, 0, &in);
  const uint32_t modules = vector(&in, root(&in), MODULES, 4, &count);
  const uint32_t module = index < count ? element(&in, modules, (uint32_t)index) : 0;
  const uint32_t code = target(&in, field(&in, module, MODULE_CODE, 4));
  if (value(&in, module, MODULE_TYPE, 1, 0) != GRAPH || value(&in, module, MODULE_CODE_TYPE, 1, 0) != SPIRV) {
    return damaged("its segment calls no graph in SPIR-V");
  }
  const uint32_t at = vector(&in, code, CODE_WORDS, 4, &words), entry = vector(&in, module, MODULE_ENTRY, 1, &name);
  if (entry == 0 || checked(&in, entry, (uint64_t)name + 1) == 0 || in.data[entry + name] != 0 || memchr(in.data + entry, 0, name) != NULL) {
    return damaged("its graph has no name");
  }
  if (words < 5 || number(in.data + at, 4) != 0x07230203 || (uintptr_t)(in.data + at) % 4 != 0) {
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
  const vgf_section *const in = &file->sequence;
  uint32_t count = 0, sets = 0;
  const uint32_t segments = vector(in, root(in), SEGMENTS, 4, &count);
  const uint32_t segment = count == 1 ? element(in, segments, 0) : 0;
  if (segment == 0 || value(in, segment, SEGMENT_TYPE, 1, 0) != GRAPH) {
    return damaged("it is not one graph");
  }
  (void)vector(in, segment, SEGMENT_SETS, 4, &sets);
  file->slots[INPUT] = vector(in, segment, SEGMENT_INPUTS, 4, &file->counts[INPUT]);
  file->slots[OUTPUT] = vector(in, segment, SEGMENT_OUTPUTS, 4, &file->counts[OUTPUT]);
  file->used = vector(in, segment, SEGMENT_CONSTANTS, 4, &file->used_count);
  if (sets != 1 || file->counts[OUTPUT] == 0) {
    return damaged("its graph has no outputs, or several sets of descriptors");
  }
  return read_module(payload, file, segment);
}

static uint64_t category(const vgf_file *file, uint64_t resource) {
  return value(&file->resources, element(&file->resources, file->first_resource, (uint32_t)resource), RESOURCE_CATEGORY, 1, 0);
}

/* Checks that the bindings are of the inputs and outputs in their order. */
static fl_status check_arguments(const vgf_file *file) {
  uint32_t next = 0;
  for (uint32_t side = INPUT; side <= OUTPUT; ++side) {
    for (uint32_t i = 0; i < file->counts[side]; ++i, ++next) {
      while (next < file->resource_count && category(file, next) == CONSTANT_RESOURCE) {
        ++next;
      }
      const uint32_t slot = element(&file->sequence, file->slots[side], i);
      if (slot == 0 || next == file->resource_count || category(file, next) != side || value(&file->sequence, slot, SLOT_RESOURCE, 4, 0) != next) {
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
  vgf_section in;
  (void)open_section(payload, 3, &in);
  if (in.size == 0) {
    return FL_OK;
  }
  if (in.size < CONSTANTS_HEADER || memcmp(in.data, "CONST00", 8) != 0) {
    return damaged("its constants are in another form");
  }
  file->constant_count = number(in.data + 8, 8);
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
    const int is_whole = number(label + 4, 4) == fl_library_adler32(data, payload->size - LABEL);
    return is_whole ? FL_OK : damaged("it has another checksum than its label says");
  }
  for (uint32_t i = 0; i < SECTIONS; ++i) {
    vgf_section section;
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
  file->first_resource = vector(&file->resources, root(&file->resources), RESOURCES, 4, &file->resource_count);
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
  const vgf_section *const in = &file->resources;
  const uint32_t resource = index < file->resource_count ? element(in, file->first_resource, (uint32_t)index) : 0;
  uint32_t rank = 0;
  const uint32_t shape = vector(in, target(in, field(in, resource, RESOURCE_DESCRIPTION, 4)), DESCRIPTION_SHAPE, 8, &rank);
  *tensor = (vgf_tensor){.format = (int32_t)value(in, resource, RESOURCE_FORMAT, 4, 0), .rank = rank > 0 ? rank : 1, .sizes = {1}, .elements = 1};
  if (rank > VGF_MOST_RANK || fl_vgf_dtype(tensor->format) < 0) {
    return damaged("a tensor has too many dimensions, or elements of another type");
  }
  for (uint32_t i = 0; i < rank; ++i) {
    tensor->sizes[i] = (int64_t)number(in->data + shape + 8 * i, 8);
    if (tensor->sizes[i] < 1 || (uint64_t)tensor->sizes[i] > INT32_MAX / tensor->elements) {
      return damaged("a tensor has an unknown size, or is too large");
    }
    tensor->elements *= (uint64_t)tensor->sizes[i];
  }
  return FL_OK;
}

fl_status fl_vgf_argument(const vgf_file *file, uint32_t index, vgf_tensor *tensor, uint32_t *binding) {
  const uint32_t side = index < file->counts[INPUT] ? INPUT : OUTPUT;
  const uint32_t slot = element(&file->sequence, file->slots[side], side == INPUT ? index : index - file->counts[INPUT]);
  *binding = (uint32_t)value(&file->sequence, slot, SLOT_BINDING, 4, 0);
  return read_tensor(file, value(&file->sequence, slot, SLOT_RESOURCE, 4, 0), tensor);
}

fl_status fl_vgf_constant(const vgf_file *file, uint32_t index, vgf_tensor *tensor, const uint8_t **data) {
  const uint64_t constant = number(file->sequence.data + file->used + 4 * index, 4);
  if (constant >= file->constant_count) {
    return damaged("its graph reads a constant that is not there");
  }
  const uint8_t *const told = file->constants + CONSTANT * constant;
  const uint64_t size = number(told + 8, 8), at = number(told + 16, 8);
  const fl_status status = read_tensor(file, number(told, 4), tensor);
  if (status != FL_OK) {
    return status;
  }
  if ((int32_t)number(told + 4, 4) != DENSE) {
    return damaged("a constant is sparse");
  }
  const uint64_t needed = tensor->elements * fl_dtype_size((int8_t)fl_vgf_dtype(tensor->format));
  if (at > file->constant_bytes || size > file->constant_bytes - at || size < needed) {
    return damaged("a constant ends behind it");
  }
  *data = file->constant_data + at;
  return FL_OK;
}
