/* Tests changed programs: for any file, loading and running gives results or an error, accesses only the memory that it was given, and writes
 * nothing to the file.
 *
 *     fuzz [--seed N] [--from N] [--count N] [--poison] [--damage PERCENT] [--keep FOLDER] [FOLDER | PROGRAM]...
 *
 * Each round changes one of the programs, of test/programs unless others are named, and runs it twice. What a round does follows from the
 * seed and its number. A round that fails ends the process of the rounds: the file is kept in FOLDER, and another process goes on with the
 * next round. Run it under the address and undefined-behaviour sanitizers. With --poison, each program runs in memory full of one byte and
 * again in memory full of another, and has to give the same results. */
#define _DEFAULT_SOURCE

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/fuzz_trial.h"

#if defined(__SANITIZE_ADDRESS__) /* gcc's name for -fsanitize=address */
void __asan_poison_memory_region(const volatile void *start, size_t size);
void __asan_unpoison_memory_region(const volatile void *start, size_t size);
#else
#define __asan_poison_memory_region(start, size) (void)(start)
#define __asan_unpoison_memory_region(start, size) (void)(start)
#endif

#define SECONDS_PER_ROUND 10

typedef struct source {
  char name[256];
  uint8_t *file;
  size_t size;
  fuzz_places *places;
} source;

/* The state of the process of the rounds, shared with the process that watches it. */
typedef struct report {
  uint64_t round;
  uint64_t loaded;
  uint64_t executed;
  uint64_t ended;
  uint64_t size; /* bytes of the program of this round */
} report;

static struct {
  source *sources;
  size_t count;
  size_t page;
  size_t room;      /* bytes of `file` */
  uint8_t *file;    /* memory for a program, which lies at its end, before a page that cannot be read */
  report *shared;
  const char *keep;
  uint64_t seed;
  uint64_t first;
  uint64_t rounds;
  uint32_t damaged; /* percent */
  int is_poisoned;
} fuzz = {.keep = ".", .seed = 1, .rounds = 10000, .damaged = 10};

/* ---- Programs ---- */

static void add_program(const char *path) {
  fuzz.sources = realloc(fuzz.sources, (fuzz.count + 1) * sizeof *fuzz.sources);
  CHECK(fuzz.sources != NULL);
  source *s = &fuzz.sources[fuzz.count++];
  fl_program program;
  fl_error error;
  snprintf(s->name, sizeof s->name, "%s", path);
  s->file = read_program(path, &s->size);
  if (fl_program_load(&program, s->file, s->size, &error) != FL_OK) {
    fprintf(stderr, "%s: %s\n", path, error.text);
    exit(2);
  }
  s->places = find_places(s->file, s->size);
  fuzz.room = s->size > fuzz.room ? s->size : fuzz.room;
}

static int is_program(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  return length > 4 && strcmp(entry->d_name + length - 4, ".pte") == 0;
}

static void add_programs(const char *path) {
  struct dirent **entries = NULL;
  const int count = scandir(path, &entries, is_program, alphasort);
  if (count < 0) {
    add_program(path);
    return;
  }
  for (int i = 0; i < count; ++i) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
    add_program(name);
    free(entries[i]);
  }
  free(entries);
}

/* ---- Rounds ---- */

/* Returns the program of a round, in memory that is read-only afterwards. */
static uint8_t *make_program(uint64_t round, size_t *size, chance *c) {
  static uint8_t *copy;
  *c = chance_of(fuzz.seed, round);
  const source *s = &fuzz.sources[draw(c, (uint32_t)fuzz.count)];
  copy = copy != NULL ? copy : exact(fuzz.room + 1024);
  memcpy(copy, s->file, s->size);
  *size = s->size;
  if (draw(c, 100) < fuzz.damaged) {
    damage(copy, size, c);
  } else {
    mutate(s->places, copy, c);
  }
  uint8_t *file = fuzz.file + (fuzz.room - *size) / 16 * 16;
  CHECK(mprotect(fuzz.file, fuzz.room, PROT_READ | PROT_WRITE) == 0);
  __asan_unpoison_memory_region(fuzz.file, fuzz.room);
  memcpy(file, copy, *size);
  __asan_poison_memory_region(fuzz.file, (size_t)(file - fuzz.file));
  __asan_poison_memory_region(file + *size, fuzz.room - (size_t)(file - fuzz.file) - *size);
  CHECK(mprotect(fuzz.file, fuzz.room, PROT_READ) == 0);
  return file;
}

