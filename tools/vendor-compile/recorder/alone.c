/* Each kernel is built in a program of its own, so that what a compiler says is of that one. This takes the place of the
 * library's function, as a driver that cannot build kernels together would. */
#include "program/program.h"

void program_join(oclattn_context *context, const program_parts *parts) {
    (void)context, (void)parts;
}
