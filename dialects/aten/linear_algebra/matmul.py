"""Matrix products."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import BilinearOp
from flambeau.dialects.aten.elementwise.arithmetic import MulTensorOp
from flambeau.dialects.aten.library.numerics import cast_operands, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.movement.permute import permute
from flambeau.dialects.aten.movement.shape import expand, expanded_shape, view
from flambeau.dialects.ir.extents import differ, either, provably_equal
from flambeau.dialects.ir.tensor_types import (
    ElementType,
    Tensor,
    broadcast,
    dtype_of,
    element_of,
    normalize_dim,
    promote,
    promote_operands,
    shape_of,
    tensor,
)
from flambeau.dialects.schema.families import NUMBERS, in_element, promote_values, require_category, require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def common_element(*operands: Tensor) -> ElementType:
    """Returns the element type of all operands. Raises TypeError when they differ: matrix products do not promote."""
    require_same_element(*operands)
    return element_of(operands[0])


def require_rank(x: Tensor, rank: int, name: str) -> tuple[int, ...]:
    """Returns the shape. Raises ValueError when it has another rank."""
    shape = shape_of(x)
    if len(shape) != rank:
        raise ValueError(f"{name} must have {rank} dimensions, got shape {list(shape)}")
    return shape


def require_inner(a: Sequence[int], b: Sequence[int], left: int, right: int) -> None:
    """Raises ValueError when the inner dimensions `left` and `right` differ."""
    if differ(left, right):
        raise ValueError(f"shapes {list(a)} and {list(b)} do not multiply: {left} columns, {right} rows")


def scaled(x: SSAValue, factor: float) -> SSAValue:
    """Returns `factor * x`, built detached; `x` itself for 1."""
    factor = in_element(factor, element_of(x))
    return x if factor == 1 else aten.mul.Scalar(x, factor)


def multiply(a: Array, b: Array, /) -> Array:
    """Returns the matrix product in the operands' type; half types accumulate in float32."""
    return np.matmul(widened(a), widened(b)).astype(a.dtype, copy=False)


def add_scaled(x: Array, products: Array, beta: float, alpha: float, dtype: np.dtype[np.generic]) -> Array:
    """Returns the value of beta * x + alpha * products in `dtype`; beta = 0 ignores even NaN."""
    total = products if alpha == 1 else products * products.dtype.type(alpha)
    if beta != 0:
        total = total + (x if beta == 1 else x * x.dtype.type(beta))
    return total.astype(dtype, copy=False)


def add_products(x: SSAValue, products: SSAValue, beta: float, alpha: float) -> SSAValue:
    """Returns the value beta * x + alpha * products, built detached."""
    total = scaled(products, alpha)
    return total if beta == 0 else aten.add.Tensor(scaled(x, beta), total)


@aten("mm(Tensor self, Tensor mat2) -> Tensor", core=True)
class MmOp(BilinearOp):
    """The product of two matrices."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = require_rank(a, 2, "self"), require_rank(b, 2, "mat2")
        require_inner(left, right, left[1], right[0])
        return tensor(common_element(a, b), (left[0], right[1]))

    numpy = staticmethod(multiply)


@aten("bmm(Tensor self, Tensor mat2) -> Tensor", core=True)
class BmmOp(BilinearOp):
    """The products of two batches of matrices."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = require_rank(a, 3, "self"), require_rank(b, 3, "mat2")
        if differ(left[0], right[0]):
            raise ValueError(f"batches {left[0]} and {right[0]} differ")
        require_inner(left, right, left[2], right[1])
        return tensor(common_element(a, b), (either(left[0], right[0]), left[1], right[2]))

    numpy = staticmethod(multiply)


class AddedProductOp(SchemaOp):
    """beta * self + alpha * a product of the other operands; self broadcasts."""

    product: ClassVar[type[SchemaOp]]
    """The row of the product."""

    def whole(self) -> bool:
        """Returns whether PyTorch takes `beta` and `alpha` as they are. If it makes an integer of a float, the operator is decomposed."""
        element = element_of(self.result)
        found = [(factor, in_element(factor, element)) for factor in (self.argument(name) for name in ("beta", "alpha"))]
        return all(taken == factor and isinstance(factor, float) == isinstance(taken, float) for factor, taken in found)

    @classmethod
    def infer(cls, x: Tensor, a: Tensor, b: Tensor, /, beta: float = 1, alpha: float = 1) -> Tensor:
        shape = shape_of(cls.product.infer(a, b))
        expanded_shape(shape_of(x), shape)
        element = common_element(x, a, b)
        for factor in (beta, alpha):
            in_element(factor, element)
        return tensor(element, shape)

    @staticmethod
    def numpy(x: Array, a: Array, b: Array, /, beta: float, alpha: float) -> Array:
        return add_scaled(widened(x), np.matmul(widened(a), widened(b)), beta, alpha, x.dtype)


