/* Makes pipelines, and records the commands of a call, which are the same each time. */
#include "delegate.h"

enum { PUSHED_BYTES = 4 * MOST_PUSHED };

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
    result = v->CreateComputePipelines(v->vk.device, d->cache, 1, &asked, NULL, &d->pipelines[call->pipeline]);
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

/* Lets what follows wait for what the dispatches before wrote, and read. */
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
  if (call.waits || d->queries != 0) {
    wait_for_writes(d, VK_STAGE_COMPUTE, VK_ACCESS_SHADER_READ | VK_ACCESS_SHADER_WRITE);
  }
  v->CmdDispatch(d->commands, call.groups[0], call.groups[1], call.groups[2]);
  fl_vulkan_take_time(d, index + 1);
  return FL_OK;
}

fl_status fl_vulkan_record(delegate *d) {
  const fl_vulkan *const vk = &d->device->vk;
  const fl_status made = make_pool(d);
  if (made != FL_OK) {
    return made;
  }
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
  fl_vulkan_take_time(d, 0);
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
