"""Element types and tensor types: one table of their names in IR, PyTorch, numpy, safetensors and the .pte format; type promotion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from flambeau.support.lazy import np

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

ElementType: TypeAlias = IntegerType | Float16Type | BFloat16Type | Float32Type | Float64Type
Tensor: TypeAlias = TensorType[Attribute]


@dataclass(frozen=True)
class DType:
    """An element type under each of its names."""

    element: ElementType
    torch: str
    """Name in PyTorch: `torch.<name>`."""
    numpy: str
    """Name in numpy (`bfloat16`: in ml_dtypes)."""
    safetensors: str
    """Name in the headers of safetensors files."""
    scalar_type: int
    """Number in PyTorch and in the .pte format (schema/scalar_type.fbs)."""
    size: int
    """Bytes of one element."""
    category: int
    """0 bool, 1 integer, 2 floating: the order of type promotion."""


DTYPES = (
    DType(i1, "bool", "bool", "BOOL", 11, 1, 0),
    DType(ui8, "uint8", "uint8", "U8", 0, 1, 1),
    DType(i8, "int8", "int8", "I8", 1, 1, 1),
    DType(i16, "int16", "int16", "I16", 2, 2, 1),
    DType(i32, "int32", "int32", "I32", 3, 4, 1),
    DType(i64, "int64", "int64", "I64", 4, 8, 1),
    DType(f16, "float16", "float16", "F16", 5, 2, 2),
    DType(f32, "float32", "float32", "F32", 6, 4, 2),
    DType(f64, "float64", "float64", "F64", 7, 8, 2),
    DType(bf16, "bfloat16", "bfloat16", "BF16", 15, 2, 2),
    DType(ui16, "uint16", "uint16", "U16", 27, 2, 1),
    DType(ui32, "uint32", "uint32", "U32", 28, 4, 1),
    DType(ui64, "uint64", "uint64", "U64", 29, 8, 1),
)
_BY_ELEMENT: dict[Attribute, DType] = {row.element: row for row in DTYPES}
_BY_TORCH = {row.torch: row for row in DTYPES}
_BY_NUMPY = {row.numpy: row for row in DTYPES}
_BY_SCALAR_TYPE = {row.scalar_type: row for row in DTYPES}


def dtype_of(element: Attribute) -> DType:
    """The row of an element type. Raises TypeError for a type that a program's tensors cannot have."""
    row = _BY_ELEMENT.get(element)
    if row is None:
        raise TypeError(f"{element} is not an element type of a program's tensors")
    return row


def from_torch_name(name: str) -> DType | None:
    """The row of `torch.<name>`; None for a type that programs cannot use."""
    return _BY_TORCH.get(name.removeprefix("torch."))


def from_numpy_name(name: str) -> DType | None:
    """The row of a numpy dtype's name; None for a type that programs cannot use."""
    return _BY_NUMPY.get(name)


def from_scalar_type(number: int) -> DType | None:
    """The row of a ScalarType number; None for a type that programs cannot use."""
    return _BY_SCALAR_TYPE.get(number)


def numpy_dtype(element: Attribute) -> np.dtype[np.generic]:
    """The numpy dtype of an element type."""
    name = dtype_of(element).numpy
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def is_float(element: Attribute) -> bool:
    """Whether an element type is floating point."""
    return dtype_of(element).category == 2


@lru_cache(maxsize=65536)
def _tensor(element: ElementType, shape: tuple[int, ...], encoding: Attribute) -> Tensor:
    return TensorType(element, shape, encoding)


def tensor(element: Attribute, shape: Sequence[int], encoding: Attribute | None = None) -> Tensor:
    """A tensor type; equal types are one object. `shape` entries of DYNAMIC_INDEX are dynamic.

    Example:
        from xdsl.dialects.builtin import f32

        assert str(tensor(f32, [2, 3])) == "tensor<2x3xf32>"
    """
    return _tensor(cast(ElementType, element), tuple(shape), NoneAttr() if encoding is None else encoding)


def tensor_type(value: SSAValue | Attribute) -> Tensor:
    """The tensor type of a value. Raises TypeError for other types."""
    found = value.type if isinstance(value, SSAValue) else value
    if not isinstance(found, TensorType):
        raise TypeError(f"expected a tensor, got {found}")
    return cast(Tensor, found)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The shape; DYNAMIC_INDEX stands for a dynamic dimension."""
    return tensor_type(value).get_shape()


def element_of(value: SSAValue | Attribute) -> ElementType:
    """The element type."""
    return cast(ElementType, tensor_type(value).element_type)


def may_equal(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether two shapes have one rank and, where both are known, one extent in each dimension."""
    return len(left) == len(right) and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(left, right, strict=True))


