"""The memory that each method of a planned program takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.memory.plan_memory import LOWER_BOUND
from flambeau.runtime.emit.pte_writer import to_program
from flambeau.runtime.memory import method_memory

DELEGATE_MEMORY = "flambeau.delegate_memory"
"""Attribute of a planned method with delegates: the bytes that their backends keep from load to unload."""


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one planned method, in bytes."""

    arenas: tuple[int, ...]
    lower_bound: int | None
    method: int
    """The bytes that the runtime keeps for the method itself, with 64-bit pointers."""
    scratch: int | None
    """The scratch bytes of kernels and delegates; None when they were not measured."""
    delegates: int | None = 0
    """The bytes that backends keep for their delegates; None when they were not measured."""
    method_32: int | None = None
    """As `method`, with 32-bit pointers; None where it was not computed."""
    banks: tuple[str, ...] | None = None
    """The bank of each arena; None where the plan knows no banks."""

    @property
    def total(self) -> int:
        """The bytes that the runtime needs in addition to the program; unmeasured memory is not counted."""
        return sum(self.arenas) + self.method + (self.scratch or 0) + (self.delegates or 0)

    def describe(self) -> str:
        """Returns the report in one line, for the user."""
        arenas = self._arenas()
        scratch = "an unknown amount" if self.scratch is None else str(self.scratch)
        delegates = "" if self.delegates == 0 else f", delegates {'an unknown amount' if self.delegates is None else self.delegates}"
        return f"{self.total} bytes of memory: {arenas}, method {self.method}, kernels {scratch}{delegates}"

    def _arenas(self) -> str:
        if self.banks is not None:
            return ", ".join(f"bank {name} {size}" for name, size in self.bytes_by_bank().items())
        arena = sum(self.arenas)
        if not self.lower_bound:
            return f"arena {arena}"
        return f"arena {arena} ({'optimal' if arena == self.lower_bound else f'{arena / self.lower_bound:.3f} of the lower bound'})"

    def bytes_by_bank(self) -> dict[str, int]:
        """Returns the bytes of arenas in each bank; nothing where the plan knows no banks."""
        found: dict[str, int] = {}
        for name, size in zip(self.banks or (), self.arenas, strict=False):
            found[name] = found.get(name, 0) + size
        return found


def methods_of(module: ModuleOp) -> dict[str, MethodOp]:
    """Returns the `exec` methods of a module by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, MethodOp)}


def memory_reports(module: ModuleOp, context: FlambeauContext) -> dict[str, MemoryReport]:
    """Returns the memory of each method of a planned module; empty before planning, and with partitions. Raises EmitError, BlobError."""
    methods = methods_of(module)
    has_partitions = any(isinstance(op, PartitionOp) for op in module.body.block.ops)
    if not methods or has_partitions or any(method.arena_sizes is None for method in methods.values()):
        return {}
    reports: dict[str, MemoryReport] = {}
    plans = {plan.name: plan for plan in to_program(module, context).execution_plan}
    for name, method in methods.items():
        sizes = method.arena_sizes or ()
        bound = method.attributes.get(LOWER_BOUND)
        value = cast("IntegerAttr[Any]", bound).value.data if isinstance(bound, IntegerAttr) else None
        scratch = None if method.scratch is None else method.scratch.value.data
        kept = method.attributes.get(DELEGATE_MEMORY)
        delegates = cast("IntegerAttr[Any]", kept).value.data if isinstance(kept, IntegerAttr) else None
        delegates = delegates if plans[name].delegates else 0
        reports[name] = MemoryReport(
            sizes, value, method_memory(plans[name]), scratch, delegates, method_memory(plans[name], 4), method.bank_names
        )
    return reports
