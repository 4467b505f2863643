#define _GNU_SOURCE /* dl_iterate_phdr */

/* Takes the place of the C library's allocator: the program's own definitions come first for every library that it loads. Needs glibc. */
#include "vendor_memory.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
void *malloc(size_t bytes);
void free(void *block);
void *realloc(void *block, size_t bytes);
int posix_memalign(void **block, size_t alignment, size_t bytes);

enum { PAGE = 4096, SMALL = 1024 };
#define REGION ((size_t)1 << 36)

/* Stands in the first page of a block. */
typedef struct head {
  size_t bytes, mapped;
} head;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t code_from, code_to;
static uint8_t *region;
static uint32_t first_pages[REGION / PAGE]; /* by the page in which the caller's memory begins: the first page of its block */
static size_t used, kept;
static unsigned long asked, fails_from, fails_to;

static int find(struct dl_phdr_info *info, size_t size, void *name) {
  const size_t length = strlen((const char *)name), whole = strlen(info->dlpi_name);
  (void)size;
  if (whole < length || strcmp(info->dlpi_name + whole - length, (const char *)name) != 0) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      code_from = code_from == 0 || from < code_from ? from : code_from;
      code_to = to > code_to ? to : code_to;
    }
  }
  return 1;
}

int vendor_find(const char *name) {
  region = mmap(NULL, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return region != MAP_FAILED && dl_iterate_phdr(find, (void *)(uintptr_t)name) != 0;
}

void vendor_keep(void) { kept = used; }

void vendor_take_back(void) {
  (void)madvise(region + kept, used - kept, MADV_DONTNEED);
  (void)mprotect(region + kept, used - kept, PROT_NONE);
  used = kept;
}

void vendor_fail(unsigned long first, unsigned long count) {
  asked = 0;
  fails_from = first;
  fails_to = first + count;
}

unsigned long vendor_asked(void) { return asked; }

static int is_vendor(void *caller) { return (uintptr_t)caller >= code_from && (uintptr_t)caller < code_to; }

static int is_ours(const void *block) { return region != NULL && (const uint8_t *)block >= region && (const uint8_t *)block < region + REGION; }

/* Returns memory that ends where a page begins that nobody may touch, up to its alignment; NULL where it should run out. */
static void *take(size_t alignment, size_t bytes) {
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment, pages = (rounded + PAGE - 1) / PAGE + 1, mapped = (pages + 1) * PAGE;
  uint8_t *block = NULL;
  (void)pthread_mutex_lock(&lock);
  const unsigned long now = bytes < SMALL ? 0 : ++asked;
  if ((now == 0 || now <= fails_from || now > fails_to) && bytes < REGION / 64 && mapped <= REGION - used) {
    block = region + used;
    used += mapped;
  }
  (void)pthread_mutex_unlock(&lock);
  if (block == NULL || mprotect(block, pages * PAGE, PROT_READ | PROT_WRITE) != 0) {
    errno = ENOMEM;
    return NULL;
  }
  *(head *)(void *)block = (head){bytes, mapped};
  uint8_t *const data = block + pages * PAGE - rounded;
  first_pages[(data - region) / PAGE] = (uint32_t)((size_t)(block - region) / PAGE);
  return data;
}

static head *head_of(const void *block) { return (head *)(void *)(region + (size_t)first_pages[((const uint8_t *)block - region) / PAGE] * PAGE); }

void *malloc(size_t bytes) { return is_vendor(__builtin_return_address(0)) ? take(16, bytes) : __libc_malloc(bytes); }

void free(void *block) {
  if (!is_ours(block)) {
    __libc_free(block);
    return;
  }
  head *found = head_of(block);
  const size_t mapped = found->mapped;
  (void)madvise(found, mapped, MADV_DONTNEED);
  (void)mprotect(found, mapped, PROT_NONE);
}

void *realloc(void *block, size_t bytes) {
  if (!is_ours(block) && !(block == NULL && is_vendor(__builtin_return_address(0)))) {
    return __libc_realloc(block, bytes);
  }
  void *const copy = take(16, bytes);
  if (copy != NULL && block != NULL) {
    const size_t old = head_of(block)->bytes;
    memcpy(copy, block, old < bytes ? old : bytes);
    free(block);
  }
  return copy;
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  *block = is_vendor(__builtin_return_address(0)) ? take(alignment, bytes) : __libc_memalign(alignment, bytes);
  return *block == NULL ? ENOMEM : 0;
}
