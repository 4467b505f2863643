"""The base classes of the families of operators, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

coreml = Namespace("coreml")

Numbers = tuple[int, ...]

MOST_DIMENSIONS = 5
"""The most dimensions of a tensor of MIL."""


class MilOp(SchemaOp):
    """An operator of MIL."""

    takes: ClassVar[frozenset[Attribute] | None] = frozenset((f16, f32))
    since: ClassVar[int] = 15
    """The first iOS whose set of operators has it in this form."""
    newer: ClassVar[Mapping[str, int]] = {}
    """Of arguments that are not in older sets of operators, the first iOS that has them. They have their defaults."""
    wide: ClassVar[tuple[str, ...]] = ()
    """The numbers among its arguments that are of float32, whatever its tensors are."""


class UnaryMilOp(MilOp):
    """A function of each element of a tensor."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return like(x, shape_of(x))


class BinaryMilOp(MilOp):
    """A function of the elements of two tensors, which are broadcast to one shape."""

    @staticmethod
    def infer(x: Tensor, y: Tensor, /) -> Tensor:
        require_like(x, y)
        return like(x, broadcast(shape_of(x), shape_of(y)))


def like(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns the type of a tensor with the elements of another. Raises ValueError for more dimensions than MIL has."""
    if len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"{list(shape)} has {len(shape)} dimensions, and MIL has {MOST_DIMENSIONS}")
    return tensor(element_of(x), shape)


def require_like(x: Tensor, *others: Tensor | None) -> None:
    """Raises TypeError unless all tensors have the elements of the first."""
    for other in others:
        if other is not None and element_of(other) != element_of(x):
            raise TypeError(f"its tensors are of {element_of(x)}, not of {element_of(other)}")


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of arrays that computes those of float16 in float32, and rounds its results to float16."""

    @wraps(function)
    def compute(*arguments: Any) -> Any:
        if not any(map(_is_half, arguments)):
            return function(*arguments)
        return _of_each(function(*map(_wide, arguments)), lambda array: array.astype(np.float16) if array.dtype == np.float32 else array)

    return compute


def _is_half(argument: Any) -> bool:
    if isinstance(argument, list):
        return any(map(_is_half, cast("list[Any]", argument)))
    return getattr(argument, "dtype", None) == np.float16


def _wide(argument: Any) -> Any:
    return _of_each(argument, lambda array: array.astype(np.float32) if _is_half(array) else array)


def _of_each(value: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(value, list):
        return [_of_each(item, change) for item in cast("list[Any]", value)]
    return change(value) if hasattr(value, "dtype") else value
