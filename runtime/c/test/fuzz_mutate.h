/* Changes programs in ways that mostly leave them well formed. */
#ifndef FLAMBEAU_TEST_FUZZ_MUTATE_H
#define FLAMBEAU_TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Numbers that follow from a seed. */
typedef struct chance {
  uint64_t state;
} chance;

chance chance_of(uint64_t seed, uint64_t index);
/* A number below `below`, which is not 0. */
uint32_t draw(chance *c, uint32_t below);
uint64_t draw_bits(chance *c);

/* What can be changed in a program: made once, used for any number of copies of it. */
typedef struct fuzz_places fuzz_places;

/* The places of a program that fl_program_load has accepted. */
fuzz_places *find_places(const uint8_t *file, size_t size);
void free_places(fuzz_places *places);

/* Changes one place of a copy of the program. */
void change_place(const fuzz_places *places, uint8_t *file, chance *c);
/* Changes some of the places of a copy of the program, whose tables must not lie across each other. */
void mutate(const fuzz_places *places, uint8_t *file, chance *c);
/* Changes any bytes; the size may become smaller. */
void damage(uint8_t *file, size_t *size, chance *c);

#endif
