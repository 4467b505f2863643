"""Reductions: over all elements and over named dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import imaginary, product
from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp, TruthOperandsOp, converted
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, is_empty, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import REALS, chosen_element, reduced_dims, reduced_shape, require_category, sum_element
from flambeau.dialects.schema.namespace import OperatorName, aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Dims: TypeAlias = "Sequence[int] | int | None"


def reduced(function: Callable[..., Any], x: Array, dims: Dims, keepdim: bool, element: Any) -> Array:
    """Returns a numpy reduction of x in the type `element`, computed widened."""
    x = cast_to(x, element)
    return np.asarray(function(widened(x), axis=reduced_dims(dims, x.ndim), keepdims=keepdim)).astype(x.dtype)


def average(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Returns the mean over axes; NaN, without a Python warning, when there is no element."""
    return np.sum(x, axis=axis, keepdims=keepdims) / np.asarray(math.prod(x.shape[a] for a in axis), x.dtype)


class AccumulationOp(SchemaOp):
    """Sums and products over the given dimensions, or over all if none is given; integers and bools accumulate as int64."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Tensor:
        return tensor(chosen_element(dtype, sum_element(element_of(x))), reduced_shape(shape_of(x), dim, keepdim))


@aten("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class SumDimIntListOp(AccumulationOp, PartwiseOp):
    """The sum over the given dimensions, or over all elements if none is given."""

    dim_order = "read"
    bounds = staticmethod(value_ranges.of_same_sign)

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Array:
        return reduced(np.sum, x, dim, keepdim, chosen_element(dtype, sum_element(element_of_array(x))))


@aten("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
class SumOp(AccumulationOp):
    """The sum over all elements."""

    bounds = staticmethod(value_ranges.of_same_sign)
    numpy = staticmethod(SumDimIntListOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return aten.sum.dim_IntList(x, [], False, dtype)


@aten("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", core=True)
@aten("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class ProdDimIntOp(AccumulationOp):
    """The product over one dimension, or over all elements if none is given."""

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Array:
        return reduced(np.prod, x, dim, keepdim, chosen_element(dtype, sum_element(element_of_array(x))))

    @staticmethod
    def on_parts(x: Parts, /, dim: int | None = None, keepdim: bool = False, dtype: Attribute | None = None) -> Parts | SSAValue:
        if dim is None:
            x, dim = Parts(aten.view(x.real, (-1,)), aten.view(imaginary(x), (-1,))), 0
        numbers = converted(x, dtype)
        if not isinstance(numbers, Parts):
            return aten.prod.dim_int(numbers, dim, keepdim, dtype)
        dim = normalize_dim(dim, len(shape_of(x.real)))
        if not shape_of(x.real):
            return numbers
        left = (numbers.real, imaginary(numbers))
        while (extent := shape_of(left[0])[dim]) > 1:
            half = extent // 2
            low, high = ([aten.slice.Tensor(part, dim, start, start + half) for part in left] for start in (0, half))
            found = cast("tuple[SSAValue, SSAValue]", product((low[0], low[1]), (high[0], high[1])))
            rest = [aten.slice.Tensor(part, dim, 2 * half, extent) for part in left] if extent % 2 else None
            left = found if rest is None else (aten.cat([found[0], rest[0]], dim), aten.cat([found[1], rest[1]], dim))
        if extent == 0:
            shape = tuple(1 if axis == dim else size for axis, size in enumerate(shape_of(left[0])))
            left = aten.full(shape, 1.0, element_of(numbers.real)), aten.full(shape, 0.0, element_of(numbers.real))
        return Parts(*(part if keepdim else aten.squeeze.dim(part, dim) for part in left))


class FloatReductionOp(SchemaOp):
    """Reductions of floats over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Tensor:
        result = tensor(chosen_element(dtype, element_of(x)), reduced_shape(shape_of(x), dim, keepdim))
        require_category("this reduction", result, at_least=2)
        return result


