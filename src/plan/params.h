/* The kernels' parameter structs, as the host sees them. */
#ifndef OCLATTN_PLAN_PARAMS_H
#define OCLATTN_PLAN_PARAMS_H

#include <oclattn/oclattn.h>

#define PARAMS_FOR_HOST
typedef cl_long param_long;
typedef cl_int param_int;
typedef cl_float param_float;
#include "../../cl/params.clh"

#endif
