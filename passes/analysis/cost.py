"""The cost of an operator: floating-point operations and bytes, counted from types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeAlias, runtime_checkable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.tensor_types import dtype_of, element_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import Schema


@dataclass(frozen=True)
class KernelCall:
    """The call of a kernel as the operator that it computes.

    Attributes:
        schema: the schema of the operator.
        moves: whether the operator only moves elements.
        looks_up: whether the operator moves the elements of its first operand that the other operands name.
        operands: the tensors that the call reads.
        results: the tensors that the call computes.
        arguments: the arguments by their names in the schema: SSA values and Python values.
    """

    schema: Schema
    moves: bool
    looks_up: bool
    operands: Sequence[SSAValue]
    results: Sequence[SSAValue]
    arguments: Mapping[str, Any]

    def argument(self, name: str) -> Any:
        """Returns the argument with a name of the schema."""
        return self.arguments[name]


Computation: TypeAlias = SchemaOp | KernelCall


@runtime_checkable
class CountsFlops(Protocol):
    """An operator, such as one of a backend, that counts its own floating-point operations."""

    def flops(self) -> int:
        """Returns the number of floating-point operations at the greatest sizes. Raises TypeError if a size has no bound."""
        ...


def _product(first: str) -> Callable[[Computation], int]:
    """Returns a function that counts the operations of a matrix product, which sums along the last dimension of the argument `first`."""
    return lambda op: 2 * _count(op.results[0]) * upper_bounds(op.argument(first))[-1]


def _convolution(op: Computation) -> int:
    weight = upper_bounds(op.argument("weight"))
    # The products of a weight [out, in / groups, …] are per element of the result; of a transposed convolution, per element of the input.
    each = op.argument("input") if op.argument("transposed") else op.results[0]
    return 2 * _count(each) * prod(weight[1:])


def _packed_convolution(op: Computation) -> int:
    window = prod(op.argument("kernel_size")) * upper_bounds(op.argument("input"))[1] // op.argument("groups")
    return 2 * _count(op.results[0]) * window


def _attention(keys: str) -> Callable[[Computation], int]:
    """Returns a function that counts the operations of attention: the products with the argument `keys` and with as many values."""
    return lambda op: 2 * upper_bounds(op.argument(keys))[-2] * (_count(op.argument("query")) + _count(op.results[0]))


_PRODUCTS: dict[str, Callable[[Computation], int]] = {
    "aten::linear": _product("input"),
    "aten::addmm": _product("mat1"),
    "aten::mm": _product("self"),
    "aten::bmm": _product("self"),
    "aten::convolution": _convolution,
    "aten::scaled_dot_product_attention": _attention("key"),
    "flambeau::scaled_dot_product_attention": _attention("key"),
    "flambeau::cached_attention": _attention("key_cache"),
    "flambeau::linear": _product("input"),
    "flambeau::weight_only_linear": _product("input"),
    "flambeau::quantized_linear": _product("input"),
    "flambeau::dynamic_quantized_linear": _product("input"),
    "flambeau::lstm_step": lambda op: 2 * _count(op.argument("projected")) * upper_bounds(op.argument("hidden"))[-1],
    "flambeau::conv2d": _packed_convolution,
    "flambeau::quantized_conv2d": _packed_convolution,
}
"""The operators that compute more than one operation per element of their largest tensor."""


def flops(op: Computation) -> int | None:
    """Returns the number of floating-point operations of an operator at the greatest sizes; None if a size has no bound.

    In a product, each multiplication and each addition counts. A `CountsFlops` counts its own operations. An operator that only moves
    elements counts as 0, and any other operator as one operation per element of its largest tensor.
    """
    try:
        if (count := _PRODUCTS.get(op.schema.qualified_name)) is not None:
            return count(op)
        if isinstance(op, CountsFlops):
            return op.flops()
        return 0 if _only_moves(op) else max((_count(value) for value in _tensors(op)), default=0)
    except TypeError:
        return None


def traffic(op: Computation) -> int | None:
    """Returns the number of bytes that an operator reads and writes, at the greatest sizes; None if a size has no bound."""
    try:
        return sum(map(_size, _tensors(op))) - untouched(op)
    except TypeError:
        return None


def untouched(op: Computation) -> int:
    """Returns the number of bytes of its first tensor that an operator does not read.

    An operator that only moves elements reads only the elements of its result. Other operators read all of the tensor. Raises TypeError
    if a size has no bound.
    """
    tensors = _tensors(op)
    if not _only_moves(op) or not op.results or tensors[0] in op.results:
        return 0
    return max(0, _size(tensors[0]) - _size(op.results[0]))


def _only_moves(op: Computation) -> bool:
    # A reduction, which may keep dimensions, looks at the elements that it does not give.
    return (op.moves and all(argument.name != "keepdim" for argument in op.schema.arguments)) or op.looks_up


def _size(value: SSAValue) -> int:
    return _count(value) * dtype_of(element_of(value)).size


def _tensors(op: Computation) -> list[SSAValue]:
    return [value for value in dict.fromkeys((*op.operands, *op.results)) if isinstance(value.type, TensorType)]


def _count(value: SSAValue) -> int:
    return prod(upper_bounds(value))
