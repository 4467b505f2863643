"""Loads the C library, and declares its structures, functions and errors."""

import ctypes
import os
import sys
from enum import IntEnum
from functools import cache
from numbers import Integral
from pathlib import Path

import flambeau.runtime
from flambeau.runtime.messages import sentence
from flambeau.support.one_line import one_line

MAXIMUM_RANK = 16
ERROR_TEXT = 512
PROGRAM_BYTES = 256
"""Room for a `fl_program`, whose fields are private."""
METHOD_BYTES = 512
"""Room for a `fl_method`, whose fields are private but for the first."""


class Status(IntEnum):
    """The status codes of the C runtime, with ExecuTorch's numbers."""

    OK = 0x00
    INTERNAL = 0x01
    INVALID_STATE = 0x02
    END_OF_METHOD = 0x03
    NOT_SUPPORTED = 0x10
    NOT_IMPLEMENTED = 0x11
    INVALID_ARGUMENT = 0x12
    INVALID_TYPE = 0x13
    OPERATOR_MISSING = 0x14
    NOT_FOUND = 0x20
    OUT_OF_MEMORY = 0x21
    ACCESS_FAILED = 0x22
    INVALID_PROGRAM = 0x23
    INVALID_EXTERNAL_DATA = 0x24
    OUT_OF_RESOURCES = 0x25
    DELEGATE_INCOMPATIBLE = 0x30
    DELEGATE_OUT_OF_MEMORY = 0x31
    DELEGATE_INVALID_HANDLE = 0x32


class FlambeauError(RuntimeError):
    """Reports a failed call of the runtime, with the reason in one line.

    Attributes:
        status: the kind of error.
    """

    def __init__(self, status: Status, message: str):
        super().__init__(one_line(message))
        self.status = status


class CError(ctypes.Structure):
    """`fl_error`."""

    _fields_ = (("status", ctypes.c_int), ("text", ctypes.c_char * ERROR_TEXT))


class CTensor(ctypes.Structure):
    """`fl_tensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("strides", ctypes.POINTER(ctypes.c_int32)),
        ("dim_order", ctypes.POINTER(ctypes.c_uint8)),
        ("bounds", ctypes.POINTER(ctypes.c_int32)),
        ("capacity", ctypes.c_size_t),
        ("rank", ctypes.c_uint8),
        ("dtype", ctypes.c_int8),
        ("dynamic", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
    )


class CString(ctypes.Structure):
    """`fl_string`."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_uint32))


class CList(ctypes.Structure):
    """`fl_list`."""

    _fields_ = (("items", ctypes.c_void_p), ("count", ctypes.c_uint32))


class CPayload(ctypes.Union):
    """The union in `fl_value`."""

    _fields_ = (
        ("tensor", ctypes.POINTER(CTensor)),
        ("string", CString),
        ("real", ctypes.c_double),
        ("integer", ctypes.c_int64),
        ("boolean", ctypes.c_uint8),
        ("list", CList),
    )


class CValue(ctypes.Structure):
    """`fl_value`."""

    _fields_ = (("payload", CPayload), ("tag", ctypes.c_uint8), ("flags", ctypes.c_uint8))


class CRandom(ctypes.Structure):
    """`fl_random`."""

    _fields_ = (("seed", ctypes.c_uint64), ("counter", ctypes.c_uint64))


class CContext(ctypes.Structure):
    """`fl_context`."""

    _fields_ = (
        ("scratch", ctypes.c_void_p),
        ("scratch_size", ctypes.c_size_t),
        ("message", ctypes.c_char_p),
        ("numbers", ctypes.c_int64 * 2),
        ("has_numbers", ctypes.c_uint8),
        ("is_condition", ctypes.c_uint8),
        ("over", ctypes.c_void_p),
        ("random", ctypes.POINTER(CRandom)),
        ("threads", ctypes.c_void_p),
        ("slices", ctypes.c_void_p),
        ("slice_size", ctypes.c_size_t),
    )

    def text(self) -> str:
        """Returns what a kernel says of its failure, as the executor writes it."""
        first, *rest = (self.message or b"").decode(errors="replace").split("%" if self.has_numbers else "\0")
        return first + "".join(f"{number}{part}" for number, part in zip(self.numbers, rest, strict=False))


class CRequirements(ctypes.Structure):
    """`fl_requirements`."""

    _fields_ = (("method", ctypes.c_size_t), ("scratch", ctypes.c_size_t), ("planned", ctypes.c_size_t), ("arenas", ctypes.c_uint32))


