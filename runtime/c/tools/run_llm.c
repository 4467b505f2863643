/* flambeau-run-llm: generates tokens with a language model that has the methods prefill and decode. */
#define _POSIX_C_SOURCE 200112L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flambeau/runtime.h"
#include "tools/backend_options.h"
#include "tools/npy.h"
#include "tools/sampler.h"

enum { EXIT_USAGE = 2, EXIT_FILE = 3, EXIT_PROGRAM = 4, EXIT_RUN = 6, MOST_BLOCKS = 256, MOST_ENDS = 16 };

static const char usage[] =
    "usage: flambeau-run-llm PROGRAM.pte --prompt ID ... [options]\n"
    "  --prompt ID ...    the token ids to begin with\n"
    "  --tokens N         generate at most N tokens (128)\n"
    "  --temperature X    sample at this temperature; 0, the default, takes the most likely token\n"
    "  --top-k N          sample among the N most likely tokens\n"
    "  --top-p X          sample among the most likely tokens that have the share X together\n"
    "  --seed N           of the sampler (0)\n"
    "  --threads N        compute with N threads (1); the tokens are the same\n"
    "  --ignore-eos       go on after a token that ends a text\n"
    "  --backend-option NAME.OPTION=VALUE ...\n"
    "                     what the backend NAME of delegates shall do: npu.threads=2\n"
    "The program's methods prefill and decode take token ids, [1, tokens], and the position of the first one, [1], both int64, and give\n"
    "logits, whose last [vocabulary] are float32 and those of the last token. Ids are printed to stdout, times to stderr.\n"
    "exit codes: 0 done, 2 usage, 3 a file cannot be read, 4 the program is refused, 6 the run failed\n";

typedef struct options {
  const char *program;
  int64_t *prompt;
  size_t prompt_length;
  size_t tokens;
  uint32_t threads;
  sampler sampler;
  int ignore_ends;
  backend_options backends;
} options;

typedef struct model {
  fl_program program;
  const fl_registry *registry;
  const fl_threads *threads;
  fl_method prefill, decode;
  int64_t ends[MOST_ENDS]; /* tokens that end the text */
  size_t end_count;
  size_t longest;  /* the most tokens that prefill takes at once */
  size_t context;  /* the most tokens that the cache holds; 0: unknown */
  void *scratch;
  size_t scratch_size;
  void *blocks[MOST_BLOCKS]; /* all allocated memory */
  size_t block_count;
} model;

static int fail(int code, const char *subject, const char *text) {
  fprintf(stderr, "flambeau-run-llm: %s: %s\n", subject, text);
  return code;
}

static double milliseconds(void) {
  struct timespec now;
  return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 : 0;
}

static int parse_number(const char *text, double least, double most, double *number) {
  char *end = NULL;
  errno = 0;
  *number = text == NULL ? 0 : strtod(text, &end);
  return text != NULL && end != text && *end == 0 && errno == 0 && *number >= least && *number <= most;
}

