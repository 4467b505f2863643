/* The backend "VgfBackend": runs VGF files with Vulkan's ML extensions, on a device that is found at load.
 *
 * The memory that `measure` asks for holds the adapter's own data. Vulkan itself allocates memory, that of the tensors and of the graph, and starts
 * threads. The constants are read from the program when the graph is compiled, in `init`. */
#include <stdlib.h>
#include <string.h>

#include "extensions.h"
#include "file.h"

/* An input or an output: a tensor of the device, in memory that the host sees. */
typedef struct argument {
  vgf_tensor kind;
  uint32_t binding;
  vk_object tensor;
  vk_object view;
  vk_object memory;
  void *data;
  size_t bytes;
} argument;

enum { MOST_MEMORIES = 16 };

typedef struct delegate {
  void *library;
  vgf_device *device;
  vk_object module;
  vk_object set_layout;
  vk_object layout;
  vk_object pipeline;
  vk_object session;
  vk_object memories[MOST_MEMORIES]; /* of the session */
  uint32_t memory_count;
  vk_object pool;
  vk_object set;
  vk_object command_pool;
  vk_commands commands;
  vk_object fence;
  uint32_t inputs;
  uint32_t count; /* inputs and outputs */
  argument *arguments;
} delegate;

/* What Vulkan reads while it compiles the graph: of each constant, and of each argument. */
typedef struct build_constant {
  vgf_tensor kind;
  vk_tensor_description description;
} build_constant;

typedef struct build {
  build_constant *kinds;
  vk_graph_constant *constants;
  vk_tensor_description *descriptions;
  vk_graph_resource *resources;
  vk_set_layout_binding *slots;
} build;

static const char *library_of(const fl_backend *self) {
  for (size_t i = 0; i < self->option_count; ++i) {
    if (strcmp(self->options[i].name, "library") == 0) {
      return self->options[i].value;
    }
  }
  return NULL;
}

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  vgf_file file;
  void *library = NULL;
  *message = fl_library_message();
  fl_status status = fl_vgf_read(payload, &file);
  for (size_t i = 0; status == FL_OK && i < self->option_count; ++i) {
    if (strcmp(self->options[i].name, "library") != 0) {
      status = fl_library_fail(FL_INVALID_ARGUMENT, "there is no option '%.80s', but library", self->options[i].name);
    }
  }
  status = status == FL_OK ? fl_vulkan_load(library_of(self), &library) : status;
  if (status == FL_OK) {
    fl_library_close(library);
    memory->persistent = sizeof(delegate) + ((size_t)file.counts[0] + file.counts[1]) * sizeof(argument);
    memory->outputs = file.counts[1];
  }
  return status;
}

/* ---- Init ---- */

static vk_tensor_description described(const vgf_tensor *kind, int tiling) {
  return (vk_tensor_description){.type = VK_TENSOR_DESCRIPTION,
                                 .tiling = tiling,
                                 .format = kind->format,
                                 .rank = kind->rank,
                                 .sizes = kind->sizes,
                                 .usage = VK_USED_BY_GRAPHS};
}

