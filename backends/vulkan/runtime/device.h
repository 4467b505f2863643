/* A device of Vulkan 1.1 that computes, and what of Vulkan is used for it, as in library/vulkan.h. */
#ifndef FLAMBEAU_VULKAN_DEVICE_H
#define FLAMBEAU_VULKAN_DEVICE_H

#include "library/vulkan.h"

enum { /* VkStructureType */
  VK_QUERY_INFO = 11,
  VK_BUFFER_INFO = 12,
  VK_CACHE_INFO = 17,
  VK_STAGE_INFO = 18,
  VK_PIPELINE_INFO = 29,
  VK_FEATURES_2 = 1000059000,
  VK_STORAGE_16 = 1000083000
};
enum { VK_QUEUE_COMPUTE = 2 };                                   /* VkQueueFlagBits */
enum { VK_MEMORY_LOCAL = 1, VK_MEMORY_CACHED = 8 };              /* VkMemoryPropertyFlagBits */
enum { VK_BUFFER_STORAGE = 0x20, VK_STORAGE_DESCRIPTOR = 7 };    /* VkBufferUsageFlagBits, VkDescriptorType */
enum { VK_COMPUTE_SHADER = 0x20, VK_STAGE_COMPUTE = 0x800 };     /* VkShaderStageFlagBits, VkPipelineStageFlagBits */
enum { VK_ACCESS_SHADER_READ = 0x20, VK_ACCESS_SHADER_WRITE = 0x40 }; /* VkAccessFlagBits */
enum { VK_COMPUTE_PIPELINE = 1, VK_FEATURES = 55 };              /* VkPipelineBindPoint; the members of VkPhysicalDeviceFeatures */

typedef struct vk_properties { /* VkPhysicalDeviceProperties */
  uint32_t api;
  uint32_t driver, vendor, id;
  int32_t kind;
  char name[256];
  uint8_t cache[16];
  uint64_t limits[72]; /* and what follows */
} vk_properties;

typedef struct vk_buffer_info {
  VK_HEAD;
  uint32_t flags;
  uint64_t size;
  uint32_t usage;
  int32_t sharing;
  uint32_t family_count;
  const uint32_t *families;
} vk_buffer_info;

typedef struct vk_buffer_requirements { /* VkMemoryRequirements */
  uint64_t size;
  uint64_t alignment;
  uint32_t memory_types;
} vk_buffer_requirements;

typedef struct vk_specialization_entry {
  uint32_t id;
  uint32_t offset;
  size_t size;
} vk_specialization_entry;

typedef struct vk_specialization {
  uint32_t count;
  const vk_specialization_entry *entries;
  size_t bytes;
  const void *data;
} vk_specialization;

typedef struct vk_stage_info {
  VK_HEAD;
  uint32_t flags;
  uint32_t stage;
  vk_object module;
  const char *entry;
  const vk_specialization *specialization;
} vk_stage_info;

typedef struct vk_pipeline_info {
  VK_HEAD;
  uint32_t flags;
  vk_stage_info stage;
  vk_object layout;
  vk_object base;
  int32_t base_index;
} vk_pipeline_info;

typedef struct vk_query_info {
  VK_HEAD;
  uint32_t flags;
  int32_t kind;
  uint32_t count;
  uint32_t statistics;
} vk_query_info;

typedef struct vk_cache_info {
  VK_HEAD;
  uint32_t flags;
  size_t bytes;
  const void *data;
} vk_cache_info;

typedef struct vk_push_range {
  uint32_t stages;
  uint32_t offset;
  uint32_t size;
} vk_push_range;

typedef struct vk_buffer_part {
  vk_object buffer;
  uint64_t offset;
  uint64_t size;
} vk_buffer_part;

typedef struct vk_storage_16 { /* VkPhysicalDevice16BitStorageFeatures */
  VK_HEAD;
  uint32_t buffers;
  uint32_t uniform_buffers, pushed, arguments;
} vk_storage_16;

typedef struct vk_features { /* VkPhysicalDeviceFeatures2 */
  VK_HEAD;
  uint32_t first[VK_FEATURES];
} vk_features;

#define COMPUTE_INSTANCE_FUNCTIONS(X)                                          \
  X(GetPhysicalDeviceProperties, void, (vk_physical_device, vk_properties *)) \
  X(GetPhysicalDeviceFeatures2, void, (vk_physical_device, vk_features *))

#define COMPUTE_DEVICE_FUNCTIONS(X)                                                                     \
  VK_CREATES(X, CreateBuffer, vk_buffer_info)                                                           \
  VK_DESTROYS(X, DestroyBuffer)                                                                         \
  X(GetBufferMemoryRequirements, void, (vk_device, vk_object, vk_buffer_requirements *))                \
  X(BindBufferMemory, vk_result, (vk_device, vk_object, vk_object, uint64_t))                           \
  X(CreateComputePipelines, vk_result,                                                                  \
    (vk_device, vk_object, uint32_t, const vk_pipeline_info *, const void *, vk_object *))              \
  VK_CREATES(X, CreatePipelineCache, vk_cache_info)                                                     \
  VK_DESTROYS(X, DestroyPipelineCache)                                                                  \
  X(GetPipelineCacheData, vk_result, (vk_device, vk_object, size_t *, void *))                          \
  VK_CREATES(X, CreateQueryPool, vk_query_info)                                                         \
  VK_DESTROYS(X, DestroyQueryPool)                                                                      \
  X(CmdResetQueryPool, void, (vk_commands, vk_object, uint32_t, uint32_t))                              \
  X(CmdWriteTimestamp, void, (vk_commands, uint32_t, vk_object, uint32_t))                              \
  X(GetQueryPoolResults, vk_result,                                                                     \
    (vk_device, vk_object, uint32_t, uint32_t, size_t, void *, uint64_t, uint32_t))                     \
  X(CmdPushConstants, void, (vk_commands, vk_object, uint32_t, uint32_t, uint32_t, const void *))       \
  X(CmdDispatch, void, (vk_commands, uint32_t, uint32_t, uint32_t))

/* A device, which the delegates that name it share. */
typedef struct compute_device {
  fl_vulkan vk;
  COMPUTE_INSTANCE_FUNCTIONS(VK_FIELD)
  COMPUTE_DEVICE_FUNCTIONS(VK_FIELD)
  uint64_t most_bytes; /* of a binding */
  int stores_halves;   /* whether buffers may have elements of float16 */
  float tick;          /* the nanoseconds of a unit of its clock; 0: it has none */
  uint64_t valid_ticks; /* the bits that its clock has */
  char there[200];      /* the devices that there are, for a message */
} compute_device;

/* Returns a device: that of an index, if `wanted` is a number; else the first whose name has `wanted` in it; with NULL, the first GPU, or else the
 * first device. NULL: there is none, with a message. */
compute_device *fl_vulkan_take_device(void *library, const char *wanted);
void fl_vulkan_give_back_device(void *library, compute_device *device);

#endif
