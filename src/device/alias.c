#include <string.h>

#include "list.h"

/* The devices of one platform: a range of the list. */
typedef struct platform_range {
    size_t begin, end;
} platform_range;

static platform_range range_from(const device_list *list, size_t begin) {
    platform_range range = {begin, begin};
    while (range.end < list->count && list->items[range.end].platform_index == list->items[begin].platform_index) {
        range.end++;
    }
    return range;
}

/* A name that could not be read proves nothing. */
static bool equal_names(const char *a, const char *b) {
    return a[0] != '\0' && strcmp(a, b) == 0;
}

static bool equal_devices(const device_record *a, const device_record *b) {
    return equal_names(a->caps.name, b->caps.name) &&
           strcmp(a->caps.driver_version, b->caps.driver_version) == 0;
}

static bool equal_platforms(const device_record *a, const device_record *b) {
    return equal_names(a->caps.platform_name, b->caps.platform_name) &&
           strcmp(a->caps.platform_vendor, b->caps.platform_vendor) == 0 &&
           strcmp(a->caps.platform_version, b->caps.platform_version) == 0;
}

static bool repeats(const device_list *list, platform_range earlier, platform_range later) {
    const device_record *a = &list->items[earlier.begin];
    const device_record *b = &list->items[later.begin];
    const size_t count = later.end - later.begin;
    if (earlier.end - earlier.begin != count) {
        return false;
    }
    if (a->platform == b->platform) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (!equal_devices(&a[i], &b[i])) {
            return false;
        }
    }
    return equal_platforms(a, b);
}

static void mark_range(device_list *list, platform_range later) {
    platform_range earlier = {0, 0};
    for (size_t begin = 0; begin < later.begin; begin = earlier.end) {
        earlier = range_from(list, begin);
        if (!repeats(list, earlier, later)) {
            continue;
        }
        for (size_t i = later.begin; i < later.end; i++) {
            list->items[i].alias_of = (int)(earlier.begin + (i - later.begin));
        }
        return;
    }
}

void device_list_mark_aliases(device_list *list) {
    platform_range range = {0, 0};
    for (size_t begin = 0; begin < list->count; begin = range.end) {
        range = range_from(list, begin);
        mark_range(list, range);
    }
}
