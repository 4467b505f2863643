"""Converts Python values (numpy arrays, DLPack, numbers) to values of the C library, and back."""

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from flambeau.runtime import scalar_types
from flambeau.runtime.binding.library import MAXIMUM_RANK, CTensor, FlambeauError, Status
from flambeau.runtime.binding.metadata import DTYPE_NAMES, TensorInfo
from flambeau.support.numbers import number_as_array

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

ALIGNMENT = 64
DTYPE_CODES = {name: code for code, name in DTYPE_NAMES.items()}


def numpy_dtype(name: str) -> "np.dtype[Any]":
    """Returns the numpy dtype of a name in `DTYPE_NAMES`. bfloat16 and float8 need ml_dtypes.

    Raises:
        FlambeauError: numpy has no such type, because ml_dtypes is missing.
    """
    try:
        return scalar_types.numpy_dtype(name)
    except ModuleNotFoundError:
        raise FlambeauError(Status.NOT_SUPPORTED, f"numpy has {name} only together with the package ml_dtypes") from None


def aligned_bytes(size: int) -> "Array":
    """Returns uninitialised memory of `size` bytes (at least 1), aligned to 64 bytes, as an array of uint8."""
    import numpy as np

    room = np.empty(max(size, 1) + ALIGNMENT - 1, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return room[start : start + max(size, 1)]


def as_array(value: object, info: TensorInfo, where: str) -> "Array":
    """Returns a numpy array that shares the memory of `value`. For a tensor without dimensions, `value` may be a number.

    Raises:
        FlambeauError: `value` is neither an array nor an exporter of DLPack, nor a number that the dtype holds; `where` begins the message.
    """
    import numpy as np

    tensor: Any = value
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(tensor)
    if isinstance(value, bool | int | float) and not info.shape:
        array = number_as_array(value, dtype := numpy_dtype(info.type))
        if array.dtype != dtype:
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: {value!r} does not fit in {info.type}")
        return array
    if not hasattr(value, "__dlpack__"):
        raise FlambeauError(
            Status.INVALID_ARGUMENT,
            f"{where}: expected a tensor (a numpy array, or anything with __dlpack__), got {type(value).__name__}",
        )
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
    if hasattr(tensor, "resolve_neg"):
        # DLPack forgets that PyTorch negates or conjugates a tensor when it is read.
        tensor = tensor.resolve_conj().resolve_neg()
    try:
        name = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
        if name in DTYPE_CODES and (dtype := numpy_dtype(name)).isbuiltin != 1:
            # numpy's DLPack lacks the types of ml_dtypes, so the bits are passed as integers.
            return np.from_dlpack(tensor.view(getattr(sys.modules["torch"], f"uint{8 * dtype.itemsize}"))).view(dtype)
        return np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: its memory cannot be shared: {str(error).splitlines()[0]}") from None


@cache
def _dtype_code(dtype: "np.dtype[Any]") -> int | None:
    return DTYPE_CODES.get(dtype.name) if dtype.isnative else None


def in_dim_order(array: "Array", dim_order: tuple[int, ...]) -> "Array":
    """Returns a writable array of the same content, dense in `dim_order`: `array` itself if it is that already, else a copy."""
    import numpy as np

    outer_first = array.transpose(dim_order)
    if outer_first.flags.c_contiguous and array.flags.writeable and array.flags.aligned:
        return array
    inverse = sorted(range(len(dim_order)), key=dim_order.__getitem__)
    return np.array(outer_first, order="C", copy=True).transpose(inverse)


def to_tensor(array: "Array", info: TensorInfo, where: str) -> "tuple[CTensor, Array]":
    """Returns the C tensor of an array, and the array that owns its memory: a copy only if the runtime cannot use the given memory.

    Raises:
        FlambeauError: the array has a dtype that the runtime lacks, or too many dimensions; `where` begins the message.
    """
    import numpy as np

    code = _dtype_code(array.dtype)
    if code is None:
        raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {info.type}, got {array.dtype}")
    if array.ndim > MAXIMUM_RANK:
        raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {len(info.shape)} dimensions, got {array.ndim}")
    if not info.planned and array.ndim == len(info.dim_order):
        array = in_dim_order(array, info.dim_order)
    itemsize = array.itemsize
    if any(stride % itemsize or not -(2**31) <= stride // itemsize < 2**31 for stride in array.strides):
        array = np.ascontiguousarray(array)
    if any(size >= 2**31 for size in array.shape):
        raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: its shape {array.shape} exceeds the program's {info.shape}")
    dimensions = ctypes.c_int32 * array.ndim
    tensor = CTensor(
        data=array.ctypes.data,
        sizes=dimensions(*array.shape),
        strides=dimensions(*(stride // itemsize for stride in array.strides)),
        rank=array.ndim,
        dtype=code,
    )
    return tensor, array


class _Memory:
    """Memory of the C library, in numpy's array interface."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], typestr: str, keeper: object):
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "strides": strides, "typestr": typestr}
        self.keeper = keeper


def from_tensor(tensor: CTensor, keeper: object) -> "Array":
    """Returns a view of a C tensor's memory, which keeps `keeper` alive."""
    import numpy as np

    dtype = numpy_dtype(DTYPE_NAMES[tensor.dtype])
    shape = tuple(tensor.sizes[: tensor.rank])
    if 0 in shape or tensor.data is None:
        return np.empty(shape, dtype)
    strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.rank])
    return np.asarray(_Memory(tensor.data, shape, strides, f"|V{dtype.itemsize}", keeper)).view(dtype)
