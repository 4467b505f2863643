"""The kernels and element types that programs need of the C runtime, for a build that has nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flambeau.passes.delegation.interface import find_identifier
from flambeau.runtime import pte
from flambeau.runtime.manifest import kernel_names
from flambeau.runtime.scalar_types import BY_NAME, BY_NUMBER, SCALAR_TYPES
from flambeau.support.one_line import OneLineError

Layout = tuple[int, ...]
"""The dimensions of a tensor from the outermost to the innermost in memory."""


class SelectionError(OneLineError):
    """A program cannot be part of the build."""


@dataclass(frozen=True)
class TensorKind:
    """What a kernel is given for a tensor.

    Attributes:
        dtype: the name of the element type.
        layout: the order of its dimensions in memory.
    """

    dtype: str
    layout: Layout

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.layout))}]"


@dataclass
class Selection:
    """What some programs need.

    Attributes:
        operators: for each operator, how often it is called with which kinds of tensors: those of its arguments in order, lists flattened.
        tensors: the element types of all tensors of the programs.
        backends: the identifiers of the backends that the programs call.
    """

    operators: dict[str, Counter[tuple[TensorKind, ...]]] = field(default_factory=dict[str, Counter[tuple[TensorKind, ...]]])
    tensors: set[str] = field(default_factory=set[str])
    backends: set[str] = field(default_factory=set[str])

    def add(self, program: pte.Program) -> None:
        """Adds what a program needs."""
        for plan in program.execution_plan:
            self.backends |= {delegate.id for delegate in plan.delegates}
            self.tensors |= {_name(value) for value in plan.values if isinstance(value, pte.Tensor)}
            for chain in plan.chains:
                for instruction in chain.instructions:
                    if isinstance(call := instruction, pte.KernelCall):
                        kinds = tuple(_kinds(plan, call.args))
                        self.operators.setdefault(plan.operators[call.op_index].full_name, Counter())[kinds] += 1

    def dtypes(self) -> tuple[str, ...] | None:
        """Returns the element types with which kernels have to compute; None for every type, where a backend may call kernels too."""
        if self.backends:
            return None
        return computed_types(self.tensors)

    def backend_folders(self) -> tuple[str, ...]:
        """Returns the names of the backends, which are those of their folders. Raises SelectionError for one that is not installed."""
        found = {identifier: find_identifier(identifier) for identifier in self.backends}
        for identifier, backend in found.items():
            if backend is None:
                raise SelectionError(f"no installed backend has the identifier '{identifier}', which the programs call")
        return tuple(sorted(backend.name for backend in found.values() if backend is not None))

    def check_kernels(self, own: Iterable[str] = ()) -> None:
        """Raises SelectionError for an operator that the runtime has no kernel of, unless it is one of `own`."""
        missing = sorted(set(self.operators) - kernel_names() - set(own))
        if missing:
            raise SelectionError(f"the runtime has no kernel of {', '.join(missing)}; a kernel of your own is named with --own")


def _name(tensor: pte.Tensor) -> str:
    return BY_NUMBER[tensor.scalar_type].name


def _kinds(plan: pte.ExecutionPlan, places: Iterable[int]) -> Iterator[TensorKind]:
    """Yields the kinds of the tensors at some places. A kernel gets its results twice; the second time they are not counted."""
    seen: set[int] = set()
    for place in places:
        value = plan.values[place] if place >= 0 else None
        if isinstance(value, pte.Tensor):
            if place not in seen:
                yield TensorKind(_name(value), tuple(value.dim_order))
            seen.add(place)
        elif isinstance(value, pte.TensorList | pte.OptionalTensorList):
            items = [item for item in value.items if item not in seen]
            seen |= set(items)
            yield from _kinds(plan, items)


def computed_types(tensors: Iterable[str]) -> tuple[str, ...]:
    """Returns the types in which kernels compute: those of the tensors, and what type promotion makes of these and of numbers."""
    found = {*tensors, "float32"}
    if any(BY_NAME[name].category < 2 for name in found):
        found.add("int64")
    if found >= {"int8", "uint8"}:
        found.add("int16")
    if "uint16" in found and found & {"int8", "int16"}:
        found.add("int32")
    return tuple(row.name for row in SCALAR_TYPES if row.name in found)
