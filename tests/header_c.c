/* The public headers alone, as strict C11, against the shared library. */
#include <oclattn/oclattn.h>
#include <oclattn/plugin.h>

int main(void) {
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    return options.struct_size == sizeof options ? 0 : 1;
}
