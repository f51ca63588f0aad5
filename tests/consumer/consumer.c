/* Uses an installed oclattn as a stranger would. */
#include <stdio.h>

#include <oclattn/oclattn.h>

int main(void) {
    size_t count = 0;
    oclattn_error error = {0};
    if (oclattn_devices_list(NULL, 0, &count, &error) != OCLATTN_OK) {
        fprintf(stderr, "oclattn_devices_list: %s\n", error.message);
        return 1;
    }
    printf("oclattn %s sees %zu device(s)\n", oclattn_version(), count);
    return 0;
}
