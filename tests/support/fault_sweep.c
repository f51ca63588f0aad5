#include "fault_sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../layer/layer.h"
#include "random.h"

enum { MOST_ENTRY_POINTS = 256, MOST_CODES = 8 };

/* The fault to plant when the library is used next; "" plants none. */
static char order[128];
static unsigned long before[MOST_ENTRY_POINTS];
static unsigned long during[MOST_ENTRY_POINTS];

static void read_counts(unsigned long counts[MOST_ENTRY_POINTS]) {
    for (size_t i = 0; i < MOST_ENTRY_POINTS && layer_call(i, &counts[i]); i++) {
    }
}

static void begin_attempt(void) {
    setenv("OCLATTN_LAYER_FAIL_PAUSE", "1", 1);
    setenv("OCLATTN_LAYER_FAIL", order, 1);
    memset(during, 0, sizeof during);
}

void fault_arm(void) {
    read_counts(before);
    setenv("OCLATTN_LAYER_FAIL_PAUSE", "", 1);
}

void fault_disarm(void) {
    unsigned long now[MOST_ENTRY_POINTS] = {0};
    setenv("OCLATTN_LAYER_FAIL_PAUSE", "1", 1);
    read_counts(now);
    for (size_t i = 0; i < MOST_ENTRY_POINTS; i++) {
        during[i] += now[i] - before[i];
    }
}

bool fault_layer_is_loaded(void) {
    unsigned long count = 0;
    size_t devices = 0;
    oclattn_devices_list(NULL, 0, &devices, NULL);
    if (layer_call(0, &count)) {
        return true;
    }
    printf("SKIP: the layer is not loaded; set OPENCL_LAYERS\n");
    return false;
}

/* ---- codes ------------------------------------------------------------------------------------------------------ */

/* What drivers return from a call of this name. */
static int codes_of(const char *name, cl_int codes[MOST_CODES]) {
    int count = 0;
    codes[count++] = CL_OUT_OF_RESOURCES;
    codes[count++] = CL_OUT_OF_HOST_MEMORY;
    codes[count++] = CL_DEVICE_NOT_AVAILABLE;
    if (strncmp(name, "clGet", 5) == 0) {
        codes[count++] = CL_INVALID_VALUE;
    }
    if (strncmp(name, "clEnqueue", 9) == 0 || strcmp(name, "clCreateBuffer") == 0) {
        codes[count++] = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    if (strcmp(name, "clBuildProgram") == 0) {
        codes[count++] = CL_BUILD_PROGRAM_FAILURE;
        codes[count++] = CL_INVALID_BINARY;
    }
    return count;
}

/* ---- one fault -------------------------------------------------------------------------------------------------- */

static void assert_nothing_left(const char *when, long expected) {
    const long found = layer_live_objects();
    if (found != expected) {
        layer_print_report(stdout);
        fail_msg("%s: %ld objects are alive, there were %ld", when, found, expected);
    }
}

/* Where no variant and no device is left, the text says why each was passed over; CLBlast has codes of its own. */
static bool names_code(const oclattn_error *error, cl_int code) {
    const bool is_list = error->status == OCLATTN_NO_DEVICE || error->status == OCLATTN_UNSUPPORTED;
    return error->cl_code == code || (error->cl_code == 0 && (is_list || strstr(error->message, "its own status")));
}

static void assert_clean(const fault_scenario *scenario, oclattn_status status, const oclattn_error *error,
                         cl_int code) {
    if (status == OCLATTN_OK) {
        return;
    }
    if (!names_code(error, code)) {
        fail_msg("%s, %s: the error has code %d: %s", scenario->name, order, (int)error->cl_code, error->message);
    }
    if (error->status != status || strlen(error->message) < 10) {
        fail_msg("%s, %s: returned %s, the error says %s, \"%s\"", scenario->name, order, oclattn_status_string(status),
                 oclattn_status_string(error->status), error->message);
    }
}

static void assert_works(const fault_scenario *scenario, const char *when) {
    oclattn_error error;
    order[0] = '\0';
    begin_attempt();
    const oclattn_status status = scenario->attempt(&error);
    if (status != OCLATTN_OK) {
        fail_msg("%s, %s: %s", scenario->name, when, error.message);
    }
}

static void plant(const fault_scenario *scenario, const char *name, unsigned long nth, cl_int code) {
    char planted[sizeof order];
    oclattn_error error = {.status = OCLATTN_OK};
    const long alive = layer_live_objects();
    snprintf(planted, sizeof planted, "%s:%lu:%d", name, nth, (int)code);
    memcpy(order, planted, sizeof order);
    begin_attempt();
    const oclattn_status status = scenario->attempt(&error);
    if (getenv("OCLATTN_TEST_TRACE")) {
        printf("%s, %s: %s\n", scenario->name, planted, status == OCLATTN_OK ? "ok" : error.message);
        fflush(stdout);
    }
    assert_clean(scenario, status, &error, code);
    assert_nothing_left(planted, alive);
    assert_works(scenario, planted);
    assert_nothing_left(planted, alive);
}

/* ---- all faults ------------------------------------------------------------------------------------------------- */

static bool is_drawn(unsigned long nth, unsigned long count, random_source *source) {
    return options.is_long || nth <= 2 || nth == count || random_between(source, 1, (int64_t)count) <= 2;
}

static int sweep_entry_point(const fault_scenario *scenario, const char *name, unsigned long count,
                             random_source *source) {
    cl_int codes[MOST_CODES];
    const int code_count = codes_of(name, codes);
    int planted = 0;
    for (unsigned long nth = 1; nth <= count; nth++) {
        if (!is_drawn(nth, count, source)) {
            continue;
        }
        const int first = (int)random_between(source, 0, code_count - 1);
        for (int i = 0; i < (options.is_long ? code_count : 1); i++) {
            plant(scenario, name, nth, codes[(first + i) % code_count]);
            planted++;
        }
    }
    return planted;
}

void fault_sweep(const fault_scenario *scenario) {
    unsigned long counts[MOST_ENTRY_POINTS] = {0};
    unsigned long unused = 0;
    random_source source = random_start(options.seed, 100);
    int planted = 0;
    assert_works(scenario, "the first run");
    assert_works(scenario, "the second run");
    memcpy(counts, during, sizeof counts);
    for (size_t i = 0; i < MOST_ENTRY_POINTS; i++) {
        if (counts[i] > 0) {
            planted += sweep_entry_point(scenario, layer_call(i, &unused), counts[i], &source);
        }
    }
    printf("%s: %d faults\n", scenario->name, planted);
    assert_true(planted > 0);
}
