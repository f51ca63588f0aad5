// The public headers alone, as C++.
#include <oclattn/oclattn.h>
#include <oclattn/plugin.h>

int main() {
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    oclattn_error error{};
    return options.struct_size == sizeof(options) && error.status == OCLATTN_OK ? 0 : 1;
}
