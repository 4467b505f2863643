/* Finds and shares devices. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MINOR_VERSION = 1, VULKAN_1_1 = 1 << 22 | 1 << 12 };
enum { STORAGE_RANGE = 7, TIMESTAMP_PERIOD = 106 }; /* in VkPhysicalDeviceLimits, in words: maxStorageBufferRange, timestampPeriod */

static const char WRONG_DEVICE[] = "option device is the index of a device with Vulkan 1.1, or a part of its name, not";

/* What is asked for: a library, and a device in it. */
typedef struct wish {
  void *library;
  const char *device;
} wish;

/* Returns how well a device fits what is asked for; 0: not at all. Kinds of devices are preferred in the order discrete, integrated, virtual GPU. */
static int fitness(const vk_properties *found, uint32_t index, const char *wanted) {
  static const int by_kind[] = {1, 4, 5, 3, 2};
  if (found->api < VULKAN_1_1) {
    return 0;
  }
  if (wanted != NULL) {
    const size_t digits = strspn(wanted, "0123456789");
    return digits != 0 && wanted[digits] == 0 ? strtoul(wanted, NULL, 10) == index : strstr(found->name, wanted) != NULL;
  }
  return found->kind >= 0 && found->kind < (int32_t)(sizeof by_kind / sizeof *by_kind) ? by_kind[found->kind] : 1;
}

/* Chooses a physical device, of a number, if it fits better than `best`. The properties are large: they are nobody else's stack. */
static __attribute__((noinline)) void consider(compute_device *device, vk_physical_device physical, uint32_t index, const char *wanted, int *best) {
  vk_properties found;
  memset(&found, 0, sizeof found);
  device->GetPhysicalDeviceProperties(physical, &found);
  const int fits = fitness(&found, index, wanted);
  const size_t used = strlen(device->there);
  if (found.api >= VULKAN_1_1) {
    (void)snprintf(device->there + used, sizeof device->there - used, "%s%u is %.60s", used == 0 ? "" : ", ", index, found.name);
  }
  if (fits > *best && fl_vulkan_find_family(&device->vk, physical, VK_QUEUE_COMPUTE)) {
    uint32_t range = 0;
    memcpy(&range, (const char *)found.limits + sizeof(uint32_t) * STORAGE_RANGE, sizeof range);
    memcpy(&device->tick, (const char *)found.limits + sizeof(uint32_t) * TIMESTAMP_PERIOD, sizeof device->tick);
    *best = fits;
    device->vk.physical = physical;
    device->most_bytes = range;
  }
}

/* Chooses a physical device. */
static void choose(compute_device *device, const char *wanted) {
  vk_physical_device all[MOST_DEVICES];
  const uint32_t count = fl_vulkan_devices(&device->vk, all);
  int best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    consider(device, all[i], i, wanted, &best);
  }
}

/* Opens the device with what it has of what shaders use. Returns what is missing; NULL when it is open. */
static __attribute__((noinline)) const char *open_device(compute_device *device) {
  vk_storage_16 storage = {.type = VK_STORAGE_16};
  vk_features features = {.type = VK_FEATURES_2, .next = &storage};
  device->GetPhysicalDeviceFeatures2(device->vk.physical, &features);
  device->stores_halves = storage.buffers != 0;
  storage = (vk_storage_16){.type = VK_STORAGE_16, .buffers = storage.buffers};
  memset(features.first, 0, sizeof features.first);
  features.first[0] = 1; /* robustBufferAccess, which every device has: no shader reads outside of its tensors */
  const vk_device_info info = {.type = VK_DEVICE_INFO, .next = &features};
  return fl_vulkan_open(&device->vk, &info);
}

/* Returns what is missing; NULL when the device is ready. */
static const char *start_device(compute_device *device, const wish *wanted) {
  fl_vulkan *const vk = &device->vk;
  compute_device *const to = device;
  const char *missing = fl_vulkan_start(vk, wanted->library, MINOR_VERSION);
  if (missing != NULL) {
    return missing;
  }
  COMPUTE_INSTANCE_FUNCTIONS(VK_TAKE_FROM_INSTANCE)
  if (missing != NULL) {
    return missing;
  }
  choose(device, wanted->device);
  if (vk->physical == NULL) {
    return wanted->device != NULL && device->there[0] != 0 ? WRONG_DEVICE : "no device has Vulkan 1.1";
  }
  (void)fl_vulkan_find_family(vk, vk->physical, VK_QUEUE_COMPUTE);
  device->valid_ticks = vk->clock_bits >= 64 ? UINT64_MAX : ((uint64_t)1 << vk->clock_bits) - 1;
  device->tick = vk->clock_bits == 0 ? 0 : device->tick;
  missing = open_device(device);
  if (missing == NULL) {
    COMPUTE_DEVICE_FUNCTIONS(VK_TAKE_FROM_DEVICE)
  }
  return missing;
}

static void drop_device(const void *table, void *shared) {
  (void)table;
  fl_vulkan_stop(&((compute_device *)shared)->vk);
  free(shared);
}

static void *make_device(const void *table, size_t number) {
  compute_device *const device = (compute_device *)calloc(1, sizeof *device);
  (void)number;
  if (device == NULL) {
    (void)fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for a device");
    return NULL;
  }
  const wish *const wanted = (const wish *)table;
  const char *const missing = start_device(device, wanted);
  if (missing == WRONG_DEVICE) {
    (void)fl_library_fail(FL_NOT_FOUND, "%s '%.80s': %s", missing, wanted->device, device->there);
  } else if (missing != NULL) {
    (void)fl_library_fail(FL_NOT_FOUND, "Vulkan computes nothing on this machine: %s", missing);
  }
  if (missing != NULL) {
    drop_device(table, device);
    return NULL;
  }
  return device;
}

/* Returns a number for the name of a device, by which users share it. */
static size_t number_of(const char *wanted) {
  return wanted == NULL ? 0 : (size_t)1 + fl_library_adler32((const uint8_t *)wanted, strlen(wanted));
}

compute_device *fl_vulkan_take_device(void *library, const char *wanted) {
  const wish table = {library, wanted};
  return (compute_device *)fl_library_share(library, number_of(wanted), make_device, &table);
}

void fl_vulkan_give_back_device(void *library, compute_device *device) { fl_library_release(device, drop_device, library); }
