/* Runs a program once, compares its outputs, and writes lines of a name and a number. The status is 1 if outputs are wrong, 2 if it failed. */
#include "board.h"

#include <string.h>

enum { PAINT = 0xa5 };

/* The instructions between the two are counted from outside. */
__attribute__((noinline)) void board_begin(void) { __asm__ volatile(""); }
__attribute__((noinline)) void board_end(void) { __asm__ volatile(""); }

static void write_number(const char *name, uint64_t number) {
  char digits[24];
  size_t at = sizeof digits;
  digits[--at] = 0;
  digits[--at] = '\n';
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  board_write(name);
  board_write(" ");
  board_write(digits + at);
}

static _Noreturn void fail(const char *what, const char *why) {
  board_write("failed ");
  board_write(what);
  board_write(": ");
  board_write(why);
  board_write("\n");
  board_exit(2);
}

/* The bytes below this function's frame, down to the limit of the stack. The addresses are numbers: no object of C lies there. */
__attribute__((noinline)) static uintptr_t stack_top(void) {
  uint8_t here = 0;
  return (uintptr_t)&here - 256;
}

static void paint(uintptr_t top) {
  for (uintptr_t at = (uintptr_t)board_stack_limit(); at < top; ++at) {
    *(volatile uint8_t *)at = PAINT;
  }
}

static size_t used(uintptr_t top) {
  uintptr_t at = (uintptr_t)board_stack_limit();
  while (at < top && *(volatile uint8_t *)at == PAINT) {
    ++at;
  }
  return top - at;
}

static float magnitude(float value) { return value < 0 ? -value : value; }

/* Returns the largest difference in units of the largest float, or -1 where one is not a number. */
static float distance(const float *found, const float *wanted, size_t count) {
  float largest = 0, apart = 0;
  for (size_t i = 0; i < count; ++i) {
    const float difference = magnitude(found[i] - wanted[i]);
    if (!(difference <= 3e38f)) {
      return -1;
    }
    apart = difference > apart ? difference : apart;
    largest = magnitude(wanted[i]) > largest ? magnitude(wanted[i]) : largest;
  }
  return largest > 0 ? apart / largest : apart;
}

int main(void) {
  const uintptr_t top = stack_top();
  int status = 0;
  uint64_t hash = 14695981039346656037u; /* FNV-1a of all outputs, by which two forms are compared */
  paint(top);
  const char *why = program_start();
  if (why != NULL) {
    fail("start", why);
  }
  write_number("start_stack", used(top));
  paint(top);
  board_begin();
  why = program_run();
  board_end();
  if (why != NULL) {
    fail("run", why);
  }
  write_number("stack", used(top));
  write_number("memory", program_memory.all);
  write_number("records", program_memory.records);
  write_number("scratch", program_memory.scratch);
  write_number("planned", program_memory.planned);
  write_number("pointer_size", sizeof(void *));
  for (uint32_t i = 0; i < case_output_count; ++i) {
    const fl_tensor *output = program_output(i);
    const case_tensor *wanted = &case_outputs[i];
    const size_t bytes = fl_numel(output) * fl_element_size(output->dtype);
    if (bytes != wanted->size) {
      fail("output", "it has another size than on the machine that compiled the program");
    }
    for (size_t at = 0; at < bytes; ++at) {
      hash = (hash ^ ((const uint8_t *)output->data)[at]) * 1099511628211u;
    }
    const int is_equal = memcmp(output->data, wanted->data, bytes) == 0;
    float apart = is_equal ? 0 : -1;
    if (!is_equal && output->dtype == FL_FLOAT32) {
      apart = distance((const float *)output->data, (const float *)wanted->data, bytes / sizeof(float));
    }
    write_number("is_equal", (uint64_t)is_equal);
    write_number("difference_in_1e9", apart < 0 ? UINT32_MAX : (uint64_t)(apart * 1e9f));
    status |= apart < 0 || apart > case_tolerance;
  }
  write_number("hash", hash);
  board_exit(status);
}
