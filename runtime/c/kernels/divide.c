/* Divides work among the threads of a context. */
#include "divide.h"

/* Pieces for each thread, so that one that was slower than others leaves some of its own to them. */
#define PIECES_OF_THREAD 4

typedef struct division {
  const fl_context *context;
  fl_piece_fn run;
  const void *work;
} division;

static void run_piece(void *work, size_t piece, uint32_t thread) {
  const division *const d = work;
  d->run(d->work, piece, thread == 0 ? d->context->scratch : (char *)d->context->slices + thread * d->context->slice_size);
}

static int is_worth_waking(const fl_context *context, size_t operations) {
  return context != NULL && context->threads != NULL && operations >= context->threads->least_operations;
}

size_t fl_threads_for(const fl_context *context, size_t operations) {
  return is_worth_waking(context, operations) ? (size_t)context->threads->count : 1;
}

size_t fl_pieces(const fl_context *context, size_t operations) {
  return is_worth_waking(context, operations) ? (size_t)context->threads->count * PIECES_OF_THREAD : 1;
}

void fl_divide(const fl_context *context, size_t pieces, size_t operations, fl_piece_fn run, const void *work) {
  if (pieces > 1 && is_worth_waking(context, operations)) {
    division d = {context, run, work};
    context->threads->run(context->threads, run_piece, &d, pieces);
    return;
  }
  for (size_t piece = 0; piece < pieces; ++piece) {
    run(work, piece, context == NULL ? NULL : context->scratch);
  }
}

void fl_divide_within(const fl_context *context, size_t pieces, size_t operations, fl_piece_fn run, const void *work, const fl_context **within) {
  if (2 * pieces >= fl_pieces(context, operations)) {
    fl_divide(context, pieces, operations, run, work);
    return;
  }
  *within = context;
  for (size_t piece = 0; piece < pieces; ++piece) {
    run(work, piece, context->scratch);
  }
}
