/* Parts of listing devices. */
#ifndef OCLATTN_DEVICE_LIST_H
#define OCLATTN_DEVICE_LIST_H

#include "device.h"

/* One string of a platform, "" where it cannot be read. */
void platform_text_read(cl_platform_id platform, cl_platform_info param, char *text, size_t size);

/* Sets alias_of for the devices of every platform that repeats an earlier one: the same cl_platform_id, or the same
 * name, vendor and version with the same devices in the same order. Two equal devices of one platform are two devices.
 * Records are in the order of their platforms. */
void device_list_mark_aliases(device_list *list);

#endif
