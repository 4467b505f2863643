/* Writes the text of a model for OpenVINO, from the lines of a payload, which representation.py explains, with the places of its weights. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flambeau/runtime.h"
#include "payload.h"

#define DAMAGED(...) fl_library_fail(FL_DELEGATE_INCOMPATIBLE, "its payload is damaged: " __VA_ARGS__)
#define TEXT(span) (int)(span).length, (span).at

/* A piece of the text, shorter than INT_MAX. */
typedef struct span {
  const char *at;
  size_t length;
} span;

enum { LONGEST_PATH = 255 }; /* it is written again for each layer */

typedef struct line {
  span type, opset, inputs, outputs, path, data;
} line;

/* Where the bytes of a constant are: the attribute in its data that says so, and the bytes. */
typedef struct place {
  span attribute;
  const uint8_t *data;
} place;

/* ---- Reading ---- */

/* Takes what is before `end` off the front of a text, and `end`. Returns 0 if there is no `end`. */
static int take(span *text, char end, span *piece) {
  const char *const found = text->length == 0 ? NULL : (const char *)memchr(text->at, end, text->length);
  if (found != NULL) {
    *piece = (span){text->at, (size_t)(found - text->at)};
    *text = (span){found + 1, text->length - piece->length - 1};
  }
  return found != NULL;
}

/* Takes the next word of a list off its front. */
static int take_word(span *list, span *word) {
  if (list->length == 0) {
    return 0;
  }
  if (!take(list, ' ', word)) {
    *word = *list;
    *list = (span){list->at + list->length, 0};
  }
  return 1;
}

/* Takes the next line off the text. A path that is empty stays that of the line before. Returns 0 at the end, or where the text is no line. */
static int take_line(span *text, line *next) {
  span whole, path;
  if (!take(text, '\n', &whole) || !take(&whole, '\t', &next->type) || !take(&whole, '\t', &next->opset) || !take(&whole, '\t', &next->inputs) ||
      !take(&whole, '\t', &next->outputs) || !take(&whole, '\t', &path) || path.length > LONGEST_PATH) {
    return 0;
  }
  next->path = path.length > 0 ? path : next->path;
  next->data = whole;
  return 1;
}

static int read_number(span text, uint64_t *number) {
  *number = 0;
  for (size_t i = 0; i < text.length; ++i) {
    if (text.at[i] < '0' || text.at[i] > '9') {
      return 0;
    }
    *number = *number * 10 + (uint64_t)(text.at[i] - '0');
  }
  return text.length > 0 && text.length < 19;
}

/* Finds the attribute ` name="value"` in the data of a layer, in which a value has no quotation marks. */
static int find_attribute(span data, const char *name, span *attribute, span *value) {
  const size_t length = strlen(name);
  for (span word, rest = data; take_word(&rest, &word);) {
    if (word.length > length + 2 && memcmp(word.at, name, length) == 0 && memcmp(word.at + length, "=\"", 2) == 0 && word.at[word.length - 1] == '"') {
      *attribute = word;
      *value = (span){word.at + length + 2, word.length - length - 3};
      return 1;
    }
  }
  return 0;
}

/* Finds the bytes of a constant, layer `index`, and stores behind them in `end`. */
static fl_status find_bytes(const ov_payload *payload, fl_library_names *names, uint32_t index, span data, place *found, uintptr_t *end) {
  span attribute, value;
  uint64_t size, offset;
  if (!find_attribute(data, "size", &attribute, &value) || !read_number(value, &size)) {
    return DAMAGED("layer %u, a constant, has no size", index);
  }
  if (find_attribute(data, "key", &found->attribute, &value)) {
    const void *stored = NULL;
    size_t bytes = 0;
    const fl_status status = fl_library_find_named(names, "layer", index, value.at, (uint32_t)value.length, &stored, &bytes);
    if (status != FL_OK) {
      return status;
    }
    if (bytes < size) {
      return DAMAGED("layer %u needs %llu bytes; the named data '%.80s' have %llu", index, (unsigned long long)size,
                     fl_program_named_data_key(names->program, names->next - 1), (unsigned long long)bytes);
    }
    found->data = (const uint8_t *)stored;
  } else {
    if (!find_attribute(data, "offset", &found->attribute, &value) || !read_number(value, &offset) || offset > payload->constant_bytes ||
        size > payload->constant_bytes - offset) {
      return DAMAGED("layer %u, a constant, lies outside of its constants", index);
    }
    found->data = payload->constants + offset;
  }
  *end = (uintptr_t)found->data + (uintptr_t)size;
  return FL_OK;
}

/* ---- Writing ---- */

