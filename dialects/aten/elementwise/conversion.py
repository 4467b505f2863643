"""Operators that copy a tensor, perhaps with another element type."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import Operand, conjugate, pairs_of
from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp, converted
from flambeau.dialects.aten.creation import LikeOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, holds_complex, shape_of
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import IdentityOp, chosen_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class CastOp(LikeOp):
    """Copies of a tensor with another element type."""

    moves = True

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return cast_to(x, chosen_element(dtype, element_of_array(x)))


@aten(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)"
)
@aten(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"
)
@aten("to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)")
class ToDtypeOp(CastOp):
    """The elements converted to `dtype`; a device argument is ignored."""

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return to_element(x, chosen_element(dtype, element_of(x)))


@aten("to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)")
@aten("type_as(Tensor self, Tensor other) -> Tensor")
class TypeAsOp(SchemaOp):
    """The elements converted to the element type of `other`."""

    stores = True

    @staticmethod
    def infer(x: Tensor, /, other: Tensor) -> Tensor:
        return LikeOp.infer(x, element_of(other))

    @staticmethod
    def numpy(x: Array, /, other: Array) -> Array:
        return cast_to(x, element_of_array(other))

    @staticmethod
    def decompose(x: SSAValue, /, other: SSAValue) -> SSAValue:
        return to_element(x, element_of(other))


@aten("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", core=True)
class CopyOp(SchemaOp):
    """The elements of `src`, broadcast to the shape and converted to the type of the first operand."""

    stores = True

    @staticmethod
    def infer(x: Tensor, source: Tensor, /) -> Tensor:
        if broadcast(shape_of(x), shape_of(source)) != shape_of(x):
            raise ValueError(f"shape {list(shape_of(source))} does not broadcast to {list(shape_of(x))}")
        return LikeOp.infer(x)

    @staticmethod
    def numpy(x: Array, source: Array, /) -> Array:
        return np.broadcast_to(cast_to(source, element_of_array(x)), x.shape)

    @staticmethod
    def on_parts(x: Operand, source: Operand, /) -> Parts | SSAValue:
        ((real, imaginary),) = pairs_of(source)
        if not isinstance(x, Parts):
            return aten.copy(x, real)
        return Parts(aten.copy(x.real, real), None if imaginary is None else aten.copy(x.real, imaginary))


@aten("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", core=True)
@aten("alias(Tensor(a) self) -> Tensor(a)", core=True)
class AliasOp(IdentityOp, PartwiseOp):
    """The operand unchanged."""


@aten("contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)")
@aten("lift_fresh_copy(Tensor self) -> Tensor", keep=True)
@aten("lift_fresh(Tensor(a) self) -> Tensor(a)")
@aten("resolve_conj(Tensor(a) self) -> Tensor(a)")
@aten("resolve_neg(Tensor(a) self) -> Tensor(a)")
@aten("detach(Tensor(a) self) -> Tensor(a)")
class DetachOp(IdentityOp):
    """The operand unchanged: tensors have no gradients or flags here, and layouts are chosen later."""

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return x


@aten(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    core=True,
)
class ToCopyOp(CastOp):
    """A copy in another type; floats become integers by dropping the fraction, and bools by comparing with 0."""

    on_parts = staticmethod(converted)


@aten("_conj(Tensor(a) self) -> Tensor(a)")
@aten("_conj_copy(Tensor self) -> Tensor")
@aten("_conj_physical(Tensor self) -> Tensor")
@aten("conj(Tensor(a) self) -> Tensor(a)")
@aten("conj_physical(Tensor self) -> Tensor")
class ConjugateOp(IdentityOp):
    """The complex conjugate of each element; a real tensor unchanged."""

    on_parts = staticmethod(conjugate)

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.conj(x) if x.dtype.kind == "c" else x

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        if not holds_complex(x):
            return x
        parts = aten.view_as_real(x)
        return aten.complex(aten.select.int(parts, -1, 0), aten.neg(aten.select.int(parts, -1, 1)))
