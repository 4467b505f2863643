/* The backend "FlambeauVulkan": runs compute shaders on a device that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. Vulkan itself allocates memory, one block of it for all tensors, and starts threads.
 * The commands of a call are recorded in `init`, and are the same each time. */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "program.h"

enum { MILLISECOND = 1000000, DEFAULT_TIMEOUT = 600000, PUSHED_BYTES = 4 * MOST_PUSHED };

/* What the options say. */
typedef struct settings {
  const char *library;
  const char *device;
  uint64_t timeout; /* in milliseconds */
} settings;

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
  uint32_t pipeline_count;
  vk_object *pipelines;
} delegate;

static fl_status read_settings(const fl_backend *self, settings *set) {
  *set = (settings){NULL, NULL, DEFAULT_TIMEOUT};
  for (size_t i = 0; i < self->option_count; ++i) {
    const char *const name = self->options[i].name, *const value = self->options[i].value;
    char *end = NULL;
    if (strcmp(name, "library") == 0) {
      set->library = value;
    } else if (strcmp(name, "device") == 0) {
      set->device = value;
    } else if (strcmp(name, "timeout") != 0) {
      return fl_library_fail(FL_INVALID_ARGUMENT, "there is no option '%.80s', but device, library and timeout", name);
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
    *memory = (fl_backend_memory){sizeof(delegate) + p.pipelines.count * sizeof(vk_object), 0, p.outputs.count};
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

/* Makes the layouts of dispatches with so many bindings, unless they are there. */
static __attribute__((noinline)) fl_status make_layouts(delegate *d, uint32_t count) {
  const fl_vulkan *const vk = &d->device->vk;
  vk_set_layout_binding slots[MOST_BINDINGS];
  if (d->layouts[count] != 0) {
    return FL_OK;
  }
  for (uint32_t i = 0; i < count; ++i) {
    slots[i] = (vk_set_layout_binding){.binding = i, .kind = VK_STORAGE_DESCRIPTOR, .count = 1, .stages = VK_COMPUTE_SHADER};
  }
  const vk_set_layout_info set = {.type = VK_SET_LAYOUT_INFO, .count = count, .bindings = slots};
  const vk_push_range range = {VK_COMPUTE_SHADER, 0, PUSHED_BYTES};
  const vk_layout_info layout = {
      .type = VK_LAYOUT_INFO, .set_count = 1, .sets = &d->set_layouts[count], .range_count = 1, .ranges = &range};
  vk_result result = vk->CreateDescriptorSetLayout(vk->device, &set, NULL, &d->set_layouts[count]);
  result = result == 0 ? vk->CreatePipelineLayout(vk->device, &layout, NULL, &d->layouts[count]) : result;
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "describe a dispatch");
}

/* Makes the pipeline of a dispatch, unless it is there. */
static __attribute__((noinline)) fl_status make_pipeline(delegate *d, const program_call *call) {
  const compute_device *const v = d->device;
  vk_specialization_entry entries[MOST_CONSTANTS];
  program_pipeline pipeline;
  program_module module;
  if (d->pipelines[call->pipeline] != 0) {
    return FL_OK;
  }
  fl_status status = fl_vulkan_read_pipeline(&d->p, call->pipeline, &pipeline);
  status = status == FL_OK ? fl_vulkan_read_module(&d->p, pipeline.module, &module) : status;
  if (status != FL_OK) {
    return status;
  }
  if (module.stores_halves && !v->stores_halves) {
    return fl_library_fail(FL_NOT_SUPPORTED, "its tensors are of float16, and the device has no 16-bit storage: compile with precision=f32");
  }
  for (uint32_t i = 0; i < pipeline.constant_count; ++i) {
    entries[i] = (vk_specialization_entry){i, 4 * i, 4};
  }
  const vk_specialization constants = {pipeline.constant_count, entries, 4 * (size_t)pipeline.constant_count, pipeline.constants};
  const vk_module_info info = {.type = VK_MODULE_INFO, .bytes = 4 * module.count, .words = module.words};
  vk_object made = 0;
  vk_result result = v->vk.CreateShaderModule(v->vk.device, &info, NULL, &made);
  if (result == 0) {
    const vk_stage_info stage = {
        .type = VK_STAGE_INFO, .stage = VK_COMPUTE_SHADER, .module = made, .entry = "main", .specialization = &constants};
    const vk_pipeline_info asked = {.type = VK_PIPELINE_INFO, .stage = stage, .layout = d->layouts[call->binding_count]};
    result = v->CreateComputePipelines(v->vk.device, 0, 1, &asked, NULL, &d->pipelines[call->pipeline]);
    v->vk.DestroyShaderModule(v->vk.device, made, NULL);
  }
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "compile a shader");
}

static fl_status make_pool(delegate *d) {
  const fl_vulkan *const vk = &d->device->vk;
  program_call call;
  uint32_t bindings = 1;
  for (uint32_t i = 0; i < d->p.calls.count; ++i) {
    const fl_status status = fl_vulkan_read_call(&d->p, i, &call);
    if (status != FL_OK) {
      return status;
    }
    bindings += call.binding_count;
  }
  const vk_pool_size size = {VK_STORAGE_DESCRIPTOR, bindings};
  const vk_pool_info pool = {.type = VK_POOL_INFO, .most_sets = d->p.calls.count + 1, .size_count = 1, .sizes = &size};
  const vk_result result = vk->CreateDescriptorPool(vk->device, &pool, NULL, &d->pool);
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "make room for bindings");
}