/* A text that grows; without memory it is NULL, and stays so. */
typedef struct text {
  char *at;
  size_t length;
  size_t room;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *to, const char *format, ...) {
  for (int is_again = 0; to->at != NULL; is_again = 1) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->at + to->length, to->room - to->length, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < to->room - to->length) {
      to->length += (size_t)length;
      return;
    }
    to->room = to->room * 2 + (length > 0 ? (size_t)length : 0);
    char *const larger = length < 0 || is_again ? NULL : (char *)realloc(to->at, to->room);
    if (larger == NULL) {
      free(to->at);
    }
    to->at = larger;
  }
}

static void add_layer(text *to, size_t number, const line *l, const place *where, uintptr_t first) {
  static const char *const tags[] = {"input", "output"};
  add(to, "<layer id=\"%zu\" name=\"%.*s%s%.*s_%zu\" type=\"%.*s\" version=\"opset%.*s\">", number, TEXT(l->path), l->path.length > 0 ? "." : "", TEXT(l->type),
      number, TEXT(l->type), TEXT(l->opset));
  if (where->data != NULL) {
    const span before = {l->data.at, (size_t)(where->attribute.at - l->data.at)};
    const char *const behind = where->attribute.at + where->attribute.length;
    const span after = {behind, (size_t)(l->data.at + l->data.length - behind)};
    add(to, "<data %.*soffset=\"%" PRIuPTR "\"%.*s/>", TEXT(before), (uintptr_t)where->data - first, TEXT(after));
  } else if (l->data.length > 0) {
    add(to, "<data %.*s/>", TEXT(l->data));
  }
  for (int i = 0; i < 2; ++i) {
    span word, list = i == 0 ? l->inputs : l->outputs;
    add(to, "<%s>", tags[i]);
    for (size_t port = 0; take_word(&list, &word); ++port) {
      if (i == 0) {
        add(to, "<port id=\"%zu\"/>", port);
      } else {
        add(to, "<port id=\"%zu\" precision=\"%.*s\"/>", port, TEXT(word));
      }
    }
    add(to, "</%s>", tags[i]);
  }
  add(to, "</layer>");
}

static void add_edges(text *to, size_t number, span inputs) {
  span word, layer;
  for (size_t port = 0; take_word(&inputs, &word); ++port) {
    if (!take(&word, '.', &layer)) {
      layer = word;
      word = (span){"0", 1};
    }
    add(to, "<edge from-layer=\"%.*s\" from-port=\"%.*s\" to-layer=\"%zu\" to-port=\"%zu\"/>", TEXT(layer), TEXT(word), number, port);
  }
}

static char *write_model(span lines, const place *places, uintptr_t first, size_t *length) {
  text to = {(char *)malloc(4096), 0, 4096};
  line l = {0};
  span rest = lines;
  add(&to, "<net name=\"flambeau\" version=\"11\"><layers>");
  for (size_t number = 0; take_line(&rest, &l); ++number) {
    add_layer(&to, number, &l, &places[number], first);
  }
  add(&to, "</layers><edges>");
  rest = lines;
  for (size_t number = 0; take_line(&rest, &l); ++number) {
    add_edges(&to, number, l.inputs);
  }
  add(&to, "</edges></net>");
  *length = to.length;
  return to.at;
}

fl_status fl_ov_write_model(const fl_payload *payload, ov_payload *read) {
  static const span constant = {"Const", 5};
  const span lines = {read->model, read->model_bytes};
  fl_library_names names = fl_library_names_of(payload);
  const uint8_t *first = NULL;
  uintptr_t end = 0, last = 0;
  size_t count = 0, number = 0;
  line l = {0};
  span rest = lines;
  while (take_line(&rest, &l)) {
    ++count;
  }
  if (rest.length > 0 || lines.length > INT32_MAX) {
    return DAMAGED("layer %zu is no line of a model", count);
  }
  place *const places = (place *)calloc(count + 1, sizeof *places);
  fl_status status = places == NULL ? FL_DELEGATE_OUT_OF_MEMORY : FL_OK;
  rest = lines;
  for (; status == FL_OK && take_line(&rest, &l); ++number) {
    place *const found = &places[number];
    if (l.type.length != constant.length || memcmp(l.type.at, constant.at, constant.length) != 0) {
      continue;
    }
    status = find_bytes(read, &names, (uint32_t)number, l.data, found, &end);
    if (status == FL_OK) {
      first = first == NULL || (uintptr_t)found->data < (uintptr_t)first ? found->data : first;
      last = end > last ? end : last;
    }
  }
  if (status == FL_OK) {
    read->model = read->written = write_model(lines, places, (uintptr_t)first, &read->model_bytes);
    /* OpenVINO refuses constants without a byte, even if none has an element. */
    static const uint8_t nothing[1];
    const size_t bytes = (size_t)(last - (uintptr_t)first);
    read->constants = first == NULL || bytes > 0 ? first : nothing;
    read->constant_bytes = first == NULL || bytes > 0 ? bytes : sizeof nothing;
  }
  free(places);
  return places != NULL && (status != FL_OK || read->written != NULL) ? status : fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for its text");
}
