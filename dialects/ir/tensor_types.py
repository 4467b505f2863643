"""Element types and tensor types; type promotion."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    Builtin,
    ComplexType,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    bf16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from flambeau.dialects.ir.expressions import INFINITE
from flambeau.dialects.ir.extents import Extent, is_known, provably_equal, unknown
from flambeau.dialects.ir.extents import may_equal as extents_may_equal
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.runtime.scalar_types import SCALAR_TYPES, FloatFormat, ScalarTypeRow
from flambeau.runtime.scalar_types import numpy_dtype as numpy_dtype_of_name
from flambeau.support.lazy import np

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

c64: ComplexType[Float32Type] = ComplexType(f32)
c128: ComplexType[Float64Type] = ComplexType(f64)

ElementType: TypeAlias = IntegerType | AnyFloat | ComplexType[Float32Type] | ComplexType[Float64Type]
Tensor: TypeAlias = TensorType[Attribute]


@dataclass(frozen=True)
class DType(ScalarTypeRow):
    """An element type under each of its names."""

    element: ElementType

    @property
    def torch(self) -> str:
        """Name in PyTorch: `torch.<name>`."""
        return self.name

    @property
    def numpy(self) -> str:
        """Name in numpy, or in ml_dtypes (`bfloat16`, `float8_e5m2`)."""
        return self.name

    @property
    def scalar_type(self) -> int:
        """Number in PyTorch and in the .pte format."""
        return self.number


def _element(mlir: str) -> ElementType:
    """Returns the element type of a name in MLIR."""
    if mlir.startswith("complex<"):
        return cast(ElementType, ComplexType(cast(Float32Type | Float64Type, _element(mlir[len("complex<") : -1]))))
    if (integer := re.fullmatch(r"(u?)i(\d+)", mlir)) is not None:
        return IntegerType(int(integer[2]), Signedness.UNSIGNED if integer[1] else Signedness.SIGNLESS)
    return cast(ElementType, next(kind for kind in Builtin.attributes if kind.name == mlir)())


DTYPES = tuple(DType(**vars(row), element=_element(row.mlir)) for row in SCALAR_TYPES)
_BY_ELEMENT: dict[Attribute, DType] = {row.element: row for row in DTYPES}
_BY_TORCH = {row.torch: row for row in DTYPES}
_BY_NUMPY = {row.numpy: row for row in DTYPES}
_BY_SCALAR_TYPE = {row.scalar_type: row for row in DTYPES}


def dtype_of(element: Attribute) -> DType:
    """Returns the row of an element type. Raises TypeError for a type that a program's tensors cannot have."""
    row = _BY_ELEMENT.get(element)
    if row is None:
        raise TypeError(f"{element} is not an element type of a program's tensors")
    return row


def from_torch_name(name: str) -> DType | None:
    """Returns the row of `torch.<name>`; None for a type that programs cannot use."""
    return _BY_TORCH.get(name.removeprefix("torch."))


def from_numpy_name(name: str) -> DType | None:
    """Returns the row of a numpy dtype's name; None for a type that programs cannot use."""
    return _BY_NUMPY.get(name)


def from_scalar_type(number: int) -> DType | None:
    """Returns the row of a ScalarType number; None for a type that programs cannot use."""
    return _BY_SCALAR_TYPE.get(number)


def numpy_dtype(element: Attribute) -> np.dtype[np.generic]:
    """Returns the numpy dtype of an element type."""
    return numpy_dtype_of_name(dtype_of(element).numpy)


def is_float(element: Attribute) -> bool:
    """Returns whether an element type is floating point."""
    return dtype_of(element).category == 2


def is_float8(element: Attribute) -> bool:
    """Returns whether an element type is one of the 8-bit floats, which tensors are stored in and nothing is computed in."""
    return not dtype_of(element).computes


def format_of(element: Attribute) -> FloatFormat:
    """Returns the bits of a floating type. Raises TypeError for other types."""
    row = dtype_of(element)
    if row.format is None:
        raise TypeError(f"{row.torch} is not a floating type")
    return row.format


def is_complex(element: Attribute) -> bool:
    """Returns whether an element type is complex."""
    return dtype_of(element).category == 3


def holds_complex(value: SSAValue) -> bool:
    """Returns whether a value is a tensor of complex numbers."""
    return isinstance(value.type, TensorType) and isinstance(tensor_type(value).element_type, ComplexType)


_PARTS: dict[Attribute, ElementType] = {c64: f32, c128: f64}
_OF_PARTS: dict[Attribute, ElementType] = {bf16: c64, f32: c64, f64: c128}


def part_of(element: Attribute) -> ElementType:
    """Returns the element type of the real and imaginary parts of a complex one; any other is its own."""
    return _PARTS.get(element, dtype_of(element).element)


