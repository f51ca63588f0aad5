/* Every OpenCL call that the library makes is made to fail in turn, by the layer of tests/layer. */
#ifndef OCLATTN_TESTS_FAULT_SWEEP_H
#define OCLATTN_TESTS_FAULT_SWEEP_H

#include "harness.h"

/* One use of the library. The layer knows from `attempt` which calls it makes. */
typedef struct fault_scenario {
    const char *name;
    /* Uses the library between fault_arm and fault_disarm. Where the library reports success, the results are checked
     * here; where it does not, nothing may be left over. */
    oclattn_status (*attempt)(oclattn_error *error);
} fault_scenario;

void fault_arm(void);
void fault_disarm(void);

/* For each entry point that a run without faults calls, and the first, the second, ... the last of its calls: fails the
 * test unless the status is clean, no object is left over and the next attempt is right. With --long all calls with all
 * codes, otherwise the first two, the last and some that the seed draws. */
void fault_sweep(const fault_scenario *scenario);

/* True where the layer is loaded; otherwise says SKIP. */
bool fault_layer_is_loaded(void);

#endif
