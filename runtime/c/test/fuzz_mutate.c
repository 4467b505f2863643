/* Changes the fields of a program: operands, sizes, dim orders, dtypes, scalars, memory, jumps, lengths of lists, kernels, and tables that
 * two others share. */
#include "test/fuzz_places.h"

/* ---- Chance ---- */

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

chance chance_of(uint64_t seed, uint64_t index) { return (chance){mixed(seed * 0x9e3779b97f4a7c15u + mixed(index + 1)) | 1u}; }

uint64_t draw_bits(chance *c) {
  c->state ^= c->state << 13;
  c->state ^= c->state >> 7;
  c->state ^= c->state << 17;
  return c->state * 0x2545f4914f6cdd1du;
}

uint32_t draw(chance *c, uint32_t below) { return (uint32_t)((draw_bits(c) >> 32) % below); }

/* How often a kind is chosen. */
static const uint8_t weights[KINDS] = {
    [SLOT] = 24,   [PORT] = 4,    [LONG_SLOT] = 4, [SIZE] = 14,     [ORDER] = 6, [RANK] = 4,    [DTYPE] = 6, [DYNAMISM] = 5,
    [INTEGER] = 14, [REAL] = 5,    [BOOLEAN] = 4,   [ARENA] = 1,     [OFFSET] = 8, [MEMORY] = 2,  [BUFFER] = 3, [JUMP] = 4,
    [TARGET] = 8,  [LENGTH] = 6,  [REFERENCE] = 6, [TAG] = 2,       [CONTENT] = 4, [STEP] = 8,   [PLANNED] = 2,
};

/* ---- Changes ---- */

static void write_u32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }
static void write_i64(uint8_t *at, int64_t value) { memcpy(at, &value, sizeof value); }

static int64_t odd_integer(chance *c, int64_t old) {
  static const int64_t edges[] = {INT64_MIN,  INT64_MIN + 1, INT64_MAX, INT32_MIN, INT32_MAX, (int64_t)INT32_MAX + 1,
                                  UINT32_MAX, -65536,        65535,     255,       -129,      64,  1000};
  switch (draw(c, 8)) {
    case 0: return edges[draw(c, sizeof edges / sizeof *edges)];
    case 1: return (int64_t)((uint64_t)old + 1);
    case 2: return (int64_t)((uint64_t)old - 1);
    case 3: return (int64_t)(0 - (uint64_t)old);
    case 4: return (int64_t)draw(c, 32);
    default: return (int64_t)draw(c, 10) - 4;
  }
}

static double odd_real(chance *c) {
  static const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, 1e300, -1e300, 1e18, -1e19, 2147483648.0, 3.7, 127.5};
  const uint32_t i = draw(c, 20);
  const uint64_t bits = i == 15 ? 0x7ff8000000000000u : i == 16 ? 0x7ff0000000000000u : i == 17 ? 0xfff0000000000000u : draw_bits(c);
  double value;
  memcpy(&value, &bits, sizeof value);
  return i < 15 ? edges[i] : value;
}

static int32_t odd_size(chance *c, int32_t old) {
  static const int32_t sizes[] = {0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 100};
  switch (draw(c, 16)) {
    case 0: return 1 << draw(c, 31);
    case 1: return INT32_MAX;
    case 2: return (int32_t)((uint32_t)old * 2);
    case 3: return (int32_t)((uint32_t)old + 1);
    default: return sizes[draw(c, sizeof sizes / sizeof *sizes)];
  }
}

static const int8_t dtypes[] = {
#define FL_SCALAR_TYPE(constant, ...) FL_##constant,
#include "flambeau/scalar_types.def"
};

/* Returns the index of a random value, in most cases one of the kind of value `old`. */
static uint32_t other_value(const fuzz_places *p, const uint8_t *file, uint32_t old, chance *c) {
  uint32_t found = draw(c, p->value_count);
  const uint32_t most = draw(c, 4) == 0 ? 0 : 8;
  for (uint32_t tries = 0; tries < most && old < p->value_count && file[p->values[found].tag] != file[p->values[old].tag]; ++tries) {
    found = draw(c, p->value_count);
  }
  return draw(c, 64) == 0 ? found - 1 : found;
}

