/* Tests the events that a hook gets, and the records that a recorder keeps. */
#include "flambeau/recorder.h"
#include "test/test.h"

static float counting[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

typedef struct trace {
  uint32_t executes;
  uint32_t started;
  uint32_t done;
  uint32_t adds;
  uint32_t moves;
  uint32_t jumps;
} trace;

static void watch(void *user, const fl_method *method, const fl_event *event) {
  trace *seen = (trace *)user;
  CHECK(method->program != NULL && event->chain == 0 && event->status == FL_OK);
  if (event->kind == FL_EVENT_EXECUTE) {
    CHECK(strcmp(event->name, "forward") == 0 && event->position == UINT32_MAX && event->count == 0);
    CHECK(seen->started == seen->done);
    ++seen->executes;
    return;
  }
  CHECK(seen->executes % 2 == 1 && event->position == event->instruction);
  CHECK(event->is_done ? seen->started == seen->done + 1 : seen->started == seen->done);
  seen->started += !event->is_done;
  seen->done += event->is_done;
  seen->moves += event->is_done && event->kind == FL_EVENT_MOVE;
  seen->jumps += event->is_done && event->kind == FL_EVENT_JUMP;
  CHECK((event->name != NULL) == (event->kind == FL_EVENT_KERNEL));
  if (event->is_done && event->name != NULL && strcmp(event->name, "aten::add.out") == 0) {
    ++seen->adds;
    CHECK(event->count == 5 && event->args[3]->tag == FL_TENSOR);
  }
}

static void execute(loaded *l, fl_status expected) {
  fl_error error;
  set_floats(l, 0, counting, (int32_t[]){4, 3}, 2);
  set_floats(l, 1, counting, (int32_t[]){3}, 1);
  CHECK(fl_method_execute(&l->method, &error) == expected);
}

static void test_hook(void) {
  loaded l;
  fl_error error;
  trace seen = {0};
  open_method(&l, "map", NULL);
  CHECK(fl_method_set_hook(&l.method, watch, &seen, &error) == FL_OK);
  execute(&l, FL_OK);
  CHECK(seen.executes == 2 && seen.adds == 4 && seen.moves + seen.jumps >= 4 && seen.started == seen.done && seen.done > 20);
  CHECK(fl_method_set_hook(&l.method, NULL, NULL, &error) == FL_OK);
  const uint32_t before = seen.started;
  execute(&l, FL_OK);
  CHECK(seen.started == before);
  close_method(&l);
  CHECK(fl_method_set_hook(&l.method, watch, &seen, &error) == FL_INVALID_STATE);
}

/* Returns a later time in each call. */
static uint64_t ticks(void) {
  static uint64_t now = 0;
  return now += 10;
}

static void test_recorder(void) {
  loaded l;
  fl_error error;
  fl_record records[64];
  fl_recorder recorder = {.records = records, .capacity = 64, .clock = ticks};
  open_method(&l, "map", NULL);
  CHECK(fl_method_set_hook(&l.method, fl_record_event, &recorder, &error) == FL_OK);
  execute(&l, FL_OK);
  const size_t count = recorder.count;
  CHECK(count > 20 && count <= 64 && records[0].kind == FL_EVENT_EXECUTE);
  uint32_t adds = 0;
  for (size_t i = 1; i < count; ++i) {
    CHECK(records[i].start > records[i - 1].start && records[i].end > records[i].start && records[i].end < records[0].end);
    CHECK(i == 1 || records[i].start == records[i - 1].end);
    if (records[i].name != NULL && strcmp(records[i].name, "aten::add.out") == 0) {
      ++adds;
      CHECK(records[i].bytes == 3 * 3 * sizeof(float));
    }
  }
  CHECK(adds == 4);
  /* Events without room are counted, and nothing is written beyond the given memory. */
  recorder = (fl_recorder){.records = records, .capacity = 3, .clock = ticks};
  memset(records, 0x5a, sizeof records);
  execute(&l, FL_OK);
  CHECK(recorder.count == count && records[2].end > records[2].start && records[0].end > records[2].end && records[3].end == 0x5a5a5a5a5a5a5a5a);
  /* A failed instruction has its status, and an end. */
  recorder = (fl_recorder){.records = records, .capacity = 64, .clock = ticks};
  l.method.instruction_limit = 5;
  execute(&l, FL_INVALID_PROGRAM);
  CHECK(recorder.count == 6 && records[0].status == FL_INVALID_PROGRAM && records[5].status == FL_OK && records[5].end != 0);
  close_method(&l);
  CHECK(fl_monotonic_clock() <= fl_monotonic_clock());
}

int main(void) {
  test_hook();
  test_recorder();
  return 0;
}
