#include "variant.h"

#include <stdio.h>
#include <string.h>

#include "clblast_tiles.h"
#include "gpu_tiles.h"
#include "params.h"
#include "quarantine.h"

/* attention_portable takes its parameters by value and up to 17 buffers of 8 bytes. */
#define ATTENTION_ARGUMENT_BYTES (sizeof(attention_params) + 17 * sizeof(cl_ulong))

/* By preference; the portable row of each operation comes last and fits every device. */
static const variant rows[] = {
    {.id = VARIANT_ATTENTION_FEW_ROWS_CPU,
     .operation = PLAN_ATTENTION,
     .name = "attention_few_rows_cpu",
     .what = "online softmax, all rows that share K and V a work-item, wide vectors along the rows",
     .min_parameter_bytes = ATTENTION_ARGUMENT_BYTES,
     .max_width = 256,
     .max_rows = 8,
     .good_on = CL_DEVICE_TYPE_CPU,
     .choice = CHOICE_FEW_ROWS_CPU},
    {.id = VARIANT_ATTENTION_TILED_CPU,
     .operation = PLAN_ATTENTION,
     .name = "attention_tiled_cpu",
     .what = "online softmax, a tile of query rows a work-item, wide vectors",
     .min_parameter_bytes = ATTENTION_ARGUMENT_BYTES,
     .max_width = 256,
     .good_on = CL_DEVICE_TYPE_CPU,
     .choice = CHOICE_TILED_CPU},
    {.id = VARIANT_ATTENTION_TILED_GPU,
     .operation = PLAN_ATTENTION,
     .name = "attention_tiled_gpu",
     .what = "online softmax, a tile of query rows a work-group, blocks of keys in local memory",
     .min_parameter_bytes = ATTENTION_ARGUMENT_BYTES,
     .max_width = 256,
     .good_on = CL_DEVICE_TYPE_GPU,
     .choice = CHOICE_TILED_GPU},
    {.id = VARIANT_ATTENTION_PORTABLE,
     .operation = PLAN_ATTENTION,
     .name = "attention_portable",
     .what = "online softmax, one query row a work-item, no local memory",
     .min_parameter_bytes = ATTENTION_ARGUMENT_BYTES,
     .choice = CHOICE_PORTABLE},
    {.id = VARIANT_PROJECTION_CLBLAST,
     .operation = PLAN_PROJECTION,
     .name = "projection_clblast",
     .what = "CLBlast SGEMM",
     .only_if_preferred = true},
    {.id = VARIANT_PROJECTION_TILED_CPU,
     .operation = PLAN_PROJECTION,
     .name = "projection_tiled_cpu",
     .what = "packed panels of weights, register tiles, wide vectors",
     .good_on = CL_DEVICE_TYPE_CPU},
    {.id = VARIANT_PROJECTION_PORTABLE,
     .operation = PLAN_PROJECTION,
     .name = "projection_portable",
     .what = "packed panels of weights, no local memory"},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static bool lacks(text *refusals, const variant *row, const char *what, unsigned long long needed,
                  unsigned long long found) {
    if (found >= needed) {
        return false;
    }
    if (found == 0) {
        text_format(refusals, "%s: needs %s of %llu, and the device names none\n", row->name, what, needed);
    } else {
        text_format(refusals, "%s: needs %s of %llu, the device has %llu\n", row->name, what, needed, found);
    }
    return true;
}

/* What a variant's work-groups need; zeros where it takes any size. */
typedef struct group_need {
    size_t work_items;
    unsigned long long local_bytes;
} group_need;

static group_need group_need_of(const variant *row, const variant_request *request, const tuning *tuned) {
    if (row->id == VARIANT_PROJECTION_CLBLAST) {
        const clblast_need need = clblast_tiles_need(&tuned->clblast);
        return (group_need){need.work_group, need.local_bytes};
    }
    if (row->id == VARIANT_ATTENTION_TILED_GPU) {
        const gpu_request gpu = {width_class_of(request->width), request->q_bytes, request->kv_bytes, request->rows};
        const gpu_tiles tiles = gpu_tiles_for(tuned, &gpu);
        return (group_need){(size_t)gpu_tile_items(&tiles), (unsigned long long)gpu_tile_local_bytes(&tiles, &gpu)};
    }
    return (group_need){0, 0};
}

static bool work_group_fits(const variant *row, const variant_request *request, const device_caps *caps,
                            const tuning *tuned, text *refusals) {
    const group_need need = group_need_of(row, request, tuned);
    return !lacks(refusals, row, "work-groups", need.work_items, caps->max_work_group_size) &&
           !lacks(refusals, row, "a first work-group dimension", need.work_items, caps->max_work_item_sizes[0]) &&
           !lacks(refusals, row, "local memory bytes", need.local_bytes, caps->local_memory_bytes);
}

static bool device_fits(const variant *row, const variant_request *request, const device_caps *caps,
                        const tuning *tuned, text *refusals) {
    return work_group_fits(row, request, caps, tuned, refusals) &&
           (caps->max_parameter_bytes == 0 || /* not known */
            !lacks(refusals, row, "kernel argument bytes", row->min_parameter_bytes, caps->max_parameter_bytes));
}

static bool problem_fits(const variant *row, const variant_request *request, text *refusals) {
    if (row->max_width > 0 && request->width > row->max_width) {
        text_format(refusals, "%s: rows of K and V are at most %lld wide, not %lld\n", row->name,
                    (long long)row->max_width, (long long)request->width);
        return false;
    }
    if (row->max_rows > 0 && request->rows == INT64_MAX) {
        text_format(refusals, "%s: takes at most %lld query rows, and packed sequences may have more\n", row->name,
                    (long long)row->max_rows);
        return false;
    }
    if (row->max_rows > 0 && request->rows > row->max_rows) {
        text_format(refusals, "%s: at most %lld query rows may share K and V, not %lld\n", row->name,
                    (long long)row->max_rows, (long long)request->rows);
        return false;
    }
    return true;
}

bool variant_is_first_choice(const variant *row, bool few_rows, const tuning *tuned) {
    return row->choice != CHOICE_BY_TABLE && row->choice == (few_rows ? tuned->first.few_rows : tuned->first.many_rows);
}

/* The row that the tuning puts first; NULL: none. */
static const variant *first_choice(const variant_request *request, const tuning *tuned) {
    for (const variant *row = rows; row < rows + ROW_COUNT; ++row) {
        if (row->operation == request->operation && request->wanted == NULL &&
            variant_is_first_choice(row, request->few_rows, tuned)) {
            return row;
        }
    }
    return NULL;
}

/* Reasons that do not count where the variant is asked for by name, or was measured to be the best. */
static bool is_good_unasked(const variant *row, const oclattn_context *context, const tuning *tuned, text *refusals) {
    if (row->only_if_preferred && tuned->clblast.preferred == 0) {
        text_format(refusals, "%s: not preferred on this device (", row->name);
        tuning_add_origin(tuned, TUNING_CLBLAST, refusals);
        text_add_string(refusals, ")\n");
        return false;
    }
    if (row->good_on != 0 && (row->good_on & context->caps.type) == 0) {
        text_format(refusals, "%s: made for another type of device\n", row->name);
        return false;
    }
    return true;
}

/* The portable row, which is all there is to fall back on. */
static bool is_last_of_operation(const variant *row) {
    for (const variant *later = row + 1; later < rows + ROW_COUNT; ++later) {
        if (later->operation == row->operation) {
            return false;
        }
    }
    return true;
}

/* By name it is taken all the same: that is how a self-test tries it again. */
static bool is_in_quarantine(const variant *row, const oclattn_context *context, text *refusals) {
    text reason = {0};
    const bool held = !is_last_of_operation(row) &&
                      quarantine_holds(context->cache_dir, &context->caps, row->name, &context->log, &reason);
    if (held) {
        const char *why = reason.length > 0 ? reason.data : "no reason is given";
        text_format(refusals, "%s: in quarantine since a self-test failed: %s\n", row->name, why);
        log_line(&context->log, OCLATTN_LOG_WARNING, "%s is in quarantine since a self-test failed: %s", row->name,
                 why);
    }
    text_clear(&reason);
    return held;
}

static bool row_is_taken(const variant *row, const variant_request *request, const oclattn_context *context,
                         const tuning *tuned, text *refusals) {
    if (row->operation != request->operation) {
        return false;
    }
    if (request->wanted != NULL) {
        return strcmp(request->wanted, row->name) == 0 && device_fits(row, request, &context->caps, tuned, refusals) &&
               problem_fits(row, request, refusals);
    }
    return (row == first_choice(request, tuned) || is_good_unasked(row, context, tuned, refusals)) &&
           device_fits(row, request, &context->caps, tuned, refusals) && problem_fits(row, request, refusals) &&
           !is_in_quarantine(row, context, refusals);
}

/* The first choice comes first, and the others after it. NULL: nothing stands there. */
static const variant *row_at(const variant_request *request, const tuning *tuned, size_t position) {
    const variant *first = first_choice(request, tuned);
    if (position == 0) {
        return first;
    }
    const variant *row = &rows[position - 1];
    return row == first ? NULL : row;
}

const variant *variant_next(const variant_request *request, const oclattn_context *context, const tuning *tuned,
                            size_t *cursor, text *refusals) {
    while (*cursor <= ROW_COUNT) {
        const variant *row = row_at(request, tuned, (*cursor)++);
        if (row != NULL && row_is_taken(row, request, context, tuned, refusals)) {
            return row;
        }
    }
    return NULL;
}

const char *variant_name(plan_kind operation, size_t index) {
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        if (rows[i].operation == operation && index-- == 0) {
            return rows[i].name;
        }
    }
    return NULL;
}

static void list_names(plan_kind operation, char *names, size_t size) {
    size_t length = 0;
    names[0] = '\0';
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        if (rows[i].operation == operation && length < size) {
            length += (size_t)snprintf(names + length, size - length, "%s%s", length > 0 ? ", " : "", rows[i].name);
        }
    }
}

oclattn_status variant_none(const variant_request *request, const text *refusals, oclattn_error *error) {
    if (refusals->length > 0) {
        const size_t length = refusals->length - 1; /* without the last newline */
        return error_set(error, OCLATTN_UNSUPPORTED, "no variant fits: %.*s", (int)length, refusals->data);
    }
    char names[256];
    list_names(request->operation, names, sizeof(names));
    return error_set(error, OCLATTN_INVALID_ARGUMENT, "there is no variant \"%s\"; known: %s",
                     request->wanted == NULL ? "" : request->wanted, names);
}

void variant_describe_refusals(const text *refusals, const char *indent, text *lines) {
    size_t begin = 0;
    for (size_t i = 0; i < refusals->length; ++i) {
        if (refusals->data[i] == '\n') {
            text_format(lines, "%s  not taken: %.*s\n", indent, (int)(i - begin), refusals->data + begin);
            begin = i + 1;
        }
    }
}
