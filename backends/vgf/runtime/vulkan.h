/* Vulkan's loader, and a device with the ML extensions. What is used of Vulkan's interface is declared here by hand, so that compiling needs no file of
 * Vulkan: the fields of structures are in the order of the specification, and shortened names say which structure is meant. */
#ifndef FLAMBEAU_VGF_VULKAN_H
#define FLAMBEAU_VGF_VULKAN_H

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
  VK_MEMORY_BARRIER = 46,
  VK_FEATURES_1_1 = 49,
  VK_FEATURES_1_2 = 51,
  VK_FEATURES_1_3 = 53,
  VK_FEATURES = 1000059000,
  VK_MEMORY_REQUIREMENTS = 1000146003,
  VK_TENSOR_INFO = 1000460000,
  VK_TENSOR_VIEW_INFO = 1000460001,
  VK_TENSOR_BINDING = 1000460002,
  VK_TENSOR_SET_WRITE = 1000460003,
  VK_TENSOR_DESCRIPTION = 1000460006,
  VK_TENSOR_REQUIREMENTS_OF = 1000460007,
  VK_TENSOR_FEATURES = 1000460009,
  VK_GRAPH_INFO = 1000507000,
  VK_SESSION_INFO = 1000507001,
  VK_GRAPH_RESOURCE = 1000507002,
  VK_GRAPH_CONSTANT = 1000507003,
  VK_SESSION_REQUIREMENTS_OF = 1000507004,
  VK_SESSION_BINDING = 1000507005,
  VK_GRAPH_FEATURES = 1000507006,
  VK_GRAPH_MODULE = 1000507007,
  VK_SESSION_POINTS_OF = 1000507011,
  VK_SESSION_POINT = 1000507012,
  VK_REPLICATED_FEATURES = 1000564000
};

enum { VK_TENSOR_DESCRIPTOR = 1000460000, VK_GRAPH_PIPELINE = 1000507000 };
enum { VK_OPTIMAL_TILING, VK_LINEAR_TILING };
enum { VK_USED_BY_GRAPHS = 0x20 };                              /* VkTensorUsageFlagBitsARM */
enum { VK_QUEUE_OF_GRAPHS = 0x400 };                            /* VkQueueFlagBits */
enum { VK_MEMORY_VISIBLE = 2, VK_MEMORY_COHERENT = 4 };         /* VkMemoryPropertyFlagBits */
enum { VK_ALL_STAGES = 0x7FFFFFFF };                            /* VkShaderStageFlagBits */
enum { VK_STAGE_HOST = 0x4000, VK_STAGE_COMMANDS = 0x10000 };   /* VkPipelineStageFlagBits */
enum { VK_ACCESS_HOST_READ = 0x2000, VK_ACCESS_WRITE = 0x10000 }; /* VkAccessFlagBits */
enum { VK_MOST_MEMORY_TYPES = 32, VK_MOST_MEMORY_HEAPS = 16 };

/* What every structure begins with. */
#define VK_HEAD \
  int32_t type; \
  const void *next

typedef struct vk_features {
  int32_t type;
  void *next;
  uint32_t flags[56]; /* as many as the structure of this type has */
} vk_features;

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

typedef struct vk_extension {
  char name[256];
  uint32_t version;
} vk_extension;

