/* The backend "FlambeauVulkan": runs compute shaders on a device that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. Vulkan itself allocates memory, one block of it for all tensors, and starts threads.
 * The commands of a call are recorded in `init`, and are the same each time. */
#include <stdlib.h>
#include <string.h>

#include "delegate.h"

enum { MILLISECOND = 1000000, DEFAULT_TIMEOUT = 600000 };

/* What the options say. */
typedef struct settings {
  const char *library;
  const char *device;
  const char *cache;
  uint64_t timeout; /* in milliseconds */
  int profiles;
} settings;

static fl_status read_settings(const fl_backend *self, settings *set) {
  *set = (settings){.timeout = DEFAULT_TIMEOUT};
  for (size_t i = 0; i < self->option_count; ++i) {
    const char *const name = self->options[i].name, *const value = self->options[i].value;
    char *end = NULL;
    if (strcmp(name, "library") == 0) {
      set->library = value;
    } else if (strcmp(name, "device") == 0) {
      set->device = value;
    } else if (strcmp(name, "cache") == 0) {
      set->cache = value;
    } else if (strcmp(name, "profile") == 0) {
      if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
        return fl_library_fail(FL_INVALID_ARGUMENT, "option profile is 0 or 1, not '%.80s'", value);
      }
      set->profiles = value[0] == '1';
    } else if (strcmp(name, "timeout") != 0) {
      return fl_library_fail(FL_INVALID_ARGUMENT, "there is no option '%.80s', but cache, device, library, profile and timeout", name);
    } else if (set->timeout = strtoull(value, &end, 10), *end != 0 || end == value || set->timeout == 0 || set->timeout > UINT32_MAX) {
      return fl_library_fail(FL_INVALID_ARGUMENT, "option timeout is a number of milliseconds, not '%.80s'", value);
    }
  }
  return FL_OK;
}

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  program p;
  settings set;
  void *library = NULL;
  *message = fl_library_message();
  fl_status status = read_settings(self, &set);
  status = status == FL_OK ? fl_vulkan_read(payload, &p) : status;
  status = status == FL_OK ? fl_vulkan_load(set.library, &library) : status;
  if (status == FL_OK) {
    fl_library_close(library);
    const size_t times = set.profiles ? ((size_t)p.calls.count + 1) * sizeof(uint64_t) : 0;
    *memory = (fl_backend_memory){sizeof(delegate) + p.pipelines.count * sizeof(vk_object) + times, 0, p.outputs.count};
  }
  return status;
}

/* ---- Init ---- */

/* Makes the buffer of all tensors, in memory that the host sees: the device's own if it has such memory. */
static fl_status make_buffer(delegate *d) {
  enum { SEEN = VK_MEMORY_VISIBLE | VK_MEMORY_COHERENT };
  static const uint32_t flags[] = {SEEN | VK_MEMORY_LOCAL | VK_MEMORY_CACHED, SEEN | VK_MEMORY_LOCAL, SEEN | VK_MEMORY_CACHED, SEEN};
  const compute_device *const v = d->device;
  const vk_buffer_info info = {.type = VK_BUFFER_INFO, .size = d->p.memory, .usage = VK_BUFFER_STORAGE};
  vk_buffer_requirements needed = {0, 0, 0};
  vk_result result = v->CreateBuffer(v->vk.device, &info, NULL, &d->buffer);
  if (result != 0) {
    return fl_vulkan_refused(result, "make a buffer for its tensors");
  }
  v->GetBufferMemoryRequirements(v->vk.device, d->buffer, &needed);
  fl_status status = FL_DELEGATE_OUT_OF_MEMORY;
  for (size_t i = 0; status != FL_OK && i < sizeof flags / sizeof *flags; ++i) {
    status = fl_vulkan_allocate(&v->vk, needed.size, needed.memory_types, flags[i], &d->memory);
  }
  if (status != FL_OK) {
    return status;
  }
  void *data = NULL;
  result = v->BindBufferMemory(v->vk.device, d->buffer, d->memory, 0);
  result = result == 0 ? v->vk.MapMemory(v->vk.device, d->memory, 0, UINT64_MAX, 0, &data) : result;
  d->data = (uint8_t *)data;
  return result == 0 ? fl_vulkan_copy_constants(&d->p, d->data) : fl_vulkan_refused(result, "give its tensors memory");
}

static void release(const delegate *d) {
  const compute_device *const v = d->device;
  const vk_device device = v->vk.device;
  if (d->is_running) {
    (void)v->vk.WaitForFences(device, 1, &d->fence, 1, UINT64_MAX);
  }
  v->vk.DestroyFence(device, d->fence, NULL);
  v->vk.DestroyCommandPool(device, d->command_pool, NULL);
  v->vk.DestroyDescriptorPool(device, d->pool, NULL);
  for (uint32_t i = 0; i < d->pipeline_count; ++i) {
    v->vk.DestroyPipeline(device, d->pipelines[i], NULL);
  }
  for (size_t i = 0; i <= MOST_BINDINGS; ++i) {
    v->vk.DestroyPipelineLayout(device, d->layouts[i], NULL);
    v->vk.DestroyDescriptorSetLayout(device, d->set_layouts[i], NULL);
  }
  v->DestroyPipelineCache(device, d->cache, NULL);
  v->DestroyQueryPool(device, d->queries, NULL);
  v->DestroyBuffer(device, d->buffer, NULL);
  v->vk.FreeMemory(device, d->memory, NULL);
}

