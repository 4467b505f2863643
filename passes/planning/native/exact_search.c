/* Searches for a memory plan within a capacity, through all plans that may matter.
 *
 * Buffers are placed one after the other, each at the least offset above those that it meets, and lower offsets come first, so that each plan
 * without gaps is met once. A branch ends where the free bytes above some time are too few for the buffers that are still to be placed there.
 * Where a buffer was the last to cross a time, what comes before and what comes after are searched apart. Several orders take turns, each for
 * more nodes than the last time, since one may find in milliseconds what another does not find in a day.
 *
 * Source: M. D. Moffitt, MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning, ASPLOS 2023.
 */
#include "exact_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 3, KEYS = 3 };

typedef struct {
  int64_t keys[KEYS]; /* the largest comes first */
  int32_t buffer;
} fl_ranked;

/* What a least offset or a floor was. */
typedef struct {
  int64_t *place;
  int64_t value;
} fl_change;

/* A part of the problem: buffers in the order of a search, and the sections that they lie in. */
typedef struct {
  const int32_t *buffers;
  int32_t count;
  int32_t first, end;
} fl_part;

typedef struct {
  const fl_plan_problem *problem;
  int64_t *offsets;
  int64_t *least;   /* of each buffer: the least offset above what was placed */
  bool *placed;
  int64_t *floors;  /* of each section: the least offset of its buffers that are still to be placed */
  int64_t *totals;  /* of each section: the bytes that are still to be placed */
  int32_t *crossing; /* of each section: the buffers to be placed that live on in the next one */
  int32_t *near_starts, *near;       /* of each buffer: those that it meets */
  int32_t *section_starts, *members; /* of each section: its buffers */
  int32_t *seen, *raised; /* sections whose floor may rise */
  int32_t turn;
  fl_change *changes;
  size_t change_count, change_room;
  int order;
  int64_t nodes, work;
  bool out_of_memory;
} fl_search;

static fl_plan_result search_part(fl_search *search, fl_part part, int64_t last, int32_t last_rank);

static void set(fl_search *search, int64_t *place, int64_t value) {
  if (search->change_count == search->change_room) {
    size_t room = 2 * search->change_room + 1024;
    fl_change *grown = realloc(search->changes, room * sizeof *grown);
    if (grown == NULL) {
      search->out_of_memory = true; /* the search ends, and nobody asks for the old value */
      return;
    }
    search->changes = grown;
    search->change_room = room;
  }
  search->changes[search->change_count++] = (fl_change){place, *place};
  *place = value;
}

static void undo(fl_search *search, size_t count) {
  while (search->change_count > count) {
    fl_change change = search->changes[--search->change_count];
    *change.place = change.value;
  }
}

static int compare_ranked(const void *left, const void *right) {
  const fl_ranked *a = left, *b = right;
  for (int key = 0; key < KEYS; key++) {
    if (a->keys[key] != b->keys[key]) {
      return a->keys[key] > b->keys[key] ? -1 : 1;
    }
  }
  return a->buffer < b->buffer ? -1 : 1;
}

/* The keys of a buffer in an order: how long it lives, its bytes over time, and the most bytes that are still to be placed beside it. */
static void rank(const fl_search *search, int32_t buffer, int64_t keys[KEYS]) {
  const fl_plan_buffer *span = &search->problem->buffers[buffer];
  int64_t area = span->duration * span->size, most = 0;
  for (int32_t section = span->first; section < span->end; section++) {
    if (search->totals[section] > most) {
      most = search->totals[section];
    }
  }
  const int64_t orders[ORDERS][KEYS] = {{span->duration, area, most}, {most, area, span->duration}, {most, span->duration, area}};
  memcpy(keys, orders[search->order], sizeof orders[0]);
}

