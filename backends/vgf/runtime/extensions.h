/* A device of Vulkan with the ML extensions, and what of these is used, as in library/vulkan.h. */
#ifndef FLAMBEAU_VGF_EXTENSIONS_H
#define FLAMBEAU_VGF_EXTENSIONS_H

#include "library/vulkan.h"

enum { /* VkStructureType */
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

typedef struct vk_features {
  int32_t type;
  void *next;
  uint32_t flags[56]; /* as many as the structure of this type has */
} vk_features;

typedef struct vk_memory_requirements {
  int32_t type;
  void *next;
  uint64_t size;
  uint64_t alignment;
  uint32_t memory_types;
} vk_memory_requirements;

typedef struct vk_tensor_set_write {
  VK_HEAD;
  uint32_t count;
  const vk_object *views;
} vk_tensor_set_write;

typedef struct vk_extension {
  char name[256];
  uint32_t version;
} vk_extension;

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

#define VGF_INSTANCE_FUNCTIONS(X)                                                                                  \
  X(EnumerateDeviceExtensionProperties, vk_result, (vk_physical_device, const char *, uint32_t *, vk_extension *)) \
  X(GetPhysicalDeviceFeatures2, void, (vk_physical_device, vk_features *))

#define VGF_DEVICE_FUNCTIONS(X)                                                                                                         \
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

/* A device, which all delegates share. */
typedef struct vgf_device {
  fl_vulkan vk;
  VGF_INSTANCE_FUNCTIONS(VK_FIELD)
  VGF_DEVICE_FUNCTIONS(VK_FIELD)
} vgf_device;

/* Returns the device that all delegates share; NULL when none has the extensions, with a message. */
vgf_device *fl_vgf_take_device(void *library);
void fl_vgf_give_back_device(void *library, vgf_device *device);

#endif
