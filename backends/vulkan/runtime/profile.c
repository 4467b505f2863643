/* How long the dispatches of a call take, by the device's clock. */
#include "delegate.h"

enum { TIMESTAMPS = 2, NUMBERS_OF_64_BITS = 1, STAGE_END = 0x2000 }; /* VkQueryType, VkQueryResultFlagBits, VkPipelineStageFlagBits */

fl_status fl_vulkan_start_profile(delegate *d) {
  const compute_device *const v = d->device;
  const vk_query_info info = {.type = VK_QUERY_INFO, .kind = TIMESTAMPS, .count = d->p.calls.count + 1};
  if (v->tick == 0) {
    return FL_OK;
  }
  const vk_result result = v->CreateQueryPool(v->vk.device, &info, NULL, &d->queries);
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "make room for times");
}

void fl_vulkan_take_time(const delegate *d, uint32_t count) {
  if (d->queries == 0) {
    return;
  }
  if (count == 0) {
    d->device->CmdResetQueryPool(d->commands, d->queries, 0, d->p.calls.count + 1);
  }
  d->device->CmdWriteTimestamp(d->commands, STAGE_END, d->queries, count);
}

int fl_vulkan_operator_time(const fl_backend *self, void *handle, uint32_t index, fl_timed_operator *found) {
  const delegate *const d = (const delegate *)handle;
  const compute_device *const v = d->device;
  const uint32_t count = d->p.calls.count;
  (void)self;
  if (d->queries == 0 || index >= count) {
    return 0;
  }
  const size_t size = ((size_t)count + 1) * sizeof *d->times;
  if (index == 0 &&
      v->GetQueryPoolResults(v->vk.device, d->queries, 0, count + 1, size, d->times, sizeof *d->times, NUMBERS_OF_64_BITS) != 0) {
    return 0;
  }
  const double ticks = (double)((d->times[index + 1] - d->times[index]) & v->valid_ticks);
  found->name = fl_vulkan_operator_of(&d->p, index, &found->number);
  found->nanoseconds = (uint64_t)(ticks * (double)v->tick);
  return 1;
}