def complex_of(element: Attribute) -> ElementType:
    """Returns the complex element type whose parts are of the given one; a complex one is its own. Raises TypeError where there is none."""
    found = element if is_complex(element) else _OF_PARTS.get(element)
    if found is None:
        raise TypeError(f"there is no complex type of {dtype_of(element).torch} parts")
    return dtype_of(found).element


@lru_cache(maxsize=65536)
def _tensor(element: ElementType, shape: tuple[int, ...], encoding: Attribute) -> Tensor:
    return TensorType(element, shape, encoding)


_NO_ENCODING = NoneAttr()


def tensor(element: Attribute, shape: Sequence[int], encoding: Attribute | None = None) -> Tensor:
    """Returns a tensor type; equal types are one object.

    `shape` may have extents, which the encoding then holds, and DYNAMIC_INDEX for one of which nothing is known. Of an `encoding` that is
    a layout, the dim order is taken.

    Example:
        from xdsl.dialects.builtin import f32

        assert str(tensor(f32, [2, 3])) == "tensor<2x3xf32>"
    """
    extents = tuple(shape)
    layout = encoding if isinstance(encoding, LayoutAttr) else None
    if (layout is None or not layout.extents.data) and not any([type(extent) is Extent for extent in extents]):
        return _tensor(cast(ElementType, element), extents, _NO_ENCODING if encoding is None else encoding)
    sizes = [unknown() if is_known(extent) and extent == DYNAMIC_INDEX else extent for extent in extents]
    order = tuple(range(len(sizes))) if layout is None else layout.dim_order
    found = LayoutAttr.of(order, [] if all(is_known(size) or _is_unbounded(size) for size in sizes) else sizes)
    plain = found.is_row_major and not found.extents.data
    dims = tuple([extent if is_known(extent) else DYNAMIC_INDEX for extent in sizes])
    return _tensor(cast(ElementType, element), dims, _NO_ENCODING if plain else found)


def _is_unbounded(extent: int) -> bool:
    """Returns whether nothing is known of an extent."""
    return isinstance(extent, Extent) and extent.expression is None and extent.range == (0, INFINITE)


_VALUES: frozenset[type] = frozenset({OpResult, BlockArgument})


def tensor_type(value: SSAValue | Attribute) -> Tensor:
    """Returns the tensor type of a value. Raises TypeError for other types."""
    if type(value) is TensorType:
        return value
    # Abstract classes answer slowly, and this is asked of every operand of every operation.
    found = cast(SSAValue, value).type if type(value) in _VALUES or isinstance(value, SSAValue) else value
    if not isinstance(found, TensorType):
        raise TypeError(f"expected a tensor, got {found}")
    return cast(Tensor, found)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Returns the shape: numbers, and for dynamic dimensions extents, which compute and compare as far as their ranges decide."""
    kind = tensor_type(value)
    shape = kind.get_shape()
    return _extents_of(kind) if DYNAMIC_INDEX in shape else shape


@lru_cache(maxsize=4096)
def _extents_of(kind: Tensor) -> tuple[int, ...]:
    sizes = kind.encoding.sizes if isinstance(kind.encoding, LayoutAttr) else ()
    return tuple(
        extent if extent != DYNAMIC_INDEX else sizes[dim] if sizes and not is_known(sizes[dim]) else unknown()
        for dim, extent in enumerate(kind.get_shape())
    )


def is_static(*values: SSAValue | Attribute) -> bool:
    """Returns whether the shapes are the same in every run."""
    return not any(DYNAMIC_INDEX in tensor_type(value).get_shape() for value in values)


def has_static_entries(*values: SSAValue | Attribute) -> bool:
    """Returns whether the shapes are the same in every run but for the number of entries, the first dimension."""
    return not any(DYNAMIC_INDEX in tensor_type(value).get_shape()[1:] for value in values)


def element_of(value: SSAValue | Attribute) -> ElementType:
    """Returns the element type."""
    return cast(ElementType, tensor_type(value).element_type)


def may_equal(left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns whether two shapes have one rank, and in each dimension extents that may be equal."""
    return len(left) == len(right) and all(extents_may_equal(a, b) for a, b in zip(left, right, strict=True))