static void destroy(const fl_backend *self, void *handle) {
  const delegate *const d = (const delegate *)handle;
  (void)self;
  if (d->device != NULL) {
    release(d);
    fl_vulkan_give_back_device(d->library, d->device);
  }
  fl_library_close(d->library);
}

static fl_status prepare(delegate *d, const settings *set) {
  d->device = fl_vulkan_take_device(d->library, set->device);
  if (d->device == NULL) {
    return FL_NOT_FOUND;
  }
  fl_status status = make_buffer(d);
  status = status == FL_OK && set->cache != NULL ? fl_vulkan_open_cache(d, set->cache) : status;
  status = status == FL_OK && set->profiles ? fl_vulkan_start_profile(d) : status;
  status = status == FL_OK ? fl_vulkan_record(d) : status;
  return status == FL_OK && set->cache != NULL ? fl_vulkan_save_cache(d, set->cache) : status;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *const d = (delegate *)persistent;
  settings set;
  *message = fl_library_message();
  *handle = d;
  memset(d, 0, sizeof *d);
  fl_status status = read_settings(self, &set);
  status = status == FL_OK ? fl_vulkan_read(payload, &d->p) : status;
  if (status != FL_OK) {
    return status;
  }
  d->timeout = set.timeout * MILLISECOND;
  d->pipeline_count = d->p.pipelines.count;
  d->pipelines = (vk_object *)(void *)(d + 1);
  memset(d->pipelines, 0, d->pipeline_count * sizeof *d->pipelines);
  d->times = (uint64_t *)(void *)(d->pipelines + d->pipeline_count);
  status = fl_vulkan_load(set.library, &d->library);
  if (status == FL_OK && (status = prepare(d, &set)) != FL_OK) {
    destroy(self, d);
  }
  return status;
}

/* ---- Execute ---- */

/* Stores the value of an argument of a call, the inputs before the outputs. */
static void value_of(const program *p, uint32_t argument, program_value *value) {
  const uint32_t inputs = p->inputs.count;
  (void)fl_vulkan_read_value(p, argument < inputs ? fl_vulkan_at(p, p->inputs, argument) : fl_vulkan_at(p, p->outputs, argument - inputs), value);
}

static const int8_t dtypes[ELEMENT_TYPES] = {FL_FLOAT32, FL_FLOAT16, FL_INT8};

/* Returns whether a tensor has the type and the sizes of a value. */
static int fits(const program *p, const program_value *value, const fl_tensor *t) {
  int fit = t != NULL && t->dtype == dtypes[value->element] && fl_is_contiguous(t) && t->rank == value->shape.count;
  for (uint8_t i = 0; fit && i < t->rank; ++i) {
    fit = (uint64_t)t->sizes[i] == fl_flatbuffer_number(p->in.data + value->shape.first + (size_t)8 * i, 8);
  }
  return fit;
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *const d = (delegate *)handle;
  const program *const p = &d->p;
  const uint32_t inputs = p->inputs.count, all = inputs + p->outputs.count;
  program_value value;
  (void)self;
  FL_CHECK(context, count == all, "the call has more or fewer arguments than its payload");
  FL_CHECK(context, !d->is_running, "a call before it took longer than the time that it was given, and may run still");
  for (uint32_t i = 0; i < all; ++i) {
    value_of(p, i, &value);
    FL_CHECK(context, fits(p, &value, fl_get_tensor(args[i])), "an argument is not the tensor that its payload says");
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    value_of(p, i, &value);
    memcpy(d->data + value.offset, fl_get_tensor(args[i])->data, (size_t)value.bytes);
  }
  const fl_status status = fl_vulkan_run(&d->device->vk, d->commands, d->fence, d->timeout, "run its shaders", &d->is_running);
  if (status != FL_OK) {
    return FL_FAIL(context, status, fl_library_message());
  }
  for (uint32_t i = inputs; i < all; ++i) {
    value_of(p, i, &value);
    memcpy(fl_get_tensor(args[i])->data, d->data + value.offset, (size_t)value.bytes);
  }
  return FL_OK;
}

extern const fl_backend fl_backend_vulkan;
static const char *const option_names[] = {"cache", "device", "library", "profile", "timeout", NULL};

const fl_backend fl_backend_vulkan = {.struct_size = sizeof(fl_backend),
                                      .id = "FlambeauVulkan",
                                      .name = "vulkan",
                                      .measure = measure,
                                      .init = init,
                                      .execute = execute,
                                      .destroy = destroy,
                                      .operator_time = fl_vulkan_operator_time,
                                      .option_names = option_names};
