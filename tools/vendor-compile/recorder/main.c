/* Prints, as JSON, the kernels that the library would build on a GPU that is not there: with the sources, build options
 * and work-group sizes that its own planning comes to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "recording.h"

enum { EXIT_USAGE = 2, EXIT_LIBRARY = 4 };

const played_device *played;

static int usage(FILE *to) {
    fputs("Usage: vendor_kernels ARCHITECTURE...\n"
          "Prints, as JSON, the kernels that oclattn would build on GPUs of these architectures:\n ",
          to);
    for (const played_device *device = played_devices; device->architecture != NULL; ++device) {
        fprintf(to, " %s", device->architecture);
    }
    fputc('\n', to);
    return to == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

static oclattn_status record_device(json_t *kernels, oclattn_error *error) {
    oclattn_context_options options;
    oclattn_context *context = NULL;
    oclattn_context_options_init(&options);
    options.device = "0:0";
    options.cache_dir = "";
    oclattn_status status = oclattn_context_create(&options, &context, error);
    if (status == OCLATTN_OK) {
        status = problems_plan(context, kernels, error);
    }
    oclattn_context_destroy(context);
    return status;
}

static int record_all(char **architectures, int count, json_t *devices) {
    for (int i = 0; i < count; ++i) {
        json_t *kernels = json_array();
        oclattn_error error;
        json_object_set_new(devices, architectures[i], kernels);
        played = played_device_find(architectures[i]);
        if (played == NULL) {
            fprintf(stderr, "vendor_kernels: there is no architecture \"%s\"\n", architectures[i]);
            return usage(stderr);
        }
        if (record_device(kernels, &error) != OCLATTN_OK) {
            fprintf(stderr, "vendor_kernels: %s: %s\n", architectures[i], error.message);
            return EXIT_LIBRARY;
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        return usage(argc < 2 ? stderr : stdout);
    }
    /* Neither the user's measurements nor other kernels. */
    setenv("OCLATTN_TUNING", "off", 1);
    unsetenv("OCLATTN_KERNEL_DIR");
    json_t *devices = json_object();
    const int code = record_all(argv + 1, argc - 1, devices);
    if (code == EXIT_SUCCESS) {
        json_t *all = json_pack("{s:o, s:O}", "sources", recording_sources(), "devices", devices);
        json_dumpf(all, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
        putchar('\n');
        json_decref(all);
    }
    json_decref(devices);
    return code;
}
