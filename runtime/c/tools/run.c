/* flambeau-run: runs one method of a .pte program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flambeau/recorder.h"
#include "tools/backend_options.h"
#include "tools/bundle.h"
#include "tools/npy.h"
#include "tools/timing.h"
#include "tools/verify.h"

enum { EXIT_USAGE = 2, EXIT_FILE = 3, EXIT_PROGRAM = 4, EXIT_INPUT = 5, EXIT_RUN = 6, EXIT_DIFFERS = 7, MOST_THREADS = 1024 };

static const char usage[] =
    "usage: flambeau-run PROGRAM.pte [options]       the program of a .bpte too\n"
    "  --method NAME        method to run (forward)\n"
    "  --input VALUE ...    one per input: a .npy file, or a number, true or false for a scalar\n"
    "  --output PATH ...    one .npy file per output, or one prefix: PATH0.npy, PATH1.npy, ...\n"
    "  --repeat N           run N times and print latencies to stderr\n"
    "  --limit N            stop after N instructions (10000000)\n"
    "  --threads N          compute with N threads (1); the outputs are the same\n"
    "  --backend-option NAME.OPTION=VALUE ...\n"
    "                       what the backend NAME of delegates shall do: npu.threads=2\n"
    "  --profile            print the time of each instruction and its place in the model to stderr\n"
    "  --json               print what was run as JSON\n"
    "  --bundled            PROGRAM is a .bpte: run the test cases that it has for the method, and compare their outputs\n"
    "  --rtol R, --atol A   of --bundled: how far outputs may differ from what is expected (0.01 of it, and 0.01)\n"
    "exit codes: 0 done, 2 usage, 3 a file cannot be read or written, 4 the program is refused, 5 an input is refused, 6 the run failed,\n"
    "7 a test case has other outputs than it expects\n";

typedef struct options {
  const char *program;
  const char *method;
  const char **inputs;
  const char **outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t repeat;
  uint32_t limit;
  uint32_t threads;
  int json;
  int bundled;
  double rtol;
  double atol;
  int profile;
  backend_options backends;
} options;

/* The state of a run. It holds all memory, which is freed at the end, so that a leak checker reports only real leaks. */
typedef struct run {
  fl_program program;
  bundle bundle;
  fl_method method;
  const fl_registry *registry;
  fl_method_info info;
  fl_requirements need;
  void *file;
  void *memory;
  void *scratch;
  const fl_threads *threads;
  void *threads_memory;
  void **arenas;
  size_t *arena_sizes;
  void **owned; /* outputs that the program does not plan */
  npy_array *arrays;
  double *latencies;
  timing *timings; /* of each instruction, with --profile */
} run;

static int fail(int code, const char *subject, const char *text) {
  fprintf(stderr, "flambeau-run: %s: %s\n", subject, text);
  return code;
}

static int parse_count(const char *text, uint32_t *count) {
  char *end = NULL;
  const unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);
  if (text == NULL || end == text || *end != 0 || value == 0 || value > 1000000000ul) {
    return 0;
  }
  *count = (uint32_t)value;
  return 1;
}

static int parse_tolerance(const char *text, double *tolerance) {
  char *end = NULL;
  *tolerance = text == NULL ? 0 : strtod(text, &end);
  return text != NULL && end != text && *end == 0 && *tolerance >= 0;
}

static int is_option(const char *text) { return text[0] == '-' && text[1] == '-'; }

