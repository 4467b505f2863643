"""Operators that fill, select, replace or find the elements at which a mask is true."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.aten.movement.shape import expand, view
from flambeau.dialects.ir.extents import largest, unknown
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.families import operand_shape, require_number
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor")
@aten("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", keep=True)
class MaskedFillScalarOp(SchemaOp):
    """`value`, a number or a 0-d tensor, where the mask is true, else x."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, /, mask: Tensor, value: Tensor | float) -> Tensor:
        if element_of(mask) != i1:
            raise TypeError(f"the mask must be a bool tensor, got {element_of(mask)}")
        if operand_shape(value):
            raise ValueError(f"the value must be one number, got shape {list(operand_shape(value))}")
        if isinstance(value, bool | int | float):
            require_number(value, element_of(x))
        return tensor(element_of(x), broadcast(shape_of(x), shape_of(mask)))

    @staticmethod
    def numpy(x: Array, /, mask: Array, value: Array | float) -> Array:
        return np.where(mask, cast_to(value, element_of_array(x)), x)

    @staticmethod
    def decompose(x: SSAValue, /, mask: SSAValue, value: SSAValue | float) -> SSAValue:
        return aten.where.self(mask, as_operand(value, element_of(x)), x)


@aten("nonzero(Tensor self) -> Tensor", core=True)
class NonzeroOp(SchemaOp):
    """The coordinates of the elements that are not 0, one row per element; the number of rows depends on the content."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        shape = shape_of(x)
        return tensor(i64, (unknown(0, largest(math.prod(shape))), len(shape)))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        if not x.ndim:
            return np.zeros((int(x.item() != 0), 0), np.int64)
        return np.argwhere(x)


def require_mask(mask: Tensor) -> None:
    """Raises TypeError unless the elements are bools."""
    if element_of(mask) != i1:
        raise TypeError(f"the mask must be of bool, got {dtype_of(element_of(mask)).torch}")


@aten("masked_select(Tensor self, Tensor mask) -> Tensor", keep=True)
class MaskedSelectOp(SchemaOp):
    """The elements at which a mask is true, in row-major order; the size depends on the content."""

    stores = True

    @staticmethod
    def infer(x: Tensor, /, mask: Tensor) -> Tensor:
        require_mask(mask)
        shape = broadcast(shape_of(x), shape_of(mask))
        return tensor(element_of(x), (unknown(0, largest(math.prod(shape))),))

    @staticmethod
    def numpy(x: Array, /, mask: Array) -> Array:
        values, shown = np.broadcast_arrays(x, mask.astype(np.bool_))
        return values[shown]

    @staticmethod
    def decompose(x: SSAValue, /, mask: SSAValue) -> SSAValue:
        common = broadcast(shape_of(x), shape_of(mask))
        flat = (math.prod(common),)
        return aten.index.Tensor(view(expand(x, common), flat), [view(expand(mask, common), flat)])


@aten("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", core=True)
class MaskedScatterOp(PartwiseOp):
    """The tensor with the elements at which a mask is true replaced, in row-major order, by the first elements of `source`."""

    @staticmethod
    def infer(x: Tensor, /, mask: Tensor, source: Tensor) -> Tensor:
        require_mask(mask)
        if element_of(x) != element_of(source):
            raise TypeError(f"source must have the element type {dtype_of(element_of(x)).torch} of the tensor")
        return tensor(element_of(x), broadcast(shape_of(x), shape_of(mask)))

    @staticmethod
    def numpy(x: Array, /, mask: Array, source: Array) -> Array:
        values, shown = np.broadcast_arrays(x, mask.astype(np.bool_))
        result = values.copy()
        count = int(shown.sum())
        if count > source.size:
            raise ValueError(f"source has {source.size} elements, the mask shows {count} places")
        result[shown] = source.reshape(-1)[:count]
        return result
