#include "hints.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/text.h"

/* ---- signs ------------------------------------------------------------------------------------------------------ */

static void set_group(const char *path, machine_signs *signs) {
    struct stat status;
    if (stat(path, &status) != 0 || (status.st_mode & (S_IRGRP | S_IWGRP)) != (S_IRGRP | S_IWGRP)) {
        return;
    }
    const struct group *group = getgrgid(status.st_gid);
    if (group) {
        snprintf(signs->group, sizeof signs->group, "%s", group->gr_name);
    }
}

static void look_at(const char *root, const char *node, machine_signs *signs) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, node);
    if (access(path, F_OK) != 0) {
        return;
    }
    if (access(path, R_OK | W_OK) == 0) {
        snprintf(signs->open_node, sizeof signs->open_node, "%s", node);
    } else if (signs->closed_node[0] == '\0') {
        snprintf(signs->closed_node, sizeof signs->closed_node, "%s", node);
        set_group(path, signs);
    }
}

static bool exists(const char *root, const char *file) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, file);
    return access(path, F_OK) == 0;
}

void hints_read_signs(const char *root, machine_signs *signs) {
    /* AMD's compute driver, NVIDIA's, Arm's and Qualcomm's, beside the nodes that all others have. */
    static const char *const nodes[] = {"/dev/kfd", "/dev/nvidiactl", "/dev/mali0", "/dev/kgsl-3d0"};
    *signs = (machine_signs){.in_container = exists(root, "/.dockerenv") || exists(root, "/run/.containerenv")};
    for (int i = 128; i < 144; i++) {
        char node[64];
        snprintf(node, sizeof node, "/dev/dri/renderD%d", i);
        look_at(root, node, signs);
    }
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        look_at(root, nodes[i], signs);
    }
}

/* ---- hints ------------------------------------------------------------------------------------------------------ */

static bool has_device(const json_t *document, const char *type) {
    size_t i, j;
    json_t *platform, *device;
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        json_array_foreach(json_object_get(platform, "devices"), j, device) {
            const char *found = json_string_value(json_object_get(json_object_get(device, "facts"), "type"));
            if (!type || (found && strcmp(found, type) == 0)) {
                return true;
            }
        }
    }
    return false;
}

static const char *broken_file(const json_t *document) {
    size_t i;
    json_t *vendor;
    json_array_foreach(json_object_get(json_object_get(document, "loader"), "vendors"), i, vendor) {
        if (json_is_true(json_object_get(vendor, "culprit"))) {
            return json_string_value(json_object_get(vendor, "path"));
        }
    }
    return NULL;
}

static json_t *permission_hint(const machine_signs *signs) {
    if (signs->group[0] == '\0') {
        return json_sprintf("there is no permission to use %s, which is not open to a group", signs->closed_node);
    }
    return json_sprintf("there is no permission to use %s: add the user to the group %s (usermod -a -G %s USER), and "
                        "log in again",
                        signs->closed_node, signs->group, signs->group);
}

static json_t *no_driver_hint(const machine_signs *signs, const char *vendors_folder) {
    return json_sprintf(
        "no driver is registered in %s: install pocl-opencl-icd (any CPU) or your GPU's OpenCL driver%s",
        vendors_folder, signs->in_container ? "; this is a container, which needs a driver of its own" : "");
}

static json_t *no_gpu_hint(const machine_signs *signs) {
    return json_sprintf("there is a GPU (%s), but no driver here offers it: install its OpenCL driver (Intel: "
                        "intel-opencl-icd, AMD: rocm-opencl-icd or mesa-opencl-icd, NVIDIA: nvidia-opencl-icd)",
                        signs->open_node);
}

static json_t *no_device_hint(const machine_signs *signs) {
    if (signs->in_container && signs->open_node[0] == '\0') {
        return json_string("this is a container without a GPU's device files: start it with --device /dev/dri (AMD: "
                           "and --device /dev/kfd; NVIDIA: --gpus all)");
    }
    return json_string("drivers are registered, but none offers a device: look at the problems above, and whether the "
                       "drivers' packages are complete");
}

static json_t *find_hint(const json_t *document, const machine_signs *signs, const char *vendors_folder) {
    const json_t *vendors = json_object_get(json_object_get(document, "loader"), "vendors");
    const char *broken = broken_file(document);
    if (broken) {
        return json_sprintf("programs that ask OpenCL for devices break down here: move %s away, or name a folder "
                            "without it in OCL_ICD_VENDORS",
                            broken);
    }
    if (has_device(document, "gpu")) {
        return NULL;
    }
    if (signs->closed_node[0] != '\0') {
        return permission_hint(signs);
    }
    if (json_array_size(vendors) == 0) {
        return has_device(document, NULL) ? NULL : no_driver_hint(signs, vendors_folder);
    }
    if (signs->open_node[0] != '\0') {
        return no_gpu_hint(signs);
    }
    return has_device(document, NULL) ? NULL : no_device_hint(signs);
}

void hints_add(json_t *document, const machine_signs *signs, const char *vendors_folder) {
    json_t *hint = find_hint(document, signs, vendors_folder);
    if (hint) {
        json_object_set_new(json_object_get(document, "loader"), "hint", hint);
    }
}