/* Makes the tensor of an argument, in memory of its own that the host sees. */
static fl_status make_argument(const delegate *d, argument *a) {
  const vgf_device *const v = d->device;
  const vk_tensor_description description = described(&a->kind, VK_LINEAR_TILING);
  const vk_tensor_info info = {.type = VK_TENSOR_INFO, .description = &description};
  vk_memory_requirements needed = {.type = VK_MEMORY_REQUIREMENTS};
  vk_result result = v->CreateTensorARM(v->vk.device, &info, NULL, &a->tensor);
  if (result != 0) {
    return fl_vulkan_refused(result, "make the tensor of an argument");
  }
  const vk_requirements_of of = {.type = VK_TENSOR_REQUIREMENTS_OF, .object = a->tensor};
  v->GetTensorMemoryRequirementsARM(v->vk.device, &of, &needed);
  const fl_status status = fl_vulkan_allocate(&v->vk, needed.size, needed.memory_types, VK_MEMORY_VISIBLE | VK_MEMORY_COHERENT, &a->memory);
  if (status != FL_OK) {
    return status;
  }
  const vk_tensor_binding binding = {.type = VK_TENSOR_BINDING, .tensor = a->tensor, .memory = a->memory};
  result = v->BindTensorMemoryARM(v->vk.device, 1, &binding);
  const vk_tensor_view_info view = {.type = VK_TENSOR_VIEW_INFO, .tensor = a->tensor, .format = a->kind.format};
  result = result == 0 ? v->CreateTensorViewARM(v->vk.device, &view, NULL, &a->view) : result;
  result = result == 0 ? v->vk.MapMemory(v->vk.device, a->memory, 0, UINT64_MAX, 0, &a->data) : result;
  a->bytes = (size_t)a->kind.elements * fl_dtype_size((int8_t)fl_vgf_dtype(a->kind.format));
  return result == 0 && needed.size >= a->bytes ? FL_OK : fl_vulkan_refused(result, "give the tensor of an argument its memory");
}

static fl_status make_arguments(delegate *d, const vgf_file *file) {
  fl_status status = FL_OK;
  for (uint32_t i = 0; status == FL_OK && i < d->count; ++i) {
    status = fl_vgf_argument(file, i, &d->arguments[i].kind, &d->arguments[i].binding);
    status = status == FL_OK ? make_argument(d, &d->arguments[i]) : status;
  }
  return status;
}

/* Describes the arguments and the constants. */
static fl_status describe(const delegate *d, const vgf_file *file, build *b) {
  for (uint32_t i = 0; i < d->count; ++i) {
    const argument *const a = &d->arguments[i];
    b->descriptions[i] = described(&a->kind, VK_LINEAR_TILING);
    b->resources[i] = (vk_graph_resource){.type = VK_GRAPH_RESOURCE, .next = &b->descriptions[i], .binding = a->binding};
    b->slots[i] = (vk_set_layout_binding){.binding = a->binding, .kind = VK_TENSOR_DESCRIPTOR, .count = 1, .stages = VK_ALL_STAGES};
  }
  for (uint32_t i = 0; i < file->used_count; ++i) {
    const uint8_t *data = NULL;
    const fl_status status = fl_vgf_constant(file, i, &b->kinds[i].kind, &data);
    if (status != FL_OK) {
      return status;
    }
    b->kinds[i].description = described(&b->kinds[i].kind, VK_LINEAR_TILING);
    b->constants[i] = (vk_graph_constant){.type = VK_GRAPH_CONSTANT, .next = &b->kinds[i].description, .id = i, .data = data};
  }
  return FL_OK;
}

static fl_status compile(delegate *d, const vgf_file *file, const build *b) {
  const vgf_device *const v = d->device;
  const vk_module_info module = {.type = VK_MODULE_INFO, .bytes = 4 * file->word_count, .words = file->words};
  const vk_set_layout_info set = {.type = VK_SET_LAYOUT_INFO, .count = d->count, .bindings = b->slots};
  vk_result result = v->vk.CreateShaderModule(v->vk.device, &module, NULL, &d->module);
  result = result == 0 ? v->vk.CreateDescriptorSetLayout(v->vk.device, &set, NULL, &d->set_layout) : result;
  const vk_layout_info layout = {.type = VK_LAYOUT_INFO, .set_count = 1, .sets = &d->set_layout};
  result = result == 0 ? v->vk.CreatePipelineLayout(v->vk.device, &layout, NULL, &d->layout) : result;
  const vk_graph_module graph = {
      .type = VK_GRAPH_MODULE, .module = d->module, .entry = file->entry, .constant_count = file->used_count, .constants = b->constants};
  const vk_graph_info info = {.type = VK_GRAPH_INFO, .next = &graph, .layout = d->layout, .resource_count = d->count, .resources = b->resources};
  result = result == 0 ? v->CreateDataGraphPipelinesARM(v->vk.device, 0, 0, 1, &info, NULL, &d->pipeline) : result;
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "compile its graph");
}