@aten("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", core=True)
class AddmmOp(AddedProductOp):
    """beta * self + alpha * (mat1 @ mat2); self broadcasts."""

    takes = NUMBERS
    product = MmOp

    @staticmethod
    def decompose(x: SSAValue, a: SSAValue, b: SSAValue, /, beta: float, alpha: float) -> SSAValue:
        return add_products(x, aten.mm(a, b), beta, alpha)


@aten("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
class BaddbmmOp(AddedProductOp):
    """beta * self + alpha * bmm(batch1, batch2); self broadcasts."""

    takes = NUMBERS
    product = BmmOp

    @staticmethod
    def decompose(x: SSAValue, a: SSAValue, b: SSAValue, /, beta: float, alpha: float) -> SSAValue:
        return add_products(x, aten.bmm(a, b), beta, alpha)


@aten("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
class AddbmmOp(SchemaOp):
    """beta * self + alpha * the sum of bmm(batch1, batch2) over the batch; self broadcasts."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, a: Tensor, b: Tensor, /, beta: float = 1, alpha: float = 1) -> Tensor:
        shape = shape_of(BmmOp.infer(a, b))[1:]
        expanded_shape(shape_of(x), shape)
        element = common_element(x, a, b)
        for factor in (beta, alpha):
            in_element(factor, element)
        return tensor(element, shape)

    @staticmethod
    def numpy(x: Array, a: Array, b: Array, /, beta: float, alpha: float) -> Array:
        return add_scaled(widened(x), np.matmul(widened(a), widened(b)).sum(axis=0), beta, alpha, x.dtype)

    @staticmethod
    def decompose(x: SSAValue, a: SSAValue, b: SSAValue, /, beta: float, alpha: float) -> SSAValue:
        # The batch joins the inner dimension: one product adds everything up.
        batch, rows, inner = shape_of(a)
        left = view(permute(a, (1, 0, 2)), (rows, math.prod((batch, inner))))
        right = view(b, (math.prod((batch, inner)), shape_of(b)[2]))
        return aten.addmm(x, left, right, beta, alpha)


def matmul_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape of a `matmul` of operands of these shapes. Raises ValueError."""
    if not a or not b:
        raise ValueError(f"shapes {list(a)} and {list(b)} must have at least one dimension each")
    require_inner(a, b, a[-1], b[-2] if len(b) > 1 else b[0])
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    return (*broadcast(a[:-2], b[:-2]), *rows, *columns)


def batched_product(a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns `matmul` of operands with at least two dimensions each, as mm or bmm, built detached."""
    left, right = shape_of(a), shape_of(b)
    if len(left) == len(right) == 2:
        return aten.mm(a, b)
    result = matmul_shape(left, right)
    if all(provably_equal(extent, 1) for extent in right[:-2]) and len(right) <= len(left):
        # One matrix on the right: the batch joins the rows.
        flat = aten.mm(view(a, (math.prod(left[:-1]), left[-1])), view(b, right[-2:]))
        return view(flat, result)
    batch = result[:-2]
    count = math.prod(batch)
    flat_left = view(expand(a, (*batch, *left[-2:])), (count, *left[-2:]))
    flat_right = view(expand(b, (*batch, *right[-2:])), (count, *right[-2:]))
    return view(aten.bmm(flat_left, flat_right), result)


@aten("matmul(Tensor self, Tensor other) -> Tensor")
class MatmulOp(SchemaOp):
    """The matrix product as in numpy: a vector is a row or a column, and leading dimensions are batches that broadcast."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        return tensor(common_element(a, b), matmul_shape(shape_of(a), shape_of(b)))

    numpy = staticmethod(multiply)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        left, right = shape_of(a), shape_of(b)
        if len(left) == 1:
            a = view(a, (1, *left))
        if len(right) == 1:
            b = view(b, (*right, 1))
        return view(batched_product(a, b), matmul_shape(left, right))


@aten("mv(Tensor self, Tensor vec) -> Tensor")
class MvOp(SchemaOp):
    """The product of a matrix and a vector."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = require_rank(a, 2, "self"), require_rank(b, 1, "vec")
        return tensor(common_element(a, b), matmul_shape(left, right))

    numpy = staticmethod(multiply)

    decompose = staticmethod(MatmulOp.decompose)


@aten("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
class AddmvOp(AddedProductOp):
    """beta * self + alpha * (mat @ vec); self broadcasts."""

    takes = NUMBERS
    product = MvOp

    @staticmethod
    def decompose(x: SSAValue, a: SSAValue, b: SSAValue, /, beta: float, alpha: float) -> SSAValue:
        return add_products(x, MatmulOp.decompose(a, b), beta, alpha)


@aten("ger(Tensor self, Tensor vec2) -> Tensor")
@aten("outer(Tensor self, Tensor vec2) -> Tensor")
class OuterOp(SchemaOp):
    """The products of each element of one vector with each element of another vector."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = require_rank(a, 1, "self"), require_rank(b, 1, "vec2")
        return tensor(promote_operands(a, b), (*left, *right))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return MulTensorOp.numpy(a[:, None], b)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.mul.Tensor(aten.unsqueeze(a, 1), b)


@aten("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
class AddrOp(AddedProductOp):
    """beta * self + alpha * outer(vec1, vec2); self broadcasts."""

    product = OuterOp

    @classmethod
    def infer(cls, x: Tensor, a: Tensor, b: Tensor, /, beta: float = 1, alpha: float = 1) -> Tensor:
        shape = shape_of(OuterOp.infer(a, b))
        expanded_shape(shape_of(x), shape)
        element = promote_operands(x, a, b)
        for factor in (beta, alpha):
            if (isinstance(factor, float) and dtype_of(element).category < 2) or (isinstance(factor, bool) and element != i1):
                raise TypeError(f"{factor} does not scale {dtype_of(element).torch} tensors")
        return tensor(element, shape)

    @staticmethod
    def numpy(x: Array, a: Array, b: Array, /, beta: float, alpha: float) -> Array:
        x, a, b = cast_operands(x, a, b)
        return add_scaled(widened(x), widened(a)[:, None] * widened(b), beta, alpha, x.dtype)

    @staticmethod
    def decompose(x: SSAValue, a: SSAValue, b: SSAValue, /, beta: float, alpha: float) -> SSAValue:
        element = promote_values(x, a, b)
        x, a, b = (to_element(operand, element) for operand in (x, a, b))
        return add_products(x, OuterOp.decompose(a, b), beta, alpha)


@aten("inner(Tensor self, Tensor other) -> Tensor")
class InnerOp(SchemaOp):
    """The sums of products over the last dimensions; a 0-d operand scales the other operand."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        if not left or not right:
            return MulTensorOp.infer(a, b)
        require_category("a product of vectors", a, at_least=1)
        require_inner(left, right, left[-1], right[-1])
        return tensor(common_element(a, b), (*left[:-1], *right[:-1]))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        if not a.ndim or not b.ndim:
            return MulTensorOp.numpy(a, b)
        return np.asarray(np.tensordot(widened(a), widened(b), axes=(-1, -1)).astype(a.dtype))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        left, right = shape_of(a), shape_of(b)
        if not left or not right:
            return aten.mul.Tensor(a, b)
        return TensordotOp.decompose(a, b, (len(left) - 1,), (len(right) - 1,))


@aten("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
class TensordotOp(SchemaOp):
    """The sums of products over pairs of dimensions."""

    takes = NUMBERS

    @staticmethod
    def orders(a: Sequence[int], b: Sequence[int], dims_self: Sequence[int], dims_other: Sequence[int]) -> tuple[list[int], list[int], int]:
        """Returns the order of each operand that brings the summed dimensions together, and their number. Raises ValueError."""
        left = [normalize_dim(dim, len(a)) for dim in dims_self]
        right = [normalize_dim(dim, len(b)) for dim in dims_other]
        if len(left) != len(right):
            raise ValueError(f"dims {list(dims_self)} and {list(dims_other)} must be as many")
        for first, second in zip(left, right, strict=True):
            broadcast(a[first : first + 1], b[second : second + 1])
        kept_left = [dim for dim in range(len(a)) if dim not in left]
        kept_right = [dim for dim in range(len(b)) if dim not in right]
        return [*kept_left, *left], [*right, *kept_right], len(left)

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, dims_self: tuple[int, ...], dims_other: tuple[int, ...]) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        first, second, count = TensordotOp.orders(left, right, dims_self, dims_other)
        kept = [left[dim] for dim in first[: len(first) - count]] + [right[dim] for dim in second[count:]]
        return tensor(common_element(a, b), kept)

    @staticmethod
    def spread_out(a: Sequence[int], b: Sequence[int], dims_self: Sequence[int], dims_other: Sequence[int]) -> list[int]:
        """Returns the dimensions of the first operand that meet a single entry of the second, and so are summed before the product."""
        return [
            first
            for first, second in zip(dims_self, dims_other, strict=True)
            if provably_equal(b[second], 1) and not provably_equal(a[first], 1)
        ]

    @staticmethod
    def numpy(a: Array, b: Array, /, dims_self: tuple[int, ...], dims_other: tuple[int, ...]) -> Array:
        of_a = tuple(TensordotOp.spread_out(a.shape, b.shape, dims_self, dims_other))
        of_b = tuple(TensordotOp.spread_out(b.shape, a.shape, dims_other, dims_self))
        a, b = (np.sum(widened(x), dims, widened(x).dtype, keepdims=True).astype(x.dtype) for x, dims in ((a, of_a), (b, of_b)))
        return np.asarray(np.tensordot(widened(a), widened(b), axes=(dims_self, dims_other)).astype(a.dtype))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, dims_self: tuple[int, ...], dims_other: tuple[int, ...]) -> SSAValue:
        left, right = shape_of(a), shape_of(b)
        of_a = TensordotOp.spread_out(left, right, dims_self, dims_other)
        of_b = TensordotOp.spread_out(right, left, dims_other, dims_self)
        a, b = (aten.sum.dim_IntList(x, dims, True, element_of(x)) if dims else x for x, dims in ((a, of_a), (b, of_b)))
        left, right = shape_of(a), shape_of(b)
        first, second, count = TensordotOp.orders(left, right, dims_self, dims_other)
        rows = [left[dim] for dim in first[: len(first) - count]]
        inner = [right[dim] for dim in second[:count]]
        columns = [right[dim] for dim in second[count:]]
        flat_left = view(permute(a, first), (math.prod(rows), math.prod(inner)))
        flat_right = view(permute(b, second), (math.prod(inner), math.prod(columns)))
        return view(aten.mm(flat_left, flat_right), (*rows, *columns))


@aten("chain_matmul(Tensor[] matrices) -> Tensor")
class ChainMatmulOp(SchemaOp):
    """The product of matrices."""

    takes = NUMBERS

    @staticmethod
    def infer(matrices: list[Tensor]) -> Tensor:
        if not matrices:
            raise ValueError("needs at least one matrix")
        require_rank(matrices[0], 2, "a matrix")
        result = matrices[0]
        for other in matrices[1:]:
            result = MmOp.infer(result, other)
        return result

    @staticmethod
    def numpy(matrices: list[Array]) -> Array:
        result = matrices[0]
        for other in matrices[1:]:
            result = multiply(result, other)
        return result

    @staticmethod
    def decompose(matrices: list[SSAValue]) -> SSAValue:
        result = matrices[0]
        for other in matrices[1:]:
            result = aten.mm(result, other)
        return result


@aten("linalg_multi_dot(Tensor[] tensors) -> Tensor")
class LinalgMultiDotOp(SchemaOp):
    """The product of matrices, of which the first and the last may be vectors."""

    takes = NUMBERS

    @staticmethod
    def infer(tensors: list[Tensor]) -> Tensor:
        if len(tensors) < 2 or any(len(shape_of(x)) != 2 for x in tensors[1:-1]):
            raise ValueError("needs at least two tensors, matrices between the first and the last")
        return functools.reduce(MatmulOp.infer, tensors)

    @staticmethod
    def numpy(tensors: list[Array]) -> Array:
        return np.asarray(functools.reduce(multiply, tensors))

    @staticmethod
    def decompose(tensors: list[SSAValue]) -> SSAValue:
        return functools.reduce(MatmulOp.decompose, tensors)


@aten("kron(Tensor self, Tensor other) -> Tensor")
class KronOp(SchemaOp):
    """The Kronecker product: each element of `self` is replaced by that element times the whole of `other`."""

    @staticmethod
    def places(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Returns the shapes under which the operands multiply, and the shape of the result."""
        rank = max(len(a), len(b))
        left, right = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
        return (
            [extent for pair in left for extent in (pair, 1)],
            [extent for pair in right for extent in (1, pair)],
            [x * y for x, y in zip(left, right, strict=True)],
        )

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        return tensor(promote(element_of(a), element_of(b)), KronOp.places(shape_of(a), shape_of(b))[2])

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        left, right, result = KronOp.places(a.shape, b.shape)
        return MulTensorOp.numpy(*cast_operands(a.reshape(left), b.reshape(right))).reshape(result)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        left, right, result = KronOp.places(shape_of(a), shape_of(b))
        return view(aten.mul.Tensor(view(a, left), view(b, right)), result)