static void change_slot(const fuzz_places *p, const place *at, uint8_t *file, chance *c) {
  const uint32_t *starts = &p->starts[at->kind];
  const uint32_t own = (uint32_t)(at - p->all);
  const uint32_t near = own + draw(c, 9);
  const uint32_t old = fl_read_u32(file + at->at);
  if (draw(c, 2) == 0 && near >= starts[0] + 4 && near - 4 < starts[1]) {
    /* The same value as a neighbour, or in its place. */
    const place *neighbour = &p->all[near - 4];
    write_u32(file + at->at, fl_read_u32(file + neighbour->at));
    if (draw(c, 2) == 0) {
      write_u32(file + neighbour->at, old);
    }
    return;
  }
  write_u32(file + at->at, other_value(p, file, old, c));
}

static void change_reference(const fuzz_places *p, const place *at, uint8_t *file, chance *c) {
  const uint32_t first = p->starts[REFERENCE];
  const uint32_t count = p->starts[REFERENCE + 1] - first;
  for (int tries = 0; tries < 16; ++tries) {
    const place *other = &p->all[first + draw(c, count)];
    const uint32_t own = at->at + fl_read_u32(file + at->at);
    const uint32_t target = other->at + fl_read_u32(file + other->at);
    if (other != at && other->group == at->group && target > at->at) {
      write_u32(file + at->at, target - at->at);
      if (own > other->at && draw(c, 2) == 0) {
        write_u32(file + other->at, own - other->at);
      }
      return;
    }
  }
}

static void change_rank(uint32_t table, uint8_t *file, chance *c) {
  const vector sizes = vector_at(file, table, TENSOR_SIZES);
  const vector order = vector_at(file, table, TENSOR_DIM_ORDER);
  if (sizes.count == 0 || order.count != sizes.count) {
    return;
  }
  const uint32_t rank = draw(c, sizes.count);
  write_u32(file + sizes.at - 4, rank);
  write_u32(file + order.at - 4, rank);
  for (uint32_t i = 0; i < rank; ++i) {
    file[order.at + i] = (uint8_t)i;
  }
}

/* Returns the index of a tensor with the dtype and rank of tensor `other`, if some tries find one. */
static uint32_t like_tensor(const fuzz_places *p, const uint8_t *file, uint32_t other, chance *c) {
  uint32_t found = other_value(p, file, other, c);
  for (int tries = 0; tries < 24; ++tries, found = other_value(p, file, other, c)) {
    if (found < p->value_count && other < p->value_count && found != other && file[p->values[found].tag] == VALUE_TENSOR &&
        file[p->values[other].tag] == VALUE_TENSOR) {
      const uint32_t tables[] = {child_at(file, p->values[found].value, VALUE_TABLE), child_at(file, p->values[other].value, VALUE_TABLE)};
      if (fl_field_u8(file + tables[0], TENSOR_SCALAR_TYPE) == fl_field_u8(file + tables[1], TENSOR_SCALAR_TYPE) &&
          vector_at(file, tables[0], TENSOR_SIZES).count == vector_at(file, tables[1], TENSOR_SIZES).count) {
        return found;
      }
    }
  }
  return found;
}

/* Turns an instruction into a move between similar tensors, or a jump. */
static void change_step(const fuzz_places *p, uint32_t instruction, uint8_t *file, chance *c) {
  const uint32_t table = child_at(file, instruction, INSTRUCTION_TABLE);
  const uint32_t first = draw(c, p->value_count);
  const int is_move = draw(c, 4) > 0;
  file[field_at(file, instruction, INSTRUCTION_TYPE)] = is_move ? INSTRUCTION_MOVE : INSTRUCTION_JUMP_FALSE;
  write_u32(file + field_at(file, table, MOVE_FROM), first);
  write_u32(file + field_at(file, table, MOVE_TO), is_move ? like_tensor(p, file, first, c) : draw(c, 8));
}

/* Removes the planned memory of a tensor table, and of all tensors that share its fields. */
static void take_from_arena(uint32_t table, uint8_t *file) {
  const uint32_t entry = table - fl_read_u32(file + table) + 4 + 2 * TENSOR_ALLOCATION;
  file[entry] = 0;
  file[entry + 1] = 0;
}

