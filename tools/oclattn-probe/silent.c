#include "silent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <oclattn/oclattn.h>

#include "child.h"
#include "device/error.h"
#include "device/text.h"

/* What cl_khr_icd asks of a driver's library, and what it hands out. */
typedef void *(CL_API_CALL *address_fn)(const char *name);
typedef cl_int(CL_API_CALL *platforms_fn)(cl_uint capacity, cl_platform_id *platforms, cl_uint *count);

/* POSIX, not ISO C, has function pointers in a void *. */
static address_fn address_function(void *library) {
    address_fn function = NULL;
    void *symbol = dlsym(library, "clGetExtensionFunctionAddress");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static platforms_fn platforms_function(address_fn address) {
    platforms_fn function = NULL;
    void *symbol = address ? address("clIcdGetPlatformIDsKHR") : NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static void print_sentence(FILE *to, const char *what, const char *detail) {
    char clean[300];
    text_clean(clean, sizeof clean, detail, strlen(detail));
    fprintf(to, "%s%s\n", what, clean);
}

/* child_job. data: the library's name. Answers a sentence, or nothing where it does offer platforms. */
static void try_library(FILE *to, void *data) {
    char code_text[64] = "";
    void *library = dlopen(data, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        print_sentence(to, "its library cannot be loaded: ", why ? why : "no reason is given");
        return;
    }
    const platforms_fn platforms = platforms_function(address_function(library));
    if (!platforms) {
        print_sentence(to, "its library is no OpenCL driver: it lacks clIcdGetPlatformIDsKHR", "");
        return;
    }
    cl_uint count = 0;
    const cl_int code = platforms(0, NULL, &count);
    if (code != CL_SUCCESS) {
        snprintf(code_text, sizeof code_text, ": %s (%d)", cl_error_name(code), (int)code);
    }
    if (code != CL_SUCCESS || count == 0) {
        print_sentence(to, "its driver offers no platform", code_text);
    }
}

void explain_silent_drivers(json_t *vendors, double limit_s) {
    size_t i;
    json_t *vendor;
    json_array_foreach(vendors, i, vendor) {
        const char *library = json_string_value(json_object_get(vendor, "library"));
        child_result result;
        if (!library || json_is_string(json_object_get(vendor, "problem"))) {
            continue;
        }
        child_run(try_library, (void *)library, limit_s, NULL, NULL, &result);
        char *end = result.answer ? strchr(result.answer, '\n') : NULL;
        if (end) {
            json_object_set_new(vendor, "problem", json_stringn(result.answer, (size_t)(end - result.answer)));
        }
        child_clear(&result);
    }
}
