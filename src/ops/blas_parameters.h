/* CLBlast's parameters: one set for a device in the whole process. */
#ifndef OCLATTN_OPS_BLAS_PARAMETERS_H
#define OCLATTN_OPS_BLAS_PARAMETERS_H

#include "../plan/tuning.h"
#include "../program/context.h"

/* Makes CLBlast use these parameters on the context's device. CLBlast keeps them in tables of the process, which its
 * calls from elsewhere see too, and compiles anew when they change: so the first set that is asked for stays, and
 * another one is refused, as is any after a set that CLBlast did not take. From any thread. */
oclattn_status blas_use_parameters(const oclattn_context *context, const clblast_tiles *tiles, oclattn_error *error);

#endif
