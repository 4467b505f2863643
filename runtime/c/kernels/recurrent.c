/* Steps of recurrent layers: the product of the hidden state with its weight, and the gates, block by block of the next state. */
#include "divide.h"
#include "gemm.h"
#include "loops.h"
#include "optional.h"
#include "recurrent.def"

#define GATES 4
#define VECTORS (FL_PANEL / FL_LANES) /* of a gate in a block */
#define SUMS (GATES * VECTORS)
/* Sums beside each other for each number of a block, which hide the latency of multiply-adds where there are registers for them. */
#define CHAINS (FL_LANES == 16 ? 4 : 1)

typedef struct lstm_step {
  const float *hidden, *memory, *projected, *weight, *bias;
  float *next_hidden, *next_memory;
  size_t rows, size;
} lstm_step;

/* Multiplies a row of `depth` numbers with the weight of a block. */
static void multiply_block(const float *row, const float *weight, size_t depth, fl_vec *sums) {
  fl_vec sum[CHAINS * SUMS];
  size_t k = 0;
  FL_UNROLL
  for (int i = 0; i < CHAINS * SUMS; ++i) {
    sum[i] = fl_zero();
  }
  for (; k + CHAINS <= depth; k += CHAINS, weight += CHAINS * GATES * FL_PANEL) {
    FL_UNROLL
    for (int i = 0; i < CHAINS * SUMS; ++i) {
      sum[i] = fl_fma(fl_set(row[k + (size_t)(i / SUMS)]), fl_load(weight + i * FL_LANES), sum[i]);
    }
  }
  for (; k < depth; ++k, weight += GATES * FL_PANEL) {
    FL_UNROLL
    for (int i = 0; i < SUMS; ++i) {
      sum[i] = fl_fma(fl_set(row[k]), fl_load(weight + i * FL_LANES), sum[i]);
    }
  }
  FL_UNROLL
  for (int i = 0; i < SUMS; ++i) {
    fl_vec total = sum[i];
    FL_UNROLL
    for (int c = 1; c < CHAINS; ++c) {
      total += sum[c * SUMS + i];
    }
    sums[i] = total;
  }
}

/* Computes a block of the next state of all rows. */
static void run_block(const void *work, size_t piece, void *scratch) {
  const lstm_step *const s = work;
  const float *const weight = s->weight + piece * s->size * GATES * FL_PANEL;
  (void)scratch;
  for (size_t r = 0; r < s->rows; ++r) {
    fl_vec sums[SUMS];
    multiply_block(s->hidden + r * s->size, weight, s->size, sums);
    for (int v = 0; v < VECTORS; ++v) {
      const size_t at = piece * FL_PANEL + (size_t)v * FL_LANES;
      if (at >= s->size) {
        break;
      }
      const size_t n = s->size - at < FL_LANES ? s->size - at : FL_LANES;
      fl_vec gates[GATES];
      FL_UNROLL
      for (int g = 0; g < GATES; ++g) {
        gates[g] = sums[g * VECTORS + v] + fl_load_part(s->projected + (r * GATES + (size_t)g) * s->size + at, n);
        if (s->bias != NULL) {
          gates[g] += fl_load_part(s->bias + (size_t)g * s->size + at, n);
        }
      }
      const fl_vec kept = fl_sigmoid(gates[1]) * fl_load_part(s->memory + r * s->size + at, n);
      const fl_vec memory = kept + fl_sigmoid(gates[0]) * fl_tanh(gates[2]);
      fl_store_part(s->next_memory + r * s->size + at, memory, n);
      fl_store_part(s->next_hidden + r * s->size + at, fl_sigmoid(gates[3]) * fl_tanh(memory), n);
    }
  }
}

fl_status fl_lstm_step_out(fl_context *context, fl_value *const *args, size_t count) {
  (void)count;
  FL_TENSOR_ARGUMENT(hidden, 0);
  FL_TENSOR_ARGUMENT(memory, 1);
  FL_TENSOR_ARGUMENT(projected, 2);
  FL_TENSOR_ARGUMENT(weight, 3);
  FL_OPTIONAL_TENSOR_ARGUMENT(bias, 4);
  FL_TENSOR_ARGUMENT(next_hidden, 5);
  FL_TENSOR_ARGUMENT(next_memory, 6);
  const fl_tensor *const all[] = {hidden, memory, projected, weight, next_hidden, next_memory};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    FL_CHECK(context, all[i]->dtype == FL_FLOAT32, "only float32 is supported");
    FL_CHECK(context, i > 3 || fl_is_contiguous(all[i]), "the operands must be contiguous");
  }
  FL_CHECK(context, memory->rank == 2 && fl_same_sizes(hidden, memory), "the states must have one shape of two dimensions");
  FL_CHECK(context, projected->rank == 2 && projected->sizes[0] == memory->sizes[0] && projected->sizes[1] == (int64_t)GATES * memory->sizes[1],
           "the input's projection must have four numbers for each of the state");
  FL_CHECK(context, weight->rank == 3 && weight->sizes[0] == ((int64_t)memory->sizes[1] + FL_PANEL - 1) / FL_PANEL && weight->sizes[1] == memory->sizes[1] &&
                        weight->sizes[2] == GATES * FL_PANEL,
           "the weight must be packed: [ceil(size / 16), size, 64]");
  FL_CHECK(context, !bias || (bias->dtype == FL_FLOAT32 && bias->rank == 1 && bias->sizes[0] == projected->sizes[1]),
           "the bias must have one value for each column of the projection");
  FL_TRY(fl_resize(context, next_hidden, memory->sizes, memory->rank));
  FL_TRY(fl_resize(context, next_memory, memory->sizes, memory->rank));
  FL_CHECK(context, fl_is_contiguous(next_hidden) && fl_is_contiguous(next_memory), "the results must be contiguous");
  const lstm_step step = {hidden->data, memory->data, projected->data, weight->data, bias ? bias->data : NULL,
                          next_hidden->data, next_memory->data, (size_t)memory->sizes[0], (size_t)memory->sizes[1]};
  fl_divide(context, (size_t)weight->sizes[0], step.rows * fl_numel(weight) / FL_LANES, run_block, &step);
  return FL_OK;
}
