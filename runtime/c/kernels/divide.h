/* Divides a kernel's work among threads. */
#ifndef FLAMBEAU_KERNELS_DIVIDE_H
#define FLAMBEAU_KERNELS_DIVIDE_H

#include "flambeau/kernel.h"

/* Computes a piece of a kernel's work, which no other piece reads or writes. `scratch` is as much as the kernel has left of its own. */
typedef void (*fl_piece_fn)(const void *work, size_t piece, void *scratch);

/* Computes all pieces. The threads of `context`, which may be NULL, help if `operations`, about the instructions of all pieces that compute, are
 * worth waking them. How the work is cut must not depend on the threads, unless each number comes out the same whatever the cut. */
void fl_divide(const fl_context *context, size_t pieces, size_t operations, fl_piece_fn run, const void *work);

/* Computes all pieces, of which each could be divided further: where they are too few for the threads, one after the other, after `context` was stored
 * in `*within`, a part of `work` that is NULL otherwise. */
void fl_divide_within(const fl_context *context, size_t pieces, size_t operations, fl_piece_fn run, const void *work, const fl_context **within);

/* Returns how many rows of a product take as long as `rows` do: where they are few, it takes as long as reading the other matrix. */
static inline size_t fl_costly_rows(size_t rows) { return rows < 8 ? 8 : rows; }

/* Returns how many threads compute: 1 when others do not help or `operations` are too few. */
size_t fl_threads_for(const fl_context *context, size_t operations);

/* Returns into how many pieces to cut work that may be cut anywhere: 1 when threads do not help or `operations` are too few, else some for each. */
size_t fl_pieces(const fl_context *context, size_t operations);

/* A range of `count` items. */
typedef struct fl_range {
  size_t begin, end;
} fl_range;

/* Returns the range of a piece, of `pieces` whose sizes differ by at most one. */
static inline fl_range fl_range_of(size_t count, size_t pieces, size_t piece) {
  const size_t each = count / pieces, more = count % pieces;
  return (fl_range){piece * each + (piece < more ? piece : more), (piece + 1) * each + (piece + 1 < more ? piece + 1 : more)};
}

#endif
