"""Operators that create tensors from numbers: full, arange, eye and others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import RealNumberOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, dtype_of, element_of, numpy_dtype, scalar_element, shape_of, tensor
from flambeau.dialects.schema.families import chosen_element, require_number
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class MadeOp(SchemaOp):
    """Base of rows whose result depends only on numbers in the program, not on the content of tensors."""

    stores = True


class OneNumberOp(MadeOp):
    """A tensor whose elements are all one number, the only `Scalar` of the schema."""


@aten(
    "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    core=True,
)
class ScalarTensorOp(OneNumberOp, RealNumberOp):
    """A number as a 0-d tensor, of the default float type if no type is given."""

    @staticmethod
    def infer(s: float, dtype: Attribute | None = None) -> Tensor:
        require_number(s, chosen_element(dtype, f32))
        return tensor(chosen_element(dtype, f32), ())

    @staticmethod
    def numpy(value: float, /, dtype: Attribute | None) -> Array:
        return cast_to(value, chosen_element(dtype, f32))


@aten(
    "full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    core=True,
)
class FullOp(OneNumberOp, RealNumberOp):
    """A tensor of `size` whose elements are all `fill_value`; the default type is that of the number."""

    @staticmethod
    def infer(size: Sequence[int], value: float, /, dtype: Attribute | None = None) -> Tensor:
        element = chosen_element(dtype, scalar_element(value))
        require_number(value, element)
        return tensor(element, size)

    @staticmethod
    def numpy(size: Sequence[int], value: float, /, dtype: Attribute | None) -> Array:
        return np.full(size, value, numpy_dtype(chosen_element(dtype, scalar_element(value))))


class FilledOp(MadeOp):
    """A tensor of `size`, of the default float type if no type is given; the elements are 0 unless the row overrides this."""

    @staticmethod
    def infer(size: Sequence[int], dtype: Attribute | None = None) -> Tensor:
        return tensor(chosen_element(dtype, f32), size)

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None) -> Array:
        return np.zeros(size, numpy_dtype(chosen_element(dtype, f32)))


@aten(
    "zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", keep=True
)
class ZerosOp(FilledOp):
    """A tensor of zeros."""

    @staticmethod
    def decompose(size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.full(size, 0, chosen_element(dtype, f32))


@aten(
    "ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", keep=True
)
class OnesOp(FilledOp):
    """A tensor of ones."""

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None) -> Array:
        return FullOp.numpy(size, 1, chosen_element(dtype, f32))

    @staticmethod
    def decompose(size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.full(size, 1, chosen_element(dtype, f32))


@aten(
    "empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    core=True,
)
class EmptyMemoryFormatOp(FilledOp, RealNumberOp):
    """A tensor of `size` with unspecified content; zeros here."""


@aten(
    "empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    core=True,
)
class EmptyStridedOp(MadeOp):
    """A tensor as from `empty`. The number of strides must equal the number of sizes; the result is row-major for any strides."""

    stores = True
    numpy = staticmethod(FilledOp.numpy)

    @staticmethod
    def infer(size: Sequence[int], stride: Sequence[int], dtype: Attribute | None = None) -> Tensor:
        if len(size) != len(stride):
            raise ValueError(f"size {list(size)} and stride {list(stride)} must have the same length")
        return tensor(chosen_element(dtype, f32), size)


@aten(
    "empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class EmptyPermutedOp(MadeOp):
    """A tensor as from `empty`; the order of dimensions in memory is ignored, because layouts are chosen later."""

    stores = True
    numpy = staticmethod(FilledOp.numpy)

    @staticmethod
    def infer(size: Sequence[int], physical_layout: Sequence[int], dtype: Attribute | None = None) -> Tensor:
        if sorted(physical_layout) != list(range(len(size))):
            raise ValueError(f"physical_layout must order the {len(size)} dimensions, got {list(physical_layout)}")
        return tensor(chosen_element(dtype, f32), size)

    @staticmethod
    def decompose(size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.empty.memory_format(size, dtype)


class LikeOp(MadeOp):
    """A tensor with the shape of `self`, and with its type if no type is given."""

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute | None = None) -> Tensor:
        return tensor(chosen_element(dtype, element_of(x)), shape_of(x))


@aten(
    "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    core=True,
)
class FullLikeOp(OneNumberOp, RealNumberOp):
    """A tensor whose elements are all `fill_value`, with the shape of `self`, and with its type if no type is given."""

    @staticmethod
    def infer(x: Tensor, value: float, /, dtype: Attribute | None = None) -> Tensor:
        return FullOp.infer(shape_of(x), value, chosen_element(dtype, element_of(x)))

    @staticmethod
    def numpy(x: Array, value: float, /, dtype: Attribute | None) -> Array:
        return FullOp.numpy(x.shape, value, chosen_element(dtype, element_of_array(x)))


@aten(
    "empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
@aten(
    "zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class ZerosLikeOp(LikeOp):
    """Zeros with the shape of `self`; the unspecified content of `empty_like` is zeros too."""

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return FullLikeOp.numpy(x, 0, dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return aten.full_like(x, 0, dtype)


@aten(
    "ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class OnesLikeOp(LikeOp):
    """Ones with the shape of `self`."""

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return FullLikeOp.numpy(x, 1, dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return aten.full_like(x, 1, dtype)


class NewOp(MadeOp):
    """A tensor of `size`, with the type of `self` if no type is given."""

    @staticmethod
    def infer(x: Tensor, /, size: Sequence[int], dtype: Attribute | None = None) -> Tensor:
        return tensor(chosen_element(dtype, element_of(x)), size)


@aten(
    "new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class NewZerosOp(NewOp):
    """Zeros of shape `size`."""

    @staticmethod
    def numpy(x: Array, /, size: Sequence[int], dtype: Attribute | None) -> Array:
        return FullOp.numpy(size, 0, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.full(size, 0, chosen_element(dtype, element_of(x)))


@aten(
    "new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class NewOnesOp(NewOp):
    """Ones of shape `size`."""

    @staticmethod
    def numpy(x: Array, /, size: Sequence[int], dtype: Attribute | None) -> Array:
        return FullOp.numpy(size, 1, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.full(size, 1, chosen_element(dtype, element_of(x)))


@aten(
    "new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class NewEmptyOp(NewOp):
    """A tensor of `size` with unspecified content; zeros here."""

    @staticmethod
    def numpy(x: Array, /, size: Sequence[int], dtype: Attribute | None) -> Array:
        return FullOp.numpy(size, 0, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, size: Sequence[int], dtype: Attribute | None) -> SSAValue:
        return aten.empty.memory_format(size, chosen_element(dtype, element_of(x)))


@aten(
    "new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class NewFullOp(OneNumberOp):
    """A tensor of shape `size` whose elements are all `fill_value`."""

    @staticmethod
    def infer(x: Tensor, size: Sequence[int], value: float, /, dtype: Attribute | None = None) -> Tensor:
        return FullOp.infer(size, value, chosen_element(dtype, element_of(x)))

    @staticmethod
    def numpy(x: Array, size: Sequence[int], value: float, /, dtype: Attribute | None) -> Array:
        return FullOp.numpy(size, value, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, size: Sequence[int], value: float, /, dtype: Attribute | None) -> SSAValue:
        return aten.full(size, value, chosen_element(dtype, element_of(x)))


@aten("fill.Scalar(Tensor self, Scalar value) -> Tensor", core=True)
class FillScalarOp(OneNumberOp, RealNumberOp):
    """A tensor whose elements are all a given number, with the shape and type of `self`."""

    @staticmethod
    def infer(x: Tensor, /, value: float) -> Tensor:
        return FullOp.infer(shape_of(x), value, element_of(x))

    @staticmethod
    def numpy(x: Array, /, value: float) -> Array:
        return FullLikeOp.numpy(x, value, None)


@aten("fill.Tensor(Tensor self, Tensor value) -> Tensor", keep=True)
class FillTensorOp(MadeOp):
    """A tensor whose elements are all the number in a 0-d tensor, with the shape and type of `self`."""

    @staticmethod
    def infer(x: Tensor, /, value: Tensor) -> Tensor:
        if shape_of(value):
            raise ValueError(f"the value must be a 0-d tensor, got shape {list(shape_of(value))}")
        return LikeOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, value: Array) -> Array:
        return np.full(x.shape, cast_to(value, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, value: SSAValue) -> SSAValue:
        return aten.copy(x, value)


@aten("zero(Tensor self) -> Tensor")
class ZeroOp(LikeOp):
    """Zeros with the shape and type of `self`."""

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return FullLikeOp.numpy(x, 0, None)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.full_like(x, 0)


@aten(
    "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    core=True,
)
class ArangeStartStepOp(SchemaOp):
    """The numbers from `start` in steps of `step`, excluding `end`; int64 if all three are integers, else the default float type."""

    @staticmethod
    def infer(start: float, end: float, step: float = 1, dtype: Attribute | None = None) -> Tensor:
        if not all(isinstance(number, int) or math.isfinite(number) for number in (start, end, step)):
            raise ValueError(f"start, end and step must be finite, got {start}, {end} and {step}")
        if step == 0 or (end - start) * step < 0:
            raise ValueError(f"no step of {step} leads from {start} to {end}")
        element = chosen_element(dtype, f32 if any(isinstance(number, float) for number in (start, end, step)) else i64)
        if element == i1:
            raise TypeError("arange is not defined for bool tensors")
        if element == i64:
            # PyTorch counts the elements of the other integer types by the numbers as they are given.
            start, end, step = (number if isinstance(number, int) else int(number) for number in (start, end, step))
            if step == 0:
                raise ValueError("the step of int64 must be an integer other than 0")
        if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
            return tensor(element, (-((start - end) // step),))
        return tensor(element, (math.ceil((end - start) / step),))

    @staticmethod
    def numpy(start: float, end: float, step: float, dtype: Attribute | None) -> Array:
        found = ArangeStartStepOp.infer(start, end, step, dtype)
        if dtype_of(element_of(found)).category == 1:
            start, step = int(start), int(step)
        return cast_to(start + np.arange(found.get_shape()[0]) * step, element_of(found))


@aten(
    "arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class ArangeStartOp(SchemaOp):
    """The numbers from `start` in steps of 1, excluding `end`."""

    @staticmethod
    def infer(start: float, end: float, dtype: Attribute | None = None) -> Tensor:
        return ArangeStartStepOp.infer(start, end, 1, dtype)

    @staticmethod
    def numpy(start: float, end: float, dtype: Attribute | None) -> Array:
        return ArangeStartStepOp.numpy(start, end, 1, dtype)

    @staticmethod
    def decompose(start: float, end: float, dtype: Attribute | None) -> SSAValue:
        return aten.arange.start_step(start, end, 1, dtype)


@aten("arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")
class ArangeOp(SchemaOp):
    """The numbers from 0 in steps of 1, excluding `end`."""

    @staticmethod
    def infer(end: float, dtype: Attribute | None = None) -> Tensor:
        return ArangeStartStepOp.infer(0, end, 1, dtype)

    @staticmethod
    def numpy(end: float, dtype: Attribute | None) -> Array:
        return ArangeStartStepOp.numpy(0, end, 1, dtype)

    @staticmethod
    def decompose(end: float, dtype: Attribute | None) -> SSAValue:
        return aten.arange.start_step(0, end, 1, dtype)


@aten(
    "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class LinspaceOp(SchemaOp):
    """`steps` numbers at equal distances from `start` to `end`, both included."""

    @staticmethod
    def ends(start: float, end: float, element: ElementType) -> tuple[float, float]:
        """Returns the first and the last number in an element type: integers are without fractions, and wrap around."""
        return (cast_to(start, element).item(), cast_to(end, element).item()) if dtype_of(element).category == 1 else (start, end)

    @staticmethod
    def infer(start: float, end: float, steps: int, dtype: Attribute | None = None) -> Tensor:
        element = chosen_element(dtype, f32)
        if steps < 0:
            raise ValueError(f"the number of steps must not be negative, got {steps}")
        if element == i1 and steps > 1:
            raise TypeError("linspace is not defined for bool tensors")
        for bound in (start, end):
            require_number(bound, element)
        return tensor(element, (steps,))

    @staticmethod
    def numpy(start: float, end: float, steps: int, dtype: Attribute | None) -> Array:
        start, end = LinspaceOp.ends(start, end, chosen_element(dtype, f32))
        index = np.arange(steps)
        if steps < 2:
            numbers = np.full(steps, start)
        else:
            step = (end - start) / (steps - 1)
            numbers = np.where(index < steps // 2, start + index * step, end + (index + 1 - steps) * step)
        return numbers.astype(numpy_dtype(chosen_element(dtype, f32)))

    @staticmethod
    def decompose(start: float, end: float, steps: int, dtype: Attribute | None) -> SSAValue:
        element = chosen_element(dtype, f32)
        if steps < 2:
            return aten.full([steps], start, element)
        start, end = LinspaceOp.ends(start, end, element)
        step = (end - start) / (steps - 1)
        index = aten.arange.start_step(0, steps, 1, f64)
        from_start = aten.add.Scalar(aten.mul.Scalar(index, step), float(start))
        from_end = aten.add.Scalar(aten.mul.Scalar(aten.add.Scalar(index, float(1 - steps)), step), float(end))
        return to_element(aten.where.self(aten.lt.Scalar(index, steps // 2), from_start, from_end), element)


class IdentityMatrixOp(SchemaOp):
    """A matrix with ones on its diagonal and zeros elsewhere, of the default float type if no type is given."""

    @staticmethod
    def infer(rows: int, columns: int, /, dtype: Attribute | None = None) -> Tensor:
        return tensor(chosen_element(dtype, f32), (rows, columns))


def identity_matrix(rows: int, columns: int, dtype: Attribute | None) -> SSAValue:
    """Returns the identity matrix as a comparison of row and column numbers."""
    row, column = aten.unsqueeze(aten.arange.start_step(0, rows), 1), aten.arange.start_step(0, columns)
    return to_element(aten.eq.Tensor(row, column), chosen_element(dtype, f32))


@aten("eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")
class EyeOp(SchemaOp):
    """The identity matrix of n rows."""

    @staticmethod
    def infer(n: int, dtype: Attribute | None = None) -> Tensor:
        return IdentityMatrixOp.infer(n, n, dtype)

    @staticmethod
    def numpy(n: int, dtype: Attribute | None) -> Array:
        return np.eye(n, dtype=numpy_dtype(chosen_element(dtype, f32)))

    @staticmethod
    def decompose(n: int, dtype: Attribute | None) -> SSAValue:
        return identity_matrix(n, n, dtype)


@aten("eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")
class EyeMOp(IdentityMatrixOp):
    """A matrix of n rows and m columns with ones on its diagonal."""

    @staticmethod
    def numpy(n: int, m: int, dtype: Attribute | None) -> Array:
        return np.eye(n, m, dtype=numpy_dtype(chosen_element(dtype, f32)))

    @staticmethod
    def decompose(n: int, m: int, dtype: Attribute | None) -> SSAValue:
        return identity_matrix(n, m, dtype)
