#include "convert.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* binary16: 1 sign, 5 exponent (bias 15) and 10 mantissa bits. */
static float half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
    if (exponent == 0) {
        const float magnitude = ldexpf((float)mantissa, -24);
        return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
    return float_of(sign | wide << 23 | mantissa << 13);
}

/* value / unit, ties to even, is what the rounding mode of the machine does. */
static uint16_t float_to_half(float value) {
    const uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000u);
    const float magnitude = fabsf(value);
    if (isnan(value)) {
        return sign | 0x7e00u;
    }
    if (magnitude >= 65520.0f) {
        return sign | 0x7c00u;
    }
    if (magnitude < 0x1p-14f) {
        return sign | (uint16_t)rintf(magnitude * 0x1p24f);
    }
    const uint32_t bits = bits_of(magnitude) - ((127u - 15u) << 23);
    return sign | (uint16_t)((bits + 0xfffu + (bits >> 13 & 1u)) >> 13);
}

static uint16_t float_to_bfloat(float value) {
    const uint32_t bits = bits_of(value);
    if (isnan(value)) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float load_float(const void *from, ort_element element, int64_t index) {
    if (element == ORT_FLOAT) {
        return ((const float *)from)[index];
    }
    const uint16_t bits = ((const uint16_t *)from)[index];
    return element == ORT_FLOAT16 ? half_to_float(bits) : float_of((uint32_t)bits << 16);
}

void store_float(void *to, ort_element element, int64_t index, float value) {
    if (element == ORT_FLOAT) {
        ((float *)to)[index] = value;
        return;
    }
    ((uint16_t *)to)[index] = element == ORT_FLOAT16 ? float_to_half(value) : float_to_bfloat(value);
}
