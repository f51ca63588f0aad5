/* One problem from options. */
#include <string.h>

#include "oclattn-run/common.h"
#include "wishes.h"

enum { FOR_ATTENTION = 1, FOR_DECODE = 2, FOR_MHA = 4, FOR_PROJECTION = 8 };
enum { FOR_HEADS = FOR_ATTENTION | FOR_DECODE | FOR_MHA };

typedef struct command {
    const char *name;
    int bit;
    problem_group group;
} command;

static const command commands[] = {{"attention", FOR_ATTENTION, GROUP_PREFILL},
                                   {"decode", FOR_DECODE, GROUP_DECODE},
                                   {"mha", FOR_MHA, GROUP_LAYER},
                                   {"projection", FOR_PROJECTION, GROUP_PROJECTION}};

static const command *find_command(const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* Far above what any device holds, and small enough that products of three fit an int64_t. */
static const int64_t largest_size = 1 << 20;

static bool check_option(const command *c, const char *name, bool given, int fits, failure *f) {
    if (given && !(fits & c->bit)) {
        return fail_with(f, EXIT_BAD_INPUT, "--%s means nothing to %s; --help says what does", name, c->name);
    }
    return true;
}

static bool check_size(const command *c, const char *name, int64_t value, int fits, failure *f) {
    if (value > largest_size) {
        return fail_with(f, EXIT_BAD_INPUT, "--%s must be at most %lld, not %lld", name, (long long)largest_size,
                         (long long)value);
    }
    return check_option(c, name, value != 0, fits, f);
}

static bool check_options(const command *c, const shape_options *o, failure *f) {
    return check_size(c, "batch", o->batch, FOR_HEADS, f) && check_size(c, "heads", o->heads, FOR_HEADS, f) &&
           check_size(c, "kv-heads", o->kv_heads, FOR_HEADS, f) && check_size(c, "q-len", o->q_len, FOR_HEADS, f) &&
           check_size(c, "kv-len", o->kv_len, FOR_ATTENTION | FOR_DECODE, f) &&
           check_size(c, "head-dim", o->head_dim, FOR_HEADS, f) && check_size(c, "v-dim", o->v_dim, FOR_HEADS, f) &&
           check_size(c, "d-model", o->d_model, FOR_MHA, f) && check_size(c, "rows", o->rows, FOR_PROJECTION, f) &&
           check_size(c, "in", o->in, FOR_PROJECTION, f) && check_size(c, "out", o->out, FOR_PROJECTION, f) &&
           check_option(c, "window", o->window != NULL, FOR_HEADS, f) &&
           check_option(c, "align", o->align != NULL, FOR_ATTENTION | FOR_DECODE, f) &&
           check_option(c, "causal", o->causal, FOR_HEADS, f);
}

static int64_t size_or(int64_t given, int64_t otherwise) {
    return given != 0 ? given : otherwise;
}

static bool head_width(const shape_options *o, bench_problem *p, failure *f) {
    if (o->head_dim == 0 && p->group == GROUP_LAYER && p->d_model % p->q_heads != 0) {
        return fail_with(f, EXIT_BAD_INPUT, "--d-model %lld cannot be shared out among --heads %lld; give --head-dim",
                         (long long)p->d_model, (long long)p->q_heads);
    }
    const int64_t usual = p->group == GROUP_LAYER ? p->d_model / p->q_heads : p->group == GROUP_DECODE ? 128 : 64;
    p->head_dim = size_or(o->head_dim, usual);
    p->v_dim = size_or(o->v_dim, p->head_dim);
    return true;
}

static bool fill_heads(const shape_options *o, bench_problem *p, failure *f) {
    const bool decodes = p->group == GROUP_DECODE;
    p->batch = size_or(o->batch, 1);
    p->q_heads = size_or(o->heads, decodes ? 32 : 12);
    p->kv_heads = size_or(o->kv_heads, p->q_heads);
    p->q_len = size_or(o->q_len, decodes ? 1 : p->group == GROUP_LAYER ? 128 : 512);
    p->kv_len = size_or(o->kv_len, decodes ? 4096 : p->q_len);
    p->d_model = p->group == GROUP_LAYER ? size_or(o->d_model, 768) : 0;
    p->causal = o->causal;
    return head_width(o, p, f);
}

static bool fill_window(const shape_options *o, bench_problem *p, failure *f) {
    int64_t bounds[2] = {-1, -1};
    if (o->window && !parse_integers("--window", o->window, 2, -1, bounds, f)) {
        return false;
    }
    if (bounds[0] > largest_size || bounds[1] > largest_size) {
        return fail_with(f, EXIT_BAD_INPUT, "--window must be at most %lld on either side", (long long)largest_size);
    }
    p->window_left = bounds[0];
    p->window_right = bounds[1];
    return true;
}

static bool fill_alignment(const shape_options *o, bench_problem *p, failure *f) {
    const bool top_left = o->align && strcmp(o->align, "top-left") == 0;
    if (o->align && !top_left && strcmp(o->align, "bottom-right") != 0) {
        return fail_with(f, EXIT_BAD_INPUT, "--align must be top-left or bottom-right, not '%s'", o->align);
    }
    p->align = top_left ? OCLATTN_ALIGN_TOP_LEFT : OCLATTN_ALIGN_BOTTOM_RIGHT;
    return true;
}

bool shape_problem(const char *name, const shape_options *o, bench_problem *p, failure *f) {
    const command *c = find_command(name);
    if (!c) {
        return fail_with(f, EXIT_BAD_INPUT, "unknown command '%s'; there are attention, mha, decode and projection",
                         name);
    }
    *p = (bench_problem){.group = c->group, .type = OCLATTN_F32, .kv_type = OCLATTN_F32};
    if (!check_options(c, o, f)) {
        return false;
    }
    if (c->group == GROUP_PROJECTION) {
        p->rows = size_or(o->rows, 128);
        p->in_dim = size_or(o->in, 768);
        p->out_dim = size_or(o->out, 768);
        return true;
    }
    return fill_window(o, p, f) && fill_alignment(o, p, f) && fill_heads(o, p, f);
}