class CMemory(ctypes.Structure):
    """`fl_memory`."""

    _fields_ = (
        ("method", ctypes.c_void_p),
        ("method_size", ctypes.c_size_t),
        ("arenas", ctypes.POINTER(ctypes.c_void_p)),
        ("arena_sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("arena_count", ctypes.c_uint32),
        ("scratch", ctypes.c_void_p),
        ("scratch_size", ctypes.c_size_t),
        ("keep_state", ctypes.c_uint8),
    )


class CMethodInfo(ctypes.Structure):
    """`fl_method_info`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("input_encoding", ctypes.c_char_p),
        ("output_encoding", ctypes.c_char_p),
        ("inputs", ctypes.c_uint32),
        ("outputs", ctypes.c_uint32),
        ("arenas", ctypes.c_uint32),
        ("operators", ctypes.c_uint32),
        ("delegates", ctypes.c_uint32),
        ("values", ctypes.c_uint32),
        ("instructions", ctypes.c_uint32),
    )


class CSlotInfo(ctypes.Structure):
    """`fl_slot_info`."""

    _fields_ = (
        ("tag", ctypes.c_uint8),
        ("dtype", ctypes.c_int8),
        ("rank", ctypes.c_uint8),
        ("dynamic", ctypes.c_uint8),
        ("planned", ctypes.c_uint8),
        ("constant", ctypes.c_uint8),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("dim_order", ctypes.POINTER(ctypes.c_uint8)),
        ("bytes", ctypes.c_size_t),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("string", ctypes.c_char_p),
    )


class CKernel(ctypes.Structure):
    """`fl_kernel`."""

    _fields_ = (("name", ctypes.c_char_p), ("run", ctypes.c_void_p), ("scratch", ctypes.c_void_p), ("access", ctypes.c_char_p))


class CKernelTable(ctypes.Structure):
    """`fl_kernel_table`."""

    _fields_ = (("kernels", ctypes.POINTER(CKernel)), ("count", ctypes.c_size_t))


class COption(ctypes.Structure):
    """`fl_option`."""

    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_char_p))


class CBackend(ctypes.Structure):
    """`fl_backend`."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("id", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("user", ctypes.c_void_p),
        ("options", ctypes.POINTER(COption)),
        ("option_count", ctypes.c_size_t),
        ("is_available", ctypes.c_void_p),
        ("measure", ctypes.c_void_p),
        ("init", ctypes.c_void_p),
        ("execute", ctypes.c_void_p),
        ("destroy", ctypes.c_void_p),
        ("option_names", ctypes.POINTER(ctypes.c_char_p)),
        ("operator_time", ctypes.c_void_p),
    )


class CRegistry(ctypes.Structure):
    """`fl_registry`."""

    _fields_ = (
        ("tables", ctypes.POINTER(ctypes.POINTER(CKernelTable))),
        ("table_count", ctypes.c_size_t),
        ("backends", ctypes.POINTER(ctypes.POINTER(CBackend))),
        ("backend_count", ctypes.c_size_t),
    )


