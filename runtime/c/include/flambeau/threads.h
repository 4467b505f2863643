/* Threads that help the one that executes a method, and a pool of them.
 *
 *     const fl_threads *threads = fl_threads_start(memory, fl_threads_size(4), 4);   // three more threads, which wait
 *     fl_method_set_threads(&method, threads, &error);                               // scratch memory: that of need.scratch for each thread
 *     …
 *     fl_threads_stop(threads);                                                      // after the methods that it was given to
 *
 * An application that has threads of its own fills an fl_threads instead. Methods may share one: while it works for one of them, the others
 * compute alone, so that there are never more threads at work than the methods that execute and the threads of the pool.
 *
 * Results do not depend on the number of threads, by one bit: a kernel cuts its work into pieces whose results do not depend on who computes them.
 */
#ifndef FLAMBEAU_THREADS_H
#define FLAMBEAU_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "flambeau/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes a piece of `work` in thread `thread`, a number below fl_threads.count. Pieces are independent of each other. */
typedef void (*fl_task_fn)(void *work, size_t piece, uint32_t thread);

/* Threads that compute pieces of work. */
typedef struct fl_threads {
  uint32_t count; /* the most pieces that are computed at once; the thread that calls `run` may be one of those that compute them */
  /* Calls task(work, piece, thread) once for each piece from 0 to pieces - 1, in any order, and returns when all have returned. No two of
   * these calls that run at once have the same `thread`. May be called by several threads at once, for work of their own. */
  void (*run)(const struct fl_threads *threads, fl_task_fn task, void *work, size_t pieces);
  void *user;              /* of whoever made it */
  size_t least_operations; /* work of fewer operations, about the instructions that compute, is not worth waking them for */
} fl_threads;

/* Returns the bytes of memory that a pool of `count` threads takes, the calling one among them. */
FL_API size_t fl_threads_size(uint32_t count);
/* Starts a pool in `memory`, which is aligned to 64 bytes, and returns it; NULL when `count` is 0 or the memory does not suffice. Creates
 * count - 1 threads; with fewer, if the system gives no more, the pool's `count` is lower. */
FL_API const fl_threads *fl_threads_start(void *memory, size_t size, uint32_t count);
/* Ends the threads of a pool and returns its memory to the caller. No method may execute with it, now or later. */
FL_API void fl_threads_stop(const fl_threads *threads);

#ifdef __cplusplus
}
#endif

#endif
