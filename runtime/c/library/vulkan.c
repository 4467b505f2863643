/* Finds and loads Vulkan, and opens devices. */
#include "vulkan.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16, MOST_FAMILIES = 16 };

typedef vk_function (*vk_get_function)(vk_instance instance, const char *name);

fl_status fl_vulkan_load(const char *path, void **library) {
  static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib", "libvulkan.dylib"};
  path = path != NULL ? path : getenv("FLAMBEAU_VULKAN_LIBRARY");
  *library = NULL;
  if (path != NULL && path[0] != 0) {
    *library = fl_library_open(path);
    if (*library == NULL) {
      return fl_library_fail(FL_NOT_FOUND, "the Vulkan library cannot be loaded: %.240s", dlerror());
    }
    if (dlsym(*library, "vkGetInstanceProcAddr") != NULL) {
      return FL_OK;
    }
    fl_library_close(*library);
    *library = NULL;
    return fl_library_fail(FL_NOT_FOUND, "it is no Vulkan library, for it has no function vkGetInstanceProcAddr: %.240s", path);
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

vk_function fl_vulkan_function(void *library, vk_instance instance, const char *name) {
  vk_get_function get = NULL;
  void *const found = dlsym(library, "vkGetInstanceProcAddr");
  memcpy(&get, &found, sizeof get);
  return get == NULL ? NULL : get(instance, name);
}

const char *fl_vulkan_start(fl_vulkan *vk, void *library, uint32_t minor) {
  const vk_application_info application = {.type = VK_APPLICATION_INFO, .name = "flambeau", .api = (uint32_t)1 << 22 | minor << 12};
  const vk_instance_info info = {.type = VK_INSTANCE_INFO, .application = &application};
  vk_result (*create)(const vk_instance_info *, const void *, vk_instance *) =
      (vk_result(*)(const vk_instance_info *, const void *, vk_instance *))fl_vulkan_function(library, NULL, "vkCreateInstance");
  const char *missing = NULL;
  fl_vulkan *const to = vk;
  vk->library = library;
  vk->queue_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  if (create == NULL || create(&info, NULL, &vk->instance) != 0) {
    vk->instance = NULL;
    return minor == 3 ? "no driver of Vulkan 1.3 is installed" : "no driver of Vulkan is installed";
  }
  VK_INSTANCE_FUNCTIONS(VK_TAKE_FROM_INSTANCE)
  return missing;
}

uint32_t fl_vulkan_devices(const fl_vulkan *vk, vk_physical_device all[MOST_DEVICES]) {
  uint32_t count = MOST_DEVICES;
  return vk->EnumeratePhysicalDevices(vk->instance, &count, all) < 0 ? 0 : count;
}

int fl_vulkan_find_family(fl_vulkan *vk, vk_physical_device physical, uint32_t flags) {
  vk_queue_family families[MOST_FAMILIES];
  uint32_t count = MOST_FAMILIES;
  memset(families, 0, sizeof families);
  vk->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (vk->family = 0; vk->family < count; ++vk->family) {
    if (families[vk->family].count > 0 && (families[vk->family].flags & flags) != 0) {
      vk->clock_bits = families[vk->family].clock_bits;
      return 1;
    }
  }
  return 0;
}

const char *fl_vulkan_open(fl_vulkan *vk, const vk_device_info *info) {
  const float priority = 1;
  const vk_queue_info queue = {.type = VK_QUEUE_INFO, .family = vk->family, .count = 1, .priorities = &priority};
  vk_device_info asked = *info;
  const char *missing = NULL;
  fl_vulkan *const to = vk;
  asked.queue_count = 1;
  asked.queues = &queue;
  if (vk->CreateDevice(vk->physical, &asked, NULL, &vk->device) != 0) {
    vk->device = NULL;
    return "the device does not start";
  }
  VK_DEVICE_FUNCTIONS(VK_TAKE_FROM_DEVICE)
  if (missing == NULL) {
    vk->GetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    vk->GetDeviceQueue(vk->device, vk->family, 0, &vk->queue);
  }
  return missing;
}

void fl_vulkan_stop(fl_vulkan *vk) {
  if (vk->device != NULL && vk->DestroyDevice != NULL) {
    vk->DestroyDevice(vk->device, NULL);
  }
  if (vk->instance != NULL && vk->DestroyInstance != NULL) {
    vk->DestroyInstance(vk->instance, NULL);
  }
  (void)pthread_mutex_destroy(&vk->queue_lock);
}

fl_status fl_vulkan_allocate(const fl_vulkan *vk, uint64_t size, uint32_t types, uint32_t flags, vk_object *memory) {
  uint32_t at = 0;
  while (at < vk->memory.count && ((types >> at & 1) == 0 || (vk->memory.types[at].flags & flags) != flags)) {
    ++at;
  }
  const vk_memory_info info = {.type = VK_MEMORY_INFO, .size = size, .memory_type = at};
  if (at == vk->memory.count || vk->AllocateMemory(vk->device, &info, NULL, memory) != 0) {
    *memory = 0;
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "the device has no memory of %llu bytes", (unsigned long long)size);
  }
  return FL_OK;
}

fl_status fl_vulkan_refused(vk_result result, const char *what) {
  enum { TIMEOUT = 2, OUT_OF_HOST_MEMORY = -1, OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4 };
  if (result == TIMEOUT || result == DEVICE_LOST) {
    const char *const why = result == TIMEOUT ? "it takes longer than the time that it is given" : "the device is lost";
    return fl_library_fail(FL_INTERNAL, "Vulkan does not %s: %s", what, why);
  }
  const int is_memory = result == OUT_OF_HOST_MEMORY || result == OUT_OF_DEVICE_MEMORY;
  return fl_library_fail(is_memory ? FL_DELEGATE_OUT_OF_MEMORY : FL_INTERNAL, "Vulkan does not %s (VkResult %d)", what, (int)result);
}

fl_status fl_vulkan_run(fl_vulkan *vk, vk_commands commands, vk_object fence, uint64_t nanoseconds, const char *what, int *is_running) {
  const vk_submit_info info = {.type = VK_SUBMIT_INFO, .count = 1, .commands = &commands};
  vk_result result = vk->ResetFences(vk->device, 1, &fence);
  *is_running = 0;
  if (result == 0) {
    (void)pthread_mutex_lock(&vk->queue_lock);
    result = vk->QueueSubmit(vk->queue, 1, &info, fence);
    (void)pthread_mutex_unlock(&vk->queue_lock);
  }
  if (result == 0) {
    result = vk->WaitForFences(vk->device, 1, &fence, 1, nanoseconds);
    *is_running = result != 0;
  }
  return result == 0 ? FL_OK : fl_vulkan_refused(result, what);
}