_POINTER = ctypes.c_void_p
_INDEX = ctypes.c_uint32
_ERROR = ctypes.POINTER(CError)
_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "fl_version": (ctypes.c_uint32, ()),
    "fl_builtin_kernels": (ctypes.POINTER(CKernelTable), ()),
    "fl_kernels_of_level": (ctypes.POINTER(CKernelTable), (_INDEX, ctypes.POINTER(ctypes.c_char_p))),
    "fl_builtin_backends": (ctypes.POINTER(ctypes.POINTER(CBackend)), (ctypes.POINTER(ctypes.c_size_t),)),
    "fl_program_load": (ctypes.c_int, (_POINTER, _POINTER, ctypes.c_size_t, _ERROR)),
    "fl_program_method_count": (ctypes.c_uint32, (_POINTER,)),
    "fl_program_method_name": (ctypes.c_char_p, (_POINTER, _INDEX)),
    "fl_program_find_method": (ctypes.c_int, (_POINTER, ctypes.c_char_p, ctypes.POINTER(_INDEX), _ERROR)),
    "fl_program_named_data_count": (ctypes.c_uint32, (_POINTER,)),
    "fl_program_named_data_key": (ctypes.c_char_p, (_POINTER, _INDEX)),
    "fl_program_named_data_at": (ctypes.c_int, (_POINTER, _INDEX, ctypes.POINTER(_POINTER), ctypes.POINTER(ctypes.c_size_t))),
    "fl_program_named_data": (
        ctypes.c_int,
        (_POINTER, ctypes.c_char_p, ctypes.POINTER(_POINTER), ctypes.POINTER(ctypes.c_size_t), _ERROR),
    ),
    "fl_program_method_info": (ctypes.c_int, (_POINTER, _INDEX, ctypes.POINTER(CMethodInfo), _ERROR)),
    "fl_program_slot": (ctypes.c_int, (_POINTER, _INDEX, ctypes.c_int, _INDEX, ctypes.POINTER(CSlotInfo), _ERROR)),
    "fl_program_arena_size": (ctypes.c_size_t, (_POINTER, _INDEX, _INDEX)),
    "fl_program_arena_is_shared": (ctypes.c_int, (_POINTER, _INDEX)),
    "fl_program_operator": (ctypes.c_size_t, (_POINTER, _INDEX, _INDEX, ctypes.c_char_p, ctypes.c_size_t)),
    "fl_program_delegate": (ctypes.c_char_p, (_POINTER, _INDEX, _INDEX)),
    "fl_find_kernel": (_POINTER, (_POINTER, ctypes.c_char_p)),
    "fl_left_out_group": (ctypes.c_char_p, (ctypes.c_char_p,)),
    "fl_method_measure": (ctypes.c_int, (_POINTER, _INDEX, ctypes.POINTER(CRegistry), ctypes.POINTER(CRequirements), _ERROR)),
    "fl_method_init": (ctypes.c_int, (_POINTER, _POINTER, _INDEX, ctypes.POINTER(CRegistry), ctypes.POINTER(CMemory), _ERROR)),
    "fl_method_reset": (None, (_POINTER,)),
    "fl_method_state": (ctypes.POINTER(CTensor), (_POINTER, _INDEX, ctypes.POINTER(ctypes.c_char_p))),
    "fl_method_seed": (None, (_POINTER, ctypes.c_uint64)),
    "fl_method_destroy": (None, (_POINTER,)),
    "fl_method_set_input": (ctypes.c_int, (_POINTER, _INDEX, ctypes.POINTER(CValue), _ERROR)),
    "fl_method_lend_input": (ctypes.c_int, (_POINTER, _INDEX, ctypes.POINTER(CValue), _ERROR)),
    "fl_method_set_output": (ctypes.c_int, (_POINTER, _INDEX, _POINTER, ctypes.c_size_t, _ERROR)),
    "fl_method_set_hook": (ctypes.c_int, (_POINTER, _POINTER, _POINTER, _ERROR)),
    "fl_method_set_threads": (ctypes.c_int, (_POINTER, _POINTER, _ERROR)),
    "fl_record_event": (None, (_POINTER, _POINTER, _POINTER)),
    "fl_monotonic_clock": (ctypes.c_uint64, ()),
    "fl_method_execute": (ctypes.c_int, (_POINTER, _ERROR)),
    "fl_method_output": (ctypes.POINTER(CValue), (_POINTER, _INDEX)),
}
_VERSION = 0x00000100


def installed_library(name: str) -> Path:
    """Returns the path of a shared library of the package. Raises FlambeauError when it was not built."""
    file = {"darwin": f"lib{name}.dylib", "win32": f"{name}.dll"}.get(sys.platform, f"lib{name}.so")
    for folder in flambeau.runtime.__path__:
        if (installed := Path(folder) / "lib" / file).exists():
            return installed
    raise FlambeauError(
        Status.NOT_FOUND,
        f"the C runtime is not built: there is no {file} in the package; "
        "`pip install .` builds it, and FLAMBEAU_LIBRARY may say where one is",
    )


def include_folder() -> Path:
    """Returns the include folder for code that is compiled for the C library; it holds `flambeau/backend.h`."""
    return next(found for folder in flambeau.runtime.__path__ if (found := Path(folder) / "c" / "include").is_dir())


def find_library() -> Path:
    """Returns the path of the shared library.

    The environment variable `FLAMBEAU_LIBRARY` names the library; without it, the library of the installed package is used.

    Raises:
        FlambeauError: there is no library.
    """
    if given := os.environ.get("FLAMBEAU_LIBRARY"):
        return Path(given)
    return installed_library("flambeau")


@cache
def library() -> ctypes.CDLL:
    """Returns the loaded library, with the types of its functions declared.

    Raises:
        FlambeauError: the library is absent, cannot be loaded, or has another version.
    """
    path = find_library()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path} cannot be used as the C runtime: {error}") from None
    if (version := loaded.fl_version()) != _VERSION:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path} has interface version {version:#x}; this package needs {_VERSION:#x}")
    return loaded


def whole_number(value: object, low: int, high: int, what: str) -> int:
    """Returns `value` if it is an integer from `low` to `high`; otherwise raises ValueError, which calls it `what`."""
    if not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{what} is an integer between {low} and {high}, not {value!r}")
    return int(value)


def check(status: int, error: CError, prefix: str = "") -> None:
    """Raises the error of a call of the C library, if the call failed.

    Raises:
        FlambeauError: `status` is not OK; the message is `prefix` and the text of `error`, as a sentence.
    """
    if status != Status.OK:
        raise FlambeauError(Status(status), prefix + sentence(error.text).decode(errors="replace"))