typedef struct vk_queue_family {
  uint32_t flags;
  uint32_t count;
  uint32_t others[4];
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

typedef struct vk_memory_requirements {
  int32_t type;
  void *next;
  uint64_t size;
  uint64_t alignment;
  uint32_t memory_types;
} vk_memory_requirements;

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

typedef struct vk_tensor_set_write {
  VK_HEAD;
  uint32_t count;
  const vk_object *views;
} vk_tensor_set_write;

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

/* ---- VK_ARM_tensors ---- */

typedef struct vk_tensor_description {
  VK_HEAD;
  int32_t tiling;
  int32_t format;
  uint32_t rank;
  const int64_t *sizes;
  const int64_t *strides;
  uint64_t usage;
} vk_tensor_description;

typedef struct vk_tensor_info {
  VK_HEAD;
  uint64_t flags;
  const vk_tensor_description *description;
  int32_t sharing;
  uint32_t family_count;
  const uint32_t *families;
} vk_tensor_info;

typedef struct vk_tensor_view_info {
  VK_HEAD;
  uint64_t flags;
  vk_object tensor;
  int32_t format;
} vk_tensor_view_info;

typedef struct vk_requirements_of {
  VK_HEAD;
  vk_object object;
} vk_requirements_of;

typedef struct vk_tensor_binding {
  VK_HEAD;
  vk_object tensor;
  vk_object memory;
  uint64_t offset;
} vk_tensor_binding;

/* ---- VK_ARM_data_graph ---- */

typedef struct vk_graph_constant {
  VK_HEAD;
  uint32_t id;
  const void *data;
} vk_graph_constant;

typedef struct vk_graph_resource {
  VK_HEAD;
  uint32_t set;
  uint32_t binding;
  uint32_t element;
} vk_graph_resource;

typedef struct vk_graph_module {
  VK_HEAD;
  vk_object module;
  const char *entry;
  const void *specialization;
  uint32_t constant_count;
  const vk_graph_constant *constants;
} vk_graph_module;

typedef struct vk_graph_info {
  VK_HEAD;
  uint64_t flags;
  vk_object layout;
  uint32_t resource_count;
  const vk_graph_resource *resources;
} vk_graph_info;

typedef struct vk_session_info {
  VK_HEAD;
  uint64_t flags;
  vk_object pipeline;
} vk_session_info;

typedef struct vk_session_point {
  int32_t type;
  void *next;
  int32_t point;
  int32_t kind;
  uint32_t count;
} vk_session_point;

typedef struct vk_session_requirements_of {
  VK_HEAD;
  vk_object session;
  int32_t point;
  uint32_t index;
} vk_session_requirements_of;

typedef struct vk_session_binding {
  VK_HEAD;
  vk_object session;
  int32_t point;
  uint32_t index;
  vk_object memory;
  uint64_t offset;
} vk_session_binding;

/* ---- Functions: X(the name after "vk", what it returns, its parameters) ---- */

#define VK_INSTANCE_FUNCTIONS(X)                                                                                  \
  X(DestroyInstance, void, (vk_instance, const void *))                                                           \
  X(EnumeratePhysicalDevices, vk_result, (vk_instance, uint32_t *, vk_physical_device *))                         \
  X(EnumerateDeviceExtensionProperties, vk_result, (vk_physical_device, const char *, uint32_t *, vk_extension *)) \
  X(GetPhysicalDeviceFeatures2, void, (vk_physical_device, vk_features *))                                        \
  X(GetPhysicalDeviceQueueFamilyProperties, void, (vk_physical_device, uint32_t *, vk_queue_family *))            \
  X(GetPhysicalDeviceMemoryProperties, void, (vk_physical_device, vk_memory_types *))                             \
  X(CreateDevice, vk_result, (vk_physical_device, const vk_device_info *, const void *, vk_device *))             \
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
  VK_DESTROYS(X, DestroyPipeline)                                                                                                       \
  VK_CREATES(X, CreateTensorARM, vk_tensor_info)                                                                                        \
  VK_DESTROYS(X, DestroyTensorARM)                                                                                                      \
  VK_CREATES(X, CreateTensorViewARM, vk_tensor_view_info)                                                                               \
  VK_DESTROYS(X, DestroyTensorViewARM)                                                                                                  \
  X(GetTensorMemoryRequirementsARM, void, (vk_device, const vk_requirements_of *, vk_memory_requirements *))                            \
  X(BindTensorMemoryARM, vk_result, (vk_device, uint32_t, const vk_tensor_binding *))                                                   \
  X(CreateDataGraphPipelinesARM, vk_result,                                                                                             \
    (vk_device, vk_object, vk_object, uint32_t, const vk_graph_info *, const void *, vk_object *))                                      \
  VK_CREATES(X, CreateDataGraphPipelineSessionARM, vk_session_info)                                                                     \
  VK_DESTROYS(X, DestroyDataGraphPipelineSessionARM)                                                                                    \
  X(GetDataGraphPipelineSessionBindPointRequirementsARM, vk_result, (vk_device, const vk_requirements_of *, uint32_t *, vk_session_point *)) \
  X(GetDataGraphPipelineSessionMemoryRequirementsARM, void, (vk_device, const vk_session_requirements_of *, vk_memory_requirements *))  \
  X(BindDataGraphPipelineSessionMemoryARM, vk_result, (vk_device, uint32_t, const vk_session_binding *))                                \
  X(CmdDispatchDataGraphARM, void, (vk_commands, vk_object, const void *))

#define VK_FIELD(name, returned, parameters) returned(*name) parameters;

/* A device, which all delegates share. */
typedef struct vgf_device {
  VK_INSTANCE_FUNCTIONS(VK_FIELD)
  VK_DEVICE_FUNCTIONS(VK_FIELD)
  vk_instance instance;
  vk_physical_device physical;
  vk_device device;
  vk_queue queue;
  uint32_t family;
  vk_memory_types memory;
  pthread_mutex_t queue_lock;
} vgf_device;

/* Loads Vulkan's loader: from `path` if it is not NULL, else from the path in the environment variable FLAMBEAU_VULKAN_LIBRARY if it is set, else
 * from the system. */
fl_status fl_vgf_load(const char *path, void **library);
/* Returns the device that all delegates share; NULL when none has the extensions, with a message. */
vgf_device *fl_vgf_take_device(void *library);
void fl_vgf_give_back_device(void *library, vgf_device *device);
/* Allocates memory that the host may write and read, where `is_visible`. */
fl_status fl_vgf_allocate(const vgf_device *device, const vk_memory_requirements *needed, int is_visible, vk_object *memory);

#endif
