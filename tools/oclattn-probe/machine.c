#include "machine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/list.h"
#include "device/text.h"
#include "ops/ops.h"
#include "plan/tuning_file.h"
#include "plan/variant.h"
#include "played_caps.h"
#include "program/os.h"

/* ---- the list --------------------------------------------------------------------------------------------------- */

/* Equal platforms are told by an equal id; the ids that the drivers gave belong to processes that are gone. */
static cl_platform_id played_id(const json_t *platform, size_t index) {
    const json_t *same = json_object_get(platform, "same_as");
    const uintptr_t number_of = json_is_integer(same) ? (uintptr_t)json_integer_value(same) : index;
    return (cl_platform_id)(number_of + 1);
}

static size_t count_devices(const json_t *document) {
    size_t count = 0, i;
    json_t *platform;
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        count += json_array_size(json_object_get(platform, "devices"));
    }
    return count;
}

static void add_devices(machine *m, json_t *platform, size_t index) {
    size_t d;
    json_t *device;
    json_array_foreach(json_object_get(platform, "devices"), d, device) {
        device_record *record = &m->list.items[m->list.count];
        *record = (device_record){.platform = played_id(platform, index),
                                  .platform_index = (int)index,
                                  .device_index = (int)d,
                                  .alias_of = -1};
        played_caps(&record->caps, json_object_get(device, "facts"), json_object_get(platform, "facts"));
        m->devices[m->list.count] = device;
        m->platforms[m->list.count] = platform;
        m->list.count++;
    }
}

static json_t *address(const device_record *record) {
    return json_sprintf("%d:%d", record->platform_index, record->device_index);
}

static void mark(machine *m) {
    for (size_t i = 0; i < m->list.count; i++) {
        const device_record *record = &m->list.items[i];
        const char *trouble = device_unusable_because(&record->caps);
        json_object_set_new(m->devices[i], "alias_of",
                            record->alias_of >= 0 ? address(&m->list.items[record->alias_of]) : json_null());
        json_object_set_new(m->devices[i], "unusable_because", trouble ? json_string(trouble) : json_null());
    }
}

bool machine_make(machine *m, json_t *document, failure *f) {
    size_t i;
    json_t *platform;
    const size_t count = count_devices(document);
    *m = (machine){.list.platform_count = json_array_size(json_object_get(document, "platforms"))};
    m->list.items = calloc(count + 1, sizeof *m->list.items);
    m->devices = calloc(count + 1, sizeof(json_t *));
    m->platforms = calloc(count + 1, sizeof(json_t *));
    if (!m->list.items || !m->devices || !m->platforms) {
        return fail_memory(f, "the list of devices");
    }
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        add_devices(m, platform, i);
    }
    device_list_mark_aliases(&m->list);
    mark(m);
    return true;
}

void machine_clear(machine *m) {
    device_list_clear(&m->list);
    free(m->devices);
    free(m->platforms);
}

/* ---- the choice ------------------------------------------------------------------------------------------------- */

static size_t count_usable(const machine *m, cl_device_type type) {
    size_t count = 0;
    for (size_t i = 0; i < m->list.count; i++) {
        const device_record *record = &m->list.items[i];
        count += record->alias_of < 0 && !device_unusable_because(&record->caps) && (record->caps.type & type) != 0;
    }
    return count;
}

static json_t *asked_for(const char *by, const char *spec) {
    char clean[128];
    text_clean(clean, sizeof clean, spec, strlen(spec));
    return json_sprintf("it is what %s%s asks for", by, clean);
}

static json_t *reason_of_choice(const machine *m, const char *spec) {
    const char *variable = getenv("OCLATTN_DEVICE");
    const cl_device_type type = m->list.items[m->chosen].caps.type;
    if (spec) {
        return asked_for("--device ", spec);
    }
    if (variable && variable[0] != '\0') {
        return asked_for("OCLATTN_DEVICE=", variable);
    }
    if (count_usable(m, CL_DEVICE_TYPE_ALL) == 1) {
        return json_string("it is the only device that can be used");
    }
    if (count_usable(m, type) == 1) {
        return json_string("a GPU comes before an accelerator, and that before a CPU");
    }
    return json_string(type & CL_DEVICE_TYPE_CPU
                           ? "there are CPUs only, and of those the first in the loader's order is taken"
                           : "of several, memory of its own comes first, then more memory, then more compute units");
}

/* A context of the library without a driver behind it: enough to choose and lay out, never to compile. */
static oclattn_context *play_context(const device_caps *caps, const char *cache_dir) {
    oclattn_context *context = calloc(1, sizeof *context);
    if (context) {
        atomic_init(&context->references, 1);
        context->caps = *caps;
        context->cache_dir = (char *)cache_dir;
        context->process_id = os_process_id();
    }
    return context;
}

