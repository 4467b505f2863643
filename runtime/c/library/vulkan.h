/* Vulkan's loader, and devices, for backends that use Vulkan. What is used of its interface is declared here by hand, so that compiling needs no file of
 * Vulkan: the fields of structures are in the order of the specification, and shortened names say which structure is meant. */
#ifndef FLAMBEAU_VULKAN_H
#define FLAMBEAU_VULKAN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "flambeau/library.h"

typedef int32_t vk_result; /* 0: success; negative: failure */
typedef struct vk_instance_object *vk_instance;
typedef struct vk_physical_device_object *vk_physical_device;
typedef struct vk_device_object *vk_device;
typedef struct vk_queue_object *vk_queue;
typedef struct vk_commands_object *vk_commands;
typedef uint64_t vk_object; /* any other object; 0: none */
typedef void (*vk_function)(void);

enum { /* VkStructureType */
  VK_APPLICATION_INFO = 0,
  VK_INSTANCE_INFO = 1,
  VK_QUEUE_INFO = 2,
  VK_DEVICE_INFO = 3,
  VK_SUBMIT_INFO = 4,
  VK_MEMORY_INFO = 5,
  VK_FENCE_INFO = 8,
  VK_MODULE_INFO = 16,
  VK_LAYOUT_INFO = 30,
  VK_SET_LAYOUT_INFO = 32,
  VK_POOL_INFO = 33,
  VK_SET_INFO = 34,
  VK_SET_WRITE = 35,
  VK_COMMAND_POOL_INFO = 39,
  VK_COMMANDS_INFO = 40,
  VK_COMMANDS_BEGIN = 42,
  VK_MEMORY_BARRIER = 46
};

enum { VK_MEMORY_VISIBLE = 2, VK_MEMORY_COHERENT = 4 };         /* VkMemoryPropertyFlagBits */
enum { VK_ALL_STAGES = 0x7FFFFFFF };                            /* VkShaderStageFlagBits */
enum { VK_STAGE_HOST = 0x4000, VK_STAGE_COMMANDS = 0x10000 };   /* VkPipelineStageFlagBits */
enum { VK_ACCESS_HOST_READ = 0x2000, VK_ACCESS_WRITE = 0x10000 }; /* VkAccessFlagBits */
enum { VK_MOST_MEMORY_TYPES = 32, VK_MOST_MEMORY_HEAPS = 16 };

/* What every structure begins with. */
#define VK_HEAD \
  int32_t type; \
  const void *next

typedef struct vk_application_info {
  VK_HEAD;
  const char *name;
  uint32_t version;
  const char *engine;
  uint32_t engine_version;
  uint32_t api;
} vk_application_info;

typedef struct vk_instance_info {
  VK_HEAD;
  uint32_t flags;
  const vk_application_info *application;
  uint32_t layer_count;
  const char *const *layers;
  uint32_t extension_count;
  const char *const *extensions;
} vk_instance_info;

typedef struct vk_queue_family {
  uint32_t flags;
  uint32_t count;
  uint32_t clock_bits;
  uint32_t others[3];
} vk_queue_family;

typedef struct vk_memory_types {
  uint32_t count;
  struct {
    uint32_t flags;
    uint32_t heap;
  } types[VK_MOST_MEMORY_TYPES];
  uint32_t heap_count;
  struct {
    uint64_t size;
    uint32_t flags;
  } heaps[VK_MOST_MEMORY_HEAPS];
} vk_memory_types;

typedef struct vk_queue_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t family;
  uint32_t count;
  const float *priorities;
} vk_queue_info;

typedef struct vk_device_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t queue_count;
  const vk_queue_info *queues;
  uint32_t layer_count;
  const char *const *layers;
  uint32_t extension_count;
  const char *const *extensions;
  const void *features;
} vk_device_info;

typedef struct vk_memory_info {
  VK_HEAD;
  uint64_t size;
  uint32_t memory_type;
} vk_memory_info;

typedef struct vk_module_info {
  VK_HEAD;
  uint32_t flags;
  size_t bytes;
  const uint32_t *words;
} vk_module_info;

typedef struct vk_set_layout_binding {
  uint32_t binding;
  int32_t kind;
  uint32_t count;
  uint32_t stages;
  const void *samplers;
} vk_set_layout_binding;

typedef struct vk_set_layout_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t count;
  const vk_set_layout_binding *bindings;
} vk_set_layout_info;

