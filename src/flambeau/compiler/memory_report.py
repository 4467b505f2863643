"""What people and programs want to know about a compiled program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, LabelOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.tensor_types import dtype_of, nbytes, tensor_type
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.operators import FlambeauContext
from flambeau.runtime.emit.pte_writer import to_program
from flambeau.runtime.memory import method_memory

DELEGATE_MEMORY = "flambeau.delegate_memory"
"""Attribute of a planned method with delegates: the bytes that their backends keep from load to unload."""

LOWER_BOUND = "flambeau.arena_lower_bound"
"""Attribute of a planned method: the most bytes that are alive at once, below which no plan can be."""


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one planned method, in bytes."""

    arenas: tuple[int, ...]
    lower_bound: int | None
    method: int
    """What the runtime keeps of the method itself, on a machine with 64-bit pointers."""
    scratch: int | None
    """What kernels and delegates need while they run; None when it was not measured."""
    delegates: int | None = 0
    """What the backends of delegates keep of them; None when it was not measured."""

    @property
    def total(self) -> int:
        """Every byte that the runtime needs beside the program, but for what was not measured."""
        return sum(self.arenas) + self.method + (self.scratch or 0) + (self.delegates or 0)

    def describe(self) -> str:
        """One line for people."""
        arena = sum(self.arenas)
        share = f" ({arena / self.lower_bound:.3f} of the lower bound)" if self.lower_bound else ""
        scratch = "an unknown amount" if self.scratch is None else str(self.scratch)
        delegates = "" if self.delegates == 0 else f", delegates {'an unknown amount' if self.delegates is None else self.delegates}"
        return f"{self.total} bytes of memory: arena {arena}{share}, method {self.method}, kernels {scratch}{delegates}"


def methods_of(module: ModuleOp) -> dict[str, MethodOp]:
    """The `exec` methods of a module by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, MethodOp)}


def memory_reports(module: ModuleOp, context: FlambeauContext) -> dict[str, MemoryReport]:
    """The memory of each method of a planned module; empty before planning. Raises EmitError, BlobError."""
    methods = methods_of(module)
    if not methods or any(method.arena_sizes is None for method in methods.values()):
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
        reports[name] = MemoryReport(sizes, value, method_memory(plans[name]), scratch, delegates)
    return reports


def describe_slot(slot: SSAValue) -> dict[str, Any]:
    """A method's input or output, for JSON."""
    if not isinstance(slot.type, TensorType):
        return {"type": str(slot.type).removeprefix("!exec.")}
    kind = tensor_type(slot)
    order = list(dim_order(slot))
    entry: dict[str, Any] = {"type": "tensor", "dtype": dtype_of(kind.element_type).torch, "shape": list(kind.get_shape())}
    if order != sorted(order):
        entry["dim_order"] = order
    return entry


def describe_method(method: MethodOp, report: MemoryReport | None) -> dict[str, Any]:
    """A method and its memory, for JSON."""
    instructions = [op for op in method.instructions if not isinstance(op, LabelOp)]
    operators = Counter(op.operator.data for op in instructions if isinstance(op, CallOp))
    delegates = Counter(op.delegate.string_value() for op in instructions if isinstance(op, DelegateCallOp))
    ends = method.terminator

    def named(slots: tuple[SSAValue, ...], names: Any, stem: str) -> list[dict[str, Any]]:
        labels = [name.data for name in names] if names is not None else []
        return [
            {"name": labels[index] if index < len(labels) else f"{stem}_{index}", **describe_slot(slot)} for index, slot in enumerate(slots)
        ]

    memory = None if report is None else {**vars(report), "total": report.total}
    return {
        "inputs": named(tuple(ends.inputs), method.input_names, "input"),
        "outputs": named(tuple(ends.outputs), method.output_names, "output"),
        "instructions": len(instructions),
        "values": len(method.slots),
        "operators": dict(sorted(operators.items())),
        "delegates": dict(sorted(delegates.items())),
        "memory": memory,
    }


def describe_weights(module: ModuleOp) -> list[dict[str, Any]]:
    """The globals of a module, for JSON, largest first."""
    weights: list[dict[str, Any]] = []
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp):
            kind = tensor_type(op.type)
            weights.append(
                {
                    "name": op.sym_name.data,
                    "dtype": dtype_of(kind.element_type).torch,
                    "shape": list(kind.get_shape()),
                    "bytes": nbytes(kind),
                    "mutable": op.is_mutable is not None,
                }
            )
    return sorted(weights, key=lambda item: (-cast(int, item["bytes"]), cast(str, item["name"])))
