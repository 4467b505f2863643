"""Descriptions of programs for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from flambeau.compiler.memory_report import MemoryReport, memory_reports, methods_of
from flambeau.compiler.stages import stage_of
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.edge.layout import dim_order
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.method import MethodOp, named_data_of, written_inputs
from flambeau.dialects.flambeau.method_interface import Leaf, inputs_of, outputs_of
from flambeau.dialects.ir.extents import is_known, largest, least
from flambeau.dialects.ir.tensor_types import dtype_of, nbytes, shape_of, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError
from flambeau.tools.commands.delegate_summary import DelegateSummary, delegate_summaries


def describe_program(module: ModuleOp, context: FlambeauContext) -> dict[str, Any]:
    """Returns a full description of a module, for JSON."""
    memory = memory_reports(module, context)
    methods: dict[str, Any] = {name: _describe_method(method, memory.get(name)) for name, method in methods_of(module).items()}
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            methods[op.sym_name.data] = _describe_function(op)
    weights = _describe_weights(module)
    return {
        "stage": stage_of(module),
        "methods": methods,
        "delegates": _describe_delegates(module, context),
        "weights": weights,
        "weight_bytes": sum(item["bytes"] for item in weights),
    }


def _describe_delegates(module: ModuleOp, context: FlambeauContext) -> dict[str, Any]:
    """Returns the delegates of a module by name, for JSON; `unread` is the reason why a payload cannot be disassembled."""
    named_data = named_data_of(module, context.blobs)
    weights = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
    summaries = delegate_summaries(module)
    found: dict[str, Any] = {}
    for op in module.body.block.ops:
        if isinstance(op, PartitionOp):
            found[op.sym_name.data] = {"backend": op.backend.data, **_describe_partition(op, weights)}
        elif isinstance(op, PayloadOp):
            entry: dict[str, Any] = {"backend": op.backend.data, "bytes": len(context.blobs.get(op.data))}
            entry |= _describe_summary(summaries[op.sym_name.data])
            found[op.sym_name.data] = entry
            try:
                inside = disassemble(op, named_data, context.blobs)
            except BackendError as error:
                entry["unread"] = str(error)
                continue
            entry |= _describe_partition(inside.partition, {item.sym_name.data: item for item in inside.constants})
            entry["named_data"] = {key: len(named_data[key]) for key in inside.named_data}
    return found


def _describe_summary(summary: DelegateSummary) -> dict[str, Any]:
    """Returns what is known of a payload without decoding it, for JSON."""
    state, made_by = summary.origin.state, summary.origin.made_by
    inputs, outputs = summary.arguments or (None, None)
    known = {"state": None if state is None else state.value, "made_by": made_by, "inputs": inputs, "outputs": outputs}
    found = {**{key: value for key, value in known.items() if value is not None}, "properties": summary.properties}
    return {**found, "estimates": summary.estimates, "expected": summary.expected} if summary.estimates else found


def _describe_partition(partition: PartitionOp, weights: Mapping[str, GlobalOp]) -> dict[str, Any]:
    """Returns the operations of a partition and the bytes of the constants that they read, for JSON."""
    loads = [op for op in partition.body.walk() if isinstance(op, GlobalLoadConstantOp)]
    constants = {op.global_attr.string_value() for op in loads}
    nodes = Counter(op.name for op in partition.body.walk() if isinstance(op, SchemaOp))
    return {
        "nodes": dict(sorted(nodes.items())),
        "constant_bytes": sum(nbytes(tensor_type(weights[name].type)) for name in constants),
    }


def _describe_function(function: FuncOp) -> dict[str, Any]:
    kinds = iter(function.function_type.inputs)
    results = iter(function.function_type.outputs)
    operators = Counter(op.name for op in function.walk() if isinstance(op, SchemaOp))
    return {
        "inputs": [_describe_leaf(leaf, kinds) for leaf in inputs_of(function)],
        "outputs": [_describe_leaf(leaf, results) for leaf in outputs_of(function) if leaf.writes is None],
        "instructions": sum(operators.values()),
        "operators": dict(sorted(operators.items())),
    }


def _describe_leaf(leaf: Leaf, kinds: Iterator[Attribute]) -> dict[str, Any]:
    return {"name": leaf.name, **(_describe_type(next(kinds)) if leaf.is_tensor else {"type": repr(leaf.value)})}


def _describe_type(given: Attribute) -> dict[str, Any]:
    """Returns the type of a method's input or output, for JSON.

    The extent of a dynamic dimension is None. `sizes` has its name; `least` and `bounds` have its smallest and greatest value.

    """
    if not isinstance(given, TensorType):
        return {"type": str(given).removeprefix("!exec.")}
    kind = tensor_type(cast(Attribute, given))
    order = list(dim_order(kind))
    extents = shape_of(kind)
    shape = [extent if is_known(extent) else None for extent in extents]
    entry: dict[str, Any] = {"type": "tensor", "dtype": dtype_of(kind.element_type).torch, "shape": shape}
    if None in shape:
        entry["sizes"] = [str(extent) for extent in extents]
        entry["least"] = [least(extent) for extent in extents]
        entry["bounds"] = [largest(extent) for extent in extents]
    if order != sorted(order):
        entry["dim_order"] = order
    return entry


def _describe_method(method: MethodOp, report: MemoryReport | None) -> dict[str, Any]:
    """Returns the description of a method and of its memory, for JSON."""
    instructions = method.steps
    operators = Counter(op.operator.data for op in instructions if isinstance(op, CallOp))
    delegates = Counter(op.delegate.string_value() for op in instructions if isinstance(op, DelegateCallOp))
    ends = method.terminator

    def named(slots: tuple[SSAValue, ...], names: Any, stem: str) -> list[dict[str, Any]]:
        labels = [name.data for name in names] if names is not None else []
        return [
            {"name": labels[index] if index < len(labels) else f"{stem}_{index}", **_describe_type(slot.type)}
            for index, slot in enumerate(slots)
        ]

    memory = None if report is None else {**vars(report), "total": report.total}
    inputs = named(tuple(ends.inputs), method.input_names, "input")
    for index in written_inputs(method):
        inputs[index]["written"] = True
    return {
        "inputs": inputs,
        "outputs": named(tuple(ends.outputs), method.output_names, "output"),
        "instructions": len(instructions),
        "values": len(method.slots),
        "operators": dict(sorted(operators.items())),
        "delegates": dict(sorted(delegates.items())),
        "memory": memory,
    }


def _describe_weights(module: ModuleOp) -> list[dict[str, Any]]:
    """Returns the globals of a module, for JSON, largest first."""
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
