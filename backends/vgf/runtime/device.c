/* Shares a device with the ML extensions. */
#include "extensions.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MOST_EXTENSIONS = 1024 };

static const char *const extensions[] = {"VK_ARM_tensors", "VK_ARM_data_graph", "VK_KHR_deferred_host_operations",
                                         "VK_KHR_maintenance5", "VK_ARM_data_graph_instruction_set_tosa", "VK_EXT_shader_replicated_composites"};
enum { NEEDED_EXTENSIONS = 2, EXTENSIONS = sizeof extensions / sizeof *extensions, REPLICATED_COMPOSITES = EXTENSIONS - 1 };

/* Stores which of the extensions a device has in `found`. Returns whether it has those that are needed. */
static int has_extensions(const vgf_device *device, vk_physical_device physical, int found[EXTENSIONS]) {
  uint32_t count = 0;
  memset(found, 0, EXTENSIONS * sizeof *found);
  if (device->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) < 0 || count > MOST_EXTENSIONS) {
    return 0;
  }
  vk_extension *const all = (vk_extension *)calloc(count + 1, sizeof *all);
  if (all != NULL && device->EnumerateDeviceExtensionProperties(physical, NULL, &count, all) >= 0) {
    for (uint32_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < EXTENSIONS; ++k) {
        found[k] |= strcmp(all[i].name, extensions[k]) == 0;
      }
    }
  }
  free(all);
  return found[0] && found[1];
}

/* Opens a device with all that it has of these features. Bounds checks of buffers, the first of the core's, are left out. */
static const char *open_device(vgf_device *device, const int found[EXTENSIONS]) {
  static const int32_t types[] = {VK_FEATURES,        VK_FEATURES_1_1,   VK_FEATURES_1_2,       VK_FEATURES_1_3,
                                  VK_TENSOR_FEATURES, VK_GRAPH_FEATURES, VK_REPLICATED_FEATURES};
  enum { CHAIN = sizeof types / sizeof *types };
  vk_features *const features = (vk_features *)calloc(CHAIN, sizeof *features);
  const char *names[EXTENSIONS];
  const size_t chain = found[REPLICATED_COMPOSITES] ? CHAIN : CHAIN - 1;
  vk_device_info info = {.type = VK_DEVICE_INFO, .next = features, .extensions = names};
  if (features == NULL) {
    return "there is no memory for its features";
  }
  for (size_t i = 0; i < chain; ++i) {
    features[i].type = types[i];
    features[i].next = i + 1 < chain ? &features[i + 1] : NULL;
  }
  for (size_t i = 0; i < EXTENSIONS; ++i) {
    if (found[i]) {
      names[info.extension_count++] = extensions[i];
    }
  }
  device->GetPhysicalDeviceFeatures2(device->vk.physical, &features[0]);
  features[0].flags[0] = 0;
  const char *const missing = fl_vulkan_open(&device->vk, &info);
  free(features);
  return missing;
}

/* Returns what is missing; NULL when the device is ready. */
static const char *start_device(vgf_device *device, void *library) {
  fl_vulkan *const vk = &device->vk;
  vgf_device *const to = device;
  vk_physical_device all[MOST_DEVICES];
  int found[EXTENSIONS];
  const char *missing = fl_vulkan_start(vk, library, 3);
  if (missing != NULL) {
    return missing;
  }
  VGF_INSTANCE_FUNCTIONS(VK_TAKE_FROM_INSTANCE)
  const uint32_t count = missing != NULL ? 0 : fl_vulkan_devices(vk, all);
  if (count == 0) {
    return missing != NULL ? missing : "no device is there";
  }
  for (uint32_t i = 0; i < count && vk->physical == NULL; ++i) {
    if (has_extensions(device, all[i], found) && fl_vulkan_find_family(vk, all[i], VK_QUEUE_OF_GRAPHS)) {
      vk->physical = all[i];
    }
  }
  if (vk->physical == NULL) {
    return "no device has VK_ARM_tensors and VK_ARM_data_graph, and a queue for graphs";
  }
  missing = open_device(device, found);
  if (missing == NULL) {
    VGF_DEVICE_FUNCTIONS(VK_TAKE_FROM_DEVICE)
  }
  return missing;
}

static void drop_device(const void *library, void *shared) {
  (void)library;
  fl_vulkan_stop(&((vgf_device *)shared)->vk);
  free(shared);
}

static void *make_device(const void *table, size_t number) {
  union {
    const void *in;
    void *out;
  } library = {table};
  vgf_device *const device = (vgf_device *)calloc(1, sizeof *device);
  (void)number;
  if (device == NULL) {
    (void)fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for a device");
    return NULL;
  }
  const char *const missing = start_device(device, library.out);
  if (missing != NULL) {
    (void)fl_library_fail(FL_NOT_FOUND, "Vulkan runs no graphs on this machine: %s", missing);
    drop_device(table, device);
    return NULL;
  }
  return device;
}

vgf_device *fl_vgf_take_device(void *library) { return (vgf_device *)fl_library_share(library, 0, make_device, library); }

void fl_vgf_give_back_device(void *library, vgf_device *device) { fl_library_release(device, drop_device, library); }