/* Searches a part from its lowest offsets on, with the order that fits what is left of it. */
static fl_plan_result search_afresh(fl_search *search, fl_part part) {
  if (part.count == 0) {
    return FL_PLAN_FOUND;
  }
  size_t count = (size_t)part.count;
  fl_ranked *ranked = malloc(count * sizeof *ranked);
  int32_t *buffers = malloc(count * sizeof *buffers);
  fl_plan_result result = FL_PLAN_UNKNOWN;
  search->out_of_memory |= ranked == NULL || buffers == NULL;
  if (ranked != NULL && buffers != NULL) {
    for (size_t index = 0; index < count; index++) {
      ranked[index].buffer = part.buffers[index];
      rank(search, part.buffers[index], ranked[index].keys);
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t index = 0; index < count; index++) {
      buffers[index] = ranked[index].buffer;
    }
    part.buffers = buffers;
    result = search_part(search, part, 0, 0);
  }
  free(ranked);
  free(buffers);
  return result;
}

/* Searches the parts between sections that no buffer crosses, among the sections `from` to `to` where such places may be new. */
static fl_plan_result search_apart(fl_search *search, fl_part whole, int32_t from, int32_t to) {
  int32_t *buffers = malloc((size_t)whole.count * sizeof *buffers);
  if (buffers == NULL) {
    search->out_of_memory = true;
    return FL_PLAN_UNKNOWN;
  }
  fl_plan_result result = FL_PLAN_FOUND;
  fl_part part = {buffers, 0, whole.first, whole.first};
  for (int32_t section = from; section < to && result == FL_PLAN_FOUND; section++) {
    if (section + 1 < to && search->crossing[section] > 0) {
      continue;
    }
    part.end = section + 1 < to ? section + 1 : whole.end;
    part.count = 0;
    for (int32_t index = 0; index < whole.count; index++) {
      const fl_plan_buffer *span = &search->problem->buffers[whole.buffers[index]];
      if (span->first < part.end && part.first < span->end) {
        buffers[part.count++] = whole.buffers[index];
      }
    }
    result = search_afresh(search, part);
    part.first = part.end;
  }
  free(buffers);
  return result;
}

/* Finds the floors of the sections in `raised` again. One without a buffer that is still to be placed keeps its floor. */
static void raise_floors(fl_search *search, int32_t count) {
  for (int32_t index = 0; index < count; index++) {
    int32_t section = search->raised[index];
    int64_t lowest = INT64_MAX;
    for (int32_t at = search->section_starts[section]; at < search->section_starts[section + 1]; at++) {
      int32_t member = search->members[at];
      if (!search->placed[member] && search->least[member] < lowest) {
        lowest = search->least[member];
      }
    }
    search->work -= search->section_starts[section + 1] - search->section_starts[section];
    if (lowest != INT64_MAX && lowest != search->floors[section]) {
      set(search, &search->floors[section], lowest);
    }
  }
}

/* Places a buffer at its least offset. Returns whether those that it meets still fit; `is_last` becomes whether it meets none of them. */
static bool place(fl_search *search, int32_t buffer, bool *is_last) {
  const fl_plan_buffer *buffers = search->problem->buffers, *span = &buffers[buffer];
  int64_t top = search->least[buffer] + span->size;
  int32_t raised = 0;
  bool fits = true;
  search->offsets[buffer] = search->least[buffer];
  search->placed[buffer] = true;
  search->turn++;
  *is_last = true;
  for (int32_t section = span->first; section < span->end; section++) {
    search->totals[section] -= span->size;
    search->seen[section] = search->turn;
    search->raised[raised++] = section;
  }
  for (int32_t at = search->near_starts[buffer]; at < search->near_starts[buffer + 1]; at++) {
    int32_t other = search->near[at];
    if (search->placed[other]) {
      continue;
    }
    *is_last = false;
    int64_t before = search->least[other];
    if (before >= top) {
      continue;
    }
    set(search, &search->least[other], top);
    fits &= buffers[other].size <= search->problem->capacity - top;
    for (int32_t section = buffers[other].first; section < buffers[other].end; section++) {
      if (search->floors[section] == before && search->seen[section] != search->turn) {
        search->seen[section] = search->turn;
        search->raised[raised++] = section;
      }
    }
  }
  search->work -= search->near_starts[buffer + 1] - search->near_starts[buffer] + raised;
  if (fits) {
    raise_floors(search, raised);
  }
  return fits;
}