static int parse_options(int argc, char **argv, options *opts) {
  static const struct {
    const char *name;
    double least, most;
    int whole;
  } numbers[] = {{"--tokens", 1, 1e9, 1}, {"--temperature", 0, 1e6, 0}, {"--top-k", 1, 1e9, 1}, {"--top-p", 0, 1, 0}, {"--seed", 0, 9007199254740992.0, 1}, {"--threads", 1, 1024, 1}};
  for (int i = 1; i < argc; ++i) {
    double number = 0;
    size_t kind = 0;
    while (kind < sizeof numbers / sizeof *numbers && strcmp(argv[i], numbers[kind].name) != 0) {
      ++kind;
    }
    if (kind < sizeof numbers / sizeof *numbers) {
      const char *text = i + 1 < argc ? argv[++i] : NULL;
      if (!parse_number(text, numbers[kind].least, numbers[kind].most, &number) || (numbers[kind].whole && number != (double)(uint64_t)number)) {
        fprintf(stderr, "flambeau-run-llm: %s takes a %snumber from %.0f to %.0f, not %s\n", numbers[kind].name, numbers[kind].whole ? "whole " : "",
                numbers[kind].least, numbers[kind].most, text == NULL ? "nothing" : text);
        return EXIT_USAGE;
      }
      switch (kind) {
        case 0: opts->tokens = (size_t)number; break;
        case 1: opts->sampler.temperature = number; break;
        case 2: opts->sampler.top_k = (size_t)number; break;
        case 3: opts->sampler.top_p = number; break;
        case 4: opts->sampler.state = (uint64_t)number; break;
        default: opts->threads = (uint32_t)number;
      }
    } else if (strcmp(argv[i], "--ignore-eos") == 0) {
      opts->ignore_ends = 1;
    } else if (strcmp(argv[i], "--prompt") == 0) {
      while (i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) {
        if (!parse_number(argv[++i], 0, 2147483647, &number) || number != (double)(int64_t)number) {
          return fail(EXIT_USAGE, argv[i], "a token id of --prompt is a whole number from 0 to 2147483647");
        }
        opts->prompt[opts->prompt_length++] = (int64_t)number;
      }
    } else if (strcmp(argv[i], "--backend-option") == 0) {
      while (i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) {
        const char *why = backend_options_add(&opts->backends, argv[++i]);
        if (why != NULL) {
          return fail(EXIT_USAGE, argv[i], why);
        }
      }
    } else if (argv[i][0] == '-' || opts->program != NULL) {
      return fail(EXIT_USAGE, argv[i], argv[i][0] == '-' ? "there is no such option; --help lists all" : "only one program can be run");
    } else {
      opts->program = argv[i];
    }
  }
  if (opts->program == NULL) {
    return fail(EXIT_USAGE, "there is no program", "flambeau-run-llm PROGRAM.pte --prompt ID ...");
  }
  return opts->prompt_length == 0 ? fail(EXIT_USAGE, "there is no --prompt", "flambeau-run-llm PROGRAM.pte --prompt ID ...") : 0;
}

static void *keep(model *m, void *block) {
  if (block != NULL && m->block_count == MOST_BLOCKS) {
    free(block);
    return NULL;
  }
  return block == NULL ? NULL : (m->blocks[m->block_count++] = block);
}

static void *allocate(model *m, size_t size) { return keep(m, aligned_alloc(64, (size + 64) / 64 * 64)); }

/* Loads a method. For arenas in which methods share state, uses those of `other`, which was loaded before. */
static int load_method(model *m, const char *name, const fl_method *other, fl_method *method, fl_error *error) {
  uint32_t index = 0;
  fl_requirements need;
  if (fl_program_find_method(&m->program, name, &index, error) != FL_OK || fl_method_measure(&m->program, index, m->registry, &need, error) != FL_OK) {
    return 0;
  }
  const size_t threads = m->threads == NULL ? 1 : m->threads->count;
  need.scratch = need.scratch > SIZE_MAX / 2 / threads ? SIZE_MAX / 2 : (need.scratch + 63) / 64 * 64 * threads;
  if (need.scratch > m->scratch_size || m->scratch == NULL) {
    m->scratch = allocate(m, need.scratch); /* shared, because the methods never run at the same time */
    m->scratch_size = need.scratch;
  }
  fl_memory memory = {allocate(m, need.method), need.method, NULL, NULL, need.arenas, m->scratch, m->scratch_size, other != NULL};
  void **arenas = allocate(m, need.arenas * sizeof *arenas);
  size_t *sizes = allocate(m, need.arenas * sizeof *sizes);
  int complete = memory.method != NULL && m->scratch != NULL && arenas != NULL && sizes != NULL;
  for (uint32_t i = 0; complete && i < need.arenas; ++i) {
    sizes[i] = fl_program_arena_size(&m->program, index, i);
    arenas[i] = other != NULL && fl_program_arena_is_shared(&m->program, i) ? other->arenas[i] : allocate(m, sizes[i]);
    complete = arenas[i] != NULL;
  }
  memory.arenas = arenas;
  memory.arena_sizes = sizes;
  if (!complete) {
    snprintf(error->text, sizeof error->text, "not enough memory for what the program plans");
    return 0;
  }
  return fl_method_init(method, &m->program, index, m->registry, &memory, error) == FL_OK &&
         fl_method_set_threads(method, m->threads, error) == FL_OK;
}