/* Makes the set of a dispatch's bindings. */
static fl_status bind(const delegate *d, const program_call *call, vk_object *set) {
  const fl_vulkan *const vk = &d->device->vk;
  const vk_set_info info = {.type = VK_SET_INFO, .pool = d->pool, .count = 1, .layouts = &d->set_layouts[call->binding_count]};
  const vk_result result = vk->AllocateDescriptorSets(vk->device, &info, set);
  if (result != 0) {
    return fl_vulkan_refused(result, "bind tensors");
  }
  for (uint32_t i = 0; i < call->binding_count; ++i) {
    program_value value;
    const fl_status status = fl_vulkan_read_value(&d->p, call->values[i], &value);
    if (status != FL_OK) {
      return status;
    }
    if (value.bytes > d->device->most_bytes) {
      return fl_library_fail(FL_NOT_SUPPORTED, "value %u has %llu bytes, and the device binds %llu at most", call->values[i],
                             (unsigned long long)value.bytes, (unsigned long long)d->device->most_bytes);
    }
    /* Shaders read elements of int8 by words. */
    const vk_buffer_part part = {d->buffer, value.offset, (value.bytes + 3) / 4 * 4};
    const vk_set_write write = {.type = VK_SET_WRITE, .set = *set, .binding = i, .count = 1, .kind = VK_STORAGE_DESCRIPTOR, .buffers = &part};
    vk->UpdateDescriptorSets(vk->device, 1, &write, 0, NULL);
  }
  return FL_OK;
}

static void wait_for_writes(const delegate *d, uint32_t stage, uint32_t access) {
  const fl_vulkan *const vk = &d->device->vk;
  const vk_memory_barrier barrier = {.type = VK_MEMORY_BARRIER, .from = VK_ACCESS_SHADER_WRITE, .to = access};
  vk->CmdPipelineBarrier(d->commands, VK_STAGE_COMPUTE, stage, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static __attribute__((noinline)) fl_status record_call(delegate *d, uint32_t index) {
  const compute_device *const v = d->device;
  program_call call;
  vk_object set = 0;
  fl_status status = fl_vulkan_read_call(&d->p, index, &call);
  status = status == FL_OK ? make_layouts(d, call.binding_count) : status;
  status = status == FL_OK ? make_pipeline(d, &call) : status;
  status = status == FL_OK ? bind(d, &call, &set) : status;
  if (status != FL_OK) {
    return status;
  }
  const vk_object layout = d->layouts[call.binding_count];
  v->vk.CmdBindPipeline(d->commands, VK_COMPUTE_PIPELINE, d->pipelines[call.pipeline]);
  v->vk.CmdBindDescriptorSets(d->commands, VK_COMPUTE_PIPELINE, layout, 0, 1, &set, 0, NULL);
  if (call.pushed_count != 0) {
    v->CmdPushConstants(d->commands, layout, VK_COMPUTE_SHADER, 0, 4 * call.pushed_count, call.pushed);
  }
  v->CmdDispatch(d->commands, call.groups[0], call.groups[1], call.groups[2]);
  wait_for_writes(d, VK_STAGE_COMPUTE, VK_ACCESS_SHADER_READ | VK_ACCESS_SHADER_WRITE);
  return FL_OK;
}

static fl_status record(delegate *d) {
  const fl_vulkan *const vk = &d->device->vk;
  const vk_command_pool_info pool = {.type = VK_COMMAND_POOL_INFO, .family = vk->family};
  const vk_commands_begin begin = {.type = VK_COMMANDS_BEGIN};
  const vk_fence_info fence = {.type = VK_FENCE_INFO};
  vk_result result = vk->CreateCommandPool(vk->device, &pool, NULL, &d->command_pool);
  const vk_commands_info info = {.type = VK_COMMANDS_INFO, .pool = d->command_pool, .count = 1};
  result = result == 0 ? vk->AllocateCommandBuffers(vk->device, &info, &d->commands) : result;
  result = result == 0 ? vk->CreateFence(vk->device, &fence, NULL, &d->fence) : result;
  result = result == 0 ? vk->BeginCommandBuffer(d->commands, &begin) : result;
  if (result != 0) {
    return fl_vulkan_refused(result, "record a call");
  }
  for (uint32_t i = 0; i < d->p.calls.count; ++i) {
    const fl_status status = record_call(d, i);
    if (status != FL_OK) {
      return status;
    }
  }
  wait_for_writes(d, VK_STAGE_HOST, VK_ACCESS_HOST_READ);
  result = vk->EndCommandBuffer(d->commands);
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "record a call");
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

static fl_status prepare(delegate *d, const char *wanted) {
  d->device = fl_vulkan_take_device(d->library, wanted);
  if (d->device == NULL) {
    return FL_NOT_FOUND;
  }
  fl_status status = make_buffer(d);
  status = status == FL_OK ? make_pool(d) : status;
  return status == FL_OK ? record(d) : status;
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
  status = fl_vulkan_load(set.library, &d->library);
  if (status == FL_OK && (status = prepare(d, set.device)) != FL_OK) {
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
static const char *const option_names[] = {"device", "library", "timeout", NULL};

const fl_backend fl_backend_vulkan = {.struct_size = sizeof(fl_backend),
                                      .id = "FlambeauVulkan",
                                      .name = "vulkan",
                                      .measure = measure,
                                      .init = init,
                                      .execute = execute,
                                      .destroy = destroy,
                                      .option_names = option_names};
