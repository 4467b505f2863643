/* A pool of POSIX threads.
 *
 * Each thread has a range of the pieces, the same one for the same number of pieces, so that what a kernel wrote is in the caches of the thread
 * that reads it for the next one. Whoever has finished its own takes from the ranges of others. The calling thread waits only for threads that
 * have taken a piece: one that the system does not run, or that a fork left behind, holds nobody up.
 *
 * A thread without work looks for some for a moment, as long as a small kernel takes, and then sleeps.
 */
#define _POSIX_C_SOURCE 200809L
#include "flambeau/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* How often a thread looks for work, or for the end of what others do, before it sleeps: some tens of microseconds. */
#define LOOKS 1000
/* Fewer operations take less time than a thread to wake. */
#define LEAST_OPERATIONS 50000

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__) || defined(__arm__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

struct pool;

/* A thread, and its range of the pieces. */
typedef struct worker {
  _Alignas(64) atomic_size_t next;
  size_t end;
  struct pool *pool;
  pthread_t thread;
  uint32_t number;
} worker;

typedef struct pool {
  fl_threads threads;
  pthread_mutex_t lock; /* of what follows, where it is not atomic */
  pthread_cond_t wake;  /* there is a job, or the end */
  pthread_cond_t left;  /* nobody is inside a job */
  atomic_flag is_busy;
  atomic_uint jobs;     /* number of jobs so far */
  atomic_uint inside;   /* workers that compute pieces */
  uint32_t sleepers;
  int is_open;          /* workers may begin with the job */
  int is_ending;
  fl_task_fn task;
  void *work;
  pid_t process;
  worker workers[];     /* 0 is the caller */
} pool;

static void compute(pool *p, uint32_t thread) {
  for (uint32_t i = 0; i < p->threads.count; ++i) {
    worker *const from = &p->workers[(thread + i) % p->threads.count];
    for (size_t piece; (piece = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed)) < from->end;) {
      p->task(p->work, piece, thread);
    }
  }
}

/* Computes pieces of each job, until the end. */
static void *serve(void *user) {
  worker *const self = (worker *)user;
  pool *const p = self->pool;
  unsigned seen = 0;
  (void)pthread_mutex_lock(&p->lock);
  while (!p->is_ending) {
    if (atomic_load(&p->jobs) == seen) {
      (void)pthread_mutex_unlock(&p->lock);
      for (int i = 0; i < LOOKS && atomic_load_explicit(&p->jobs, memory_order_relaxed) == seen; ++i) {
        PAUSE();
      }
      (void)pthread_mutex_lock(&p->lock);
      while (atomic_load(&p->jobs) == seen && !p->is_ending) {
        ++p->sleepers;
        (void)pthread_cond_wait(&p->wake, &p->lock);
        --p->sleepers;
      }
      continue;
    }
    seen = atomic_load(&p->jobs);
    if (p->is_open) {
      atomic_fetch_add(&p->inside, 1);
      (void)pthread_mutex_unlock(&p->lock);
      compute(p, self->number);
      (void)pthread_mutex_lock(&p->lock);
      if (atomic_fetch_sub(&p->inside, 1) == 1) {
        (void)pthread_cond_signal(&p->left);
      }
    }
  }
  (void)pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void run(const fl_threads *threads, fl_task_fn task, void *work, size_t pieces) {
  pool *const p = (pool *)threads->user;
  const uint32_t count = threads->count;
  if (pieces <= 1 || count <= 1 || atomic_flag_test_and_set_explicit(&p->is_busy, memory_order_acquire)) {
    for (size_t piece = 0; piece < pieces; ++piece) {
      task(work, piece, 0);
    }
    return;
  }
  const size_t each = pieces / count, more = pieces % count;
  (void)pthread_mutex_lock(&p->lock);
  for (uint32_t i = 0; i < count; ++i) {
    atomic_store_explicit(&p->workers[i].next, i * each + (i < more ? i : more), memory_order_relaxed);
    p->workers[i].end = (i + 1) * each + (i + 1 < more ? i + 1 : more);
  }
  p->task = task;
  p->work = work;
  p->is_open = 1;
  atomic_fetch_add(&p->jobs, 1);
  if (p->sleepers > 0) {
    (void)pthread_cond_broadcast(&p->wake);
  }
  (void)pthread_mutex_unlock(&p->lock);
  compute(p, 0);
  (void)pthread_mutex_lock(&p->lock);
  p->is_open = 0;
  if (atomic_load(&p->inside) > 0) {
    (void)pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < LOOKS && atomic_load_explicit(&p->inside, memory_order_relaxed) > 0; ++i) {
      PAUSE();
    }
    (void)pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->inside) > 0) {
      (void)pthread_cond_wait(&p->left, &p->lock);
    }
  }
  (void)pthread_mutex_unlock(&p->lock);
  atomic_flag_clear_explicit(&p->is_busy, memory_order_release);
}

size_t fl_threads_size(uint32_t count) { return sizeof(pool) + count * sizeof(worker); }

const fl_threads *fl_threads_start(void *memory, size_t size, uint32_t count) {
  pool *const p = (pool *)memory;
  sigset_t all, before;
  if (memory == NULL || (uintptr_t)memory % 64 != 0 || count == 0 || size < fl_threads_size(count)) {
    return NULL;
  }
  *p = (pool){.threads = {1, run, p, LEAST_OPERATIONS}, .is_busy = ATOMIC_FLAG_INIT, .process = getpid()};
  (void)pthread_mutex_init(&p->lock, NULL);
  (void)pthread_cond_init(&p->wake, NULL);
  (void)pthread_cond_init(&p->left, NULL);
  /* Signals are for the threads of the application. */
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  uint32_t started = 1;
  for (; started < count; ++started) {
    worker *const w = &p->workers[started];
    w->pool = p;
    w->number = started;
    if (pthread_create(&w->thread, NULL, serve, w) != 0) {
      break;
    }
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  p->threads.count = started;
  return &p->threads;
}

void fl_threads_stop(const fl_threads *threads) {
  pool *const p = threads == NULL ? NULL : (pool *)threads->user;
  if (p == NULL || p->process != getpid()) {
    return; /* a process that was forked has none of the threads */
  }
  (void)pthread_mutex_lock(&p->lock);
  p->is_ending = 1;
  (void)pthread_cond_broadcast(&p->wake);
  (void)pthread_mutex_unlock(&p->lock);
  for (uint32_t i = 1; i < threads->count; ++i) {
    (void)pthread_join(p->workers[i].thread, NULL);
  }
  (void)pthread_cond_destroy(&p->left);
  (void)pthread_cond_destroy(&p->wake);
  (void)pthread_mutex_destroy(&p->lock);
}
