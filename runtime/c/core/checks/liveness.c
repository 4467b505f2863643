/* Checks that the memory plan keeps each value until the last instruction that reads it.
 *
 * The check follows the method's instructions without computing anything. For a tensor that a call writes, it stores the tensor's number in
 * every granule of the tensor's memory, in the arena itself; for a tensor that a call reads, it compares these numbers. A granule is the
 * largest power of two up to 64 bytes that divides the offset of every tensor, so that two tensors share a granule only if they overlap. A
 * tensor that no call has written may be a second name of another tensor's memory, which the format does not record: its reads are not
 * checked. A tensor that lies within state is a part of that state, and has its number. Arenas that methods share hold state that other
 * methods wrote: the check neither follows nor changes them.
 *
 * A method without computed jumps has one path. It is followed twice, because state has to last from execute to execute. Of the paths of other
 * methods two are followed: with each condition true, and with each false. The number of steps is limited, so that loading stays linear. */
#include "core/schema.h"

#define GRANULE 64
#define STEPS 16777216u /* the most granules that are read or written */

typedef struct fl_trail {
  fl_method *method;
  size_t granule;
  size_t left;   /* steps that remain */
} fl_trail;

static uint32_t fl_number_of(const fl_trail *trail, const fl_tensor *t) {
  /* During the check, the capacity of a view or of a part of state holds the number of the tensor that it belongs to. */
  return (t->flags & (FL_TENSOR_VIEW | FL_TENSOR_PART)) != 0 ? (uint32_t)t->capacity : (uint32_t)(t - trail->method->tensors) + 1;
}

/* Returns the number of granules of a tensor; 0 for a tensor outside of the method's own arenas, or a view that has no memory yet. */
static size_t fl_granules(const fl_trail *trail, const fl_tensor *t) {
  const uint32_t number = fl_number_of(trail, t);
  if (t->data == NULL || (t->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_SHARED)) != 0 || number == 0) {
    return 0;
  }
  /* The program may declare a view larger than the tensor that it views; the call that makes it is refused when it runs. */
  const size_t bytes = fl_numel(t) * fl_element_size(t->dtype);
  const size_t room = trail->method->tensors[number - 1].capacity;
  return ((bytes < room ? bytes : room) + trail->granule - 1) / trail->granule;
}

static uint32_t *fl_stamp(const fl_trail *trail, const fl_tensor *t, size_t granule) {
  return (uint32_t *)(void *)((uint8_t *)t->data + granule * trail->granule);
}

static size_t fl_spend(fl_trail *trail, size_t steps) {
  steps = steps < trail->left ? steps : trail->left;
  trail->left -= steps;
  return steps;
}

static void fl_follow_write(fl_trail *trail, fl_tensor *t) {
  const uint32_t number = fl_number_of(trail, t);
  const size_t count = fl_spend(trail, fl_granules(trail, t));
  for (size_t i = 0; i < count; ++i) {
    *fl_stamp(trail, t, i) = number;
  }
  if (number > 0) {
    trail->method->tensors[number - 1].flags |= FL_TENSOR_WRITTEN;
  }
}

/* Returns the index of the value to which the program gave tensor `number`, counted from 1. */
static uint32_t fl_value_of(const fl_method *method, uint32_t number) {
  fl_plan plan;
  fl_table table = NULL;
  uint32_t i = 0;
  for (uint32_t seen = 0; fl_plan_open(method->program, method->index, &plan) && i < method->value_count; ++i) {
    seen += fl_plan_value(&plan, i, &table) == VALUE_TENSOR;
    if (seen == number) {
      break;
    }
  }
  return i;
}

