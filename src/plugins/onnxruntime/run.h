/* Runs a bound call on the device. */
#ifndef OCLATTN_ORT_RUN_H
#define OCLATTN_ORT_RUN_H

#include "operator.h"

/* Reads the operands from the host's memory, in place where the device shares it, and writes O and the scores there. */
oclattn_status run_attention(const attention_call *call, const oclattn_plan *plan, cl_context cl, bool shares_memory,
                             oclattn_error *error);

#endif