/* Allocates the memory of an output that the program does not plan. */
static int place_output(model *m, fl_method *method, fl_error *error) {
  fl_slot_info slot;
  if (fl_program_slot(&m->program, method->index, FL_OUTPUT, 0, &slot, error) != FL_OK) {
    return 0;
  }
  if (slot.tag != FL_TENSOR || slot.dtype != FL_FLOAT32) {
    snprintf(error->text, sizeof error->text, "method '%.64s' gives no logits of float32", fl_program_method_name(&m->program, method->index));
    return 0;
  }
  if (!slot.planned && !slot.constant) {
    void *room = allocate(m, slot.bytes);
    return room != NULL && fl_method_set_output(method, 0, room, slot.bytes, error) == FL_OK;
  }
  return 1;
}

/* Stores the numbers that a method without inputs returns, at most `most`. Returns their number; 0 when there is no such method. */
static size_t constants(model *m, const char *name, int64_t *numbers, size_t most) {
  uint32_t index = 0;
  fl_method method;
  fl_error error;
  size_t count = 0;
  if (fl_program_find_method(&m->program, name, &index, &error) != FL_OK || !load_method(m, name, NULL, &method, &error)) {
    return 0;
  }
  if (fl_method_execute(&method, &error) == FL_OK) {
    const fl_value *value = NULL;
    while (count < most && (value = fl_method_output(&method, (uint32_t)count)) != NULL && value->tag == FL_INT) {
      numbers[count++] = value->as.integer;
    }
  }
  fl_method_destroy(&method);
  return count;
}

static int load(const options *opts, model *m) {
  fl_error error;
  size_t size = 0;
  const char *reason = NULL;
  int64_t number = 0;
  fl_slot_info tokens;
  const void *file = keep(m, read_file(opts->program, &size, &reason));
  if (file == NULL) {
    return fail(EXIT_FILE, opts->program, reason);
  }
  if (fl_program_load(&m->program, file, size, &error) != FL_OK || !load_method(m, "prefill", NULL, &m->prefill, &error) ||
      !load_method(m, "decode", &m->prefill, &m->decode, &error) || !place_output(m, &m->prefill, &error) || !place_output(m, &m->decode, &error) ||
      fl_program_slot(&m->program, m->prefill.index, FL_INPUT, 0, &tokens, &error) != FL_OK) {
    return fail(EXIT_PROGRAM, opts->program, error.text);
  }
  m->longest = tokens.tag == FL_TENSOR && tokens.rank == 2 ? (size_t)tokens.sizes[1] : 1;
  m->context = constants(m, "get_max_context_len", &number, 1) == 1 ? (size_t)number : 0;
  m->end_count = opts->ignore_ends ? 0 : constants(m, "get_eos_ids", m->ends, MOST_ENDS);
  return 0;
}

/* Runs a method on tokens that begin at a position, and returns the logits. On failure returns NULL, with the reason in `error`. */
static const float *step(fl_method *method, int64_t *tokens, size_t count, int64_t position, size_t *vocabulary, fl_error *error) {
  const int32_t sizes[3] = {1, (int32_t)count, 1};
  const int32_t strides[2] = {(int32_t)count, 1};
  fl_tensor inputs[2];
  memset(inputs, 0, sizeof inputs);
  for (int i = 0; i < 2; ++i) {
    inputs[i].data = i == 0 ? (void *)tokens : (void *)&position;
    inputs[i].sizes = (int32_t *)(uintptr_t)(i == 0 ? sizes : sizes + 2);
    inputs[i].strides = (int32_t *)(uintptr_t)(i == 0 ? strides : strides + 1);
    inputs[i].dtype = FL_INT64;
    inputs[i].rank = i == 0 ? 2 : 1;
    const fl_value value = {.tag = FL_TENSOR, .as.tensor = &inputs[i]};
    if (fl_method_set_input(method, (uint32_t)i, &value, error) != FL_OK) {
      return NULL;
    }
  }
  if (fl_method_execute(method, error) != FL_OK) {
    return NULL;
  }
  const fl_tensor *logits = fl_method_output(method, 0)->as.tensor;
  *vocabulary = logits->rank > 0 ? (size_t)logits->sizes[logits->rank - 1] : 0;
  size_t all = 1;
  for (uint8_t i = 0; i < logits->rank; ++i) {
    all *= (size_t)logits->sizes[i];
  }
  if (*vocabulary == 0 || all == 0) {
    snprintf(error->text, sizeof error->text, "the program gives no logits");
    return NULL;
  }
  return (const float *)logits->data + (all - *vocabulary);
}

