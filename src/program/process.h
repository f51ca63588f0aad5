/* Use after fork(). */
#ifndef OCLATTN_PROGRAM_PROCESS_H
#define OCLATTN_PROGRAM_PROCESS_H

#include "../device/error.h"

/* Asked before OpenCL is touched without a context. A driver's threads do not survive fork(): with PoCL, a child
 * hangs even where its parent only listed the devices. So the process that came first is remembered, the one thing
 * that the library keeps outside its handles, and OCLATTN_OPENCL_ERROR answers in its children. */
oclattn_status process_check(oclattn_error *error);

#endif
