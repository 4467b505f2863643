"""Reductions: over all elements, over named dimensions, and running ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.numerics import cast_to, element_of_array, widened
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, normalize_dim, shape_of, tensor, ui8
from flambeau.dialects.schema.families import chosen_element, float_element, reduced_dims, reduced_shape, require_category, sum_element
from flambeau.dialects.schema.row import SchemaOp, aten
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
        return SumDimIntListOp(x, [], False, dtype).result


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
        return VarCorrectionOp(x, [], int(unbiased)).result


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
        from flambeau.dialects.aten.math import SqrtOp

        return SqrtOp(VarCorrectionOp(x, dims, correction, keepdim)).result


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

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return reduced(np.max, x, dims, keepdim, element_of_array(x))


@aten("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", core=True)
class AminOp(ExtremeOp):
    """The smallest element over the named dimensions; NaN when there is one."""

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
        return AmaxOp(x).result


@aten("min(Tensor self) -> Tensor", keep=True)
class MinOp(ExtremeOp):
    """The smallest of all elements."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return AminOp.numpy(x, None, False)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return AminOp(x).result


def position(function: Callable[..., Any], x: Array, dim: int | None, keepdim: bool) -> Array:
    """`np.argmax` or `np.argmin` over one dimension, or of all elements in order."""
    if dim is None:
        return np.asarray(function(widened(x))).astype(np.int64).reshape((1,) * x.ndim if keepdim else ())
    if x.ndim == 0:
        return np.zeros((), np.int64)
    return np.asarray(function(widened(x), axis=dim, keepdims=keepdim)).astype(np.int64)


class PositionOp(SchemaOp):
    """The position of an extreme, as int64."""

    @staticmethod
    def infer(x: Tensor, dim: int | None = None, keepdim: bool = False, *_: Any) -> Tensor:
        require_category("argmax or argmin", x, at_least=1)
        return tensor(i64, element_shape(x, dim, keepdim))


def element_shape(x: Tensor, dim: int | None, keepdim: bool) -> tuple[int, ...]:
    """The shape of an extreme over one dimension. Raises ValueError when there is no element."""
    return shape_of(ExtremeOp.infer(x, dim, keepdim))


@aten("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", core=True)
class ArgmaxOp(PositionOp):
    """The position of the largest element along `dim`, or in the flattened tensor; the first NaN when there is one."""

    @staticmethod
    def numpy(x: Array, dim: int | None, keepdim: bool) -> Array:
        return position(np.argmax, x, dim, keepdim)


@aten("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", core=True)
class ArgminOp(PositionOp):
    """The position of the smallest element along `dim`, or in the flattened tensor; the first NaN when there is one."""

    @staticmethod
    def numpy(x: Array, dim: int | None, keepdim: bool) -> Array:
        return position(np.argmin, x, dim, keepdim)


class ExtremeWithPositionOp(SchemaOp):
    """The extreme elements along one dimension and their positions."""

    @staticmethod
    def infer(x: Tensor, dim: int, keepdim: bool = False, *_: Any) -> tuple[Tensor, Tensor]:
        shape = element_shape(x, dim, keepdim)
        return tensor(element_of(x), shape), tensor(i64, shape)


@aten("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", core=True)
class MaxDimOp(ExtremeWithPositionOp):
    """The largest elements along `dim` and their positions."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return AmaxOp.numpy(x, dim, keepdim), position(np.argmax, x, dim, keepdim)


@aten("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", core=True)
class MinDimOp(ExtremeWithPositionOp):
    """The smallest elements along `dim` and their positions."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return AminOp.numpy(x, dim, keepdim), position(np.argmin, x, dim, keepdim)


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
    from flambeau.dialects.aten.creation import to_element
    from flambeau.dialects.aten.logic import LogicalNotOp

    return to_element(LogicalNotOp(any_op(LogicalNotOp(x).result)).result, truth_element(element_of(x)))


@aten("all(Tensor self) -> Tensor")
class AllOp(TruthOp):
    """Whether no element is zero."""

    @staticmethod
    def numpy(x: Array) -> Array:
        return truth(np.all, x, None, False)

    @staticmethod
    def decompose(x: SSAValue) -> SSAValue:
        return not_any(x, lambda zeros: AnyOp(zeros).result)


@aten("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")
class AllDimOp(TruthOp):
    """Whether no element along `dim` is zero."""

    @staticmethod
    def numpy(x: Array, dim: int, keepdim: bool) -> Array:
        return truth(np.all, x, dim, keepdim)

    @staticmethod
    def decompose(x: SSAValue, dim: int, keepdim: bool) -> SSAValue:
        return not_any(x, lambda zeros: AnyDimOp(zeros, dim, keepdim).result)


@aten("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
class AllDimsOp(TruthOp):
    """Whether no element over the named dimensions is zero."""

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        return truth(np.all, x, dims, keepdim)

    @staticmethod
    def decompose(x: SSAValue, dims: Dims, keepdim: bool) -> SSAValue:
        return not_any(x, lambda zeros: AnyDimsOp(zeros, dims, keepdim).result)


@aten("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", core=True)
class CumsumOp(SchemaOp):
    """The sum of the elements up to each one along `dim`."""

    @staticmethod
    def infer(x: Tensor, dim: int, dtype: Attribute | None = None, *_: Any) -> Tensor:
        normalize_dim(dim, len(shape_of(x)))
        return tensor(chosen_element(dtype, sum_element(element_of(x))), shape_of(x))

    @staticmethod
    def numpy(x: Array, dim: int, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, sum_element(element_of_array(x))))
        return np.cumsum(widened(x), axis=dim).astype(x.dtype) if x.ndim else x


@aten("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
class LogsumexpOp(SchemaOp):
    """The logarithm of the sum of exp(x) over the named dimensions, without overflow."""

    @staticmethod
    def infer(x: Tensor, dims: Any, keepdim: bool = False, *_: Any) -> Tensor:
        return FloatReductionOp.infer(tensor(float_element(element_of(x)), shape_of(x)), dims, keepdim)

    @staticmethod
    def numpy(x: Array, dims: Dims, keepdim: bool) -> Array:
        axes = reduced_dims(dims, x.ndim)
        x = cast_to(x, float_element(element_of_array(x)))
        wide = widened(x)
        largest = np.max(wide, axis=axes, keepdims=True)
        largest = np.where(np.isinf(largest), 0, largest).astype(wide.dtype)
        total = np.log(np.sum(np.exp(wide - largest), axis=axes, keepdims=True)) + largest
        return (total if keepdim else np.squeeze(total, axis=axes)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, dims: Sequence[int], keepdim: bool) -> SSAValue:
        from flambeau.dialects.aten.arithmetic import AddTensorOp, SubTensorOp
        from flambeau.dialects.aten.comparison import IsinfOp, MaskedFillScalarOp
        from flambeau.dialects.aten.creation import to_element
        from flambeau.dialects.aten.math import ExpOp, LogOp
        from flambeau.dialects.aten.view import SqueezeDimsOp

        x = to_element(x, float_element(element_of(x)))
        axes = reduced_dims(dims, len(shape_of(x)))
        largest = AmaxOp(x, axes, True)
        largest = MaskedFillScalarOp(largest, IsinfOp(largest), 0)
        total = AddTensorOp(LogOp(SumDimIntListOp(ExpOp(SubTensorOp(x, largest)), axes, True)), largest)
        return total.result if keepdim or not axes else SqueezeDimsOp(total, axes).result