static fl_status build_pipeline(delegate *d, const vgf_file *file) {
  const size_t constants = (size_t)file->used_count + 1, count = d->count;
  build b = {(build_constant *)calloc(constants, sizeof *b.kinds), (vk_graph_constant *)calloc(constants, sizeof *b.constants),
             (vk_tensor_description *)calloc(count, sizeof *b.descriptions), (vk_graph_resource *)calloc(count, sizeof *b.resources),
             (vk_set_layout_binding *)calloc(count, sizeof *b.slots)};
  const int is_there = b.kinds != NULL && b.constants != NULL && b.descriptions != NULL && b.resources != NULL && b.slots != NULL;
  fl_status status = is_there ? describe(d, file, &b) : fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory to describe its graph");
  status = status == FL_OK ? compile(d, file, &b) : status;
  free(b.kinds);
  free(b.constants);
  free(b.descriptions);
  free(b.resources);
  free(b.slots);
  return status;
}

/* Gives the session memory for one object of a point. */
static fl_status bind_session(delegate *d, int32_t point, uint32_t index) {
  const vgf_device *const v = d->device;
  const vk_session_requirements_of of = {.type = VK_SESSION_REQUIREMENTS_OF, .session = d->session, .point = point, .index = index};
  vk_memory_requirements needed = {.type = VK_MEMORY_REQUIREMENTS};
  v->GetDataGraphPipelineSessionMemoryRequirementsARM(v->vk.device, &of, &needed);
  if (needed.size == 0) {
    return FL_OK;
  }
  if (d->memory_count == MOST_MEMORIES) {
    return fl_library_fail(FL_INTERNAL, "Vulkan wants more than %d pieces of memory for its graph", MOST_MEMORIES);
  }
  const fl_status status = fl_vulkan_allocate(&v->vk, needed.size, needed.memory_types, 0, &d->memories[d->memory_count]);
  if (status != FL_OK) {
    return status;
  }
  const vk_session_binding binding = {
      .type = VK_SESSION_BINDING, .session = d->session, .point = point, .index = index, .memory = d->memories[d->memory_count++]};
  const vk_result result = v->BindDataGraphPipelineSessionMemoryARM(v->vk.device, 1, &binding);
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "give its graph memory");
}

static fl_status make_session(delegate *d) {
  enum { MOST_POINTS = 8 };
  const vgf_device *const v = d->device;
  const vk_session_info info = {.type = VK_SESSION_INFO, .pipeline = d->pipeline};
  vk_session_point points[MOST_POINTS];
  uint32_t count = MOST_POINTS;
  memset(points, 0, sizeof points);
  for (size_t i = 0; i < MOST_POINTS; ++i) {
    points[i].type = VK_SESSION_POINT;
  }
  vk_result result = v->CreateDataGraphPipelineSessionARM(v->vk.device, &info, NULL, &d->session);
  const vk_requirements_of of = {.type = VK_SESSION_POINTS_OF, .object = d->session};
  result = result == 0 ? v->GetDataGraphPipelineSessionBindPointRequirementsARM(v->vk.device, &of, &count, points) : result;
  fl_status status = result == 0 ? FL_OK : fl_vulkan_refused(result, "prepare its graph");
  for (uint32_t i = 0; status == FL_OK && i < count; ++i) {
    for (uint32_t index = 0; status == FL_OK && index < points[i].count; ++index) {
      status = bind_session(d, points[i].point, index);
    }
  }
  return status;
}