static void change_one(const fuzz_places *p, const place *at, uint8_t *file, chance *c) {
  uint8_t *byte = file + at->at;
  switch ((enum kind)at->kind) {
    case SLOT:
    case PORT: change_slot(p, at, file, c); break;
    case LONG_SLOT: write_i64(byte, (int64_t)other_value(p, file, fl_read_u32(byte), c)); break;
    case SIZE: write_u32(byte, (uint32_t)odd_size(c, fl_read_i32(byte))); break;
    case ORDER: {
      const uint8_t first = byte[0];
      byte[0] = byte[1];
      byte[1] = first;
      break;
    }
    case RANK: change_rank(at->at, file, c); break;
    case DTYPE: *byte = (uint8_t)dtypes[draw(c, sizeof dtypes)]; break;
    case DYNAMISM: *byte = (uint8_t)(*byte == 0); break;
    case INTEGER: write_i64(byte, odd_integer(c, fl_read_i64(byte))); break;
    case REAL: {
      const double value = odd_real(c);
      memcpy(byte, &value, sizeof value);
      break;
    }
    case BOOLEAN: *byte ^= 1; break;
    case ARENA: write_u32(byte, draw(c, 3)); break;
    case OFFSET: {
      const uint32_t first = p->starts[OFFSET];
      const uint32_t taken = fl_read_u32(file + p->all[first + draw(c, p->starts[OFFSET + 1] - first)].at);
      const uint32_t near = draw(c, 4) == 0 ? draw(c, 512) : taken + 4 * draw(c, 9) - 16;
      write_u32(byte, draw(c, 2) == 0 ? taken : near);
      break;
    }
    case MEMORY: write_i64(byte, draw(c, 3) == 0 ? odd_integer(c, fl_read_i64(byte)) : (int64_t)((uint64_t)fl_read_i64(byte) + draw(c, 4096))); break;
    case BUFFER: write_u32(byte, draw(c, 4)); break;
    case JUMP: write_u32(byte, draw(c, 12)); break;
    case TARGET: write_u32(byte, draw(c, 12)); break;
    case LENGTH: {
      const uint32_t old = fl_read_u32(byte);
      write_u32(byte, draw(c, 4) == 0 || old == 0 ? old + draw(c, 3) : draw(c, old));
      break;
    }
    case REFERENCE: change_reference(p, at, file, c); break;
    case TAG: *byte = (uint8_t)(1 + draw(c, at->group == 0 ? VALUE_OPTIONAL_TENSOR_LIST : INSTRUCTION_FREE)); break;
    case STEP: change_step(p, at->at, file, c); break;
    case PLANNED: take_from_arena(at->at, file); break;
    case CONTENT:
      if (draw(c, 8) == 0) {
        *byte = ' '; /* a text becomes a sentence */
        break;
      }
    /* fall through */
    default: *byte = draw(c, 2) == 0 ? (uint8_t)draw(c, 256) : (uint8_t)(*byte + draw(c, 9) - 4);
  }
}

/* Replaces every size of one number by another, every dtype of one kind by another, or makes all sizes bounds, so that tensors that fit together
 * still do. */
static void change_all(const fuzz_places *p, uint8_t *file, chance *c) {
  static const enum kind kinds[] = {SIZE, SIZE, SIZE, DTYPE, DTYPE, DYNAMISM};
  const enum kind kind = kinds[draw(c, sizeof kinds / sizeof *kinds)];
  const uint32_t first = p->starts[kind];
  const uint32_t last = p->starts[kind + 1];
  if (first == last) {
    return;
  }
  const uint32_t chosen = p->all[first + draw(c, last - first)].at;
  const uint32_t old = kind == SIZE ? fl_read_u32(file + chosen) : file[chosen];
  const uint32_t size = (uint32_t)odd_size(c, (int32_t)old);
  const uint8_t byte = kind == DTYPE ? (uint8_t)dtypes[draw(c, sizeof dtypes)] : (uint8_t)(old == 0);
  for (uint32_t i = first; i < last; ++i) {
    const uint32_t at = p->all[i].at;
    if (kind == SIZE && fl_read_u32(file + at) == old) {
      write_u32(file + at, size);
    } else if (kind != SIZE && file[at] == old) {
      file[at] = byte;
    }
  }
}

/* Gives all planned tensors memory of their own, and makes the arenas large enough. */
static void place_anew(const fuzz_places *p, uint8_t *file) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < p->tensor_count; ++i) {
    const uint32_t allocation = child_at(file, p->tensors[i], TENSOR_ALLOCATION);
    const uint32_t at = field_at(file, allocation, ALLOCATION_LOW);
    fl_tensor_record record;
    if (at == 0 || vector_at(file, p->tensors[i], TENSOR_SIZES).count > FL_MAX_RANK) {
      continue;
    }
    fl_read_tensor(file + p->tensors[i], &record);
    if (record.bytes > 1u << 16) {
      return;
    }
    write_u32(file + at, (uint32_t)total);
    total += (record.bytes + 15) / 16 * 16;
  }
  for (uint32_t i = p->starts[MEMORY]; i < p->starts[MEMORY + 1]; ++i) {
    if (fl_read_i64(file + p->all[i].at) < (int64_t)total) {
      write_i64(file + p->all[i].at, (int64_t)total);
    }
  }
}

