#include "random.h"

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
uint64_t random_bits(random_source *source) {
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

random_source random_start(uint64_t seed, uint64_t number) {
    random_source of_seed = {seed};
    random_source source = {random_bits(&of_seed) + number * 0xd1342543de82ef95u};
    random_bits(&source);
    return source;
}

int64_t random_between(random_source *source, int64_t least, int64_t most) {
    return least + (int64_t)(random_bits(source) % (uint64_t)(most - least + 1));
}

bool random_one_in(random_source *source, int64_t n) {
    return random_between(source, 1, n) == 1;
}

double random_unit(random_source *source) {
    return (double)(random_bits(source) >> 11) * 0x1p-52 - 1.0;
}
