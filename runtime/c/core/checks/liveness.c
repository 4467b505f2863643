/* Whether the memory plan keeps what is still to be read.
 *
 * The method is followed without computing anything: each call leaves, in the arenas themselves, the number of the tensor that it writes in every
 * granule of its memory, and finds there the number of each tensor that it reads. A granule is the largest power of two up to 64 bytes that
 * divides where every tensor begins, so that two tensors share one only if they overlap. A tensor that no call has written through itself may be
 * another name for what lies there, which the format does not say: nothing is asked of it. A tensor that lies within state is a part of it, and has
 * its number. Memory that methods share holds what others wrote: it stays as it is, and is not followed.
 *
 * A method without computed jumps takes one path, which is followed twice, as what lasts from run to run has to last. Of the paths of other methods
 * two are followed: where each condition is true, and where each is false. The steps are limited, so that loading stays linear. */
#include "core/schema.h"

#define GRANULE 64
#define STEPS 16777216u /* granules looked at or written */

typedef struct fl_trail {
  fl_method *method;
  size_t granule;
  size_t left;   /* steps */
  fl_error *error;
} fl_trail;

static uint32_t fl_number_of(const fl_trail *trail, const fl_tensor *t) {
  /* While a view or a part of state is followed, its capacity is the number of what it belongs to. */
  return (t->flags & (FL_TENSOR_VIEW | FL_TENSOR_PART)) != 0 ? (uint32_t)t->capacity : (uint32_t)(t - trail->method->tensors) + 1;
}

/* The granules of a tensor in an arena; 0 where it is elsewhere, or has not been given a place. */
static size_t fl_granules(const fl_trail *trail, const fl_tensor *t) {
  const uint32_t number = fl_number_of(trail, t);
  if (t->data == NULL || (t->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_SHARED)) != 0 || number == 0) {
    return 0;
  }
  /* A view may say that it is larger than what it views; a call is refused then. */
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

/* The value whose own tensor has a number. */
static uint32_t fl_value_of(const fl_method *method, uint32_t number) {
  fl_plan plan;
  uint32_t table = 0;
  uint32_t i = 0;
  for (uint32_t seen = 0; fl_plan_open(method->program, method->index, &plan) && i < method->value_count; ++i) {
    seen += fl_plan_value(&plan, i, &table) == VALUE_TENSOR;
    if (seen == number) {
      break;
    }
  }
  return i;
}

/* The number of the tensor that has taken memory of `t`, or 0. */
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

/* Reads and writes what a call does; a view takes the place and the number of what it views. FL_END_OF_METHOD: a run does not get further. */
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
          fl_refuse(method, at, instruction, FL_INVALID_PROGRAM, "argument %, value %, has lost its memory to value % before it is read",
                    (const fl_item[]){FL_NUMBER(i), FL_NUMBER(items[k] - method->values), FL_NUMBER(fl_value_of(method, writer))}, trail->error);
          fl_append_location(trail->error, "; at ", method, at);
          return FL_INVALID_PROGRAM;
        }
      }
    }
  }
  for (uint32_t i = 1; i < instruction->count; ++i) {
    if (fl_letter(instruction, i) == 'v') {
      const fl_tensor *base = instruction->to.args[0]->as.tensor;
      fl_tensor *view = instruction->to.args[i]->as.tensor;
      if (instruction->to.args[0]->tag != FL_TENSOR || (view->flags & FL_TENSOR_VIEW) == 0) {
        return FL_END_OF_METHOD; /* a run is refused here */
      }
      view->capacity = fl_number_of(trail, base);
      view->data = base->data;
      view->flags = FL_TENSOR_VIEW | (base->flags & (FL_TENSOR_READ_ONLY | FL_TENSOR_SHARED));
    }
  }
  return FL_OK;
}

/* Before a path: no view has a place or a number. After the last: each has the capacity that its sizes give it. */
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

/* State holds its first value. What lies within it is a part of it, and finds its number where it begins. */
static void fl_follow_state(fl_trail *trail, const fl_plan *plan) {
  const fl_method *method = trail->method;
  for (int others = 0; others < 2; ++others) {
    fl_tensor *t = method->tensors;
    for (uint32_t i = 0; i < plan->values.count && trail->left > 0; ++i) {
      uint32_t table = 0;
      fl_tensor_record record;
      if (fl_plan_value(plan, i, &table) != VALUE_TENSOR) {
        continue;
      }
      fl_read_tensor(plan->file, table, &record);
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

/* Follows one path, on which every computed condition has the same value. */
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
      return FL_ERROR(trail->error, FL_INVALID_PROGRAM, "method '%': output %, value %, has lost its memory to value % before the end",
                      FL_TEXT(fl_method_name(method)), FL_NUMBER(i), FL_NUMBER(value - method->values),
                      FL_NUMBER(fl_value_of(method, writer)));
    }
  }
  return FL_OK;
}

/* Bytes of a granule: it divides the offset of every tensor and the size of every arena. */
static size_t fl_granule_of(const fl_plan *plan) {
  uint64_t bits = GRANULE;
  for (uint32_t i = 0; i < plan->values.count; ++i) {
    uint32_t table = 0;
    if (fl_plan_value(plan, i, &table) == VALUE_TENSOR) {
      fl_tensor_record record;
      fl_read_tensor(plan->file, table, &record);
      bits |= record.arena != 0 ? record.offset : 0;
    }
  }
  for (uint32_t i = 1; i < plan->buffers.count; ++i) {
    bits |= fl_read_u64(plan->file + plan->buffers.at + (size_t)8 * i);
  }
  return (size_t)(bits & (0 - bits));
}

fl_status fl_check_liveness(fl_method *method, const fl_plan *plan, fl_error *error) {
  fl_trail trail = {method, fl_granule_of(plan), STEPS, error};
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