typedef struct vk_layout_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t set_count;
  const vk_object *sets;
  uint32_t range_count;
  const void *ranges;
} vk_layout_info;

typedef struct vk_pool_size {
  int32_t kind;
  uint32_t count;
} vk_pool_size;

typedef struct vk_pool_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t most_sets;
  uint32_t size_count;
  const vk_pool_size *sizes;
} vk_pool_info;

typedef struct vk_set_info {
  VK_HEAD;
  vk_object pool;
  uint32_t count;
  const vk_object *layouts;
} vk_set_info;

typedef struct vk_set_write {
  VK_HEAD;
  vk_object set;
  uint32_t binding;
  uint32_t element;
  uint32_t count;
  int32_t kind;
  const void *images;
  const void *buffers;
  const void *views;
} vk_set_write;

typedef struct vk_command_pool_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t family;
} vk_command_pool_info;

typedef struct vk_commands_info {
  VK_HEAD;
  vk_object pool;
  int32_t level;
  uint32_t count;
} vk_commands_info;

typedef struct vk_commands_begin {
  VK_HEAD;
  uint32_t flags;
  const void *inherited;
} vk_commands_begin;

typedef struct vk_memory_barrier {
  VK_HEAD;
  uint32_t from;
  uint32_t to;
} vk_memory_barrier;

typedef struct vk_submit_info {
  VK_HEAD;
  uint32_t wait_count;
  const vk_object *waits;
  const uint32_t *stages;
  uint32_t count;
  const vk_commands *commands;
  uint32_t signal_count;
  const vk_object *signals;
} vk_submit_info;

typedef struct vk_fence_info {
  VK_HEAD;
  uint32_t flags;
} vk_fence_info;

/* ---- Functions: X(the name after "vk", what it returns, its parameters) ---- */

#define VK_INSTANCE_FUNCTIONS(X)                                                                          \
  X(DestroyInstance, void, (vk_instance, const void *))                                                   \
  X(EnumeratePhysicalDevices, vk_result, (vk_instance, uint32_t *, vk_physical_device *))                 \
  X(GetPhysicalDeviceQueueFamilyProperties, void, (vk_physical_device, uint32_t *, vk_queue_family *))    \
  X(GetPhysicalDeviceMemoryProperties, void, (vk_physical_device, vk_memory_types *))                     \
  X(CreateDevice, vk_result, (vk_physical_device, const vk_device_info *, const void *, vk_device *))     \
  X(GetDeviceProcAddr, vk_function, (vk_device, const char *))

#define VK_CREATES(X, name, info) X(name, vk_result, (vk_device, const info *, const void *, vk_object *))
#define VK_DESTROYS(X, name) X(name, void, (vk_device, vk_object, const void *))

#define VK_DEVICE_FUNCTIONS(X)                                                                                                          \
  X(DestroyDevice, void, (vk_device, const void *))                                                                                     \
  X(GetDeviceQueue, void, (vk_device, uint32_t, uint32_t, vk_queue *))                                                                  \
  VK_CREATES(X, AllocateMemory, vk_memory_info)                                                                                         \
  VK_DESTROYS(X, FreeMemory)                                                                                                            \
  X(MapMemory, vk_result, (vk_device, vk_object, uint64_t, uint64_t, uint32_t, void **))                                                \
  VK_CREATES(X, CreateShaderModule, vk_module_info)                                                                                     \
  VK_DESTROYS(X, DestroyShaderModule)                                                                                                   \
  VK_CREATES(X, CreateDescriptorSetLayout, vk_set_layout_info)                                                                          \
  VK_DESTROYS(X, DestroyDescriptorSetLayout)                                                                                            \
  VK_CREATES(X, CreatePipelineLayout, vk_layout_info)                                                                                   \
  VK_DESTROYS(X, DestroyPipelineLayout)                                                                                                 \
  VK_CREATES(X, CreateDescriptorPool, vk_pool_info)                                                                                     \
  VK_DESTROYS(X, DestroyDescriptorPool)                                                                                                 \
  X(AllocateDescriptorSets, vk_result, (vk_device, const vk_set_info *, vk_object *))                                                   \
  X(UpdateDescriptorSets, void, (vk_device, uint32_t, const vk_set_write *, uint32_t, const void *))                                    \
  VK_CREATES(X, CreateCommandPool, vk_command_pool_info)                                                                                \
  VK_DESTROYS(X, DestroyCommandPool)                                                                                                    \
  X(AllocateCommandBuffers, vk_result, (vk_device, const vk_commands_info *, vk_commands *))                                            \
  X(BeginCommandBuffer, vk_result, (vk_commands, const vk_commands_begin *))                                                            \
  X(EndCommandBuffer, vk_result, (vk_commands))                                                                                         \
  X(CmdBindPipeline, void, (vk_commands, int32_t, vk_object))                                                                           \
  X(CmdBindDescriptorSets, void, (vk_commands, int32_t, vk_object, uint32_t, uint32_t, const vk_object *, uint32_t, const uint32_t *))  \
  X(CmdPipelineBarrier, void,                                                                                                           \
    (vk_commands, uint32_t, uint32_t, uint32_t, uint32_t, const vk_memory_barrier *, uint32_t, const void *, uint32_t, const void *))   \
  VK_CREATES(X, CreateFence, vk_fence_info)                                                                                             \
  VK_DESTROYS(X, DestroyFence)                                                                                                          \
  X(ResetFences, vk_result, (vk_device, uint32_t, const vk_object *))                                                                   \
  X(WaitForFences, vk_result, (vk_device, uint32_t, const vk_object *, uint32_t, uint64_t))                                             \
  X(QueueSubmit, vk_result, (vk_queue, uint32_t, const vk_submit_info *, vk_object))                                                    \
  VK_DESTROYS(X, DestroyPipeline)

