"""Reductions: over all elements and over named dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.numerics import cast_to, element_of_array, widened
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, shape_of, tensor, ui8
from flambeau.dialects.schema.families import chosen_element, reduced_dims, reduced_shape, require_category, sum_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Dims: TypeAlias = "Sequence[int] | int | None"


def reduced(function: Callable[..., Any], x: Array, dims: Dims, keepdim: bool, element: Any) -> Array:
    """A numpy reduction of x in the type `element`, computed widened."""
    x = cast_to(x, element)
    return np.asarray(function(widened(x), axis=reduced_dims(dims, x.ndim), keepdims=keepdim)).astype(x.dtype)


def average(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The mean over axes; NaN, without a Python warning, when there is no element."""
    return np.sum(x, axis=axis, keepdims=keepdims) / np.asarray(math.prod(x.shape[a] for a in axis), x.dtype)


class AccumulationOp(SchemaOp):
    """A sum or a product over named dimensions; integers and bools accumulate as int64."""

    @staticmethod
    def infer(x: Tensor, dims: Any = None, keepdim: bool = False, dtype: Attribute | None = None, *_: Any) -> Tensor:
        return tensor(chosen_element(dtype, sum_element(element_of(x))), reduced_shape(shape_of(x), dims, keepdim))


@aten("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class SumDimIntListOp(AccumulationOp):
    """The sum over the named dimensions, or over all when none is named."""

    dim_order = "read"

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
        return reduced(np.sum, x, dims, keepdim, chosen_element(dtype, sum_element(element_of_array(x))))


class TotalOp(SchemaOp):
    """A sum or a product over all elements; integers and bools accumulate as int64."""

    @staticmethod
    def infer(x: Tensor, dtype: Attribute | None = None, *_: Any) -> Tensor:
        return AccumulationOp.infer(x, None, False, dtype)


@aten("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
class SumOp(TotalOp):
    """The sum over all elements."""

    @staticmethod
    def numpy(x: Array, dtype: Attribute | None) -> Array:
        return SumDimIntListOp.numpy(x, None, False, dtype)

    @staticmethod
    def decompose(x: SSAValue, dtype: Attribute | None) -> SSAValue:
        return aten.sum.dim_IntList(x, [], False, dtype)


@aten("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", core=True)
class ProdOp(TotalOp):
    """The product over all elements."""

    @staticmethod
    def numpy(x: Array, dtype: Attribute | None) -> Array:
        return reduced(np.prod, x, None, False, chosen_element(dtype, sum_element(element_of_array(x))))


@aten("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class ProdDimIntOp(AccumulationOp):
    """The product over one dimension."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool, dtype: Attribute | None) -> Array:
        return reduced(np.prod, x, dim, keepdim, chosen_element(dtype, sum_element(element_of_array(x))))


class FloatReductionOp(SchemaOp):
    """A reduction of floats over named dimensions, or over all when none is named."""

    @staticmethod
    def infer(x: Tensor, dims: Any = None, keepdim: bool = False, dtype: Attribute | None = None, *_: Any) -> Tensor:
        result = tensor(chosen_element(dtype, element_of(x)), reduced_shape(shape_of(x), dims, keepdim))
        require_category("this reduction", result, at_least=2)
        return result


@aten("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", core=True)
class MeanDimOp(FloatReductionOp):
    """The mean over the named dimensions, or over all when none is named."""

    dim_order = "read"

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
        return reduced(average, x, dims, keepdim, chosen_element(dtype, element_of_array(x)))


@aten("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", core=True)
class MeanOp(SchemaOp):
    """The mean over all elements."""

    @staticmethod
    def infer(x: Tensor, dtype: Attribute | None = None, *_: Any) -> Tensor:
        return FloatReductionOp.infer(x, None, False, dtype)

    @staticmethod
    def numpy(x: Array, dtype: Attribute | None) -> Array:
        return MeanDimOp.numpy(x, None, False, dtype)


class VarianceOp(SchemaOp):
    """A measure of spread of floats over named dimensions, or over all when none is named."""

    @staticmethod
    def infer(x: Tensor, dims: Any = None, correction: Any = None, keepdim: bool = False, *_: Any) -> Tensor:
        return FloatReductionOp.infer(x, dims, keepdim)


def variance(x: Array, dims: Dims, correction: float, keepdim: bool) -> Array:
    """The sum of squared distances from the mean, over the number of elements less `correction`; widened."""
    axes = reduced_dims(dims, x.ndim)
    wide = widened(x)
    squares = np.square(wide - average(wide, axes, True))
    count = math.prod(x.shape[axis] for axis in axes)
    return np.sum(squares, axis=axes, keepdims=keepdim) / np.asarray(max(0, count - correction), wide.dtype)


@aten("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", core=True)
class VarCorrectionOp(VarianceOp):
    """The variance; the divisor is the number of elements less `correction` (1 when absent)."""

    @staticmethod
    def numpy(x: Array, dims: Dims, correction: float | None, keepdim: bool) -> Array:
        return variance(x, dims, 1 if correction is None else correction, keepdim).astype(x.dtype)


@aten("var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", core=True)
class VarDimOp(VarianceOp):
    """The variance; unbiased divides by one less than the number of elements."""

    @staticmethod
    def numpy(x: Array, dims: Dims, unbiased: bool, keepdim: bool) -> Array:
        return variance(x, dims, int(unbiased), keepdim).astype(x.dtype)


@aten("var(Tensor self, bool unbiased=True) -> Tensor")
class VarOp(SchemaOp):
    """The variance over all elements."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        return FloatReductionOp.infer(x)

    @staticmethod
    def numpy(x: Array, unbiased: bool) -> Array:
        return variance(x, None, int(unbiased), False).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, unbiased: bool) -> SSAValue:
        return aten.var.correction(x, [], int(unbiased))


@aten("std(Tensor self, bool unbiased=True) -> Tensor")
class StdOp(SchemaOp):
    """The square root of the variance over all elements."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> Tensor:
        return FloatReductionOp.infer(x)

    @staticmethod
    def numpy(x: Array, unbiased: bool) -> Array:
        return np.sqrt(variance(x, None, int(unbiased), False)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, unbiased: bool) -> SSAValue:
        return StdCorrectionOp.decompose(x, (), int(unbiased), False)


@aten("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")
class StdCorrectionOp(VarianceOp):
    """The square root of the variance with a correction of the divisor."""

    @staticmethod
    def numpy(x: Array, dims: Dims, correction: float | None, keepdim: bool) -> Array:
        return np.sqrt(variance(x, dims, 1 if correction is None else correction, keepdim)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, correction: float | None, keepdim: bool) -> SSAValue:
        return aten.sqrt(aten.var.correction(x, dims, correction, keepdim))


@aten("std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
class StdDimOp(VarianceOp):
    """The square root of the variance over the named dimensions."""

    @staticmethod
    def numpy(x: Array, dims: Dims, unbiased: bool, keepdim: bool) -> Array:
        return np.sqrt(variance(x, dims, int(unbiased), keepdim)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, unbiased: bool, keepdim: bool) -> SSAValue:
        return StdCorrectionOp.decompose(x, dims, int(unbiased), keepdim)


class ExtremeOp(SchemaOp):
    """The largest or smallest element over named dimensions, or over all when none is named."""

    @staticmethod
    def infer(x: Tensor, dims: Any = (), keepdim: bool = False, *_: Any) -> Tensor:
        shape = shape_of(x)
        if any(shape[axis] == 0 for axis in reduced_dims(dims, len(shape))):
            raise ValueError(f"no elements to choose from in shape {list(shape)}")
        return tensor(element_of(x), reduced_shape(shape, dims, keepdim))


@aten("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", core=True)
class AmaxOp(ExtremeOp):
    """The largest element over the named dimensions; NaN when there is one."""

    dim_order = "read"

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return reduced(np.max, x, dims, keepdim, element_of_array(x))


@aten("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", core=True)
class AminOp(ExtremeOp):
    """The smallest element over the named dimensions; NaN when there is one."""

    dim_order = "read"

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return reduced(np.min, x, dims, keepdim, element_of_array(x))


@aten("max(Tensor self) -> Tensor", keep=True)
class MaxOp(ExtremeOp):
    """The largest of all elements."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return AmaxOp.numpy(x, None, False)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return aten.amax(x)


@aten("min(Tensor self) -> Tensor", keep=True)
class MinOp(ExtremeOp):
    """The smallest of all elements."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return AminOp.numpy(x, None, False)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return aten.amin(x)


def truth_element(element: Attribute) -> ElementType:
    """The type of a truth value over elements of a type: bool, but ui8 for ui8."""
    return ui8 if element == ui8 else i1


class TruthOp(SchemaOp):
    """Whether any or all elements are not zero, over named dimensions or over all when none is named."""

    @staticmethod
    def infer(x: Tensor, dims: Any = None, keepdim: bool = False, *_: Any) -> Tensor:
        return tensor(truth_element(element_of(x)), reduced_shape(shape_of(x), dims, keepdim))


def truth(function: Callable[..., Any], x: Array, dims: Dims, keepdim: bool) -> Array:
    """`np.any` or `np.all` of "not zero"."""
    return cast_to(function(x != 0, axis=reduced_dims(dims, x.ndim), keepdims=keepdim), truth_element(element_of_array(x)))


@aten("any(Tensor self) -> Tensor", core=True)
class AnyOp(TruthOp):
    """Whether an element is not zero."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return truth(np.any, x, None, False)


@aten("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", core=True)
class AnyDimOp(TruthOp):
    """Whether an element along `dim` is not zero."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool) -> Array:
        return truth(np.any, x, dim, keepdim)


@aten("any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", core=True)
class AnyDimsOp(TruthOp):
    """Whether an element over the named dimensions is not zero."""

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return truth(np.any, x, dims, keepdim)


def not_any(x: SSAValue, any_op: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """All, as "not any zero", in the type of a truth value over x."""
    return to_element(aten.logical_not(any_op(aten.logical_not(x))), truth_element(element_of(x)))


@aten("all(Tensor self) -> Tensor")
class AllOp(TruthOp):
    """Whether no element is zero."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return truth(np.all, x, None, False)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return not_any(x, lambda zeros: aten.any(zeros))


@aten("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")
class AllDimOp(TruthOp):
    """Whether no element along `dim` is zero."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool) -> Array:
        return truth(np.all, x, dim, keepdim)

    @staticmethod
    def decompose(x: SSAValue, dim: int, keepdim: bool) -> SSAValue:
        return not_any(x, lambda zeros: aten.any.dim(zeros, dim, keepdim))


@aten("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
class AllDimsOp(TruthOp):
    """Whether no element over the named dimensions is zero."""

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return truth(np.all, x, dims, keepdim)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, keepdim: bool) -> SSAValue:
        return not_any(x, lambda zeros: aten.any.dims(zeros, dims, keepdim))


class SpreadAndMeanOp(SchemaOp):
    """A measure of spread and the mean of floats, over named dimensions or over all when none is named."""

    @staticmethod
    def infer(x: Tensor, dims: Any = None, correction: Any = None, keepdim: bool = False, *_: Any) -> tuple[Tensor, Tensor]:
        found = FloatReductionOp.infer(x, dims, keepdim)
        return found, found


def spread_and_mean(x: Array, dims: Dims, correction: float, keepdim: bool, root: bool) -> tuple[Array, Array]:
    """The variance, or its square root, and the mean."""
    spread = variance(x, dims, correction, keepdim)
    return (np.sqrt(spread) if root else spread).astype(x.dtype), MeanDimOp.numpy(x, dims, keepdim, None)


def spread_and_mean_of(x: SSAValue, dims: Dims, correction: float | None, keepdim: bool, root: bool) -> tuple[SSAValue, SSAValue]:
    """As `spread_and_mean`, in terms of core operators."""
    spread = aten.var.correction(x, dims, correction, keepdim)
    return aten.sqrt(spread) if root else spread, aten.mean.dim(x, dims, keepdim)


@aten("var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", keep=True)
class VarMeanCorrectionOp(SpreadAndMeanOp):
    """The variance, whose divisor is the number of elements less `correction` (1 when absent), and the mean."""

    @staticmethod
    def numpy(x: Array, dims: Dims, correction: float | None, keepdim: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, dims, 1 if correction is None else correction, keepdim, False)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, correction: float | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, dims, correction, keepdim, False)


@aten("var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)")
class VarMeanDimOp(SpreadAndMeanOp):
    """The variance and the mean over the named dimensions."""

    @staticmethod
    def numpy(x: Array, dims: Dims, unbiased: bool, keepdim: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, dims, int(unbiased), keepdim, False)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, unbiased: bool, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, dims, int(unbiased), keepdim, False)


@aten("std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")
class StdMeanCorrectionOp(SpreadAndMeanOp):
    """The square root of the variance, whose divisor is the number of elements less `correction`, and the mean."""

    @staticmethod
    def numpy(x: Array, dims: Dims, correction: float | None, keepdim: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, dims, 1 if correction is None else correction, keepdim, True)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, correction: float | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, dims, correction, keepdim, True)


@aten("std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)")
class StdMeanDimOp(SpreadAndMeanOp):
    """The square root of the variance and the mean over the named dimensions."""

    @staticmethod
    def numpy(x: Array, dims: Dims, unbiased: bool, keepdim: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, dims, int(unbiased), keepdim, True)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, unbiased: bool, keepdim: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, dims, int(unbiased), keepdim, True)


class WholeSpreadAndMeanOp(SchemaOp):
    """A measure of spread and the mean over all elements."""

    @staticmethod
    def infer(x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
        return SpreadAndMeanOp.infer(x)


@aten("var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
class VarMeanOp(WholeSpreadAndMeanOp):
    """The variance and the mean over all elements."""

    @staticmethod
    def numpy(x: Array, unbiased: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, None, int(unbiased), False, False)

    @staticmethod
    def decompose(x: SSAValue, unbiased: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, [], int(unbiased), False, False)


@aten("std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
class StdMeanOp(WholeSpreadAndMeanOp):
    """The square root of the variance and the mean over all elements."""

    @staticmethod
    def numpy(x: Array, unbiased: bool) -> tuple[Array, Array]:
        return spread_and_mean(x, None, int(unbiased), False, True)

    @staticmethod
    def decompose(x: SSAValue, unbiased: bool) -> tuple[SSAValue, SSAValue]:
        return spread_and_mean_of(x, [], int(unbiased), False, True)
