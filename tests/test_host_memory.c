/* Host calls on memory that begins anywhere: the same bits, and no byte around an output touched. */
#include <guarded.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, ROWS = 5, WIDTH = 16, COUNT = HEADS * ROWS * WIDTH, PAGE = 4096, GUARD = 256 };

/* COUNT elements that begin `offset` bytes after a page does, with guards around them. */
typedef struct placed {
    unsigned char *memory;
    size_t offset, bytes;
} placed;

static placed placed_new(size_t offset, size_t bytes) {
    placed p = {aligned_alloc(PAGE, 2 * PAGE), GUARD + offset, bytes};
    assert_non_null(p.memory);
    memset(p.memory, 0xa5, 2 * PAGE);
    return p;
}

static void *placed_data(const placed *p) {
    return p->memory + p->offset;
}

static void assert_guards(const placed *p) {
    for (size_t i = 0; i < 2 * PAGE; i++) {
        if (i < p->offset || i >= p->offset + p->bytes) {
            assert_int_equal(p->memory[i], 0xa5);
        }
    }
}

/* Small numbers that f16 holds exactly. */
static void fill(const placed *p, element type, uint64_t which) {
    random_source source = random_start(11, which);
    for (int64_t i = 0; i < COUNT; i++) {
        element_write(type, (char *)placed_data(p) + (size_t)i * element_bytes(type),
                      (double)random_between(&source, -16, 16) / 8);
    }
}

static oclattn_attention_desc describe(element type) {
    oclattn_attention_desc desc;
    oclattn_attention_desc_init(&desc);
    desc.batch = 1;
    desc.q_heads = desc.kv_heads = HEADS;
    desc.q_len = desc.kv_len = ROWS;
    desc.head_dim = desc.v_dim = WIDTH;
    desc.q_type = desc.k_type = desc.v_type = desc.o_type = (oclattn_type)type;
    return desc;
}

static void run(element type, const size_t offsets[4], void *result) {
    const size_t bytes = COUNT * element_bytes(type);
    const oclattn_attention_desc desc = describe(type);
    oclattn_attention_host_args args;
    oclattn_error error;
    placed tensors[4];
    for (size_t t = 0; t < 4; t++) {
        tensors[t] = placed_new(offsets[t], bytes);
        if (t < 3) {
            fill(&tensors[t], type, t);
        }
    }
    oclattn_attention_host_args_init(&args);
    args.q = placed_data(&tensors[0]);
    args.k = placed_data(&tensors[1]);
    args.v = placed_data(&tensors[2]);
    args.o = placed_data(&tensors[3]);
    assert_ok(oclattn_attention_host(device.context, &desc, &args, &error), &error);
    memcpy(result, args.o, bytes);
    for (size_t t = 0; t < 4; t++) {
        assert_guards(&tensors[t]);
        free(tensors[t].memory);
    }
}

static void test_memory_begins_anywhere(void **state) {
    static const element types[] = {ELEMENT_F32, ELEMENT_F16};
    unsigned char expected[COUNT * sizeof(float)], result[COUNT * sizeof(float)];
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        const size_t bytes = element_bytes(types[t]);
        run(types[t], (const size_t[4]){0, 0, 0, 0}, expected);
        for (size_t step = 1; step < 64; step += 5) {
            run(types[t], (const size_t[4]){step * bytes, 2 * step * bytes, 3 * step * bytes, 5 * step * bytes},
                result);
            assert_memory_equal(result, expected, COUNT * bytes);
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_begins_anywhere)};
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
