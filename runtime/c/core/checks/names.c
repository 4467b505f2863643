/* Checks the names of a program's named data, so that a name finds one blob. */
#include "core/schema.h"

/* There is no memory for the hashes of all names: a pass compares all names with those of a block. Most are not in the block's filter, a bit for
 * each value of a hash's low bits. */
#define BLOCK 128u
#define FILTER_BITS 1024u

typedef struct fl_block {
  uint32_t first; /* index of the first name */
  uint32_t count;
  uint32_t hashes[BLOCK];
  uint8_t filter[FILTER_BITS / 8];
} fl_block;

static fl_vector fl_name_at(fl_vector named, uint32_t index) { return fl_child(fl_element(named, index), NAMED_KEY); }

/* Returns the FNV-1a hash of the words of 4 bytes of a name, and of the bytes behind the last word. */
static uint32_t fl_hash(fl_vector name) {
  uint32_t hash = 2166136261u ^ fl_length(name);
  uint32_t i = 0;
  for (; fl_length(name) - i >= 4; i += 4) {
    hash = (hash ^ fl_read_u32(fl_items_of(name) + i)) * 16777619u;
  }
  for (; i < fl_length(name); ++i) {
    hash = (hash ^ fl_items_of(name)[i]) * 16777619u;
  }
  return hash ^ hash >> 16;
}

/* Returns the index of a name in the block that is equal to `name`; `none` if there is none. Adds the steps of the search to `cost`. */
static uint32_t fl_find_equal(fl_vector named, const fl_block *block, fl_vector name, uint32_t hash, uint32_t none, uint32_t *cost) {
  if (((uint32_t)block->filter[hash % FILTER_BITS / 8] >> hash % 8 & 1u) == 0) {
    return none;
  }
  *cost += BLOCK / 4;
  for (uint32_t i = 0; i < block->count; ++i) {
    if (block->hashes[i] == hash) {
      const fl_vector other = fl_name_at(named, block->first + i);
      *cost += fl_length(name) / 4;
      if (fl_length(other) == fl_length(name) && memcmp(fl_items_of(other), fl_items_of(name), fl_length(name)) == 0) {
        return block->first + i;
      }
    }
  }
  return none;
}

static fl_status fl_check_block(const fl_program *program, fl_vector named, uint32_t first, uint32_t *budget, fl_error *error) {
  fl_block block = {.first = first};
  for (uint32_t i = first; i < fl_length(named); ++i) {
    const fl_vector name = fl_name_at(named, i);
    uint32_t cost = 32 + fl_length(name) / 4;
    if (*budget < cost) {
      return FL_ERROR(error, MANY_NAMES, FL_NUMBER(fl_length(named)), FL_NUMBER(program->flatbuffer_size));
    }
    const uint32_t hash = fl_hash(name);
    const uint32_t equal = fl_find_equal(named, &block, name, hash, i, &cost);
    if (equal != i) {
      return FL_ERROR(error, SAME_NAMES, FL_TEXT(fl_items_of(name)), FL_NUMBER(equal), FL_NUMBER(i));
    }
    if (block.count < BLOCK) {
      if (memchr(fl_items_of(name), 0, fl_length(name)) != NULL) {
        return FL_ERROR(error, ZERO_IN_NAME, FL_NUMBER(i));
      }
      block.hashes[block.count++] = hash;
      block.filter[hash % FILTER_BITS / 8] |= (uint8_t)(1u << hash % 8);
    }
    *budget -= cost < *budget ? cost : *budget;
  }
  return FL_OK;
}

fl_status fl_check_names(const fl_program *program, fl_error *error) {
  const fl_vector named = fl_child_vector(program->root, PROGRAM_NAMED_DATA);
  uint32_t budget = fl_budget(program);
  fl_status status = FL_OK;
  for (uint32_t first = 0; first < fl_length(named) && status == FL_OK; first += BLOCK) {
    status = fl_check_block(program, named, first, &budget, error);
  }
  return status;
}
