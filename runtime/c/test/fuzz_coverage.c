/* The fuzz test guided by coverage, with clang's libFuzzer: programs that reach new code are kept and changed further.
 *
 *     cmake -S runtime/c -B build/coverage -DCMAKE_C_COMPILER=clang -DFLAMBEAU_SANITIZE=address,undefined,fuzzer-no-link
 *     cmake --build build/coverage --target fuzz_coverage
 *     build/coverage/fuzz_coverage -detect_leaks=0 -max_total_time=3600 CORPUS SEEDS */
#include "test/fuzz_trial.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned int seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint64_t sum = 0;
  if (size == 0) {
    return 0;
  }
  uint8_t *file = exact(size);
  memcpy(file, data, size);
  for (size_t i = 0; i < size; ++i) {
    sum = sum * 31 + data[i];
  }
  (void)try_program(file, size, chance_of(sum, 0), 0xa5);
  CHECK(memcmp(file, data, size) == 0);
  free(file);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned int seed) {
  chance c = chance_of(seed, 0);
  fl_program program;
  uint8_t *file = exact(size + 1024); /* a list that a change made longer may end after the file */
  memset(file + size, 0, 1024);
  memcpy(file, data, size);
  if (fl_program_load(&program, file, size, NULL) == FL_OK && draw(&c, 16) > 0) {
    /* Tables may overlap here, so the places are found again after each change. */
    for (uint32_t times = 1 + draw(&c, 3); times > 0 && fl_program_load(&program, file, size, NULL) == FL_OK; --times) {
      fuzz_places *places = find_places(file, size);
      change_place(places, file, &c);
      free_places(places);
    }
    memcpy(data, file, size);
  } else {
    size = LLVMFuzzerMutate(data, size, limit);
  }
  free(file);
  return size;
}