/* Whether each section has room for what is still to be placed there, at `lowest` or above. */
static bool has_room(fl_search *search, fl_part part, int64_t lowest) {
  search->work -= part.end - part.first;
  for (int32_t section = part.first; section < part.end; section++) {
    int64_t floor = search->floors[section] > lowest ? search->floors[section] : lowest;
    if (search->totals[section] > search->problem->capacity - floor) {
      return false;
    }
  }
  return true;
}

/* Searches with one more buffer placed, that of a rank. `rest` has room for the others. */
static fl_plan_result search_placed(fl_search *search, fl_part part, int32_t chosen, int32_t *rest) {
  int32_t buffer = part.buffers[chosen];
  const fl_plan_buffer *span = &search->problem->buffers[buffer];
  bool is_split = false;
  for (int32_t section = span->first; section + 1 < span->end; section++) {
    is_split |= --search->crossing[section] == 0;
  }
  memcpy(rest, part.buffers, (size_t)chosen * sizeof *rest);
  memcpy(rest + chosen, part.buffers + chosen + 1, (size_t)(part.count - chosen - 1) * sizeof *rest);
  fl_part left = {rest, part.count - 1, part.first, part.end};
  fl_plan_result result = is_split ? search_apart(search, left, span->first, span->end) : search_part(search, left, search->offsets[buffer], chosen);
  for (int32_t section = span->first; section + 1 < span->end; section++) {
    search->crossing[section]++;
  }
  return result;
}

/* Lists the ranks of the buffers that may come next, by offset, then by rank. */
static int32_t candidates(fl_search *search, fl_part part, int64_t last, int32_t last_rank, int32_t *ranks) {
  const fl_plan_buffer *buffers = search->problem->buffers;
  int64_t lowest_top = INT64_MAX;
  int32_t count = 0;
  for (int32_t index = 0; index < part.count; index++) {
    int64_t top = search->least[part.buffers[index]] + buffers[part.buffers[index]].size;
    lowest_top = top < lowest_top ? top : lowest_top;
  }
  for (int32_t index = 0; index < part.count; index++) {
    int64_t offset = search->least[part.buffers[index]];
    /* At the lowest top or above, it would leave a gap that a buffer fits into. */
    if (offset < last || (offset == last && index < last_rank) || offset >= lowest_top) {
      continue;
    }
    int32_t at = count++;
    for (; at > 0 && search->least[part.buffers[ranks[at - 1]]] > offset; at--) {
      ranks[at] = ranks[at - 1];
    }
    ranks[at] = index;
  }
  search->work -= 2 * part.count;
  return count;
}

/* Searches a part; no buffer lies below `last`, and at `last`, none of a rank below `last_rank`. */
static fl_plan_result search_part(fl_search *search, fl_part part, int64_t last, int32_t last_rank) {
  if (part.count == 0) {
    return FL_PLAN_FOUND;
  }
  if (search->nodes-- <= 0 || search->work <= 0) {
    return FL_PLAN_UNKNOWN;
  }
  int32_t *ranks = malloc(2 * (size_t)part.count * sizeof *ranks);
  if (ranks == NULL) {
    search->out_of_memory = true;
    return FL_PLAN_UNKNOWN;
  }
  int32_t count = candidates(search, part, last, last_rank, ranks);
  fl_plan_result result = FL_PLAN_NONE;
  bool is_last = false;
  for (int32_t index = 0; index < count && result == FL_PLAN_NONE && !is_last; index++) {
    int32_t buffer = part.buffers[ranks[index]];
    const fl_plan_buffer *span = &search->problem->buffers[buffer];
    size_t before = search->change_count;
    /* Where nothing will lie on it, another buffer in its place would leave the same behind. */
    bool fits = place(search, buffer, &is_last) && has_room(search, part, search->offsets[buffer]);
    if (search->out_of_memory) {
      result = FL_PLAN_UNKNOWN;
    } else if (fits) {
      result = search_placed(search, part, ranks[index], ranks + part.count);
    }
    for (int32_t section = span->first; section < span->end; section++) {
      search->totals[section] += span->size;
    }
    undo(search, before);
    search->placed[buffer] = false;
  }
  free(ranks);
  return result;
}