static int parse_options(int argc, char **argv, options *opts) {
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i];
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(word, "--json") == 0) {
      opts->json = 1;
    } else if (strcmp(word, "--bundled") == 0) {
      opts->bundled = 1;
    } else if (strcmp(word, "--rtol") == 0 || strcmp(word, "--atol") == 0) {
      if (!parse_tolerance(next, word[2] == 'r' ? &opts->rtol : &opts->atol)) {
        return fail(EXIT_USAGE, word, "expected a number of 0 or more");
      }
      ++i;
    } else if (strcmp(word, "--profile") == 0) {
      opts->profile = 1;
    } else if (strcmp(word, "--method") == 0 && next != NULL) {
      opts->method = argv[++i];
    } else if (strcmp(word, "--repeat") == 0 || strcmp(word, "--limit") == 0) {
      if (!parse_count(next, word[2] == 'r' ? &opts->repeat : &opts->limit)) {
        return fail(EXIT_USAGE, word, "expected a positive number");
      }
      ++i;
    } else if (strcmp(word, "--threads") == 0) {
      if (!parse_count(next, &opts->threads) || opts->threads > MOST_THREADS) {
        return fail(EXIT_USAGE, word, "expected a number from 1 to 1024");
      }
      ++i;
    } else if (strcmp(word, "--input") == 0 || strcmp(word, "--output") == 0) {
      const int is_input = word[2] == 'i';
      while (i + 1 < argc && !is_option(argv[i + 1])) {
        ++i;
        if (is_input) {
          opts->inputs[opts->input_count++] = argv[i];
        } else {
          opts->outputs[opts->output_count++] = argv[i];
        }
      }
    } else if (strcmp(word, "--backend-option") == 0 && next != NULL) {
      while (i + 1 < argc && !is_option(argv[i + 1])) {
        const char *why = backend_options_add(&opts->backends, argv[++i]);
        if (why != NULL) {
          return fail(EXIT_USAGE, argv[i], why);
        }
      }
    } else if (is_option(word)) {
      return fail(EXIT_USAGE, word, "unknown option, or its value is missing; --help lists all");
    } else if (opts->program != NULL) {
      return fail(EXIT_USAGE, word, "only one program can be run; inputs follow --input");
    } else {
      opts->program = word;
    }
  }
  if (opts->program == NULL) {
    return fail(EXIT_USAGE, "which program?", "flambeau-run PROGRAM.pte; --help says more");
  }
  for (uint32_t i = 0; i < opts->output_count; ++i) {
    int taken = strcmp(opts->outputs[i], opts->program) == 0;
    for (uint32_t j = 0; j < opts->input_count; ++j) {
      taken |= strcmp(opts->outputs[i], opts->inputs[j]) == 0;
    }
    if (taken) {
      return fail(EXIT_USAGE, opts->outputs[i], "refusing to overwrite an input: name another file with --output");
    }
  }
  return 0;
}

static void *allocate(size_t size) { return aligned_alloc(64, (size + 64) / 64 * 64); }

/* Prints every missing operator, because the text of an error is too short for many. Returns the exit status. */
static int fail_missing(const options *opts, const fl_program *program, uint32_t method) {
  char name[256];
  const char *separator = "";
  int has_group = 0;
  fprintf(stderr, "flambeau-run: %s: method '%s' calls operators that this runtime does not have: ", opts->program, opts->method);
  for (uint32_t i = 0; fl_program_operator(program, method, i, name, sizeof name) > 0; ++i) {
    if (fl_find_kernel(NULL, name) == NULL) {
      const char *group = fl_left_out_group(name);
      fprintf(stderr, group == NULL ? "%s%s" : "%s%s (group %s)", separator, name, group);
      has_group |= group != NULL;
      separator = ", ";
    }
  }
  fprintf(stderr, "%s\n", has_group ? "; FLAMBEAU_GROUPS of its build leaves these groups out" : "");
  return EXIT_PROGRAM;
}

