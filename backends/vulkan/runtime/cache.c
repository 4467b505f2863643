/* A file of what the driver compiled. Drivers need not check what they are given, so the file has a checksum; what does not fit it is not used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"

enum { MAGIC_BYTES = 4, CHECKSUM_BYTES = 4, HEAD = MAGIC_BYTES + CHECKSUM_BYTES, PATH_BYTES = 512 };
enum { MOST_BYTES = 1 << 28 };

static const char magic[MAGIC_BYTES] = {'F', 'L', 'V', 'C'};

/* Returns the bytes of a file, and stores their number; NULL for a file that is not there, or has no cache. The caller frees them. */
static uint8_t *read_file(const char *path, size_t *size) {
  FILE *const file = fopen(path, "rb");
  long end = -1;
  uint8_t *data = NULL;
  if (file == NULL) {
    return NULL;
  }
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > HEAD && end <= MOST_BYTES && fseek(file, 0, SEEK_SET) == 0) {
    *size = (size_t)end;
    data = (uint8_t *)malloc(*size);
  }
  uint32_t checksum = 0;
  if (data != NULL && fread(data, 1, *size, file) == *size) {
    memcpy(&checksum, data + MAGIC_BYTES, CHECKSUM_BYTES);
  }
  (void)fclose(file);
  if (data != NULL && (memcmp(data, magic, MAGIC_BYTES) != 0 || fl_library_adler32(data + HEAD, (uint32_t)(*size - HEAD)) != checksum)) {
    free(data);
    return NULL;
  }
  return data;
}

fl_status fl_vulkan_open_cache(delegate *d, const char *path) {
  const compute_device *const v = d->device;
  size_t size = HEAD;
  uint8_t *const data = read_file(path, &size);
  const vk_cache_info info = {.type = VK_CACHE_INFO, .bytes = data == NULL ? 0 : size - HEAD, .data = data == NULL ? NULL : data + HEAD};
  const vk_result result = v->CreatePipelineCache(v->vk.device, &info, NULL, &d->cache);
  free(data);
  return result == 0 ? FL_OK : fl_vulkan_refused(result, "make a cache of pipelines");
}

/* Writes a file whole, or not at all. Returns whether it is there. */
static int write_file(const char *path, const uint8_t *data, size_t size) {
  char beside[PATH_BYTES];
  if (snprintf(beside, sizeof beside, "%s.%p", path, (const void *)data) >= (int)sizeof beside) {
    return 0;
  }
  FILE *const file = fopen(beside, "wb");
  int is_written = file != NULL && fwrite(data, 1, size, file) == size;
  is_written = file != NULL && fclose(file) == 0 && is_written;
  if (is_written && rename(beside, path) == 0) {
    return 1;
  }
  (void)remove(beside);
  return 0;
}

fl_status fl_vulkan_save_cache(const delegate *d, const char *path) {
  const compute_device *const v = d->device;
  size_t size = 0;
  if (v->GetPipelineCacheData(v->vk.device, d->cache, &size, NULL) != 0 || size == 0 || size > MOST_BYTES) {
    return FL_OK; /* the driver keeps none */
  }
  uint8_t *const data = (uint8_t *)malloc(HEAD + size);
  if (data == NULL) {
    return fl_library_fail(FL_DELEGATE_OUT_OF_MEMORY, "there is no memory for a cache of %llu bytes", (unsigned long long)size);
  }
  int is_kept = v->GetPipelineCacheData(v->vk.device, d->cache, &size, data + HEAD) == 0;
  const uint32_t checksum = fl_library_adler32(data + HEAD, (uint32_t)size);
  memcpy(data, magic, MAGIC_BYTES);
  memcpy(data + MAGIC_BYTES, &checksum, CHECKSUM_BYTES);
  is_kept = is_kept && write_file(path, data, HEAD + size);
  free(data);
  return is_kept ? FL_OK : fl_library_fail(FL_INVALID_ARGUMENT, "the file of option cache cannot be written: %.240s", path);
}
