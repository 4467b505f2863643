"""Operators that make complex tensors from real tensors, or return their parts, angles and conjugates."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import imaginary
from flambeau.dialects.aten.complex_numbers.complex_families import StayingOp
from flambeau.dialects.aten.complex_numbers.complex_functions import angle
from flambeau.dialects.aten.library.numerics import imaginary_part, real_part, to_float
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, complex_of, element_of, part_of, shape_of, tensor
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import UnaryOp, float_element, require_category, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

PARTS = frozenset({f32, f64})
"""The element types that complex numbers are made of."""


def to_parts(x: Array, /) -> Array:
    """Returns the real and imaginary parts of complex numbers in a new last dimension."""
    return np.ascontiguousarray(x).reshape(*x.shape, 1).view(real_part(x).dtype)


def from_parts(x: Array, /) -> Array:
    """Returns the complex tensor whose real and imaginary parts are in the last dimension of `x`, of size 2."""
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0]


@aten("view_as_real(Tensor(a) self) -> Tensor(a)", keep=True)
class ViewAsRealOp(SchemaOp):
    """The real and imaginary parts in a new last dimension of size 2; the same bytes."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("view_as_real", x, at_least=3)
        return tensor(part_of(element_of(x)), (*shape_of(x), 2))

    numpy = staticmethod(to_parts)

    @staticmethod
    def on_parts(x: Parts, /) -> SSAValue:
        return aten.stack(x.both, -1)


@aten("view_as_complex(Tensor(a) self) -> Tensor(a)", keep=True)
class ViewAsComplexOp(StayingOp):
    """The complex tensor of a real tensor whose last dimension, of size 2, holds the real and imaginary parts; the same bytes."""

    takes = PARTS

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        shape = shape_of(x)
        if not shape or shape[-1] != 2:
            raise ValueError(f"the last dimension must have size 2, got shape {list(shape)}")
        return tensor(complex_of(element_of(x)), shape[:-1])

    numpy = staticmethod(from_parts)


@aten("complex(Tensor real, Tensor imag) -> Tensor")
class ComplexOp(StayingOp):
    """The complex tensor with the given real and imaginary parts, which are broadcast."""

    takes = PARTS

    @staticmethod
    def infer(real: Tensor, imag: Tensor) -> Tensor:
        require_same_element(real, imag)
        return tensor(complex_of(element_of(real)), broadcast(shape_of(real), shape_of(imag)))

    @staticmethod
    def numpy(real: Array, imag: Array) -> Array:
        return from_parts(np.stack(np.broadcast_arrays(real, imag), -1))

    @staticmethod
    def decompose(real: SSAValue, imag: SSAValue) -> SSAValue:
        shape = broadcast(shape_of(real), shape_of(imag))
        parts = [x if shape_of(x) == shape else aten.expand(x, shape) for x in (real, imag)]
        return aten.view_as_complex(aten.stack(parts, -1))


@aten("polar(Tensor abs, Tensor angle) -> Tensor")
class PolarOp(SchemaOp):
    """The complex tensor with the given absolute values and angles (in radians), which are broadcast."""

    takes = PARTS

    @staticmethod
    def infer(abs: Tensor, angle: Tensor) -> Tensor:
        return ComplexOp.infer(abs, angle)

    @staticmethod
    def numpy(abs: Array, angle: Array) -> Array:
        return from_parts(np.stack(np.broadcast_arrays(abs * np.cos(angle), abs * np.sin(angle)), -1))

    @staticmethod
    def decompose(abs: SSAValue, angle: SSAValue) -> SSAValue:
        return aten.complex(aten.mul.Tensor(abs, aten.cos(angle)), aten.mul.Tensor(abs, aten.sin(angle)))


@aten("real(Tensor(a) self) -> Tensor(a)")
class RealOp(UnaryOp):
    """The real part of a complex tensor; a real tensor unchanged."""

    elementwise = False

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(part_of(element_of(x)), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return real_part(x)

    @staticmethod
    def on_parts(x: Parts, /) -> SSAValue:
        return x.real

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return x


@aten("imag(Tensor(a) self) -> Tensor(a)")
class ImagOp(UnaryOp):
    """The imaginary part of complex tensors."""

    elementwise = False

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        require_category("imag", x, at_least=3)
        return tensor(part_of(element_of(x)), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return imaginary_part(x)

    on_parts = staticmethod(imaginary)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.select.int(aten.view_as_real(x), -1, 1)


@aten("angle(Tensor self) -> Tensor")
class AngleOp(UnaryOp):
    """The angle in radians of each number; a real number has the angle 0, or pi if negative, or NaN if NaN."""

    on_parts = staticmethod(angle)

    elementwise = False

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(part_of(float_element(element_of(x))), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        if x.dtype.kind == "c":
            return np.asarray(np.arctan2(imaginary_part(x), real_part(x)))
        x = to_float(x)
        return np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        element = float_element(element_of(x))
        if element_of(x) == i1:
            return aten.full(shape_of(x), 0.0, f32)
        x = x if element_of(x) == element else aten._to_copy(x, element)
        halves = aten.mul.Scalar(aten._to_copy(aten.lt.Scalar(x, 0), element), float(np.pi))
        return aten.where.self(aten.isnan(x), x, halves)


@aten("isreal(Tensor self) -> Tensor")
class IsrealOp(UnaryOp):
    """Whether the imaginary part of x is 0, as bool."""

    elementwise = False

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(i1, shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return np.asarray(imaginary_part(x) == 0) if x.dtype.kind == "c" else np.ones(x.shape, bool)

    @staticmethod
    def on_parts(x: Parts, /) -> SSAValue:
        return aten.eq.Scalar(imaginary(x), 0)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.full(shape_of(x), True, i1)
