/* Changes programs in ways that mostly leave them well formed. */
#ifndef FLAMBEAU_TEST_FUZZ_MUTATE_H
#define FLAMBEAU_TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* The state of random numbers, which follow from a seed. */
typedef struct chance {
  uint64_t state;
} chance;

chance chance_of(uint64_t seed, uint64_t index);
/* Returns a random number below `below`, which must not be 0. */
uint32_t draw(chance *c, uint32_t below);
uint64_t draw_bits(chance *c);

/* The places in a program that can be changed. They are found once, for any number of copies of the program. */
typedef struct fuzz_places fuzz_places;

/* Returns the places of a program that fl_program_load has accepted. */
fuzz_places *find_places(const uint8_t *file, size_t size);
void free_places(fuzz_places *places);

/* Changes one place of a copy of the program. */
void change_place(const fuzz_places *places, uint8_t *file, chance *c);
/* Changes some of the places of a copy of the program, whose tables must not overlap. */
void mutate(const fuzz_places *places, uint8_t *file, chance *c);
/* Changes any bytes of a copy, and may make its size smaller. */
void damage(uint8_t *file, size_t *size, chance *c);

#endif
