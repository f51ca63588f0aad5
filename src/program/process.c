#include "process.h"

#include <stdatomic.h>

#include "os.h"

oclattn_status process_check(oclattn_error *error) {
    static atomic_long first_process; /* 0: none yet */
    const long own = os_process_id();
    long first = 0;
    if (atomic_compare_exchange_strong(&first_process, &first, own) || first == own) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_OPENCL_ERROR, "this process was forked from one that had used oclattn already: "
                     "OpenCL drivers do not work in such a child; fork before the first use, or start a new program");
}