@aten("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", core=True)
@aten("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class MeanDimOp(FloatReductionOp, PartwiseOp):
    """The mean over the given dimensions, or over all elements if none is given."""

    dim_order = "read"
    bounds = staticmethod(value_ranges.of_same_sign)

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Array:
        return reduced(average, x, dim, keepdim, chosen_element(dtype, element_of_array(x)))


def variance(x: Array, dims: Dims, correction: float, keepdim: bool) -> Array:
    """Returns the sum of squared distances from the mean, over the number of elements less `correction`, in float64; NaN of no elements."""
    axes = reduced_dims(dims, x.ndim)
    wide = x.astype(np.float64)
    squares = np.square(wide - average(wide, axes, True))
    count = math.prod(x.shape[axis] for axis in axes)
    return np.sum(squares, axis=axes, keepdims=keepdim) / np.float64(max(0, count - correction) if count else 0)


def correction_of(correction: float | None, unbiased: bool | None) -> float | None:
    """Returns the number of elements minus the divisor of the variance; 1 for None."""
    return correction if unbiased is None else int(unbiased)


class VarianceOp(FloatReductionOp):
    """The variance over the given dimensions, or over all elements if none is given.

    The divisor is the number of elements minus `correction`, which is 1 if it is absent or if the variance is `unbiased`.
    """

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False) -> Array:
        less = correction_of(correction, unbiased)
        return variance(x, dim, 1 if less is None else less, keepdim).astype(x.dtype)


@aten("var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", core=True)
@aten("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", core=True)
class VarCorrectionOp(VarianceOp):
    """The variance; the divisor is the number of elements minus `correction` (by default 1), or minus 1 if `unbiased`."""


@aten("var(Tensor self, bool unbiased=True) -> Tensor")
class VarOp(VarianceOp):
    """The variance over all elements."""

    @staticmethod
    def decompose(x: SSAValue, /, unbiased: bool) -> SSAValue:
        return aten.var.correction(x, [], int(unbiased))


@aten("std(Tensor self, bool unbiased=True) -> Tensor")
@aten("std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
@aten("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")
class StdCorrectionOp(FloatReductionOp):
    """The square root of the variance over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False) -> Array:
        less = correction_of(correction, unbiased)
        return np.sqrt(variance(x, dim, 1 if less is None else less, keepdim)).astype(x.dtype)

    @staticmethod
    def decompose(
        x: SSAValue, /, dim: Dims = (), correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False
    ) -> SSAValue:
        return aten.sqrt(aten.var.correction(x, dim, correction_of(correction, unbiased), keepdim))


class ExtremeOp(SchemaOp):
    """The largest or smallest element over the given dimensions, or over all if none is given."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims = (), keepdim: bool = False) -> Tensor:
        shape = shape_of(x)
        if is_empty([shape[axis] for axis in reduced_dims(dim, len(shape))]):
            raise ValueError(f"no elements to choose from in shape {list(shape)}")
        return tensor(element_of(x), reduced_shape(shape, dim, keepdim))


@aten("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", core=True)
class AmaxOp(ExtremeOp):
    """The largest element over the given dimensions; NaN if there is a NaN."""

    dim_order = "read"
    moves = True
    takes = REALS

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False) -> Array:
        return reduced(np.max, x, dim, keepdim, element_of_array(x))


@aten("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", core=True)
class AminOp(ExtremeOp):
    """The smallest element over the given dimensions; NaN if there is a NaN."""

    dim_order = "read"
    moves = True
    takes = REALS

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False) -> Array:
        return reduced(np.min, x, dim, keepdim, element_of_array(x))