#define VK_FIELD(name, returned, parameters) returned(*name) parameters;

/* A device. Several threads may use it, and lock its queue. */
typedef struct fl_vulkan {
  VK_INSTANCE_FUNCTIONS(VK_FIELD)
  VK_DEVICE_FUNCTIONS(VK_FIELD)
  void *library;
  vk_instance instance;
  vk_physical_device physical;
  vk_device device;
  vk_queue queue;
  uint32_t family;
  uint32_t clock_bits; /* of the times of that family; 0: none */
  vk_memory_types memory;
  pthread_mutex_t queue_lock;
} fl_vulkan;

/* Store a function in the field of its name of `to`. Then `missing` is the first name of a function that is not there. */
#define VK_TAKE_FROM_INSTANCE(name, returned, parameters)                               \
  to->name = (returned(*) parameters)fl_vulkan_function(vk->library, vk->instance, "vk" #name); \
  missing = missing == NULL && to->name == NULL ? "vk" #name : missing;
#define VK_TAKE_FROM_DEVICE(name, returned, parameters)                             \
  to->name = (returned(*) parameters)vk->GetDeviceProcAddr(vk->device, "vk" #name); \
  missing = missing == NULL && to->name == NULL ? "vk" #name : missing;

/* Loads Vulkan's loader: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_VULKAN_LIBRARY if it is set, else
 * from the system. */
fl_status fl_vulkan_load(const char *path, void **library);
vk_function fl_vulkan_function(void *library, vk_instance instance, const char *name);
/* Starts an instance of Vulkan 1.`minor` in `vk`, whose bytes are zeros. Returns what is missing; NULL when it runs. */
const char *fl_vulkan_start(fl_vulkan *vk, void *library, uint32_t minor);
/* Stores the physical devices, 16 at most, in `all`. Returns their number. */
uint32_t fl_vulkan_devices(const fl_vulkan *vk, vk_physical_device all[16]);
/* Finds the first queue family of a physical device with these flags. Returns whether there is one. */
int fl_vulkan_find_family(fl_vulkan *vk, vk_physical_device physical, uint32_t flags);
/* Opens the device `vk->physical` with one queue of `vk->family` and what `info` asks for. Returns what is missing; NULL when it is ready. */
const char *fl_vulkan_open(fl_vulkan *vk, const vk_device_info *info);
/* Ends what has been started. */
void fl_vulkan_stop(fl_vulkan *vk);
/* Allocates memory of one of the types in the set `types`, whose flags have all of `flags`. */
fl_status fl_vulkan_allocate(const fl_vulkan *vk, uint64_t size, uint32_t types, uint32_t flags, vk_object *memory);
/* Records that Vulkan does not do `what`, and returns the status of a failure. */
fl_status fl_vulkan_refused(vk_result result, const char *what);
/* Runs commands, and waits until they are done, `nanoseconds` at most. Stores whether they may run still. */
fl_status fl_vulkan_run(fl_vulkan *vk, vk_commands commands, vk_object fence, uint64_t nanoseconds, const char *what, int *is_running);

#endif