static int load(const options *opts, run *r) {
  fl_error error;
  uint32_t index = 0;
  size_t size = 0;
  const char *reason = NULL;
  r->file = read_file(opts->program, &size, &reason);
  if (r->file == NULL) {
    return fail(EXIT_FILE, opts->program, reason);
  }
  const void *program = r->file;
  if ((opts->bundled || bundle_is(r->file, size)) &&
      (reason = bundle_open(&r->bundle, r->file, size, opts->bundled ? opts->method : NULL, &program, &size)) != NULL) {
    return fail(EXIT_FILE, opts->program, reason);
  }
  if (fl_program_load(&r->program, program, size, &error) != FL_OK || fl_program_find_method(&r->program, opts->method, &index, &error) != FL_OK ||
      fl_program_method_info(&r->program, index, &r->info, &error) != FL_OK) {
    return fail(EXIT_PROGRAM, opts->program, error.text);
  }
  const fl_status status = fl_method_measure(&r->program, index, r->registry, &r->need, &error);
  if (status != FL_OK) {
    return status == FL_OPERATOR_MISSING ? fail_missing(opts, &r->program, index) : fail(EXIT_PROGRAM, opts->program, error.text);
  }
  if (opts->threads > 1) {
    r->threads_memory = allocate(fl_threads_size(opts->threads));
    r->threads = fl_threads_start(r->threads_memory, fl_threads_size(opts->threads), opts->threads);
    if (r->threads == NULL || r->threads->count < opts->threads) {
      return fail(EXIT_RUN, "--threads", "the system does not give so many threads");
    }
    r->need.scratch = (r->need.scratch + 63) / 64 * 64;
    r->need.scratch = r->need.scratch > SIZE_MAX / opts->threads ? SIZE_MAX / 2 : r->need.scratch * opts->threads;
  }
  r->arenas = calloc(r->need.arenas + 1, sizeof *r->arenas);
  r->arena_sizes = calloc(r->need.arenas + 1, sizeof *r->arena_sizes);
  r->owned = calloc(r->info.outputs + 1, sizeof *r->owned);
  r->arrays = calloc(r->info.inputs + 1, sizeof *r->arrays);
  r->latencies = calloc(opts->repeat, sizeof *r->latencies);
  r->timings = calloc(r->info.instructions + 1, sizeof *r->timings);
  r->memory = allocate(r->need.method);
  r->scratch = allocate(r->need.scratch);
  int complete = r->arenas != NULL && r->arena_sizes != NULL && r->owned != NULL && r->arrays != NULL && r->latencies != NULL && r->timings != NULL &&
                 r->memory != NULL && r->scratch != NULL;
  for (uint32_t i = 0; complete && i < r->need.arenas; ++i) {
    r->arena_sizes[i] = fl_program_arena_size(&r->program, index, i);
    r->arenas[i] = allocate(r->arena_sizes[i]);
    complete = r->arenas[i] != NULL;
  }
  if (!complete) {
    return fail(EXIT_PROGRAM, opts->program, "not enough memory for what the program plans");
  }
  const fl_memory memory = {r->memory, r->need.method, r->arenas, r->arena_sizes, r->need.arenas, r->scratch, r->need.scratch, 0};
  if (fl_method_init(&r->method, &r->program, index, r->registry, &memory, &error) != FL_OK) {
    return fail(EXIT_PROGRAM, opts->program, error.text);
  }
  r->method.instruction_limit = opts->limit;
  if (fl_method_set_threads(&r->method, r->threads, &error) != FL_OK) {
    return fail(EXIT_PROGRAM, opts->program, error.text);
  }
  if (opts->profile && fl_method_set_hook(&r->method, timing_record, r->timings, &error) != FL_OK) {
    return fail(EXIT_RUN, "--profile", error.text);
  }
  for (uint32_t i = 0; i < r->info.outputs; ++i) {
    fl_slot_info slot;
    if (fl_program_slot(&r->program, index, FL_OUTPUT, i, &slot, &error) != FL_OK) {
      return fail(EXIT_PROGRAM, opts->program, error.text);
    }
    if (slot.tag == FL_TENSOR && !slot.planned && !slot.constant) {
      r->owned[i] = allocate(slot.bytes);
      if (r->owned[i] == NULL) {
        return fail(EXIT_PROGRAM, opts->program, "not enough memory for an output");
      }
      /* This fails for an output that is an input, which has its own memory. */
      (void)fl_method_set_output(&r->method, i, r->owned[i], slot.bytes, NULL);
    }
  }
  return 0;
}

/* Parses a scalar for a slot of kind `tag`. */
static int parse_scalar(const char *text, uint8_t tag, fl_value *value) {
  char *end = NULL;
  value->tag = tag;
  errno = 0;
  switch (tag) {
    case FL_INT: value->as.integer = strtoll(text, &end, 10); break;
    case FL_DOUBLE: value->as.real = strtod(text, &end); break;
    case FL_BOOLEAN:
      value->as.boolean = strcmp(text, "true") == 0;
      return value->as.boolean || strcmp(text, "false") == 0;
    case FL_STRING:
      value->as.string = (fl_string){text, (uint32_t)strlen(text)};
      return 1;
    default: return tag == FL_NONE;
  }
  return end != text && *end == 0 && errno == 0;
}

