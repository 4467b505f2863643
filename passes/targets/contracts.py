"""What a kernel takes beyond what its operator's schema says, as data: dtypes, ranks, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.extents import may_exceed
from flambeau.dialects.ir.tensor_types import ElementType, element_of, same_shape, shape_of
from flambeau.dialects.schema.row import SchemaOp


@dataclass(frozen=True)
class Limit:
    """What a kernel takes of one argument, or of every tensor of a call. What is left out is not limited."""

    argument: str = ""
    """Its name in the schema, or `result`; empty for all tensors, operands and results. A fused form need not have it."""
    dtypes: tuple[ElementType, ...] = ()
    rank: tuple[int, int] | None = None
    """The fewest and the most dimensions."""
    least: float | None = None
    """Of a number, or of each number of a list."""
    only: Any = None
    """The one number."""
    length: int | None = None
    """The fewest numbers of a list."""
    tensors: int | None = None
    """How many tensors of a list there are, beside those left out."""
    dtype_of: str = ""
    """Another tensor, whose dtype it has: an argument's name, or `result`."""
    shape_of: str = ""
    """Another tensor, whose shape it has in every run."""

    def why_not(self, op: SchemaOp) -> str | None:
        """What does not fit, with what the kernel takes; None when all does."""
        values = list(_values(op, self.argument))
        count = sum(isinstance(value, SSAValue) for value in values)
        if self.tensors is not None and count != self.tensors:
            return f"argument {self.argument!r} has {count} tensors, and its kernel takes {self.tensors}"
        if (reason := next((reason for value in values if (reason := self._why_not(value)) is not None), None)) is not None:
            return reason
        tensors = [cast("SSAValue", value) for value in values if isinstance(value, SSAValue)]
        return next((reason for value in tensors if (reason := self._why_unlike(op, value)) is not None), None)

    def _why_not(self, value: Any) -> str | None:
        name = f"argument {self.argument!r}" if self.argument not in ("", "result") else self.argument or "a tensor"
        if isinstance(value, SSAValue):
            return self._why_not_tensor(cast("SSAValue", value), name)
        if value is None or isinstance(value, Attribute):
            return None
        numbers: Sequence[float] = cast("tuple[float, ...]", value) if isinstance(value, tuple) else (value,)
        least = self.least
        small = [] if least is None else [number for number in numbers if may_exceed(cast(int, least), cast(int, number))]
        if small:
            return f"{name} has {small[0]}, and its kernel takes numbers from {least} on"
        if self.only is not None and value != self.only:
            return f"{name} is {value}, and its kernel takes {self.only}"
        if self.length is not None and len(numbers) < self.length:
            return f"{name} has {len(numbers)} numbers, and its kernel takes {self.length} or more"
        return None

    def _why_unlike(self, op: SchemaOp, value: SSAValue) -> str | None:
        for other in _values(op, self.dtype_of) if self.dtype_of else ():
            if element_of(value) != element_of(other):
                types = f"{element_of(value)}, and its kernel takes {element_of(other)}"
                return f"argument {self.argument!r} is of {types}, as {self.dtype_of!r} is"
        for other in _values(op, self.shape_of) if self.shape_of else ():
            if not same_shape(shape_of(value), shape_of(other)):
                shapes = f"{list(shape_of(value))}, and its kernel takes {list(shape_of(other))}"
                return f"argument {self.argument!r} has shape {shapes}, as {self.shape_of!r} has"
        return None

    def _why_not_tensor(self, value: SSAValue, name: str) -> str | None:
        if self.dtypes and element_of(value) not in self.dtypes:
            return f"{name} is of {element_of(value)}, and its kernel takes {', '.join(map(str, self.dtypes))}"
        if self.rank is not None and not self.rank[0] <= len(shape_of(value)) <= self.rank[1]:
            return f"{name} has {len(shape_of(value))} dimensions, and its kernel takes {self.rank[0]} to {self.rank[1]}"
        return None


def _values(op: SchemaOp, name: str) -> Iterator[Any]:
    """What an argument of a call is, each item of a list of tensors, or its results; all its tensors without a name."""
    if not name:
        yield from (*op.operands, *op.results)
    elif name == "result":
        yield from op.results
    elif any(argument.name == name for argument in op.schema.arguments):
        value = op.argument(name)
        yield from cast("list[Any]", value) if isinstance(value, list) else (value,)


@dataclass(frozen=True)
class Contract:
    """The limits of a kernel, and what computes the same where they do not hold."""

    kernel: str
    """Its qualified name, `aten::linear.out`."""
    limits: tuple[Limit, ...]
    instead: Callable[..., Any] | None = None
    """The same in terms of other operators, from the arguments in the schema's order, as the row's `decompose`, which it is without one."""


@dataclass(frozen=True)
class Allowance:
    """A kernel that takes element types which the kernels of its target do not take otherwise."""

    kernel: str
    """Its qualified name."""
    elements: frozenset[Attribute]
    limits: tuple[Limit, ...] = ()
    """What it takes of them."""

    def why_not(self, op: SchemaOp) -> str | None:
        """What does not fit in a call with one of the element types; None when all does."""
        elements = (element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType))
        if (element := next((element for element in elements if element in self.elements), None)) is None:
            return None
        reason = next((reason for limit in self.limits if (reason := limit.why_not(op))), None)
        return None if reason is None else f"{reason} where a tensor is of {element}"