/* Returns the number of a tensor that has overwritten memory of `t`, or 0. */
static uint32_t fl_follow_read(fl_trail *trail, const fl_tensor *t) {
  const uint32_t number = fl_number_of(trail, t);
  if (number == 0 || (trail->method->tensors[number - 1].flags & FL_TENSOR_WRITTEN) == 0) {
    return 0;
  }
  const size_t count = fl_spend(trail, fl_granules(trail, t));
  for (size_t i = 0; i < count && trail->left > 0; ++i) {
    if (*fl_stamp(trail, t, i) != number) {
      return *fl_stamp(trail, t, i);
    }
  }
  return 0;
}

/* Follows the reads and then the writes of a call; a view takes the memory and the number of the tensor that it views. Returns
 * FL_END_OF_METHOD when an execute would fail at this call. */
static fl_status fl_follow_call(fl_trail *trail, uint32_t at, const fl_instruction *instruction) {
  for (int writes = 0; writes < 2; ++writes) {
    for (uint32_t i = 0; i < instruction->count; ++i) {
      const char letter = fl_letter(instruction, i);
      uint32_t count = 0;
      fl_value *const *items = fl_items(&instruction->to.args[i], &count);
      if (letter == '*' || letter == 'v' || (letter == 'w') != writes) {
        continue;
      }
      for (uint32_t k = 0; k < count; ++k) {
        if (items[k] == NULL || items[k]->tag != FL_TENSOR) {
          continue;
        }
        if (writes) {
          fl_follow_write(trail, items[k]->as.tensor);
          continue;
        }
        const uint32_t writer = fl_follow_read(trail, items[k]->as.tensor);
        if (writer != 0) {
          const fl_method *method = trail->method;
          const fl_status status = fl_blame_argument(method, at, i, items[k]);
          FL_ERROR(method->origin.error, LOST, FL_NUMBER(fl_value_of(method, writer)));
          fl_append_location(method, at, 0);
          return status;
        }
      }
    }
  }
  for (uint32_t i = 1; i < instruction->count; ++i) {
    if (fl_letter(instruction, i) == 'v') {
      const fl_tensor *base = instruction->to.args[0]->as.tensor;
      fl_tensor *view = instruction->to.args[i]->as.tensor;
      if (instruction->to.args[0]->tag != FL_TENSOR || (view->flags & FL_TENSOR_VIEW) == 0) {
        return FL_END_OF_METHOD; /* an execute fails here */
      }
      view->capacity = fl_number_of(trail, base);
      view->data = base->data;
      view->flags = FL_TENSOR_VIEW | (base->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_SHARED));
    }
  }
  return FL_OK;
}

/* Clears the memory of each view. Sets its capacity to 0 before a path (no number), and to the bytes of its sizes after the last path. */
static void fl_reset_views(fl_method *method, int is_last) {
  for (fl_tensor *t = method->tensors; (void *)t < (void *)method->instructions; ++t) {
    const int is_view = (t->flags & FL_TENSOR_VIEW) != 0;
    if (is_view || (is_last && (t->flags & FL_TENSOR_PART) != 0)) {
      t->capacity = is_last ? fl_numel(t) * fl_element_size(t->dtype) : 0;
    }
    t->flags &= (uint8_t)~(is_last ? FL_TENSOR_WRITTEN | FL_TENSOR_PART : 0);
    if (is_view) {
      t->flags = FL_TENSOR_VIEW;
      t->data = NULL;
    }
  }
}

/* Stores the numbers of state tensors in their granules, and gives each tensor that lies within state the number at its first granule. */
static void fl_follow_state(fl_trail *trail, const fl_plan *plan) {
  const fl_method *method = trail->method;
  for (int others = 0; others < 2; ++others) {
    fl_tensor *t = method->tensors;
    for (uint32_t i = 0; i < fl_length(plan->values) && trail->left > 0; ++i) {
      fl_tensor_record record;
      if (!fl_plan_tensor(plan, i, &record)) {
        continue;
      }
      if (fl_is_state(&record) != others && fl_granules(trail, t) > 0) {
        const uint32_t number = *fl_stamp(trail, t, 0);
        const fl_tensor *state = &method->tensors[number - 1];
        if (number > 0 && (const void *)state < (const void *)method->instructions && (state->flags & FL_TENSOR_WRITTEN) != 0 &&
            (uint8_t *)t->data >= (uint8_t *)state->data && (uint8_t *)t->data + t->capacity <= (uint8_t *)state->data + state->capacity) {
          t->capacity = number;
          t->flags |= FL_TENSOR_PART;
        } else if (!others) {
          fl_follow_write(trail, t);
        }
      }
      ++t;
    }
  }
}

