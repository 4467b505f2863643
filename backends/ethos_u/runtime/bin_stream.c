#include "bin_stream.h"

#include <string.h>

enum { NAME = 16, HEADER = 32, ALIGNMENT = 16, KEY = 64, DIMENSIONS = 6, ARGUMENT = 4 * (DIMENSIONS + 3) };
enum { COMMANDS, WEIGHTS, SCRATCH, INPUTS, OUTPUTS, END, BLOCKS };
enum { SCRATCH_REGION = 1 };

static const char *const names[BLOCKS] = {"cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream"};

static uint32_t number(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static fl_status refused(const char **message, const char *reason) {
  *message = reason;
  return FL_DELEGATE_INCOMPATIBLE;
}

/* Replaces a block that holds a key by the named data of the program. */
static fl_status resolve(const fl_payload *payload, ethos_u_block *block, const char **message) {
  char key[KEY + 1] = {0};
  const void *data = NULL;
  if (block->size != KEY) {
    return refused(message, "its payload is damaged: the key of a block has another size than 64");
  }
  memcpy(key, block->data, KEY);
  if (fl_program_named_data(payload->program, key, &data, &block->size, NULL) != FL_OK) {
    return refused(message, "the program lacks the named data of a block of its payload");
  }
  block->data = data;
  return FL_OK;
}

/* Finds the blocks; each may be there once. */
static fl_status find(const fl_payload *payload, ethos_u_block found[BLOCKS], const char **message) {
  const uint8_t *const data = payload->data;
  size_t place = HEADER;
  memset(found, 0, BLOCKS * sizeof *found);
  if (payload->size < HEADER || memcmp(data, "vela_bin_stream", NAME) != 0 || number(data + NAME) != 0) {
    return refused(message, "its payload is damaged: it does not begin as a Vela bin stream");
  }
  while (found[END].data == NULL) {
    if (payload->size - place < HEADER) {
      return refused(message, "its payload is damaged: it ends before its last block");
    }
    const uint8_t *const header = data + place;
    uint32_t kind = 0;
    while (kind < BLOCKS && strncmp((const char *)header, names[kind], NAME) != 0) {
      ++kind;
    }
    place += HEADER;
    const size_t size = number(header + NAME);
    const size_t room = payload->size - place;
    if (kind == BLOCKS || found[kind].data != NULL || size > room || (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT > room - size) {
      return refused(message, "its payload is damaged: a block is unknown, is there twice, or ends behind it");
    }
    found[kind] = (ethos_u_block){data + place, size};
    place += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const fl_status status = header[NAME + 4] == 0 ? FL_OK : resolve(payload, &found[kind], message);
    if (status != FL_OK) {
      return status;
    }
  }
  return place == payload->size ? FL_OK : refused(message, "its payload is damaged: bytes follow its last block");
}

/* Returns whether arguments lie in the scratch memory, and stores their number. */
static int are_inside(const ethos_u_block *block, size_t scratch, uint32_t *count) {
  if (block->size < 4 || (block->size - 4) % ARGUMENT != 0 || (block->size - 4) / ARGUMENT != number(block->data)) {
    return 0;
  }
  *count = number(block->data);
  for (const uint8_t *at = block->data + 4; at < block->data + block->size; at += ARGUMENT) {
    const uint32_t element = number(at + 4 * DIMENSIONS);
    const uint32_t offset = number(at + 4 * DIMENSIONS + 4);
    uint64_t bytes = element;
    for (uint32_t i = 0; i < DIMENSIONS; ++i) {
      const uint32_t size = number(at + 4 * (size_t)i);
      bytes = size > scratch || bytes > scratch ? UINT64_MAX : bytes * size;
    }
    if (element == 0 || element > 8 || offset > scratch || bytes > scratch - offset || number(at + 4 * DIMENSIONS + 8) != SCRATCH_REGION) {
      return 0;
    }
  }
  return 1;
}

fl_status fl_ethos_u_read(const fl_payload *payload, ethos_u_stream *stream, const char **message) {
  ethos_u_block found[BLOCKS];
  const fl_status status = find(payload, found, message);
  if (status != FL_OK) {
    return status;
  }
  for (uint32_t i = 0; i < END; ++i) {
    if (found[i].data == NULL) {
      return refused(message, "its payload is damaged: it lacks a block");
    }
  }
  if (found[SCRATCH].size < 4 || found[COMMANDS].size < 4 || found[COMMANDS].size > INT32_MAX || found[END].size != 0) {
    return refused(message, "its payload is damaged: a block has a wrong size");
  }
  if (memcmp(found[COMMANDS].data, "COP", 3) != 0) {
    return refused(message, "its payload is damaged: its commands do not begin as those of the driver");
  }
  if ((uintptr_t)found[COMMANDS].data % ALIGNMENT != 0 || (uintptr_t)found[WEIGHTS].data % ALIGNMENT != 0) {
    return refused(message, "its payload does not lie at a multiple of 16 bytes, as the NPU needs it");
  }
  stream->commands = found[COMMANDS];
  stream->weights = found[WEIGHTS];
  stream->scratch = number(found[SCRATCH].data);
  for (uint32_t i = 0; i < 2; ++i) {
    stream->arguments[i] = found[INPUTS + i];
    if (!are_inside(&found[INPUTS + i], stream->scratch, &stream->counts[i])) {
      return refused(message, "its payload is damaged: an input or an output does not lie in the scratch memory");
    }
  }
  return FL_OK;
}

ethos_u_argument fl_ethos_u_argument(const ethos_u_stream *stream, uint32_t index) {
  const int is_output = index >= stream->counts[0];
  const uint8_t *const at = stream->arguments[is_output].data + 4 + (size_t)ARGUMENT * (is_output ? index - stream->counts[0] : index);
  ethos_u_argument found = {.element_bytes = number(at + 4 * DIMENSIONS), .offset = number(at + 4 * DIMENSIONS + 4)};
  found.bytes = found.element_bytes;
  for (uint32_t i = 0; i < DIMENSIONS; ++i) {
    found.bytes *= number(at + 4 * (size_t)i);
  }
  return found;
}