static fl_status make_set(delegate *d) {
  const vgf_device *const v = d->device;
  const vk_pool_size size = {VK_TENSOR_DESCRIPTOR, d->count};
  const vk_pool_info pool = {.type = VK_POOL_INFO, .most_sets = 1, .size_count = 1, .sizes = &size};
  vk_result result = v->vk.CreateDescriptorPool(v->vk.device, &pool, NULL, &d->pool);
  const vk_set_info info = {.type = VK_SET_INFO, .pool = d->pool, .count = 1, .layouts = &d->set_layout};
  result = result == 0 ? v->vk.AllocateDescriptorSets(v->vk.device, &info, &d->set) : result;
  for (uint32_t i = 0; result == 0 && i < d->count; ++i) {
    const vk_tensor_set_write tensor = {.type = VK_TENSOR_SET_WRITE, .count = 1, .views = &d->arguments[i].view};
    const vk_set_write write = {
        .type = VK_SET_WRITE, .next = &tensor, .set = d->set, .binding = d->arguments[i].binding, .count = 1, .kind = VK_TENSOR_DESCRIPTOR};
    v->vk.UpdateDescriptorSets(v->vk.device, 1, &write, 0, NULL);
  }
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "bind the arguments of its graph");
}

/* Records the commands of a call, which are the same each time. */
static fl_status record(delegate *d) {
  const vgf_device *const v = d->device;
  const vk_command_pool_info pool = {.type = VK_COMMAND_POOL_INFO, .family = v->vk.family};
  const vk_commands_begin begin = {.type = VK_COMMANDS_BEGIN};
  const vk_fence_info fence = {.type = VK_FENCE_INFO};
  const vk_memory_barrier barrier = {.type = VK_MEMORY_BARRIER, .from = VK_ACCESS_WRITE, .to = VK_ACCESS_HOST_READ};
  vk_result result = v->vk.CreateCommandPool(v->vk.device, &pool, NULL, &d->command_pool);
  const vk_commands_info info = {.type = VK_COMMANDS_INFO, .pool = d->command_pool, .count = 1};
  result = result == 0 ? v->vk.AllocateCommandBuffers(v->vk.device, &info, &d->commands) : result;
  result = result == 0 ? v->vk.BeginCommandBuffer(d->commands, &begin) : result;
  if (result == 0) {
    v->vk.CmdBindPipeline(d->commands, VK_GRAPH_PIPELINE, d->pipeline);
    v->vk.CmdBindDescriptorSets(d->commands, VK_GRAPH_PIPELINE, d->layout, 0, 1, &d->set, 0, NULL);
    v->CmdDispatchDataGraphARM(d->commands, d->session, NULL);
    v->vk.CmdPipelineBarrier(d->commands, VK_STAGE_COMMANDS, VK_STAGE_HOST, 0, 1, &barrier, 0, NULL, 0, NULL);
    result = v->vk.EndCommandBuffer(d->commands);
  }
  result = result == 0 ? v->vk.CreateFence(v->vk.device, &fence, NULL, &d->fence) : result;
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "record the call of its graph");
}

static void release(const delegate *d) {
  const vgf_device *const v = d->device;
  v->vk.DestroyFence(v->vk.device, d->fence, NULL);
  v->vk.DestroyCommandPool(v->vk.device, d->command_pool, NULL);
  v->vk.DestroyDescriptorPool(v->vk.device, d->pool, NULL);
  if (d->session != 0) {
    v->DestroyDataGraphPipelineSessionARM(v->vk.device, d->session, NULL);
  }
  for (uint32_t i = 0; i < d->memory_count; ++i) {
    v->vk.FreeMemory(v->vk.device, d->memories[i], NULL);
  }
  if (d->pipeline != 0) {
    v->vk.DestroyPipeline(v->vk.device, d->pipeline, NULL);
  }
  v->vk.DestroyPipelineLayout(v->vk.device, d->layout, NULL);
  v->vk.DestroyDescriptorSetLayout(v->vk.device, d->set_layout, NULL);
  v->vk.DestroyShaderModule(v->vk.device, d->module, NULL);
  for (uint32_t i = 0; i < d->count; ++i) {
    const argument *const a = &d->arguments[i];
    if (a->view != 0) {
      v->DestroyTensorViewARM(v->vk.device, a->view, NULL);
    }
    if (a->tensor != 0) {
      v->DestroyTensorARM(v->vk.device, a->tensor, NULL);
    }
    v->vk.FreeMemory(v->vk.device, a->memory, NULL);
  }
}

