/* A driver whose NPU is a function of the test. */
#include "ethosu_driver.h"

typedef int (*npu)(const void *commands, int size, const uint64_t *bases, const size_t *sizes);

struct ethosu_driver {
  npu run;
  int reserved;
};

static struct ethosu_driver only;

void connect_npu(npu run);
void connect_npu(npu run) { only.run = run; }

struct ethosu_driver *ethosu_reserve_driver(void) {
  if (only.run == NULL || only.reserved) {
    return NULL;
  }
  only.reserved = 1;
  return &only;
}

void ethosu_release_driver(struct ethosu_driver *drv) { drv->reserved = 0; }

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg) {
  (void)user_arg;
  return num_base_addr == 3 ? drv->run(custom_data_ptr, custom_data_size, base_addr, base_addr_size) : -2;
}
