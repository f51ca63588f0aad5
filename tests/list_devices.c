/* Prints one line for each device that the tests run on, "P:D<tab>name (platform)"; a device listed twice comes once. */
#include <stdio.h>
#include <stdlib.h>

#include <oclattn/oclattn.h>

static int print_devices(oclattn_device_info *infos, size_t capacity) {
    oclattn_error error;
    size_t count = 0;
    if (oclattn_devices_list(infos, capacity, &count, &error) != OCLATTN_OK) {
        fprintf(stderr, "oclattn_devices_list: %s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < count && i < capacity; i++) {
        if (infos[i].alias_of < 0) {
            printf("%d:%d\t%s (%s)\n", (int)infos[i].platform_index, (int)infos[i].device_index, infos[i].name,
                   infos[i].platform);
        }
    }
    return 0;
}

int main(void) {
    enum { CAPACITY = 64 };
    oclattn_device_info *const infos = calloc(CAPACITY, sizeof *infos);
    if (infos == NULL) {
        return 1;
    }
    for (size_t i = 0; i < CAPACITY; i++) {
        oclattn_device_info_init(&infos[i]);
    }
    const int result = print_devices(infos, CAPACITY);
    free(infos);
    return result;
}