static void destroy(const fl_backend *self, void *handle) {
  const delegate *const d = (const delegate *)handle;
  (void)self;
  if (d->device != NULL) {
    release(d);
    fl_vgf_give_back_device(d->library, d->device);
  }
  fl_library_close(d->library);
}

static fl_status prepare(delegate *d, const vgf_file *file) {
  d->device = fl_vgf_take_device(d->library);
  if (d->device == NULL) {
    return FL_NOT_FOUND;
  }
  fl_status status = make_arguments(d, file);
  status = status == FL_OK ? build_pipeline(d, file) : status;
  status = status == FL_OK ? make_session(d) : status;
  status = status == FL_OK ? make_set(d) : status;
  return status == FL_OK ? record(d) : status;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  delegate *const d = (delegate *)persistent;
  vgf_file file;
  *message = fl_library_message();
  *handle = d;
  fl_status status = fl_vgf_read(payload, &file);
  if (status != FL_OK) {
    return status;
  }
  memset(d, 0, sizeof *d + ((size_t)file.counts[0] + file.counts[1]) * sizeof *d->arguments);
  d->inputs = file.counts[0];
  d->count = file.counts[0] + file.counts[1];
  d->arguments = (argument *)(void *)(d + 1);
  status = fl_vulkan_load(library_of(self), &d->library);
  if (status == FL_OK && (status = prepare(d, &file)) != FL_OK) {
    destroy(self, d);
  }
  return status;
}

/* ---- Execute ---- */

/* Returns whether a tensor has the type and the sizes of an argument; one without dimensions is an argument of size 1. */
static int fits(const argument *a, const fl_tensor *t) {
  int fit = t != NULL && t->dtype == fl_vgf_dtype(a->kind.format) && fl_is_contiguous(t);
  fit = fit && (t->rank == a->kind.rank || (t->rank == 0 && a->kind.rank == 1 && a->kind.elements == 1));
  for (uint8_t i = 0; fit && i < t->rank; ++i) {
    fit = t->sizes[i] == a->kind.sizes[i];
  }
  return fit;
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  delegate *const d = (delegate *)handle;
  (void)self;
  FL_CHECK(context, count == d->count, "the call has more or fewer arguments than its payload");
  for (uint32_t i = 0; i < d->count; ++i) {
    FL_CHECK(context, fits(&d->arguments[i], fl_get_tensor(args[i])), "an argument is not the tensor that its payload says");
  }
  for (uint32_t i = 0; i < d->inputs; ++i) {
    memcpy(d->arguments[i].data, fl_get_tensor(args[i])->data, d->arguments[i].bytes);
  }
  int is_running = 0;
  const fl_status status = fl_vulkan_run(&d->device->vk, d->commands, d->fence, UINT64_MAX, "run its graph", &is_running);
  if (status != FL_OK) {
    return FL_FAIL(context, status, fl_library_message());
  }
  for (uint32_t i = d->inputs; i < d->count; ++i) {
    memcpy(fl_get_tensor(args[i])->data, d->arguments[i].data, d->arguments[i].bytes);
  }
  return FL_OK;
}

extern const fl_backend fl_backend_vgf;
static const char *const option_names[] = {"library", NULL};

const fl_backend fl_backend_vgf = {.struct_size = sizeof(fl_backend),
                                   .id = "VgfBackend",
                                   .name = "vgf",
                                   .measure = measure,
                                   .init = init,
                                   .execute = execute,
                                   .destroy = destroy,
                                   .option_names = option_names};