static json_t *lines_of(const char *at, const char *with) {
    json_t *list = json_array();
    while (at && *at) {
        const size_t length = strcspn(at, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        const char *found = with ? strstr(line, with) : line;
        if (found) {
            json_array_append_new(list, json_string(found + (with ? strlen(with) : 0)));
        }
        at += length + (at[length] == '\n');
    }
    return list;
}

static void set_shape(oclattn_attention_desc *desc, const int64_t shape[7]) {
    oclattn_attention_desc_init(desc);
    desc->batch = shape[0];
    desc->q_heads = shape[1];
    desc->kv_heads = shape[2];
    desc->q_len = shape[3];
    desc->kv_len = shape[4];
    desc->head_dim = shape[5];
    desc->v_dim = shape[6];
}

static json_t *resolve_attention(oclattn_context *context, const oclattn_attention_desc *desc) {
    oclattn_error error = {0};
    oclattn_plan *plan = NULL;
    if (attention_resolve(context, desc, &plan, &error) != OCLATTN_OK) {
        return json_pack("{s:n, s:o, s:[]}", "variant", "refusals", lines_of(error.message, ""), "plan");
    }
    text lines = {0};
    plan->type->describe(plan, "", &lines);
    json_t *answer = json_pack("{s:s, s:o, s:o}", "variant", plan->variant, "refusals",
                               lines_of(lines.data, "not taken: "), "plan", lines_of(lines.data, NULL));
    text_clear(&lines);
    oclattn_plan_destroy(plan);
    return answer;
}

json_t *machine_explain(const machine *m, const int64_t shape[7], const char *wanted, const char *cache_dir) {
    oclattn_attention_desc desc;
    set_shape(&desc, shape);
    desc.variant = wanted;
    oclattn_context *context = play_context(&m->list.items[m->chosen].caps, cache_dir);
    json_t *answer = context ? resolve_attention(context, &desc) : json_object();
    json_t *sizes = json_array();
    for (int i = 0; i < 7; i++) {
        json_array_append_new(sizes, json_integer((json_int_t)shape[i]));
    }
    json_object_set_new(answer, "operation", json_string("attention"));
    json_object_set_new(answer, "shape", sizes);
    free(context);
    return answer;
}

/* Only the table is asked: CLBlast looks at the matrices once there is a device. */
static json_t *explain_projection(const machine *m, const char *cache_dir) {
    const device_caps *caps = &m->list.items[m->chosen].caps;
    const variant_request request = {.operation = PLAN_PROJECTION};
    text refusals = {0};
    size_t cursor = 0;
    oclattn_context *context = play_context(caps, cache_dir);
    const tuning tuned = context ? tuning_for(context) : (tuning){0};
    const variant *row = context ? variant_next(&request, context, &tuned, &cursor, &refusals) : NULL;
    json_t *answer = json_pack("{s:s, s:o, s:o}", "operation", "projection", "variant",
                               row ? json_string(row->name) : json_null(), "refusals", lines_of(refusals.data, NULL));
    text_clear(&refusals);
    free(context);
    return answer;
}

static json_t *explain_tuning(const device_caps *caps, const char *cache_dir) {
    oclattn_context *context = play_context(caps, cache_dir);
    const tuning tuned = context ? tuning_for(context) : tuning_find(caps);
    bool from_file = false;
    for (int group = 0; group < TUNING_GROUPS; group++) {
        from_file = from_file || tuned.from_file[group];
    }
    free(context);
    return from_file ? json_sprintf("%s, and over it tuning file %s", tuned.row, tuned.path) : json_string(tuned.row);
}

static json_t *explain_operations(const machine *m, const char *cache_dir) {
    static const int64_t many_rows[7] = {1, 12, 12, 512, 512, 64, 64};
    static const int64_t one_row[7] = {1, 32, 8, 1, 4096, 128, 128};
    json_t *operations = json_array();
    json_array_append_new(operations, machine_explain(m, many_rows, NULL, cache_dir));
    json_array_append_new(operations, machine_explain(m, one_row, NULL, cache_dir));
    json_array_append_new(operations, explain_projection(m, cache_dir));
    return operations;
}

/* `why` may hold a user's words. */
static bool choose_none(json_t *document, exit_code code, const char *why, failure *f) {
    char clean[sizeof((oclattn_error){0}).message];
    text_clean(clean, sizeof clean, why, strlen(why));
    json_object_set_new(document, "choice",
                        json_pack("{s:n, s:s, s:n, s:[]}", "device", "why", clean, "tuning", "operations"));
    return fail_with(f, code, "%s", clean);
}

bool machine_choose(machine *m, json_t *document, const char *spec, const char *cache_dir, failure *f) {
    oclattn_error error = {0};
    if (json_is_true(json_object_get(json_object_get(document, "loader"), "broken"))) {
        return choose_none(document, EXIT_RUNTIME,
                           "a driver brings down every program that asks OpenCL for its platforms", f);
    }
    if (device_choose(&m->list, spec, NULL, &m->chosen, &error) != OCLATTN_OK) {
        return choose_none(document, EXIT_NO_DEVICE, error.message, f);
    }
    const device_record *record = &m->list.items[m->chosen];
    json_object_set_new(document, "choice",
                        json_pack("{s:o, s:o, s:o, s:o}", "device", address(record), "why", reason_of_choice(m, spec),
                                  "tuning", explain_tuning(&record->caps, cache_dir), "operations",
                                  explain_operations(m, cache_dir)));
    return true;
}
