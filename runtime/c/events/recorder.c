/* Implements the recorder of recorder.h. */
#include "flambeau/recorder.h"

static uint64_t tensor_bytes(const fl_value *value) {
  return value != NULL && value->tag == FL_TENSOR ? (uint64_t)fl_numel(value->as.tensor) * fl_element_size(value->as.tensor->dtype) : 0;
}

static int is_among(const fl_value *value, fl_value *const *args, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (args[i] == value) {
      return 1;
    }
  }
  return 0;
}

/* Returns the bytes of all tensors among the arguments. An out occurs again as the returned value, or in the returned list; it counts once. */
static uint64_t argument_bytes(const fl_event *event) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < event->count; ++i) {
    const fl_value *argument = event->args[i];
    if (argument->tag == FL_TENSOR_LIST || argument->tag == FL_OPTIONAL_TENSOR_LIST) {
      const fl_value *const *items = (const fl_value *const *)argument->as.list.items;
      for (uint32_t j = 0; j < argument->as.list.count; ++j) {
        bytes += is_among(items[j], event->args, i) ? 0 : tensor_bytes(items[j]);
      }
    } else if (!is_among(argument, event->args, i)) {
      bytes += tensor_bytes(argument);
    }
  }
  return bytes;
}

/* Takes room for a record, which begins at `start` and has not ended. Returns NULL when there is none. */
static fl_record *begin_record(fl_recorder *recorder, const fl_event *event, uint64_t start) {
  const size_t index = recorder->count++;
  if (index >= recorder->capacity) {
    return NULL;
  }
  /* Assigned by field, because a compound literal would be built elsewhere and copied. */
  fl_record *record = &recorder->records[index];
  record->start = start;
  record->end = 0;
  record->bytes = 0;
  record->name = event->name;
  record->chain = event->chain;
  record->instruction = event->instruction;
  record->position = event->position;
  record->number = event->number;
  record->status = FL_OK;
  record->kind = event->kind;
  return record;
}

void fl_record_event(void *user, const struct fl_method *method, const fl_event *event) {
  fl_recorder *recorder = (fl_recorder *)user;
  (void)method;
  if (recorder == NULL || event == NULL || recorder->clock == NULL) {
    return;
  }
  if (event->kind == FL_EVENT_OPERATOR) {
    fl_record *record = begin_record(recorder, event, recorder->operator_end);
    recorder->operator_end += event->nanoseconds;
    if (record != NULL) {
      record->end = recorder->operator_end;
    }
    recorder->aside = recorder->clock() - recorder->last;
    return;
  }
  if (event->is_done) {
    const size_t index = event->kind == FL_EVENT_EXECUTE ? recorder->execute : recorder->instruction;
    recorder->last = recorder->clock() - recorder->aside;
    if (index < recorder->capacity) {
      fl_record *record = &recorder->records[index];
      record->end = recorder->last;
      record->status = event->status;
      record->bytes = argument_bytes(event);
      recorder->operator_end = record->start;
    }
    return;
  }
  const size_t index = recorder->count;
  const int is_first = event->kind == FL_EVENT_EXECUTE || index == recorder->execute + 1;
  if (event->kind == FL_EVENT_EXECUTE) {
    recorder->execute = index;
  } else {
    recorder->instruction = index;
  }
  if (is_first) {
    recorder->last = recorder->clock() - recorder->aside;
  }
  (void)begin_record(recorder, event, recorder->last);
}
