/* Waiting for a device that is the host's own processor. */
#ifndef OCLATTN_ORT_WAIT_H
#define OCLATTN_ORT_WAIT_H

#include "operator.h"

/* Waits for the lane's queue, and keeps the host's threads waiting with it: they would look for work in a busy loop,
 * for tens of milliseconds, on the processors that the device computes on. */
void wait_with_host(const attention_call *call, size_t threads);

#endif
