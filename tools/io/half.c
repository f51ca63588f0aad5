/* Numbers of 16 bits. Both formats are a sign, an exponent and a fraction, so one routine serves both: counted in
 * steps of its last digit, a positive number is its own bit pattern, and a carry moves on to the exponent. */
#include "array.h"

#include <math.h>
#include <string.h>

static uint16_t round_to_16_bits(double value, int fraction_bits, int bias) {
    const uint32_t sign = signbit(value) ? 0x8000u : 0u;
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction_bits;
    const double size = fabs(value);
    if (isnan(value)) {
        return (uint16_t)(sign | infinity | (1u << (fraction_bits - 1)));
    }
    const double largest_power = ldexp(1, bias + 1);
    if (size >= largest_power) {
        return (uint16_t)(sign | infinity);
    }
    const int least_exponent = 1 - bias;
    const int exponent = size < ldexp(1, least_exponent) ? least_exponent : ilogb(size);
    const uint32_t steps = (uint32_t)nearbyint(ldexp(size, fraction_bits - exponent));
    return (uint16_t)(sign | (((uint32_t)(exponent + bias - 1) << fraction_bits) + steps));
}

uint16_t f16_from_double(double value) {
    return round_to_16_bits(value, 10, 15);
}

uint16_t bf16_from_double(double value) {
    return round_to_16_bits(value, 7, 127);
}

double f16_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    double size;
    if (exponent == 31) {
        size = fraction ? (double)NAN : (double)INFINITY;
    } else {
        size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    }
    return bits & 0x8000 ? -size : size;
}

double bf16_to_double(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}
