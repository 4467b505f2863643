"""What people and programs want to know about a compiled program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp, InstructionOp, LabelOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.types import dtype_of, nbytes, tensor_type

LOWER_BOUND = "flambeau.arena_lower_bound"
"""Attribute of a planned method: the most bytes that are alive at once, below which no plan can be."""


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one planned method, in bytes."""

    arenas: tuple[int, ...]
    lower_bound: int | None

    def describe(self) -> str:
        """One line for people."""
        total = sum(self.arenas)
        if self.lower_bound is None:
            return f"arena {total} bytes"
        share = f", {total / self.lower_bound:.3f} times the lower bound of {self.lower_bound}" if self.lower_bound else ""
        return f"arena {total} bytes{share}"


def methods_of(module: ModuleOp) -> dict[str, MethodOp]:
    """The `exec` methods of a module by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, MethodOp)}


def memory_reports(module: ModuleOp) -> dict[str, MemoryReport]:
    """The memory of each planned method."""
    reports: dict[str, MemoryReport] = {}
    for name, method in methods_of(module).items():
        sizes = method.arena_sizes
        if sizes is None:
            continue
        bound = method.attributes.get(LOWER_BOUND)
        value = cast("IntegerAttr[Any]", bound).value.data if isinstance(bound, IntegerAttr) else None
        reports[name] = MemoryReport(sizes, value)
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


def describe_method(method: MethodOp) -> dict[str, Any]:
    """A method, for JSON."""
    instructions = [op for op in method.instructions if not isinstance(op, LabelOp)]
    operators = Counter(op.operator.data for op in instructions if isinstance(op, CallOp))
    delegates = Counter(op.delegate.string_value() for op in instructions if isinstance(op, DelegateCallOp))
    ends = method.terminator

    def named(slots: tuple[SSAValue, ...], names: Any, stem: str) -> list[dict[str, Any]]:
        labels = [name.data for name in names] if names is not None else []
        return [
            {"name": labels[index] if index < len(labels) else f"{stem}_{index}", **describe_slot(slot)} for index, slot in enumerate(slots)
        ]

    report = memory_reports_of(method)
    return {
        "inputs": named(tuple(ends.inputs), method.input_names, "input"),
        "outputs": named(tuple(ends.outputs), method.output_names, "output"),
        "instructions": len(instructions),
        "values": len(method.slots),
        "operators": dict(sorted(operators.items())),
        "delegates": dict(sorted(delegates.items())),
        "arenas": list(report.arenas) if report is not None else [],
        "arena_lower_bound": report.lower_bound if report is not None else None,
    }


def memory_reports_of(method: MethodOp) -> MemoryReport | None:
    """The memory of one method; None while it is not planned."""
    module = method.parent_op()
    return memory_reports(module).get(method.sym_name.data) if isinstance(module, ModuleOp) else None


def describe_weights(module: ModuleOp) -> list[dict[str, Any]]:
    """The globals of a module, for JSON, largest first."""
    weights: list[dict[str, Any]] = []
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.type, TensorType):
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


def count_instructions(module: ModuleOp) -> int:
    """The instructions of all methods."""
    return sum(isinstance(op, InstructionOp) for method in methods_of(module).values() for op in method.body.block.ops)