def same_shape(left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns whether two shapes are equal in every run. An unknown extent is not even equal to itself."""
    return len(left) == len(right) and all(map(provably_equal, left, right))


def is_empty(shape: Sequence[int]) -> bool:
    """Returns whether a tensor of this shape has no elements, in every run."""
    return any(provably_equal(size, 0) for size in shape)


def numel(value: SSAValue | Attribute) -> int:
    """Returns the number of elements of a static shape."""
    if not is_static(value):
        raise TypeError(f"{tensor_type(value)} has a dynamic dimension, so its number of elements is not known")
    return math.prod(shape_of(value))


def nbytes(value: SSAValue | Attribute) -> int:
    """Returns the bytes of a static tensor's elements."""
    return numel(value) * dtype_of(element_of(value)).size


MOST_BYTES = 2**63 - 1
"""The largest size of a tensor: sizes and offsets are int64 in the .pte format and in numpy."""


def check_storage(kind: Tensor) -> None:
    """Raises TypeError for a tensor type that no program can hold.

    It is of another element type, or of more than MOST_BYTES, or its layout is one of another shape.
    """
    size = dtype_of(kind.element_type).size
    check_layout(kind)
    for extent in kind.get_shape():
        size *= max(extent, 1)
    if size > MOST_BYTES:
        raise TypeError(f"{kind} takes {size} bytes, more than the 2^63 - 1 that a program can address")


def check_layout(kind: Tensor) -> None:
    """Raises TypeError for a layout of another shape."""
    layout, shape = kind.encoding, kind.get_shape()
    if not isinstance(layout, LayoutAttr):
        return
    if len(layout.order) != len(shape):
        raise TypeError(f"{kind} has {len(shape)} dimensions, and a layout of {len(layout.order)}")
    for dim, (extent, size) in enumerate(zip(shape, layout.sizes, strict=False)):
        if (extent if extent != DYNAMIC_INDEX else None) != (size if is_known(size) else None):
            raise TypeError(f"{kind}: the layout gives dimension {dim} the size {size}")


# PyTorch's lattice within one category (c10/core/ScalarType.cpp, promoteTypes): ui8 with a signed type gives that type, but i16 with i8;
# f16 with bf16 gives f32.
_SIGNED = {i8, i16, i32, i64}


def promote(a: Attribute, b: Attribute) -> ElementType:
    """Returns the type that both promote to, as in `torch.promote_types`. Raises TypeError where PyTorch defines none."""
    left, right = dtype_of(a), dtype_of(b)
    if a == b:
        return left.element
    if is_float8(a) or is_float8(b):
        raise TypeError(f"{left.torch} and {right.torch} have no common type")
    if left.category != right.category:
        higher = left if left.category > right.category else right
        lower = right if higher is left else left
        if higher.category == 3 and lower.category == 2:
            return complex_of(promote(part_of(higher.element), lower.element))
        wide = lower if higher.category == 3 else higher
        if wide.element not in (ui16, ui32, ui64):
            return higher.element
    if min(left.category, right.category) >= 2:
        if left.size == right.size:
            return f32
        return left.element if left.size > right.size else right.element
    if a == ui8 or b == ui8:
        other = right if a == ui8 else left
        if other.element in _SIGNED:
            return i16 if other.element == i8 else other.element
    if a in _SIGNED and b in _SIGNED:
        return left.element if left.size > right.size else right.element
    raise TypeError(f"{left.torch} and {right.torch} have no common type")


def scalar_element(scalar: bool | int | float) -> ElementType:
    """Returns the element type of a Python number in promotion: bool, int64 or the default float32."""
    return i1 if isinstance(scalar, bool) else i64 if isinstance(scalar, int) else f32


def promote_operands(*operands: Tensor | bool | int | float) -> ElementType:
    """Returns the result type of an operator over tensors and numbers, as in `torch.result_type`.

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
        elif dtype_of(element).category == 3 and dtype_of(result).category == 2:
            result = complex_of(result)
        elif dtype_of(element).category > dtype_of(result).category:
            result = element
    if result is None:
        raise TypeError("an operator needs at least one operand")
    return result


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape to which numpy and PyTorch broadcast these shapes. Raises ValueError that names them.

    Of two extents that are not known to be equal, the result is known only to be one of them.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        size = 1
        for shape in shapes:
            extent = shape[axis] if -axis <= len(shape) else 1
            if not extents_may_equal(size, extent) and not extents_may_equal(size, 1) and not extents_may_equal(extent, 1):
                raise ValueError(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast together")
            size = _broadcast_extent(size, extent)
        result.append(size)
    return tuple(result)


def _broadcast_extent(a: int, b: int) -> int:
    for one, other in ((a, b), (b, a)):
        if is_known(one):
            return other if one == 1 else one
    for one, other in ((a, b), (b, a)):
        if not extents_may_equal(one, 1) or provably_equal(one, other):
            return one
    low, high = zip(cast(Extent, a).range, cast(Extent, b).range, strict=True)
    return Extent(None, (min(low), max(high)))


def normalize_dim(dim: int, rank: int) -> int:
    """Returns `dim` counted from the front. Raises IndexError when it is out of range (a 0-d tensor counts as rank 1, as in PyTorch)."""
    extent = max(rank, 1)
    if not -extent <= dim < extent:
        raise IndexError(f"dim {dim} is out of range for rank {rank}")
    return dim % extent