/* Changes the memory plan: each planned tensor stays, takes the place of another, or gets any place in the arenas. */
static void replan(const fuzz_places *p, uint8_t *file, chance *c) {
  const uint32_t first = p->starts[OFFSET];
  const uint32_t count = p->starts[OFFSET + 1] - first;
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t offset = fl_read_u32(file + p->all[first + i].at);
    last = offset > last && offset < 1u << 16 ? offset : last;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t taken = fl_read_u32(file + p->all[first + draw(c, count)].at);
    if (draw(c, 2) == 0) {
      write_u32(file + p->all[first + i].at, draw(c, 2) == 0 ? taken : 16 * draw(c, last / 16 + 1));
    }
  }
}

static const place *choose(const fuzz_places *p, chance *c) {
  uint32_t total = 0;
  for (uint32_t kind = 0; kind < KINDS; ++kind) {
    total += p->starts[kind] < p->starts[kind + 1] ? weights[kind] : 0;
  }
  uint32_t left = draw(c, total);
  uint32_t kind = 0;
  for (;; ++kind) {
    const uint32_t weight = p->starts[kind] < p->starts[kind + 1] ? weights[kind] : 0;
    if (left < weight) {
      break;
    }
    left -= weight;
  }
  return &p->all[p->starts[kind] + draw(c, p->starts[kind + 1] - p->starts[kind])];
}

/* Returns whether a program has no places or no values. */
static int is_empty(const fuzz_places *p) { return p->count == 0 || p->value_count == 0; }

void change_place(const fuzz_places *p, uint8_t *file, chance *c) {
  if (!is_empty(p)) {
    change_one(p, choose(p, c), file, c);
  }
}

void mutate(const fuzz_places *p, uint8_t *file, chance *c) {
  if (is_empty(p)) {
    return;
  }
  uint32_t times = draw(c, 8) == 0 ? 3 + draw(c, 4) : 1 + draw(c, 2);
  int is_resized = 0;
  while (times-- > 0) {
    if (draw(c, 5) == 0) {
      change_all(p, file, c);
      is_resized = 1;
      continue;
    }
    const place *at = choose(p, c);
    change_one(p, at, file, c);
    is_resized = is_resized || at->kind == SIZE || at->kind == DTYPE;
  }
  if (draw(c, 16) < (is_resized ? 14u : 1u)) {
    place_anew(p, file);
  } else if (draw(c, 16) == 0) {
    replan(p, file, c);
  }
}

void damage(uint8_t *file, size_t *size, chance *c) {
  static const uint32_t numbers[] = {0, 1, 2, 4, 7, 8, 16, 64, 255, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
  /* Weights can hardly be wrong: mostly, the part that describes the program is damaged. */
  uint64_t described = *size;
  if (*size >= 40 && memcmp(file + 8, "eh00", 4) == 0) {
    memcpy(&described, file + 16, sizeof described); /* the header's size of the program without its segments */
  }
  for (uint32_t times = 1 + draw(c, 3); times > 0; --times) {
    const uint32_t at = draw(c, (uint32_t)(draw(c, 16) == 0 || described > *size ? *size : described));
    const uint32_t word = at / 4 * 4;
    if (word + 4 > *size) {
      continue;
    }
    const uint32_t value = fl_read_u32(file + word);
    switch (draw(c, 8)) {
      case 0: file[at] ^= (uint8_t)(1u << draw(c, 8)); break;
      case 1: file[at] = (uint8_t)draw(c, 256); break;
      case 2: file[at] = (uint8_t)draw(c, 16); break;
      case 3: write_u32(file + word, numbers[draw(c, sizeof numbers / sizeof *numbers)]); break;
      case 4: write_u32(file + word, value + draw(c, 33) - 16); break; /* an offset, an index or a size that is a little off */
      case 5: { /* one part of the file over another */
        const uint32_t from = draw(c, (uint32_t)*size);
        const uint32_t longest = (uint32_t)*size - (from > at ? from : at);
        memmove(file + at, file + from, 1 + draw(c, longest < 32 ? longest : 32));
        break;
      }
      case 6: write_u32(file + word, value << 16 | value >> 16); break; /* two fields of a field list change places */
      default:
        if (draw(c, 8) == 0) {
          *size = 1 + draw(c, (uint32_t)*size);
        }
    }
  }
}