static void run_round(uint64_t round) {
  size_t size = 0;
  chance c;
  const uint8_t *file = make_program(round, &size, &c);
  fuzz.shared->size = size;
  fuzz.shared->round = round;
  const trial done = try_program(file, size, c, 0xa5);
  fuzz.shared->loaded += (uint64_t)done.is_loaded;
  fuzz.shared->executed += (uint64_t)done.is_executed;
  fuzz.shared->ended += (uint64_t)done.has_ended;
  if (fuzz.is_poisoned && done.is_executed && !may_differ(file, size)) {
    const trial again = try_program(file, size, c, 0x11);
    if (again.results != done.results) {
      fprintf(stderr, "FINDING: the results depend on what was in memory before\n");
      abort();
    }
  }
}

static void tick(int signal) {
  static uint64_t last;
  static int seconds;
  (void)signal;
  seconds = fuzz.shared->round == last ? seconds + 1 : 0;
  last = fuzz.shared->round;
  if (seconds >= SECONDS_PER_ROUND) {
    static const char text[] = "FINDING: a round takes too long\n";
    (void)!write(2, text, sizeof text - 1);
    abort();
  }
}

/* Runs rounds until one fails, which ends the process. */
static void run_rounds(uint64_t from, uint64_t end) {
  const struct itimerval second = {{1, 0}, {1, 0}};
  signal(SIGPROF, tick);
  setitimer(ITIMER_PROF, &second, NULL);
  for (uint64_t round = from; round < end; ++round) {
    run_round(round);
  }
}

static void keep_program(uint64_t round) {
  char path[512];
  snprintf(path, sizeof path, "%s/finding_%llu_%llu.pte", fuzz.keep, (unsigned long long)fuzz.seed, (unsigned long long)round);
  FILE *file = fopen(path, "wb");
  if (file != NULL) {
    const size_t size = (size_t)fuzz.shared->size;
    fwrite(fuzz.file + (fuzz.room - size) / 16 * 16, 1, size, file);
    fclose(file);
  }
  chance c = chance_of(fuzz.seed, round);
  fprintf(stderr, "FAILED: --seed %llu --from %llu --count 1, which changes %s: %s\n", (unsigned long long)fuzz.seed,
          (unsigned long long)round, fuzz.sources[draw(&c, (uint32_t)fuzz.count)].name, path);
}

static uint64_t watch(void) {
  uint64_t failures = 0;
  const uint64_t end = fuzz.first + fuzz.rounds;
  for (uint64_t from = fuzz.first; from < end; from = fuzz.shared->round + 1) {
    fuzz.shared->round = from;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      run_rounds(from, end);
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      break;
    }
    ++failures;
    keep_program(fuzz.shared->round);
  }
  return failures;
}

static void read_arguments(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--poison") == 0) {
      fuzz.is_poisoned = 1;
      continue;
    }
    if (strncmp(argv[i], "--", 2) != 0) {
      add_programs(argv[i]);
      continue;
    }
    const uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(argv[i], "--seed") == 0) {
      fuzz.seed = number;
    } else if (strcmp(argv[i], "--from") == 0) {
      fuzz.first = number;
    } else if (strcmp(argv[i], "--count") == 0) {
      fuzz.rounds = number;
    } else if (strcmp(argv[i], "--damage") == 0) {
      fuzz.damaged = (uint32_t)number;
    } else if (strcmp(argv[i], "--keep") == 0) {
      fuzz.keep = value;
    } else {
      fprintf(stderr, "there is no option %s; see test/fuzz.c\n", argv[i]);
      exit(2);
    }
    ++i;
  }
  if (fuzz.count == 0) {
    add_programs(FL_TEST_PROGRAMS);
  }
}

int main(int argc, char **argv) {
  struct timespec start, stop;
  read_arguments(argc, argv);
  fuzz.page = (size_t)sysconf(_SC_PAGESIZE);
  fuzz.room = (fuzz.room + fuzz.page - 1) / fuzz.page * fuzz.page;
  fuzz.file = mmap(NULL, fuzz.room + fuzz.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  fuzz.shared = mmap(NULL, fuzz.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(fuzz.file != MAP_FAILED && fuzz.shared != MAP_FAILED && mprotect(fuzz.file + fuzz.room, fuzz.page, PROT_NONE) == 0);
  clock_gettime(CLOCK_MONOTONIC, &start);
  const uint64_t failures = watch();
  clock_gettime(CLOCK_MONOTONIC, &stop);
  printf("%llu programs, each changed: %llu loaded, %llu executed, %llu of them to the end, %llu failed; %.1f seconds\n",
         (unsigned long long)fuzz.rounds, (unsigned long long)fuzz.shared->loaded, (unsigned long long)fuzz.shared->executed, (unsigned long long)fuzz.shared->ended,
         (unsigned long long)failures, (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec));
  return failures > 0;
}
