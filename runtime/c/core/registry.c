/* Finds kernels by the operator's name, and backends by their id. */
#include "core/schema.h"

/* Compares "name.overload", or "name" if the overload is "", with a kernel's name; returns the sign that strcmp would. */
static int fl_compare_operator(const char *name, const char *overload, const char *kernel) {
  while (*name != 0 && *name == *kernel) {
    ++name;
    ++kernel;
  }
  if (*name == 0 && *overload != 0 && *kernel == '.') {
    return strcmp(overload, kernel + 1);
  }
  const char left = *name == 0 && *overload != 0 ? '.' : *name;
  return (int)(unsigned char)left - (int)(unsigned char)*kernel;
}

const fl_kernel *fl_find_operator(const fl_registry *registry, const char *name, const char *overload) {
  for (size_t t = 0; t < registry->table_count; ++t) {
    const fl_kernel_table *table = registry->tables[t];
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      const int order = fl_compare_operator(name, overload, table->kernels[middle].name);
      if (order == 0) {
        return &table->kernels[middle];
      }
      if (order < 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
  }
  return NULL;
}

const fl_kernel *fl_plan_kernel(const fl_plan *plan, const fl_registry *registry, uint32_t index) {
  const fl_table table = fl_element(plan->operators, index);
  return fl_find_operator(registry, fl_child_string(table, OPERATOR_NAME), fl_child_string(table, OPERATOR_OVERLOAD));
}

const char *fl_find_left_out(const char *name, const char *overload) {
  for (const char *group = fl_left_out_kernels; *group != 0; ++group) {
    const char *kernel = group;
    while (*(kernel += strlen(kernel) + 1) != 0) {
      if (fl_compare_operator(name, overload, kernel) == 0) {
        return group;
      }
    }
    group = kernel;
  }
  return NULL;
}

const char *fl_left_out_group(const char *name) { return name == NULL ? NULL : fl_find_left_out(name, ""); }

const fl_backend *fl_find_backend(const fl_registry *registry, const char *id) {
  for (size_t i = 0; i < registry->backend_count; ++i) {
    if (strcmp(registry->backends[i]->id, id) == 0) {
      return registry->backends[i];
    }
  }
  return NULL;
}

void fl_resolve_registry(const fl_registry **registry, fl_registry *storage, const fl_kernel_table **table) {
  if (*registry == NULL) {
    *table = fl_builtin_kernels();
    *storage = (fl_registry){.tables = table, .table_count = 1};
    storage->backends = fl_builtin_backends(&storage->backend_count);
    *registry = storage;
  }
}

const fl_kernel *fl_find_kernel(const fl_registry *registry, const char *name) {
  fl_registry storage;
  const fl_kernel_table *table = NULL;
  fl_resolve_registry(&registry, &storage, &table);
  return name == NULL ? NULL : fl_find_operator(registry, name, "");
}
