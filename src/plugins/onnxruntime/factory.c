/* liboclattn_onnxruntime.so: an execution provider for ONNX Runtime that computes its attention nodes by oclattn. */
#include <stdlib.h>
#include <string.h>

#include "ep.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct ep_factory {
    ort_factory table; /* first, so that a pointer to it is one to the factory */
    ort_host host;
} ep_factory;

EXPORT ort_status *CreateEpFactories(const char *registration_name, const ort_api_base *base, const ort_logger *logger,
                                     ort_factory **factories, size_t most, size_t *count);
EXPORT ort_status *ReleaseEpFactory(ort_factory *factory);

static const char *get_name(const ort_factory *table) {
    (void)table;
    return EP_NAME;
}

static const char *get_vendor(const ort_factory *table) {
    (void)table;
    return "oclattn";
}

static const char *get_version(const ort_factory *table) {
    (void)table;
    return oclattn_version();
}

/* No PCI vendor. */
static uint32_t get_vendor_id(const ort_factory *table) {
    (void)table;
    return 0;
}

/* Tensors arrive in the host's memory, so the host sees us on its CPU, whichever OpenCL device computes. */
static ort_status *get_supported_devices(ort_factory *table, const ort_hardware_device *const *hardware, size_t count,
                                         ort_ep_device **devices, size_t most, size_t *found) {
    const ort_host *host = &((ep_factory *)table)->host;
    *found = 0;
    for (size_t i = 0; i < count && *found < most; ++i) {
        if (host->api->HardwareDevice_Type(hardware[i]) != ORT_HARDWARE_CPU) {
            continue;
        }
        ort_status *status = host->ep_api->CreateEpDevice(table, hardware[i], NULL, NULL, &devices[*found]);
        if (status != NULL) {
            return status;
        }
        *found += 1;
    }
    return NULL;
}

static ort_status *create_ep(ort_factory *table, const ort_hardware_device *const *hardware,
                             const ort_pairs *const *metadata, size_t count, const ort_session_options *session,
                             const ort_logger *logger, ort_ep **ep) {
    oclattn_error error;
    ep_provider *created = NULL;
    ort_host host = ((ep_factory *)table)->host;
    (void)hardware;
    (void)metadata;
    (void)count;
    host.logger = logger;
    if (provider_create(&host, session, &created, &error) != OCLATTN_OK) {
        return host_status(host.api, NULL, &error);
    }
    *ep = &created->table;
    return NULL;
}

static void release_ep(ort_factory *table, ort_ep *ep) {
    (void)table;
    provider_destroy((ep_provider *)ep);
}

static ort_status *create_data_transfer(ort_factory *table, void **transfer) {
    (void)table;
    *transfer = NULL;
    return NULL;
}

/* Version 1.23 gives the first claimed node of every graph the same name, and then takes the second of them for a
 * mistake. */
static bool is_1_23(const ort_api_base *base) {
    return strncmp(base->GetVersionString(), "1.23.", 5) == 0;
}

static ep_factory *factory_create(const ort_api *api, const ort_logger *logger) {
    ep_factory *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->host = (ort_host){.api = api, .ep_api = api->GetEpApi(), .logger = logger, .level = OCLATTN_LOG_INFO};
    made->table.version = ORT_VERSION_ASKED;
    made->table.GetName = get_name;
    made->table.GetVendor = get_vendor;
    made->table.GetVersion = get_version;
    made->table.GetVendorId = get_vendor_id;
    made->table.GetSupportedDevices = get_supported_devices;
    made->table.CreateEp = create_ep;
    made->table.ReleaseEp = release_ep;
    made->table.CreateDataTransfer = create_data_transfer;
    return made;
}

static ort_status *fail(const ort_api_base *base, const char *message) {
    const ort_api *oldest = base->GetApi(1);
    return oldest != NULL ? oldest->CreateStatus(ORT_EP_FAIL, message) : NULL;
}

ort_status *CreateEpFactories(const char *registration_name, const ort_api_base *base, const ort_logger *logger,
                              ort_factory **factories, size_t most, size_t *count) {
    const ort_api *api = base->GetApi(ORT_VERSION_ASKED);
    (void)registration_name;
    *count = 0;
    if (api == NULL) {
        return fail(base, "oclattn: this ONNX Runtime is too old for plug-in execution providers; 1.23 or newer is "
                          "needed");
    }
    if (most < 1) {
        return fail(base, "oclattn: no room for an execution provider");
    }
    ep_factory *made = factory_create(api, logger);
    if (made == NULL) {
        return fail(base, "oclattn: no memory for an execution provider");
    }
    made->host.one_graph = is_1_23(base);
    factories[0] = &made->table;
    *count = 1;
    return NULL;
}

ort_status *ReleaseEpFactory(ort_factory *table) {
    free(table);
    return NULL;
}
