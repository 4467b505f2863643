/* The times of XNNPACK's operators, and the nodes of the payload that they compute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"

enum { OPERATOR_COUNT = 0, OPERATOR_NAMES = 1, OPERATOR_TIMES = 2 }; /* XNNPACK's numbers of what it tells */
enum { NAME_BYTES = 96 };

typedef struct xnn_operator {
  char name[NAME_BYTES]; /* XNNPACK's, with a number where it has several: "Softmax (NC, F32) #1", as in ExecuTorch's events */
  uint32_t node;
} xnn_operator;

struct xnn_profile {
  size_t count;
  uint64_t *times; /* in microseconds */
  xnn_operator operators[];
};

/* Returns whether an operator of this name can compute a node. XNNPACK computes some nodes with the node before or behind them. */
static int computes(const char *name, const xnn_node *node) {
  switch ((xnn_form)node->kind->form) {
    case FORM_UNARY_LIMITS: return strncmp(name, "Clamp", 5) == 0;
    case FORM_PAD: return strstr(name, "Pad") != NULL;
    default: return 1;
  }
}

/* Stores the node that each operator computes: both have one order. Where they do not fit together, none is known. */
static void find_nodes(delegate *d) {
  struct xnn_profile *const profile = d->profile;
  xnn_node node;
  size_t at = 0, left_out = 0;
  for (uint32_t i = 0; i < d->graph.node_count && fl_xnn_read_node(&d->graph, i, &node) == FL_OK; ++i) {
    const size_t fewer = d->graph.node_count - left_out - profile->count;
    if (at < profile->count && (fewer == 0 || computes(profile->operators[at].name, &node))) {
      profile->operators[at++].node = i;
    } else {
      ++left_out;
    }
  }
  for (size_t i = 0; i < profile->count && (at != profile->count || d->graph.node_count != left_out + profile->count); ++i) {
    profile->operators[i].node = UINT32_MAX;
  }
}

static void store_names(struct xnn_profile *profile, const char *names, size_t size) {
  const char *const end = names + size;
  for (size_t i = 0; i < profile->count && names < end; ++i) {
    const size_t length = strlen(names);
    size_t same = 1;
    for (size_t j = 0; j < i; ++j) {
      same += strncmp(profile->operators[j].name, names, length) == 0 && strncmp(profile->operators[j].name + length, " #", 2) == 0;
    }
    (void)snprintf(profile->operators[i].name, NAME_BYTES, "%.*s #%zu", length < NAME_BYTES - 16 ? (int)length : NAME_BYTES - 16, names, same);
    names += length + 1;
  }
}

void fl_xnn_find_operators(delegate *d) {
  size_t count = 0, size = 0;
  if (d->library.profiling_info == NULL || d->library.profiling_info(d->runtime, OPERATOR_COUNT, sizeof count, &count, &size) != 0 || count == 0 ||
      count > d->graph.node_count) {
    return;
  }
  (void)d->library.profiling_info(d->runtime, OPERATOR_NAMES, 0, NULL, &size);
  char *const names = (char *)calloc(size + 1, 1);
  d->profile = (struct xnn_profile *)calloc(1, sizeof *d->profile + count * (sizeof *d->profile->operators + sizeof *d->profile->times));
  if (names != NULL && d->profile != NULL && d->library.profiling_info(d->runtime, OPERATOR_NAMES, size, names, &size) == 0) {
    d->profile->count = count;
    d->profile->times = (uint64_t *)(void *)(d->profile->operators + count);
    store_names(d->profile, names, size);
    find_nodes(d);
  }
  free(names);
}

int fl_xnn_operator_time(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found) {
  const delegate *const d = (const delegate *)handle;
  struct xnn_profile *const profile = d->profile;
  size_t size = 0;
  (void)self;
  if (profile == NULL || index >= profile->count ||
      (index == 0 && d->library.profiling_info(d->runtime, OPERATOR_TIMES, profile->count * sizeof *profile->times, profile->times, &size) != 0)) {
    return 0;
  }
  *found = (fl_timed_operator){profile->operators[index].name, profile->times[index] * 1000, profile->operators[index].node};
  return 1;
}