@aten("max(Tensor self) -> Tensor", keep=True)
class MaxOp(ExtremeOp):
    """The largest of all elements."""

    numpy = staticmethod(AmaxOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.amax(x)


@aten("min(Tensor self) -> Tensor", keep=True)
class MinOp(ExtremeOp):
    """The smallest of all elements."""

    numpy = staticmethod(AminOp.numpy)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.amin(x)


def truth_element(element: Attribute) -> ElementType:
    """Returns the type of a truth value over elements of a type: bool, but ui8 for ui8."""
    return ui8 if element == ui8 else i1


class TruthOp(TruthOperandsOp):
    """Whether any or all elements differ from 0, over the given dimensions: all dimensions without a list, none for an empty list."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims = None, keepdim: bool = False) -> Tensor:
        shape = shape_of(x)
        return tensor(truth_element(element_of(x)), shape if dim == () else reduced_shape(shape, dim, keepdim))


def truth(function: Callable[..., Any], x: Array, dims: Dims, keepdim: bool) -> Array:
    """Returns `np.any` or `np.all` of "not zero"."""
    axes = () if dims == () else reduced_dims(dims, x.ndim)
    return cast_to(function(x != 0, axis=axes, keepdims=keepdim), truth_element(element_of_array(x)))


@aten("any(Tensor self) -> Tensor", core=True)
@aten("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", core=True)
@aten("any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", core=True)
class AnyDimsOp(TruthOp):
    """Whether any element over the given dimensions differs from 0, as bool."""

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False) -> Array:
        return truth(np.any, x, dim, keepdim)


class EveryOp(TruthOp):
    """Whether all elements over the given dimensions differ from 0, as bool."""

    @staticmethod
    def numpy(x: Array, /, dim: Dims = None, keepdim: bool = False) -> Array:
        return truth(np.all, x, dim, keepdim)


def not_any(x: SSAValue, any_zero: OperatorName, *args: Any) -> SSAValue:
    """Returns `all` of `x` as "not any zero", in the type of a truth value over `x`."""
    return to_element(aten.logical_not(any_zero(aten.logical_not(x), *args)), truth_element(element_of(x)))


@aten("all(Tensor self) -> Tensor")
class AllOp(EveryOp):
    """Whether all elements differ from 0, as bool."""

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return not_any(x, aten.any)


@aten("_is_any_true(Tensor self) -> Tensor")
class IsAnyTrueOp(AnyDimsOp):
    """Whether any element of a bool tensor is true."""

    takes = frozenset({i1})

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.any(x)


@aten("_is_all_true(Tensor self) -> Tensor")
class IsAllTrueOp(EveryOp):
    """Whether all elements of a bool tensor are true."""

    takes = frozenset({i1})

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.all(x)


@aten("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")
class AllDimOp(EveryOp):
    """Whether all elements along `dim` differ from 0, as bool."""

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, keepdim: bool) -> SSAValue:
        return not_any(x, aten.any.dim, dim, keepdim)


@aten("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
class AllDimsOp(EveryOp):
    """Whether all elements over the given dimensions differ from 0, as bool."""

    @staticmethod
    def decompose(x: SSAValue, /, dim: Dims, keepdim: bool) -> SSAValue:
        return not_any(x, aten.any.dims, dim, keepdim)


class SpreadAndMeanOp(SchemaOp):
    """A measure of spread and the mean of floats, over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        found = FloatReductionOp.infer(x, dim, keepdim)
        return found, found


@aten("var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
@aten("var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)")
@aten("var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", keep=True)
class VarMeanCorrectionOp(SpreadAndMeanOp):
    """The variance and the mean over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def numpy(
        x: Array, /, dim: Dims = None, correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False
    ) -> tuple[Array, Array]:
        return VarianceOp.numpy(x, dim, correction, unbiased, keepdim), MeanDimOp.numpy(x, dim, keepdim)

    @staticmethod
    def decompose(
        x: SSAValue, /, dim: Dims = (), correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False
    ) -> tuple[SSAValue, SSAValue]:
        return aten.var.correction(x, dim, correction_of(correction, unbiased), keepdim), aten.mean.dim(x, dim, keepdim)


@aten("std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
@aten("std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)")
@aten("std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")
class StdMeanCorrectionOp(SpreadAndMeanOp):
    """The square root of the variance and the mean over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def numpy(
        x: Array, /, dim: Dims = None, correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False
    ) -> tuple[Array, Array]:
        return StdCorrectionOp.numpy(x, dim, correction, unbiased, keepdim), MeanDimOp.numpy(x, dim, keepdim)

    @staticmethod
    def decompose(
        x: SSAValue, /, dim: Dims = (), correction: float | None = None, unbiased: bool | None = None, keepdim: bool = False
    ) -> tuple[SSAValue, SSAValue]:
        return StdCorrectionOp.decompose(x, dim, correction, unbiased, keepdim), aten.mean.dim(x, dim, keepdim)
