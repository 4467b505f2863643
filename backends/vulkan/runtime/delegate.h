/* A delegate, and how its commands are recorded. */
#ifndef FLAMBEAU_VULKAN_DELEGATE_H
#define FLAMBEAU_VULKAN_DELEGATE_H

#include "device.h"
#include "program.h"

typedef struct delegate {
  void *library;
  compute_device *device;
  program p;
  uint64_t timeout;
  vk_object buffer; /* of all tensors */
  vk_object memory;
  uint8_t *data; /* what the host sees of it */
  vk_object set_layouts[MOST_BINDINGS + 1]; /* by the number of bindings */
  vk_object layouts[MOST_BINDINGS + 1];
  vk_object pool;
  vk_object command_pool;
  vk_commands commands;
  vk_object fence;
  int is_running; /* 1: a call took longer than its time */
  vk_object cache; /* of pipelines; 0 without the option */
  vk_object queries; /* of times; 0 without the option */
  uint64_t *times; /* when dispatches ended, behind when the first began */
  uint32_t pipeline_count;
  vk_object *pipelines;
} delegate;

/* Makes the pipelines of a program, and records its dispatches. */
fl_status fl_vulkan_record(delegate *d);
/* Makes the cache of pipelines, with what the file `path` has of them. */
fl_status fl_vulkan_open_cache(delegate *d, const char *path);
/* Writes the cache of pipelines into the file `path`. */
fl_status fl_vulkan_save_cache(const delegate *d, const char *path);
/* Makes room for times, if the device measures them. */
fl_status fl_vulkan_start_profile(delegate *d);
/* Records that the times of a call begin, or that the dispatch before ends. `count` are those that have ended. */
void fl_vulkan_take_time(const delegate *d, uint32_t count);
/* `operator_time` of the backend. */
int fl_vulkan_operator_time(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found);

#endif