/* Lists the members of each section, and the neighbours of each buffer. Returns whether there was memory. */
static bool list_neighbours(fl_search *search) {
  const fl_plan_problem *problem = search->problem;
  const fl_plan_buffer *buffers = problem->buffers;
  size_t pairs = 0, members = 0;
  for (int32_t one = 0; one < problem->count; one++) {
    members += (size_t)(buffers[one].end - buffers[one].first);
    for (int32_t other = 0; other < problem->count; other++) {
      pairs += one != other && buffers[one].first < buffers[other].end && buffers[other].first < buffers[one].end;
    }
  }
  search->near = malloc((pairs + 1) * sizeof *search->near);
  search->members = malloc((members + 1) * sizeof *search->members);
  if (search->near == NULL || search->members == NULL || pairs > INT32_MAX || members > INT32_MAX) {
    return false;
  }
  int32_t at = 0;
  for (int32_t one = 0; one < problem->count; one++) {
    search->near_starts[one] = at;
    for (int32_t other = 0; other < problem->count; other++) {
      if (one != other && buffers[one].first < buffers[other].end && buffers[other].first < buffers[one].end) {
        search->near[at++] = other;
      }
    }
  }
  search->near_starts[problem->count] = at;
  at = 0;
  for (int32_t section = 0; section < problem->section_count; section++) {
    search->section_starts[section] = at;
    for (int32_t one = 0; one < problem->count; one++) {
      if (buffers[one].first <= section && section < buffers[one].end) {
        search->members[at++] = one;
        search->totals[section] += buffers[one].size;
        search->crossing[section] += section + 1 < buffers[one].end;
      }
    }
  }
  search->section_starts[problem->section_count] = at;
  return true;
}

/* Lets the orders take turns until one ends, or the work is done. */
static fl_plan_result take_turns(fl_search *search) {
  const fl_plan_problem *problem = search->problem;
  int32_t *all = malloc((size_t)problem->count * sizeof *all);
  fl_plan_result result = FL_PLAN_UNKNOWN;
  for (int32_t buffer = 0; all != NULL && buffer < problem->count; buffer++) {
    all[buffer] = buffer;
  }
  fl_part whole = {all, problem->count, 0, problem->section_count};
  for (int64_t nodes = 2 * (int64_t)problem->count; all != NULL && result == FL_PLAN_UNKNOWN && search->work > 0; nodes *= 2) {
    for (search->order = 0; search->order < ORDERS && result == FL_PLAN_UNKNOWN && !search->out_of_memory; search->order++) {
      search->nodes = nodes;
      result = search_apart(search, whole, 0, problem->section_count);
    }
    if (search->out_of_memory) {
      break;
    }
  }
  free(all);
  return result;
}

fl_plan_result fl_plan_within(const fl_plan_problem *problem, int64_t *work, int64_t *offsets) {
  if (problem == NULL || work == NULL || offsets == NULL) {
    return FL_PLAN_UNKNOWN;
  }
  size_t count = (size_t)problem->count, sections = (size_t)problem->section_count;
  fl_search search = {.problem = problem, .offsets = offsets, .work = *work};
  int64_t *numbers = calloc(count + 2 * sections + 1, sizeof *numbers);
  int32_t *indices = calloc(count + 1 + 4 * sections + 1, sizeof *indices);
  search.placed = calloc(count + 1, sizeof *search.placed);
  fl_plan_result result = FL_PLAN_UNKNOWN;
  if (numbers != NULL && indices != NULL && search.placed != NULL) {
    search.least = numbers;
    search.floors = numbers + count;
    search.totals = search.floors + sections;
    search.near_starts = indices;
    search.section_starts = indices + count + 1;
    search.crossing = search.section_starts + sections + 1;
    search.seen = search.crossing + sections;
    search.raised = search.seen + sections;
    if (list_neighbours(&search)) {
      result = take_turns(&search);
    }
  }
  *work = search.work;
  free(numbers);
  free(indices);
  free(search.placed);
  free(search.near);
  free(search.members);
  free(search.changes);
  return result;
}
