"""What a kernel takes beyond what its operator's schema says, as data: dtypes, ranks, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import ElementType, element_of, shape_of
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

    def why_not(self, op: SchemaOp) -> str | None:
        """What does not fit, with what the kernel takes; None when all does."""
        return next((reason for value in self._values(op) if (reason := self._why_not(value)) is not None), None)

    def _values(self, op: SchemaOp) -> Iterator[Any]:
        if not self.argument:
            yield from (*op.operands, *op.results)
        elif self.argument == "result":
            yield from op.results
        elif any(argument.name == self.argument for argument in op.schema.arguments):
            yield op.argument(self.argument)

    def _why_not(self, value: Any) -> str | None:
        name = f"argument {self.argument!r}" if self.argument not in ("", "result") else self.argument or "a tensor"
        if isinstance(value, SSAValue):
            return self._why_not_tensor(cast("SSAValue", value), name)
        if value is None or isinstance(value, Attribute):
            return None
        numbers: Sequence[float] = cast("tuple[float, ...]", value) if isinstance(value, tuple) else (value,)
        least = self.least
        small = [] if least is None else [number for number in numbers if exceeds(cast(int, least), cast(int, number))]
        if small:
            return f"{name} has {small[0]}, and its kernel takes numbers from {least} on"
        if self.only is not None and value != self.only:
            return f"{name} is {value}, and its kernel takes {self.only}"
        if self.length is not None and len(numbers) < self.length:
            return f"{name} has {len(numbers)} numbers, and its kernel takes {self.length} or more"
        return None

    def _why_not_tensor(self, value: SSAValue, name: str) -> str | None:
        if self.dtypes and element_of(value) not in self.dtypes:
            return f"{name} is of {element_of(value)}, and its kernel takes {', '.join(map(str, self.dtypes))}"
        if self.rank is not None and not self.rank[0] <= len(shape_of(value)) <= self.rank[1]:
            return f"{name} has {len(shape_of(value))} dimensions, and its kernel takes {self.rank[0]} to {self.rank[1]}"
        return None


@dataclass(frozen=True)
class Contract:
    """The limits of a kernel, and what computes the same where they do not hold."""

    kernel: str
    """Its qualified name, `aten::linear.out`."""
    limits: tuple[Limit, ...]
    instead: Callable[..., Any] | None = None
    """The same in terms of other operators, from the arguments in the schema's order, as the row's `decompose`, which it is without one."""
