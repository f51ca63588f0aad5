/* Random numbers that are the same everywhere, from a seed. */
#ifndef OCLATTN_TESTS_RANDOM_H
#define OCLATTN_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct random_source {
    uint64_t state;
} random_source;

/* A source for item `number` of a run with `seed`. */
random_source random_start(uint64_t seed, uint64_t number);

uint64_t random_bits(random_source *source);

/* From least to most, both included. */
int64_t random_between(random_source *source, int64_t least, int64_t most);

/* True once in `n` times. */
bool random_one_in(random_source *source, int64_t n);

/* Uniform in [-1, 1). */
double random_unit(random_source *source);

#endif