static int read_inputs(const options *opts, run *r) {
  char text[128];
  if (opts->input_count != r->info.inputs) {
    snprintf(text, sizeof text, "method '%.64s' takes %u input%s, got %u", opts->method, r->info.inputs, r->info.inputs == 1 ? "" : "s",
             opts->input_count);
    return fail(EXIT_INPUT, opts->program, text);
  }
  for (uint32_t i = 0; i < opts->input_count; ++i) {
    fl_slot_info slot;
    if (fl_program_slot(&r->program, r->method.index, FL_INPUT, i, &slot, NULL) == FL_OK && slot.tag == FL_TENSOR) {
      const char *fault = npy_read(opts->inputs[i], &r->arrays[i]);
      if (fault != NULL) {
        return fail(EXIT_FILE, opts->inputs[i], fault);
      }
    }
  }
  return 0;
}

static int set_inputs(const options *opts, run *r) {
  for (uint32_t i = 0; i < opts->input_count; ++i) {
    fl_slot_info slot;
    fl_error error;
    fl_value value;
    memset(&value, 0, sizeof value);
    if (fl_program_slot(&r->program, r->method.index, FL_INPUT, i, &slot, &error) != FL_OK) {
      return fail(EXIT_INPUT, opts->program, error.text);
    }
    if (slot.tag == FL_TENSOR) {
      value.tag = FL_TENSOR;
      value.as.tensor = &r->arrays[i].tensor;
    } else if (!parse_scalar(opts->inputs[i], slot.tag, &value)) {
      return fail(EXIT_INPUT, opts->inputs[i], "the program takes a number, true or false here");
    }
    if (fl_method_lend_input(&r->method, i, &value, &error) != FL_OK) {
      return fail(EXIT_INPUT, opts->inputs[i], error.text);
    }
  }
  return 0;
}

static int execute(const options *opts, run *r) {
  for (uint32_t i = 0; i < opts->repeat; ++i) {
    fl_error error;
    const int code = set_inputs(opts, r);
    if (code != 0) {
      return code;
    }
    const uint64_t start = fl_monotonic_clock();
    if (fl_method_execute(&r->method, &error) != FL_OK) {
      return fail(EXIT_RUN, opts->program, error.text);
    }
    r->latencies[i] = (double)(fl_monotonic_clock() - start) / 1e6;
  }
  return 0;
}

static int verify(const options *opts, run *r) {
  static const int codes[] = {[VERIFY_PASSED] = 0, [VERIFY_DIFFERS] = EXIT_DIFFERS, [VERIFY_REFUSED] = EXIT_INPUT, [VERIFY_FAILED] = EXIT_RUN};
  fl_error error;
  const verify_result result = verify_cases(&r->bundle, &r->method, &r->info, opts->rtol, opts->atol, &error);
  return result > VERIFY_DIFFERS ? fail(codes[result], opts->program, error.text) : codes[result];
}

static int write_outputs(const options *opts, const run *r) {
  if (opts->output_count > 1 && opts->output_count != r->info.outputs) {
    char text[128];
    snprintf(text, sizeof text, "method '%.64s' has %u output%s, %u paths were given", opts->method, r->info.outputs, r->info.outputs == 1 ? "" : "s",
             opts->output_count);
    return fail(EXIT_USAGE, "--output", text);
  }
  for (uint32_t i = 0; opts->output_count > 0 && i < r->info.outputs; ++i) {
    const fl_value *value = fl_method_output(&r->method, i);
    char path[4096];
    const char *given = opts->outputs[opts->output_count > 1 ? i : 0];
    const int is_prefix = opts->output_count == 1 && r->info.outputs > 1;
    snprintf(path, sizeof path, is_prefix ? "%.4000s%u.npy" : "%.4000s", given, i);
    if (value->tag != FL_TENSOR) {
      continue; /* scalars are only printed */
    }
    const char *fault = npy_write(path, value->as.tensor);
    if (fault != NULL) {
      return fail(EXIT_FILE, path, fault);
    }
  }
  return 0;
}

