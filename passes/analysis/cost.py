"""What an operator costs: floating-point operations and bytes, counted from types."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.tensor_types import dtype_of, element_of
from flambeau.dialects.schema.row import SchemaOp


def _product(first: str) -> Callable[[SchemaOp], int]:
    """Of a product of matrices: each element of the result is a sum along the last dimension of an argument."""
    return lambda op: 2 * _count(op.results[0]) * upper_bounds(op.argument(first))[-1]


def _convolution(op: SchemaOp) -> int:
    weight = upper_bounds(op.argument("weight"))
    # A weight [out, in / groups, …] is multiplied for each element of the result, one of a transposed convolution for each of the input.
    each = op.argument("input") if op.argument("transposed") else op.results[0]
    return 2 * _count(each) * prod(weight[1:])


def _attention(op: SchemaOp) -> int:
    keys = upper_bounds(op.argument("key"))[-2]
    return 2 * keys * (_count(op.argument("query")) + _count(op.results[0]))


_PRODUCTS: dict[str, Callable[[SchemaOp], int]] = {
    "linear": _product("input"),
    "addmm": _product("mat1"),
    "mm": _product("self"),
    "bmm": _product("self"),
    "convolution": _convolution,
    "scaled_dot_product_attention": _attention,
}
"""The operators that compute more than one operation per element of their largest tensor."""

_LOOKUPS = ("embedding", "gather", "index.Tensor", "index_select")
"""The operators that move the elements which indices name."""


def flops(op: SchemaOp) -> int | None:
    """The floating-point operations of an operator at the greatest sizes, a multiplication and an addition as two.

    One that is no product has one for each element of the largest tensor, and one that only moves elements has none. None where a size has
    no bound.
    """
    try:
        if (count := _PRODUCTS.get(op.schema.name)) is not None:
            return count(op)
        return 0 if op.moves or op.schema.name in _LOOKUPS else max((_count(value) for value in _tensors(op)), default=0)
    except TypeError:
        return None


def traffic(op: SchemaOp) -> int | None:
    """The bytes of the tensors that an operator reads and writes, at their greatest sizes. None where a size has no bound."""
    try:
        return sum(_count(value) * dtype_of(element_of(value)).size for value in _tensors(op))
    except TypeError:
        return None


def _tensors(op: SchemaOp) -> list[SSAValue]:
    return [value for value in dict.fromkeys((*op.operands, *op.results)) if isinstance(value.type, TensorType)]


def _count(value: SSAValue) -> int:
    return prod(upper_bounds(value))
