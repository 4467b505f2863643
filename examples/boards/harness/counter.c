/* A plug-in of QEMU 7 or newer, which counts the instructions between two addresses: -plugin counter.so,begin=0x…,end=0x….
 * Debian has no header for plug-ins. These declarations are those of the interface's version 1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_tb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_insn)(unsigned, void *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_tb);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int operation, void *number, uint64_t added);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, on_insn, int flags, void *user);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t count, begun, begin, end;

static void at_begin(unsigned cpu, void *user) {
  (void)cpu;
  (void)user;
  begun = count;
}

static void at_end(unsigned cpu, void *user) {
  (void)cpu;
  (void)user;
  printf("instructions %llu\n", (unsigned long long)(count - begun));
  fflush(stdout);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
    const uint64_t address = qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, 0, &count, 1);
    if (address == begin || address == end) {
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, address == begin ? at_begin : at_end, 0, NULL);
    }
  }
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "begin=", 6) == 0) {
      begin = strtoull(argv[i] + 6, NULL, 0);
    } else if (strncmp(argv[i], "end=", 4) == 0) {
      end = strtoull(argv[i] + 4, NULL, 0);
    }
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
