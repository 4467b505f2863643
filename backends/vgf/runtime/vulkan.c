/* Finds and loads Vulkan, and shares a device with the ML extensions. */
#include "vulkan.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MOST_FAMILIES = 16, MOST_EXTENSIONS = 1024 };
enum { VULKAN_1_3 = 1 << 22 | 3 << 12 };

static const char *const extensions[] = {"VK_ARM_tensors", "VK_ARM_data_graph", "VK_KHR_deferred_host_operations",
                                         "VK_KHR_maintenance5", "VK_ARM_data_graph_instruction_set_tosa", "VK_EXT_shader_replicated_composites"};
enum { NEEDED_EXTENSIONS = 2, EXTENSIONS = sizeof extensions / sizeof *extensions, REPLICATED_COMPOSITES = EXTENSIONS - 1 };

typedef vk_function (*vk_get_function)(vk_instance instance, const char *name);

fl_status fl_vgf_load(const char *path, void **library) {
  static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib", "libvulkan.dylib"};
  path = path != NULL ? path : getenv("FLAMBEAU_VULKAN_LIBRARY");
  *library = NULL;
  if (path != NULL && path[0] != 0) {
    *library = fl_library_open(path);
    return *library != NULL ? FL_OK : fl_library_fail(FL_NOT_FOUND, "the Vulkan library cannot be loaded: %.240s", dlerror());
  }
  for (size_t i = 0; *library == NULL && i < sizeof names / sizeof *names; ++i) {
    *library = fl_library_open(names[i]);
  }
  if (*library == NULL) {
    return fl_library_fail(FL_NOT_FOUND, "there is no Vulkan library here: install Vulkan's loader, or set FLAMBEAU_VULKAN_LIBRARY to the path of a "
                                         "libvulkan.so.1");
  }
  return FL_OK;
}

static vk_function get_function(void *library, vk_instance instance, const char *name) {
  vk_get_function get = NULL;
  void *const found = dlsym(library, "vkGetInstanceProcAddr");
  memcpy(&get, &found, sizeof get);
  return get == NULL ? NULL : get(instance, name);
}

