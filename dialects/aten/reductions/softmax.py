"""Softmax and its logarithm, and the logarithm of a sum of exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.reductions.reduction import Dims, FloatReductionOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, normalize_dim, shape_of, tensor
from flambeau.dialects.schema import value_ranges
from flambeau.dialects.schema.families import chosen_element, float_element, reduced_dims, reduced_shape, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def shifted(x: Array, dim: int) -> Array:
    """Gives x less its largest value along `dim`, widened."""
    wide = widened(x)
    return wide - np.max(wide, axis=dim if x.ndim else None, keepdims=True, initial=-np.inf)


def normalized(x: Array, dim: int) -> Array:
    """Gives exp(x) over its sum along `dim`."""
    powers = np.exp(shifted(x, dim))
    return (powers / np.sum(powers, axis=dim if x.ndim else None, keepdims=True)).astype(x.dtype)


def log_normalized(x: Array, dim: int) -> Array:
    """Gives x less the logarithm of the sum of exp(x) along `dim`."""
    distance = shifted(x, dim)
    return (distance - np.log(np.sum(np.exp(distance), axis=dim if x.ndim else None, keepdims=True))).astype(x.dtype)


class NormalizingOp(SchemaOp):
    """Normalisations of floats along one dimension."""

    inplace = (0,)  # a line is read as a whole before it is written

    @staticmethod
    def infer(x: Tensor, /, dim: int, half_to_float: bool = False) -> Tensor:
        require_category("softmax", x, at_least=2)
        normalize_dim(dim, len(shape_of(x)))
        if half_to_float and element_of(x) != f16:
            raise TypeError(f"half_to_float needs an f16 tensor, got {element_of(x)}")
        return tensor(f32 if half_to_float else element_of(x), shape_of(x))


@aten("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", core=True)
class SoftmaxOp(NormalizingOp):
    """exp(x) divided by its sum along `dim`."""

    bounds = staticmethod(value_ranges.between(0, 1))

    @staticmethod
    def numpy(x: Array, /, dim: int, half_to_float: bool) -> Array:
        return normalized(widened(x) if half_to_float else x, dim)


@aten("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", core=True)
class LogSoftmaxOp(NormalizingOp):
    """The logarithm of the softmax along `dim`."""

    @staticmethod
    def numpy(x: Array, /, dim: int, half_to_float: bool) -> Array:
        return log_normalized(widened(x) if half_to_float else x, dim)


class CastNormalizingOp(SchemaOp):
    """Normalisations along one dimension, after the operand is converted to the type `dtype` if given."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, dtype: Attribute | None) -> Tensor:
        return NormalizingOp.infer(tensor(chosen_element(dtype, element_of(x)), shape_of(x)), dim)


@aten("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
class SoftmaxIntOp(CastNormalizingOp):
    """exp(x) divided by its sum along `dim`, for x converted to `dtype`."""

    bounds = staticmethod(value_ranges.between(0, 1))

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        return normalized(cast_to(x, chosen_element(dtype, element_of_array(x))), dim)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, dtype: Attribute | None) -> SSAValue:
        return aten._softmax(to_element(x, chosen_element(dtype, element_of(x))), dim, False)


@aten("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
class LogSoftmaxIntOp(CastNormalizingOp):
    """The logarithm of the softmax along `dim`, for x converted to `dtype`."""

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        return log_normalized(cast_to(x, chosen_element(dtype, element_of_array(x))), dim)

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, dtype: Attribute | None) -> SSAValue:
        return aten._log_softmax(to_element(x, chosen_element(dtype, element_of(x))), dim, False)


@aten("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
class SafeSoftmaxOp(CastNormalizingOp):
    """The softmax along `dim`; 0 where all elements along `dim` are -inf."""

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, element_of_array(x)))
        masked = np.all(x == -np.inf, axis=dim if x.ndim else None, keepdims=True)
        return np.where(masked, np.zeros((), x.dtype), normalized(x, dim))

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, dtype: Attribute | None) -> SSAValue:
        x = to_element(x, chosen_element(dtype, element_of(x)))
        open_rows = aten.any.dim(aten.logical_not(aten.eq.Scalar(x, float("-inf"))), dim, True)
        return aten.masked_fill.Scalar(aten._softmax(x, dim, False), aten.logical_not(open_rows), 0)


@aten("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
class LogsumexpOp(SchemaOp):
    """The logarithm of the sum of exp(x) over the given dimensions, without overflow."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims, keepdim: bool) -> Tensor:
        return FloatReductionOp.infer(tensor(float_element(element_of(x)), shape_of(x)), dim, keepdim)

    @staticmethod
    def numpy(x: Array, /, dim: Dims, keepdim: bool) -> Array:
        axes = reduced_dims(dim, x.ndim)
        x = cast_to(x, float_element(element_of_array(x)))
        wide = widened(x)
        largest = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
        largest = np.where(np.isinf(largest), 0, largest).astype(wide.dtype)
        total = np.log(np.sum(np.exp(wide - largest), axis=axes, keepdims=True)) + largest
        return (total if keepdim else np.squeeze(total, axis=axes)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: Sequence[int], keepdim: bool) -> SSAValue:
        x = to_element(x, float_element(element_of(x)))
        axes = reduced_dims(dim, len(shape_of(x)))
        if is_empty([shape_of(x)[axis] for axis in axes]):
            return aten.full(reduced_shape(shape_of(x), axes, keepdim), -math.inf, element_of(x))
        largest = aten.amax(x, axes, True)
        largest = aten.masked_fill.Scalar(largest, aten.isinf(largest), 0)
        total = aten.add.Tensor(aten.log(aten.sum.dim_IntList(aten.exp(aten.sub.Tensor(x, largest)), axes, True)), largest)
        return total if keepdim or not axes else aten.squeeze.dims(total, axes)


def log_softmax_in_steps(x: SSAValue, dim: int, half_to_float: bool) -> SSAValue:
    """Returns `_log_softmax` as a difference, an exponential, a sum and a logarithm."""
    if is_empty(shape_of(x)):
        return x
    shifted = aten.sub.Tensor(x, aten.amax(x, (dim,), True))
    return aten.sub.Tensor(shifted, aten.log(aten.sum.dim_IntList(aten.exp(shifted), (dim,), True)))