def numel(value: SSAValue | Attribute) -> int:
    """The number of elements of a static shape."""
    shape = shape_of(value)
    if DYNAMIC_INDEX in shape:
        raise TypeError(f"{tensor_type(value)} has a dynamic dimension, so its number of elements is not known")
    return math.prod(shape)


def nbytes(value: SSAValue | Attribute) -> int:
    """The bytes of a static tensor's elements."""
    return numel(value) * dtype_of(element_of(value)).size


MOST_BYTES = 2**63 - 1
"""The largest size of a tensor: sizes and offsets are int64 in the .pte format and in numpy."""


def check_storage(kind: Tensor) -> None:
    """Raises TypeError for a tensor type that no program can hold: of another element type, or of more than MOST_BYTES."""
    size = dtype_of(kind.element_type).size
    for extent in kind.get_shape():
        size *= max(extent, 1)
    if size > MOST_BYTES:
        raise TypeError(f"{kind} takes {size} bytes, more than the 2^63 - 1 that a program can address")


# PyTorch's lattice within one category (c10/core/ScalarType.cpp, promoteTypes): ui8 with a signed type gives that type, but i16 with i8;
# f16 with bf16 gives f32.
_INTEGER_RANK: dict[Attribute, int] = {i8: 1, i16: 2, i32: 3, i64: 4}
_FLOAT_RANK: dict[Attribute, int] = {f16: 1, bf16: 1, f32: 2, f64: 3}


def promote(a: Attribute, b: Attribute) -> ElementType:
    """The type that both promote to, as in `torch.promote_types`. Raises TypeError where PyTorch defines none."""
    left, right = dtype_of(a), dtype_of(b)
    if a == b:
        return left.element
    if left.category != right.category:
        higher = left if left.category > right.category else right
        if higher.element not in (ui16, ui32, ui64):
            return higher.element
    if left.category == 2:
        if _FLOAT_RANK[a] == _FLOAT_RANK[b]:
            return f32
        return left.element if _FLOAT_RANK[a] > _FLOAT_RANK[b] else right.element
    if a == ui8 or b == ui8:
        other = right if a == ui8 else left
        if other.element in _INTEGER_RANK:
            return i16 if other.element == i8 else other.element
    if a in _INTEGER_RANK and b in _INTEGER_RANK:
        return left.element if _INTEGER_RANK[a] > _INTEGER_RANK[b] else right.element
    raise TypeError(f"{left.torch} and {right.torch} have no common type")


def scalar_element(scalar: bool | int | float) -> ElementType:
    """The element type of a Python number in promotion: bool, int64 or the default float32."""
    return i1 if isinstance(scalar, bool) else i64 if isinstance(scalar, int) else f32


def promote_operands(*operands: Tensor | bool | int | float) -> ElementType:
    """The result type of an operator over tensors and numbers, as in `torch.result_type`.

    Tensors with dimensions take priority over 0-d tensors, and these over numbers; a lower priority counts only if its category is higher.
    """
    levels: list[ElementType | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, TensorType):
            level, element = (0 if operand.get_shape() else 1), cast(ElementType, operand.element_type)
        else:
            level, element = 2, scalar_element(operand)
        known = levels[level]
        levels[level] = element if known is None else promote(known, element)
    result: ElementType | None = None
    for element in levels:
        if element is None:
            continue
        if result is None:
            result = element
        elif dtype_of(element).category > dtype_of(result).category:
            result = element
    if result is None:
        raise TypeError("an operator needs at least one operand")
    return result


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which numpy and PyTorch broadcast these shapes. Raises ValueError that names them."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        size = 1
        for shape in shapes:
            extent = shape[axis] if -axis <= len(shape) else 1
            if extent == 1 or extent == size:
                continue
            if size == 1:
                size = extent
            elif DYNAMIC_INDEX in (size, extent):
                size = max(size, extent)
            else:
                raise ValueError(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast together")
        result.append(size)
    return tuple(result)


def normalize_dim(dim: int, rank: int) -> int:
    """`dim` counted from the front. Raises IndexError when it is out of range (a 0-d tensor counts as rank 1, as in PyTorch)."""
    extent = max(rank, 1)
    if not -extent <= dim < extent:
        raise IndexError(f"dim {dim} is out of range for rank {rank}")
    return dim % extent
