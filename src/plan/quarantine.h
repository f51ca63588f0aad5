/* Variants that failed a self-test on a device: a small text file in the cache folder, written by oclattn-probe
 * --selftest and read by the variant chooser. An entry holds for one device name, driver version and version of this
 * library, so a new driver or a new library tries again. Nothing here fails: a file that cannot be read, or is damaged,
 * is no quarantine, and without a cache folder there is none. */
#ifndef OCLATTN_PLAN_QUARANTINE_H
#define OCLATTN_PLAN_QUARANTINE_H

#include <stdbool.h>

#include "../program/text.h"
#include "../device/device.h"

/* Whether the variant is in quarantine on the device; then `reason` (may be NULL) receives what the self-test said.
 * cache_dir NULL: no quarantine. */
bool quarantine_holds(const char *cache_dir, const device_caps *caps, const char *variant, const logger *log,
                      text *reason);

/* Enters the variant, or with reason NULL takes it out. False: the file could not be written; errno says why. */
bool quarantine_set(const char *cache_dir, const device_caps *caps, const char *variant, const char *reason,
                    const logger *log);

#endif