static int is_end(const model *m, int64_t token) {
  for (size_t i = 0; i < m->end_count; ++i) {
    if (m->ends[i] == token) {
      return 1;
    }
  }
  return 0;
}

static int generate(options *opts, model *m) {
  fl_error error;
  fl_slot_info slot;
  size_t vocabulary = 0, position = 0, made = 0;
  const float *logits = NULL;
  if (m->context > 0 && opts->prompt_length > m->context) {
    return fail(EXIT_USAGE, "--prompt", "it is longer than the program's cache");
  }
  if (fl_program_slot(&m->program, m->decode.index, FL_OUTPUT, 0, &slot, &error) != FL_OK ||
      (opts->sampler.order = allocate(m, slot.bytes)) == NULL) {
    return fail(EXIT_PROGRAM, opts->program, "not enough memory for the sampler");
  }
  double start = milliseconds();
  while (position < opts->prompt_length) {
    const size_t left = opts->prompt_length - position;
    const size_t count = left < m->longest ? left : m->longest;
    logits = step(count == 1 ? &m->decode : &m->prefill, opts->prompt + position, count, (int64_t)position, &vocabulary, &error);
    if (logits == NULL) {
      return fail(EXIT_RUN, opts->program, error.text);
    }
    position += count;
  }
  fprintf(stderr, "prompt: %zu tokens in %.3f ms\n", opts->prompt_length, milliseconds() - start);
  start = milliseconds();
  for (;;) {
    int64_t token = (int64_t)sampler_next(&opts->sampler, logits, vocabulary);
    printf(made == 0 ? "%lld" : " %lld", (long long)token);
    if (++made == opts->tokens || is_end(m, token) || (m->context > 0 && position == m->context)) {
      break;
    }
    logits = step(&m->decode, &token, 1, (int64_t)position, &vocabulary, &error);
    if (logits == NULL) {
      printf("\n");
      return fail(EXIT_RUN, opts->program, error.text);
    }
    ++position;
  }
  printf("\n");
  if (made > 1) {
    const double each = (milliseconds() - start) / (double)(made - 1);
    fprintf(stderr, "decode: %zu tokens, %.3f ms each, %.1f tokens per second\n", made - 1, each, each > 0 ? 1e3 / each : 0);
  }
  return 0;
}

int main(int argc, char **argv) {
  options opts = {.tokens = 128, .threads = 1, .sampler = {.top_p = 1}};
  static model m;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      return 0;
    }
  }
  opts.prompt = keep(&m, calloc((size_t)argc + 1, sizeof *opts.prompt));
  int code = opts.prompt == NULL ? fail(EXIT_RUN, "start", "not enough memory") : parse_options(argc, argv, &opts);
  m.registry = backend_options_registry(&opts.backends);
  if (code == 0 && opts.threads > 1) {
    m.threads = fl_threads_start(allocate(&m, fl_threads_size(opts.threads)), fl_threads_size(opts.threads), opts.threads);
    code = m.threads == NULL || m.threads->count < opts.threads ? fail(EXIT_RUN, "--threads", "the system does not give so many threads") : 0;
  }
  code = code != 0 ? code : load(&opts, &m);
  code = code != 0 ? code : generate(&opts, &m);
  fl_method_destroy(&m.prefill);
  fl_method_destroy(&m.decode);
  fl_threads_stop(m.threads);
  while (m.block_count > 0) {
    free(m.blocks[--m.block_count]);
  }
  backend_options_free(&opts.backends);
  return code;
}