/* Follows the path on which every computed condition is `condition`. */
static fl_status fl_follow_path(fl_trail *trail, int condition) {
  const fl_method *method = trail->method;
  uint32_t left = method->instruction_count;
  uint32_t at = 0;
  for (uint32_t i = 0; i < method->input_count; ++i) {
    if (method->inputs[i].planned) {
      fl_follow_write(trail, method->inputs[i].tensor);
    }
  }
  for (; at < method->instruction_count && left > 0 && trail->left > 0; --left) {
    const fl_instruction *instruction = &method->instructions[at];
    fl_status status = FL_OK;
    uint32_t next = at + 1;
    if (instruction->kind == INSTRUCTION_KERNEL || (instruction->kind == INSTRUCTION_DELEGATE && instruction->on.delegate->outputs > 0)) {
      status = fl_follow_call(trail, at, instruction);
    } else if (instruction->kind == INSTRUCTION_MOVE) {
      fl_copy_value(instruction->to.destination, instruction->on.source);
    } else if (instruction->kind == INSTRUCTION_JUMP_FALSE) {
      const fl_value *value = instruction->on.source;
      const int is_constant = value->tag == FL_BOOLEAN && (value->flags & (FL_VALUE_WRITTEN | FL_VALUE_INPUT)) == 0;
      next = (is_constant ? value->as.boolean != 0 : condition) ? next : instruction->count;
    }
    if (status != FL_OK) {
      return status == FL_END_OF_METHOD ? FL_OK : status;
    }
    at = next;
  }
  for (uint32_t i = 0; at >= method->instruction_count && trail->left > 0 && i < method->output_count; ++i) {
    const fl_value *value = method->outputs[i].value;
    const uint32_t writer = value->tag == FL_TENSOR ? fl_follow_read(trail, value->as.tensor) : 0;
    if (writer != 0) {
      return FL_BLAME(&method->origin, OUTPUT_LOST, FL_NUMBER(i), FL_NUMBER(value - method->values), FL_NUMBER(fl_value_of(method, writer)));
    }
  }
  return FL_OK;
}

/* Returns the bytes of a granule, which divide the offset of every tensor and the size of every arena. */
static size_t fl_granule_of(const fl_plan *plan) {
  uint64_t bits = GRANULE;
  for (uint32_t i = 0; i < fl_length(plan->values); ++i) {
    fl_tensor_record record;
    bits |= fl_plan_tensor(plan, i, &record) && record.arena != 0 ? record.offset : 0;
  }
  for (uint32_t i = 1; i < fl_length(plan->buffers); ++i) {
    bits |= (uint64_t)fl_element_i64(plan->buffers, i);
  }
  return (size_t)(bits & (0 - bits));
}

fl_status fl_check_liveness(fl_method *method, const fl_plan *plan) {
  fl_trail trail = {method, fl_granule_of(plan), STEPS};
  fl_status status = FL_OK;
  if (trail.granule < sizeof(uint32_t)) {
    return FL_OK;
  }
  fl_reset_views(method, 0);
  fl_follow_state(&trail, plan);
  for (int path = 0; path < 2 && status == FL_OK; ++path) {
    fl_reset_views(method, 0);
    status = fl_follow_path(&trail, path);
    fl_restore_values(method);
  }
  fl_reset_views(method, 1);
  return status;
}
