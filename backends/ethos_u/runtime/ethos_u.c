/* The backend "EthosUBackend": gives command streams to the driver of an Ethos-U.
 *
 * The memory that `measure` asks for is all that there is: the place of the payload's parts, and for the time of a call the scratch memory in which
 * the NPU has inputs, outputs and all between them. What Vela puts into a fast memory of its own lies where the application says. */
#include <string.h>

#include "bin_stream.h"

#ifdef FLAMBEAU_ETHOS_U_DRIVER
#include <ethosu_driver.h>

/* The fast memory of the NPU, which an application defines under ExecuTorch's names where its memory mode has one. */
__attribute__((weak)) unsigned char *ethosu_fast_scratch = NULL;
__attribute__((weak)) size_t ethosu_fast_scratch_size = 0;

static const char *const lacking = NULL;

static int run(const ethos_u_stream *stream, uint8_t *scratch) {
  enum { BASES = 3 };
  uint64_t bases[BASES] = {(uintptr_t)stream->weights.data, (uintptr_t)scratch, (uintptr_t)ethosu_fast_scratch};
  const size_t sizes[BASES] = {stream->weights.size, stream->scratch, ethosu_fast_scratch_size};
  struct ethosu_driver *const driver = ethosu_reserve_driver();
  if (driver == NULL) {
    return -1;
  }
  const int result = ethosu_invoke_v3(driver, stream->commands.data, (int)stream->commands.size, bases, sizes, BASES, NULL);
  ethosu_release_driver(driver);
  return result;
}
#else
static const char *const lacking = "an Ethos-U runs it, and this build has no driver of one: build the runtime for the device, with "
                                   "-DFLAMBEAU_ETHOS_U_DRIVER=<the folder of ethosu_driver.h>";

static int run(const ethos_u_stream *stream, const uint8_t *scratch) {
  (void)stream;
  (void)scratch;
  return -1;
}
#endif

static fl_status measure(const fl_backend *self, const fl_payload *payload, fl_backend_memory *memory, const char **message) {
  ethos_u_stream stream;
  const fl_status status = fl_ethos_u_read(payload, &stream, message);
  if (status == FL_OK && self->option_count > 0) {
    *message = "it has no options";
    return FL_INVALID_ARGUMENT;
  }
  if (status == FL_OK) {
    *memory = (fl_backend_memory){sizeof stream, stream.scratch, stream.counts[1]};
  }
  return status;
}

static fl_status init(const fl_backend *self, const fl_payload *payload, void *persistent, void **handle, const char **message) {
  (void)self;
  *handle = persistent;
  if (lacking != NULL) {
    *message = lacking;
    return FL_NOT_FOUND;
  }
  return fl_ethos_u_read(payload, persistent, message);
}

static fl_status execute(const fl_backend *self, void *handle, fl_context *context, fl_value *const *args, size_t count) {
  const ethos_u_stream *const stream = handle;
  uint8_t *const scratch = context->scratch;
  const uint32_t inputs = stream->counts[0];
  (void)self;
  FL_CHECK(context, count == (size_t)inputs + stream->counts[1], "the call has more or fewer arguments than its payload");
  FL_CHECK(context, context->scratch_size >= stream->scratch, "the call has less scratch memory than was measured");
  for (uint32_t i = 0; i < count; ++i) {
    const fl_tensor *const t = fl_get_tensor(args[i]);
    const ethos_u_argument argument = fl_ethos_u_argument(stream, i);
    FL_CHECK(context, t != NULL && fl_is_contiguous(t), "an argument is not a tensor whose elements lie one behind the other");
    const size_t bytes = fl_dtype_size(t->dtype);
    FL_CHECK_NUMBERS(context, bytes == argument.element_bytes && fl_numel(t) * bytes == argument.bytes,
                     "an argument has % bytes, and its payload says %", (int64_t)(fl_numel(t) * bytes), (int64_t)argument.bytes);
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    const ethos_u_argument argument = fl_ethos_u_argument(stream, i);
    memcpy(scratch + argument.offset, fl_get_tensor(args[i])->data, argument.bytes);
  }
  const int result = run(stream, scratch);
  if (result != 0) {
    return FL_FAIL_NUMBERS(context, FL_INTERNAL, "the driver of the Ethos-U fails with %", result, 0);
  }
  for (uint32_t i = inputs; i < count; ++i) {
    const ethos_u_argument argument = fl_ethos_u_argument(stream, i);
    memcpy(fl_get_tensor(args[i])->data, scratch + argument.offset, argument.bytes);
  }
  return FL_OK;
}

extern const fl_backend fl_backend_ethos_u;
static const char *const option_names[] = {NULL};

const fl_backend fl_backend_ethos_u = {.struct_size = sizeof(fl_backend),
                                       .id = "EthosUBackend",
                                       .name = "ethos_u",
                                       .measure = measure,
                                       .init = init,
                                       .execute = execute,
                                       .option_names = option_names};
