/* Which .icd file names the driver that breaks down: each is tried alone. */
#include <string.h>

#include "survey_parts.h"
#include "vendors.h"

/* What a driver does with the loader to itself: the records of its platforms, or NULL if it brings down the loader. */
static json_t *ask_alone(json_t *vendor, double limit_s) {
    json_t *trial = json_object();
    const vendors_choice before = vendors_show_only(json_string_value(json_object_get(vendor, "path")));
    const int count = count_platforms(trial, limit_s);
    json_t *records = NULL;
    if (json_is_true(json_object_get(trial, "broken"))) {
        json_object_set(vendor, "problem", json_object_get(trial, "problem"));
    } else {
        records = json_array();
        for (int p = 0; p < count; p++) {
            json_array_append_new(records, ask_platform(p, limit_s));
        }
    }
    vendors_show_again(&before);
    json_decref(trial);
    return records;
}

static void mark(json_t *vendor, const json_t *record) {
    json_object_set_new(vendor, "culprit", json_true());
    json_object_set(vendor, "problem", json_object_get(record, "problem"));
}

/* ---- the loader broke down -------------------------------------------------------------------------------------- */

static void set_apart(json_t *apart, const json_t *vendor, json_t *record) {
    json_object_set_new(record, "index", json_null());
    json_object_set(record, "vendor_file", json_object_get(vendor, "file"));
    json_array_append(apart, record);
}

/* Broken platforms go to `apart`, the others to `others`. */
static void try_alone(json_t *vendor, json_t *apart, json_t *others, double limit_s) {
    size_t i;
    json_t *record;
    json_t *records = ask_alone(vendor, limit_s);
    if (!records) {
        record = silent_platform("the driver brings down the loader");
        json_object_set_new(record, "driver_output", json_null());
        json_object_set_new(vendor, "culprit", json_true());
        set_apart(apart, vendor, record);
        json_decref(record);
        return;
    }
    json_array_foreach(records, i, record) {
        const bool broken = json_is_true(json_object_get(record, "broken"));
        if (broken) {
            mark(vendor, record);
        }
        set_apart(broken ? apart : others, vendor, record);
    }
    json_decref(records);
}

static json_t *list_culprits(const json_t *vendors) {
    size_t i;
    json_t *vendor;
    json_t *files = json_array();
    json_array_foreach(vendors, i, vendor) {
        if (json_is_true(json_object_get(vendor, "culprit"))) {
            json_array_append(files, json_object_get(vendor, "file"));
        }
    }
    return files;
}

int leave_out_culprits(json_t *loader, json_t *apart, double limit_s) {
    size_t i;
    json_t *vendor;
    json_t *vendors = json_object_get(loader, "vendors");
    json_t *again = json_object(), *others = json_array();
    json_array_foreach(vendors, i, vendor) {
        try_alone(vendor, apart, others, limit_s);
    }
    json_t *left_out = list_culprits(vendors);
    int count = 0;
    if (json_array_size(left_out) > 0 && vendors_leave_out_culprits(vendors)) {
        count = count_platforms(again, limit_s);
        json_object_set_new(loader, "broken", json_boolean(json_is_true(json_object_get(again, "broken"))));
    }
    if (json_is_true(json_object_get(loader, "broken"))) {
        json_array_extend(apart, others);
    }
    json_object_set_new(loader, "left_out", left_out);
    json_decref(others);
    json_decref(again);
    return count;
}

/* ---- a platform broke down -------------------------------------------------------------------------------------- */

/* The platform that broke down and says the same of itself. */
static json_t *find_broken(const json_t *platforms, const json_t *record) {
    size_t i;
    json_t *platform;
    json_array_foreach(platforms, i, platform) {
        if (json_is_true(json_object_get(platform, "broken")) && !json_object_get(platform, "vendor_file") &&
            json_equal(json_object_get(platform, "facts"), json_object_get(record, "facts"))) {
            return platform;
        }
    }
    return NULL;
}

void name_culprits(json_t *loader, json_t *platforms, double limit_s) {
    size_t i, j;
    json_t *vendor, *record;
    json_array_foreach(json_object_get(loader, "vendors"), i, vendor) {
        json_t *records = ask_alone(vendor, limit_s);
        json_array_foreach(records, j, record) {
            json_t *platform = json_is_true(json_object_get(record, "broken")) ? find_broken(platforms, record) : NULL;
            if (platform) {
                mark(vendor, record);
                json_object_set(platform, "vendor_file", json_object_get(vendor, "file"));
            }
        }
        json_decref(records);
    }
}
