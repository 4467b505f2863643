/* The pool of threads: each piece is computed once, by whichever thread; callers that come at once, and the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "test/test.h"

#define MOST_PIECES 1000
#define MOST_THREADS 8

typedef struct job {
  atomic_int counts[MOST_PIECES];
  atomic_int busy[MOST_THREADS];
  int plain[MOST_PIECES]; /* not atomic: a sanitizer of threads reports it if the caller could read it too early */
} job;

static void count_piece(void *work, size_t piece, uint32_t thread) {
  job *const j = (job *)work;
  CHECK(thread < MOST_THREADS && atomic_fetch_add(&j->busy[thread], 1) == 0);
  atomic_fetch_add(&j->counts[piece], 1);
  j->plain[piece] += 1;
  atomic_fetch_sub(&j->busy[thread], 1);
}

static void run_jobs(const fl_threads *threads, int rounds) {
  static const size_t sizes[] = {0, 1, 2, 7, 64, MOST_PIECES};
  job *const j = (job *)malloc(sizeof *j);
  CHECK(j != NULL);
  for (int round = 0; round < rounds; ++round) {
    const size_t pieces = sizes[(size_t)round % (sizeof sizes / sizeof *sizes)];
    memset(j, 0, sizeof *j);
    threads->run(threads, count_piece, j, pieces);
    for (size_t i = 0; i < MOST_PIECES; ++i) {
      CHECK(atomic_load(&j->counts[i]) == (i < pieces) && j->plain[i] == (i < pieces));
    }
  }
  free(j);
}

static void *run_beside(void *threads) {
  run_jobs((const fl_threads *)threads, 300);
  return NULL;
}

static void test_pool(uint32_t count) {
  void *memory = exact(fl_threads_size(count));
  const fl_threads *threads = fl_threads_start(memory, fl_threads_size(count), count);
  CHECK(threads != NULL && threads->count == count);
  run_jobs(threads, 300);
  /* Two callers: while the pool works for one of them, the other one computes alone. */
  pthread_t other;
  CHECK(pthread_create(&other, NULL, run_beside, memory) == 0);
  run_jobs(threads, 300);
  CHECK(pthread_join(other, NULL) == 0);
  fl_threads_stop(threads);
  free(memory);
}

static void test_refusals(void) {
  void *memory = exact(fl_threads_size(2));
  CHECK(fl_threads_start(memory, fl_threads_size(2), 0) == NULL);
  CHECK(fl_threads_start(memory, fl_threads_size(2) - 1, 2) == NULL);
  CHECK(fl_threads_start(NULL, fl_threads_size(2), 2) == NULL);
  CHECK(fl_threads_start((char *)memory + 1, fl_threads_size(2), 1) == NULL);
  fl_threads_stop(NULL);
  free(memory);
}

int main(void) {
  for (uint32_t count = 1; count <= MOST_THREADS; ++count) {
    test_pool(count);
  }
  test_refusals();
  return 0;
}
