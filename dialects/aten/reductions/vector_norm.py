"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.numerics import cast_operands, cast_to, element_of_array, to_float, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.reductions.reduction import Dims, ExtremeOp
from flambeau.dialects.ir.extents import provably_equal
from flambeau.dialects.ir.tensor_types import (
    Tensor,
    broadcast,
    dtype_of,
    element_of,
    normalize_dim,
    promote,
    promote_operands,
    same_shape,
    shape_of,
    tensor,
)
from flambeau.dialects.schema.families import (
    chosen_element,
    float_element,
    promote_values,
    reduced_dims,
    reduced_shape,
    require_category,
    wide_element,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def is_absolute(shape: Sequence[int], axes: Sequence[int], order: float) -> bool:
    """Returns whether a norm is taken over single entries, so that it is the absolute value."""
    return order != 0 and all(provably_equal(shape[axis], 1) for axis in axes)


def norm_type(x: Tensor, order: float | None, dims: Dims, keepdim: bool, dtype: Attribute | None) -> Tensor:
    """Returns the type of a norm over `dims`."""
    if order is not None and (order < 0 or order == math.inf):
        ExtremeOp.infer(x, dims)
    found = tensor(chosen_element(dtype, element_of(x)), reduced_shape(shape_of(x), dims, keepdim))
    require_category("a norm", x, at_least=2)
    if promote(element_of(x), element_of(found)) != element_of(found):
        raise TypeError(f"{dtype_of(element_of(x)).torch} does not fit {dtype_of(element_of(found)).torch}; choose a dtype that holds it")
    return found


def vector_norm(x: Array, order: float, dims: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
    """Returns the norm of an order: (sum |x|**order) ** (1 / order); the number of non-zeros for 0, the extreme of |x| for infinities."""
    x = cast_to(x, chosen_element(dtype, element_of_array(x)))
    size = np.abs(widened(x))
    axes = reduced_dims(dims, x.ndim)
    if is_absolute(x.shape, axes, order):
        found = np.sum(size, axis=axes, keepdims=keepdim)
    elif math.isinf(order):
        found = (np.max if order > 0 else np.min)(size, axis=axes, keepdims=keepdim)
    elif order == 0:
        found = np.sum(size != 0, axis=axes, keepdims=keepdim)
    else:
        found = np.power(np.sum(np.power(size, order), axis=axes, keepdims=keepdim), 1 / order)
    return np.asarray(found).astype(x.dtype)


def vector_norm_of(x: SSAValue, order: float, dims: Dims, keepdim: bool, dtype: Attribute | None) -> SSAValue:
    """Returns the norm as `vector_norm` computes it, built from core operators."""
    element = chosen_element(dtype, element_of(x))
    axes = reduced_dims(dims, len(shape_of(x)))
    x = to_element(x, element)
    if is_absolute(shape_of(x), axes, order):
        return aten.abs(x) if keepdim else aten.squeeze.dims(aten.abs(x), axes)
    if math.isinf(order):
        return (aten.amax if order > 0 else aten.amin)(aten.abs(x), axes, keepdim)
    if order == 0:
        return aten.sum.dim_IntList(aten.ne.Scalar(x, 0), axes, keepdim, element)
    if order == 1:
        return aten.sum.dim_IntList(aten.abs(x), axes, keepdim)
    wide = to_element(x, wide_element(element))
    if order == 2:
        found = aten.sqrt(aten.sum.dim_IntList(aten.mul.Tensor(wide, wide), axes, keepdim))
    else:
        found = aten.pow.Tensor_Scalar(aten.sum.dim_IntList(aten.pow.Tensor_Scalar(aten.abs(wide), order), axes, keepdim), 1 / order)
    return to_element(found, element)


@aten("norm.Scalar(Tensor self, Scalar p=2) -> Tensor")
@aten("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor")
@aten("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor")
@aten("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor")
@aten("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
class LinalgVectorNormOp(SchemaOp):
    """The norm of order `ord` or `p` (by default 2) over the given dimensions, or over all elements if none is given."""

    @staticmethod
    def infer(x: Tensor, order: float | None, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Tensor:
        return norm_type(x, order, dim, keepdim, dtype)

    @staticmethod
    def numpy(x: Array, order: float | None, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> Array:
        return vector_norm(x, 2 if order is None else order, dim, keepdim, dtype)

    @staticmethod
    def decompose(x: SSAValue, order: float | None, /, dim: Dims = None, keepdim: bool = False, dtype: Attribute | None = None) -> SSAValue:
        return vector_norm_of(x, 2 if order is None else order, dim, keepdim, dtype)


def matrix_norm_axes(order: Any, dims: Dims, rank: int) -> tuple[int, int] | None:
    """Returns the axis to add along and the axis to choose an extreme along, for a norm of matrices; None when it is a norm of vectors.

    Raises:
        ValueError: the norm needs singular values, or the order is unknown.
    """
    axes = reduced_dims(dims, rank) if dims is not None else tuple(range(rank))
    if order is None or (len(axes) == 1 and not isinstance(order, str)):
        return None
    if len(axes) != 2:
        raise ValueError(f"a norm of order {order} needs one or two dimensions, got {len(axes)}")
    if order == "fro":
        return None
    if isinstance(order, str) or abs(order) == 2:
        raise ValueError(f"the matrix norm of order {order} needs singular values, which no operator of a program computes")
    rows, columns = (normalize_dim(dim, rank) for dim in (dims if isinstance(dims, Sequence) else (0, 1)))
    if abs(order) == 1:
        return rows, columns
    if math.isinf(order):
        return columns, rows
    raise ValueError(f"{order} is not an order of a matrix norm")


@aten("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
@aten("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
@aten('linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor')
@aten("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
class LinalgNormOp(SchemaOp):
    """The norm of order `ord`: of vectors over one dimension, of matrices over two; by default the square root of the sum of squares.

    The orders for matrices are "fro" (the square root of the sum of squares), 1, -1, inf and -inf.
    """

    @staticmethod
    def infer(x: Tensor, order: Any, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> Tensor:
        axes = matrix_norm_axes(order, dim, len(shape_of(x)))
        if axes is None:
            return norm_type(x, None if order == "fro" else order, dim, keepdim, dtype)
        if order < 0:
            ExtremeOp.infer(x, axes[1])
        return norm_type(x, None, dim, keepdim, dtype)

    @staticmethod
    def numpy(x: Array, order: Any, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
        axes = matrix_norm_axes(order, dim, x.ndim)
        if axes is None:
            return vector_norm(x, 2 if order in (None, "fro") else order, dim, keepdim, dtype)
        totals = vector_norm(x, 1, axes[0], True, dtype)
        wide = widened(totals)
        found = np.max(wide, axes[1], keepdims=True, initial=0) if order > 0 else np.min(wide, axes[1], keepdims=True)
        found = found.astype(totals.dtype)
        return found if keepdim else np.squeeze(found, axis=axes)

    @staticmethod
    def decompose(x: SSAValue, order: Any, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> SSAValue:
        axes = matrix_norm_axes(order, dim, len(shape_of(x)))
        if axes is None:
            return vector_norm_of(x, 2 if order in (None, "fro") else order, dim, keepdim, dtype)
        totals = vector_norm_of(x, 1, axes[0], True, dtype)
        # There is no largest element of none, but a norm of 0, which is the sum.
        choose = aten.sum.dim_IntList if provably_equal(shape_of(totals)[axes[1]], 0) else aten.amax if order > 0 else aten.amin
        found = choose(totals, [axes[1]], True)
        return found if keepdim else aten.squeeze.dims(found, sorted(axes))


@aten("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
class FrobeniusNormDimOp(SchemaOp):
    """The square root of the sum of squares over the given dimensions."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims, keepdim: bool) -> Tensor:
        return norm_type(x, 2, dim, keepdim, None)

    @staticmethod
    def numpy(x: Array, /, dim: Dims, keepdim: bool) -> Array:
        return vector_norm(x, 2, dim, keepdim, None)

    @staticmethod
    def decompose(x: SSAValue, /, dim: Dims, keepdim: bool) -> SSAValue:
        return vector_norm_of(x, 2, dim, keepdim, None)


@aten("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")
class CosineSimilarityOp(SchemaOp):
    """The cosine of the angle between float vectors along `dim`; a norm below eps counts as eps."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, dim: int) -> Tensor:
        require_category("cosine_similarity", a, b, at_least=2)
        return norm_type(tensor(promote_operands(a, b), broadcast(shape_of(a), shape_of(b))), 2, dim, False, None)

    @staticmethod
    def numpy(a: Array, b: Array, /, dim: int, eps: float) -> Array:
        left, right = cast_operands(a, b)
        shape = np.broadcast_shapes(a.shape, b.shape)
        first, second = (np.broadcast_to(widened(x), shape) for x in (left, right))
        norms = [np.maximum(np.sqrt(np.sum(x * x, axis=dim, keepdims=True)), eps) for x in (first, second)]
        return np.sum(first / norms[0] * (second / norms[1]), axis=dim).astype(left.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, dim: int, eps: float) -> SSAValue:
        element = promote_values(a, b)
        shape = broadcast(shape_of(a), shape_of(b))
        units: list[SSAValue] = []
        for x in (a, b):
            wide = to_element(x, wide_element(element))
            wide = wide if same_shape(shape_of(x), shape) else aten.expand(wide, shape)
            units.append(aten.div.Tensor(wide, aten.clamp(vector_norm_of(wide, 2, dim, True, None), eps, None)))
        return to_element(aten.sum.dim_IntList(aten.mul.Tensor(*units), [dim]), element)


@aten("pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor")
class PairwiseDistanceOp(SchemaOp):
    """The norm of order p of x1 - x2 + eps over the last dimension."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, p: float, keepdim: bool) -> Tensor:
        for operand in (a, b):
            require_category("a difference", operand, at_least=1)
        element = float_element(promote_operands(a, b))
        return norm_type(tensor(element, broadcast(shape_of(a), shape_of(b))), p, -1, keepdim, None)

    @staticmethod
    def numpy(a: Array, b: Array, /, p: float, eps: float, keepdim: bool) -> Array:
        left, right = cast_operands(a, b)
        distance = to_float((left - right).astype(left.dtype))
        return vector_norm((distance + np.asarray(eps, distance.dtype)).astype(distance.dtype), p, -1, keepdim, None)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, p: float, eps: float, keepdim: bool) -> SSAValue:
        return vector_norm_of(aten.add.Scalar(aten.sub.Tensor(a, b), eps), p, -1, keepdim, None)