#define COUNT_FUNCTION(name, returned, parameters) +1
#define TAKE_FROM_INSTANCE(name, returned, parameters) \
  device->name = (returned(*) parameters)get_function(library, device->instance, "vk" #name); \
  missing = missing == NULL && device->name == NULL ? "vk" #name : missing;
#define TAKE_FROM_DEVICE(name, returned, parameters) \
  device->name = (returned(*) parameters)device->GetDeviceProcAddr(device->device, "vk" #name); \
  missing = missing == NULL && device->name == NULL ? "vk" #name : missing;

static const char *start_instance(void *library, vgf_device *device) {
  static const vk_application_info application = {.type = VK_APPLICATION_INFO, .name = "flambeau", .api = VULKAN_1_3};
  static const vk_instance_info info = {.type = VK_INSTANCE_INFO, .application = &application};
  vk_result (*create)(const vk_instance_info *, const void *, vk_instance *) =
      (vk_result(*)(const vk_instance_info *, const void *, vk_instance *))get_function(library, NULL, "vkCreateInstance");
  const char *missing = NULL;
  if (create == NULL || create(&info, NULL, &device->instance) != 0) {
    device->instance = NULL;
    return "no driver of Vulkan 1.3 is installed";
  }
  VK_INSTANCE_FUNCTIONS(TAKE_FROM_INSTANCE)
  return missing;
}

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

/* Finds the first queue family that runs graphs. */
static int find_family(vgf_device *device, vk_physical_device physical) {
  vk_queue_family families[MOST_FAMILIES];
  uint32_t count = MOST_FAMILIES;
  memset(families, 0, sizeof families);
  device->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (device->family = 0; device->family < count; ++device->family) {
    if (families[device->family].count > 0 && (families[device->family].flags & VK_QUEUE_OF_GRAPHS) != 0) {
      return 1;
    }
  }
  return 0;
}

/* Creates a device with all that it has of these features. Bounds checks of buffers, the first of the core's, are left out. */
static int create_device(vgf_device *device, const int found[EXTENSIONS]) {
  static const int32_t types[] = {VK_FEATURES,        VK_FEATURES_1_1,   VK_FEATURES_1_2,       VK_FEATURES_1_3,
                                  VK_TENSOR_FEATURES, VK_GRAPH_FEATURES, VK_REPLICATED_FEATURES};
  enum { CHAIN = sizeof types / sizeof *types };
  vk_features *const features = (vk_features *)calloc(CHAIN, sizeof *features);
  const char *names[EXTENSIONS];
  const float priority = 1;
  const vk_queue_info queue = {.type = VK_QUEUE_INFO, .family = device->family, .count = 1, .priorities = &priority};
  const size_t chain = found[REPLICATED_COMPOSITES] ? CHAIN : CHAIN - 1;
  vk_device_info info = {.type = VK_DEVICE_INFO, .next = features, .queue_count = 1, .queues = &queue, .extensions = names};
  if (features == NULL) {
    return 0;
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
  device->GetPhysicalDeviceFeatures2(device->physical, &features[0]);
  features[0].flags[0] = 0;
  if (device->CreateDevice(device->physical, &info, NULL, &device->device) != 0) {
    device->device = NULL;
  }
  free(features);
  return device->device != NULL;
}

/* Returns what is missing; NULL when the device is ready. */
static const char *start_device(vgf_device *device) {
  vk_physical_device all[MOST_DEVICES];
  uint32_t count = MOST_DEVICES;
  int found[EXTENSIONS];
  const char *missing = NULL;
  if (device->EnumeratePhysicalDevices(device->instance, &count, all) < 0 || count == 0) {
    return "no device is there";
  }
  for (uint32_t i = 0; i < count && device->physical == NULL; ++i) {
    if (has_extensions(device, all[i], found) && find_family(device, all[i])) {
      device->physical = all[i];
    }
  }
  if (device->physical == NULL) {
    return "no device has VK_ARM_tensors and VK_ARM_data_graph, and a queue for graphs";
  }
  if (!create_device(device, found)) {
    return "the device does not start";
  }
  VK_DEVICE_FUNCTIONS(TAKE_FROM_DEVICE)
  if (missing == NULL) {
    device->GetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
    device->GetDeviceQueue(device->device, device->family, 0, &device->queue);
  }
  return missing;
}

static void drop_device(const void *library, void *shared) {
  vgf_device *const device = (vgf_device *)shared;
  (void)library;
  if (device->device != NULL && device->DestroyDevice != NULL) {
    device->DestroyDevice(device->device, NULL);
  }
  if (device->instance != NULL && device->DestroyInstance != NULL) {
    device->DestroyInstance(device->instance, NULL);
  }
  (void)pthread_mutex_destroy(&device->queue_lock);
  free(device);
}

static void *make_device(const void *table, size_t number) {
  union {
    const void *in;
    void *out;
  } library = {table};
  vgf_device *const device = (vgf_device *)calloc(1, sizeof *device);
  (void)number;
  if (device == NULL || pthread_mutex_init(&device->queue_lock, NULL) != 0) {
    free(device);
    (void)fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for a device");
    return NULL;
  }
  const char *missing = start_instance(library.out, device);
  missing = missing != NULL ? missing : start_device(device);
  if (missing != NULL) {
    (void)fl_library_fail(FL_NOT_FOUND, "Vulkan runs no graphs on this machine: %s", missing);
    drop_device(table, device);
    return NULL;
  }
  return device;
}

vgf_device *fl_vgf_take_device(void *library) { return (vgf_device *)fl_library_share(library, 0, make_device, library); }

void fl_vgf_give_back_device(void *library, vgf_device *device) { fl_library_release(device, drop_device, library); }

fl_status fl_vgf_allocate(const vgf_device *device, const vk_memory_requirements *needed, int is_visible, vk_object *memory) {
  const uint32_t flags = is_visible ? VK_MEMORY_VISIBLE | VK_MEMORY_COHERENT : 0;
  uint32_t at = 0;
  while (at < device->memory.count && ((needed->memory_types >> at & 1) == 0 || (device->memory.types[at].flags & flags) != flags)) {
    ++at;
  }
  const vk_memory_info info = {.type = VK_MEMORY_INFO, .size = needed->size, .memory_type = at};
  if (at == device->memory.count || device->AllocateMemory(device->device, &info, NULL, memory) != 0) {
    *memory = 0;
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "the device has no memory of %llu bytes", (unsigned long long)needed->size);
  }
  return FL_OK;
}