static void print_value(const fl_value *value) {
  switch (value->tag) {
    case FL_TENSOR:
      printf("{\"dtype\": %d, \"sizes\": [", value->as.tensor->dtype);
      for (uint8_t d = 0; d < value->as.tensor->rank; ++d) {
        printf("%s%d", d > 0 ? ", " : "", (int)value->as.tensor->sizes[d]);
      }
      printf("]}");
      break;
    case FL_INT: printf("%lld", (long long)value->as.integer); break;
    case FL_DOUBLE: printf("%.17g", value->as.real); break;
    case FL_BOOLEAN: printf(value->as.boolean ? "true" : "false"); break;
    default: printf("null");
  }
}

static int compare_latencies(const void *a, const void *b) {
  const double left = *(const double *)a;
  const double right = *(const double *)b;
  return (left > right) - (left < right);
}

static void report(const options *opts, run *r) {
  double sum = 0;
  for (uint32_t i = 0; i < opts->repeat; ++i) {
    sum += r->latencies[i];
  }
  qsort(r->latencies, opts->repeat, sizeof *r->latencies, compare_latencies);
  const double least = r->latencies[0];
  const double median = r->latencies[opts->repeat / 2];
  const double most = r->latencies[opts->repeat - 1];
  fprintf(stderr, "%s: %u runs, min %.3f ms, median %.3f ms, mean %.3f ms, max %.3f ms\n", opts->method, opts->repeat, least, median,
          sum / opts->repeat, most);
  if (opts->json) {
    printf("{\"method\": \"%s\", \"runs\": %u, \"latency_ms\": {\"min\": %.6f, \"median\": %.6f, \"mean\": %.6f, \"max\": %.6f}, ", opts->method,
           opts->repeat, least, median, sum / opts->repeat, most);
    printf("\"memory\": {\"method\": %zu, \"planned\": %zu, \"scratch\": %zu}, \"outputs\": [", r->need.method, r->need.planned, r->need.scratch);
  }
  for (uint32_t i = 0; i < r->info.outputs; ++i) {
    const fl_value *value = fl_method_output(&r->method, i);
    if (opts->json) {
      printf(i > 0 ? ", " : "");
      print_value(value);
    } else if (value->tag != FL_TENSOR) {
      printf("output %u: ", i);
      print_value(value);
      printf("\n");
    }
  }
  printf(opts->json ? "]}\n" : "");
}

static void release(run *r) {
  fl_method_destroy(&r->method);
  for (uint32_t i = 0; r->arrays != NULL && i < r->info.inputs; ++i) {
    free(r->arrays[i].file);
  }
  for (uint32_t i = 0; r->owned != NULL && i < r->info.outputs; ++i) {
    free(r->owned[i]);
  }
  for (uint32_t i = 0; r->arenas != NULL && i < r->need.arenas; ++i) {
    free(r->arenas[i]);
  }
  free(r->arenas);
  free(r->arena_sizes);
  free(r->owned);
  free(r->arrays);
  free(r->latencies);
  free(r->timings);
  free(r->memory);
  free(r->scratch);
  fl_threads_stop(r->threads);
  free(r->threads_memory);
  free(r->file);
}

int main(int argc, char **argv) {
  options opts = {.method = "forward", .repeat = 1, .limit = FL_INSTRUCTION_LIMIT, .threads = 1, .rtol = 0.01, .atol = 0.01};
  run r;
  memset(&r, 0, sizeof r);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      return 0;
    }
  }
  opts.inputs = calloc((size_t)argc + 1, sizeof *opts.inputs);
  opts.outputs = calloc((size_t)argc + 1, sizeof *opts.outputs);
  int code = opts.inputs == NULL || opts.outputs == NULL ? fail(EXIT_RUN, "start", "not enough memory") : parse_options(argc, argv, &opts);
  r.registry = backend_options_registry(&opts.backends);
  code = code != 0 ? code : load(&opts, &r);
  if (code == 0 && opts.bundled) {
    code = verify(&opts, &r);
  } else {
    code = code != 0 ? code : read_inputs(&opts, &r);
    code = code != 0 ? code : execute(&opts, &r);
    code = code != 0 ? code : write_outputs(&opts, &r);
    if (code == 0) {
      report(&opts, &r);
    }
  }
  if (code == 0 && opts.profile) {
    timing_print(&r.program, &r.method, r.timings, r.info.instructions);
  }
  release(&r);
  backend_options_free(&opts.backends);
  free((void *)opts.inputs);
  free((void *)opts.outputs);
  return code;
}
