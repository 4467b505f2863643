/* Status codes. The numbers are ExecuTorch's `Error` (runtime/core/error.h), so that logs read alike. */
#ifndef FLAMBEAU_STATUS_H
#define FLAMBEAU_STATUS_H

/* Marks the symbols that a shared library exports; the rest has hidden visibility. */
#if defined(__GNUC__)
#define FL_API __attribute__((visibility("default")))
#else
#define FL_API
#endif

typedef enum fl_status {
  FL_OK = 0x00,
  FL_INTERNAL = 0x01,
  FL_INVALID_STATE = 0x02,
  FL_END_OF_METHOD = 0x03,
  FL_NOT_SUPPORTED = 0x10,
  FL_NOT_IMPLEMENTED = 0x11,
  FL_INVALID_ARGUMENT = 0x12,
  FL_INVALID_TYPE = 0x13,
  FL_OPERATOR_MISSING = 0x14,
  FL_NOT_FOUND = 0x20,
  FL_OUT_OF_MEMORY = 0x21,
  FL_ACCESS_FAILED = 0x22,
  FL_INVALID_PROGRAM = 0x23,
  FL_INVALID_EXTERNAL_DATA = 0x24,
  FL_OUT_OF_RESOURCES = 0x25,
  FL_DELEGATE_INCOMPATIBLE = 0x30,
  FL_DELEGATE_OUT_OF_MEMORY = 0x31,
  FL_DELEGATE_INVALID_HANDLE = 0x32
} fl_status;

#endif
