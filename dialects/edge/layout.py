"""The memory layout of tensors, which `#edge.layout` writes on their types: dim orders, upper bounds, strides."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.expressions import INFINITE
from flambeau.dialects.ir.extents import free_symbols, largest
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, shape_of, tensor, tensor_type

CHANNELS_LAST = (0, 2, 3, 1)
"""The dim order of images whose channels are innermost: of [batch, channels, height, width]."""


def layout_of(value: SSAValue | Attribute) -> LayoutAttr | None:
    """Returns the layout written on a tensor type, if any."""
    encoding = tensor_type(value).encoding
    return encoding if isinstance(encoding, LayoutAttr) else None


def is_row_major(value: SSAValue | Attribute) -> bool:
    """Returns whether the dim order is row-major, as of a type without an encoding."""
    layout = layout_of(value)
    return layout is None or layout.is_row_major


def dim_order(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Returns the dim order of a tensor, outermost dimension first."""
    layout = layout_of(value)
    return layout.dim_order if layout is not None else tuple(range(len(tensor_type(value).get_shape())))


def upper_bounds(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Returns the largest shape the tensor may take: its shape when static. Raises TypeError for a dynamic dimension without a bound."""
    bounds: list[int] = []
    for dim, extent in enumerate(shape_of(value)):
        bound = largest(extent)
        if bound is None:
            symbols = free_symbols(extent)
            free = [symbol.name for symbol in symbols if symbol.high == INFINITE]
            size = f", which is {extent}," if symbols else ""
            raise TypeError(f"dimension {dim} of {tensor_type(value)}{size} has no maximum: {how_to_bound(*free)}")
        bounds.append(bound)
    return tuple(bounds)


def how_to_bound(*names: str) -> str:
    """Returns how a user gives a maximum to the symbols of these names, or to a size that has none."""
    exported = "export the model with Dim(…, max=512) or torch._check(size <= 512)"
    if not names:
        return exported
    if len(names) > 1:
        exported += f" for each of {', '.join(names)}, not for what is computed from them"
    options, bounds = " ".join(f"--bound {name}=512" for name in names), dict.fromkeys(names, 512)
    return f"{exported}, or compile it with {options}, in Python EdgeCompileConfig(bounds={bounds})"


def with_dim_order(value: SSAValue | Attribute, order: Sequence[int]) -> Tensor:
    """Returns the same tensor type in another dim order."""
    kind = tensor_type(value)
    encoding = NoneAttr() if tuple(order) == tuple(range(len(order))) else LayoutAttr.of(order)
    return tensor(kind.element_type, shape_of(kind), encoding)


def row_major(value: SSAValue | Attribute) -> Tensor:
    """Returns the same tensor type in row-major order."""
    kind = tensor_type(value)
    return kind if is_row_major(kind) else with_dim_order(kind, range(len(kind.get_shape())))


def byte_strides(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Returns the stride of each dimension in bytes, at the upper bounds."""
    sizes = upper_bounds(value)
    strides = [0] * len(sizes)
    step = dtype_of(tensor_type(value).element_type).size
    for dim in reversed(dim_order(value)):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


def equal_memory(a: SSAValue | Attribute, b: SSAValue | Attribute) -> bool:
    """Returns whether two tensors of the same shape have the same memory layout; the position of dimensions of size 1 is irrelevant."""
    shape = tensor_type(a).get_shape()
    if shape != tensor_type(b).get_shape():
        return False
    return [d for d in dim_order(a) if shape[d] != 1] == [d for d in dim_order(b) if shape[d] != 1]
