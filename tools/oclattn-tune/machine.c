#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "oclattn-probe/child.h"
#include "program/cache.h"
#include "program/os.h"

/* For a driver to answer. */
#define ANSWER_LIMIT_S 60

static void log_to_stderr(oclattn_log_level level, const char *line, void *user) {
    (void)user;
    fprintf(stderr, "oclattn-tune: %s%s\n", level == OCLATTN_LOG_WARNING ? "warning: " : "", line);
}

/* ---- in the child ----------------------------------------------------------------------------------------------- */

static json_t *describe_device(const oclattn_context *context) {
    const device_caps *caps = &context->caps;
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:I, s:i}", "platform_index", context->platform_index, "device_index",
                     context->device_index, "name", caps->name, "vendor", caps->vendor, "driver", caps->driver_version,
                     "type", (json_int_t)caps->type, "native_float_width", (int)caps->native_float_width);
}

/* A child_job; data: the device's spec. */
static void identify(FILE *to, void *data) {
    oclattn_context_options options;
    oclattn_context *context = NULL;
    oclattn_error error = {0};
    oclattn_context_options_init(&options);
    options.device = data;
    options.cache_dir = "";
    const oclattn_status status = oclattn_context_create(&options, &context, &error);
    json_t *line = status == OCLATTN_OK
                       ? describe_device(context)
                       : json_pack("{s:s, s:b}", "cannot", error.message, "no_device", status == OCLATTN_NO_DEVICE);
    json_dumpf(line, to, JSON_COMPACT);
    fputc('\n', to);
    fflush(to);
    json_decref(line);
    oclattn_context_destroy(context);
}

/* ---- in the parent ---------------------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const json_t *answer, const char *key) {
    const char *value = json_string_value(json_object_get(answer, key));
    snprintf(to, size, "%s", value ? value : "");
}

static void play(tune_machine *m, const json_t *answer) {
    device_caps *caps = &m->played.caps;
    atomic_init(&m->played.references, 1);
    m->played.process_id = os_process_id();
    m->played.log = (logger){log_to_stderr, NULL, OCLATTN_LOG_WARNING};
    m->played.platform_index = (int)json_integer_value(json_object_get(answer, "platform_index"));
    m->played.device_index = (int)json_integer_value(json_object_get(answer, "device_index"));
    copy_text(caps->name, sizeof caps->name, answer, "name");
    copy_text(caps->vendor, sizeof caps->vendor, answer, "vendor");
    copy_text(caps->driver_version, sizeof caps->driver_version, answer, "driver");
    caps->type = (cl_device_type)json_integer_value(json_object_get(answer, "type"));
    caps->native_float_width = (cl_uint)json_integer_value(json_object_get(answer, "native_float_width"));
}

static bool read_answer(tune_machine *m, const char *answer, failure *f) {
    json_t *line = json_loads(answer ? answer : "", 0, NULL);
    const char *cannot = json_string_value(json_object_get(line, "cannot"));
    bool good = line && !cannot;
    if (good) {
        play(m, line);
    } else if (cannot) {
        const bool none = json_is_true(json_object_get(line, "no_device"));
        fail_with(f, none ? EXIT_NO_DEVICE : EXIT_RUNTIME, "%s", cannot);
    } else {
        fail_with(f, EXIT_RUNTIME, "the driver gave no answer");
    }
    json_decref(line);
    return good;
}

static bool choose_file(tune_machine *m, const char *file, failure *f) {
    if (cache_choose_folder(NULL, NULL, &m->cache_dir, NULL) != OCLATTN_OK) {
        return fail_memory(f, "a path");
    }
    m->played.cache_dir = m->cache_dir;
    if (file) {
        text_add_string(&m->file, file);
    } else {
        tuning_file_path(&m->played, &m->file);
    }
    return !m->file.failed || fail_memory(f, "a path");
}

bool machine_read(tune_machine *m, const char *spec, const char *file, failure *f) {
    child_result child;
    *m = (tune_machine){.cache_dir = NULL};
    const bool ended = child_run(identify, (void *)spec, ANSWER_LIMIT_S, NULL, NULL, &child);
    const bool good = ended ? read_answer(m, child.answer, f)
                            : fail_with(f, EXIT_RUNTIME, "the driver %s%s%s", child.trouble,
                                        child.said[0] != '\0' ? ", saying " : "", child.said);
    child_clear(&child);
    return good && choose_file(m, file, f);
}

void machine_clear(tune_machine *m) {
    free(m->cache_dir);
    text_clear(&m->file);
}
