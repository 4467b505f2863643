"""Tries the operators that a backend's table takes in parts: the table must take these parts too."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

from flambeau.dialects.ir.tensor_types import ElementType, element_of, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.report import delegation_info
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import place
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.graph import REFUSED_SAMPLES
from flambeau.tools.conformance.drawing.operator_choices import element_names
from flambeau.tools.conformance.drawing.quantized_drawing import Meaning
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_operations import converted, operation, with_tensors
from flambeau.tools.samples.sample_table import all_samples, bound_samples


def not_taken_in_parts(partitioner: Partitioner) -> dict[str, str]:
    """Returns the operators that the table takes in parts, and of no sample all parts, with the part and the reason of the last sample."""
    element, samples = element_names(partitioner.table)[0], all_samples()
    found: dict[str, str] = {}
    for name in partitioner.table.in_parts:
        kind = find_op(f"edge.{name}") or find_op(name)
        if kind is None or (generate := samples.get(kind.siblings["row"].name)) is None:
            found[name] = "there is no such operator" if kind is None else "it has no samples"
            continue
        found[name] = "the table takes no sample of it in parts"
        for sample in bound_samples(generate, kind):
            reason = _why_not(partitioner, kind, with_tensors(sample, lambda _, array: _as(array, element)))
            if reason == "":
                del found[name]
                break
            found[name] = reason or found[name]
    return found


def _as(array: Array, element: str) -> Array:
    return converted(array, element) if array.dtype.name in FLOATS else array


def _put_between_integers(op: SchemaOp, block: Block, element: ElementType) -> None:
    """Dequantizes the operands of floats, which become integers, and quantizes the results."""
    numbers = Meaning(element, 0.5, 0).numbers
    for index, argument in enumerate(block.args):
        integers = Rewriter.replace_value_with_new_type(argument, tensor(element, shape_of(argument)))
        dequantize = DequantizePerTensorOp(integers, *numbers, None)
        op.operands[index] = dequantize.result
        block.insert_op_before(dequantize, op)
    last = cast("ReturnOp", block.last_op)
    for index, result in enumerate(op.results):
        quantize = QuantizePerTensorOp(result, *numbers)
        last.operands[index] = quantize.result
        block.insert_op_before(quantize, last)


def _why_not(partitioner: Partitioner, kind: type[SchemaOp], sample: tuple[Any, ...]) -> str | None:
    """Returns why a part of an operation stays; empty if none does, None if the operation is not taken in parts."""
    try:
        op, block = operation(kind, sample)
        op.verify_()
    except REFUSED_SAMPLES:
        return None
    block.add_ops([op, ReturnOp(*op.results)])
    is_of_floats = all(element_of(value) == f32 for value in (*op.operands, *op.results))
    if partitioner.table.parts(op) is None and partitioner.table.integers and is_of_floats:
        _put_between_integers(op, block, partitioner.table.activations[0])
    if partitioner.table.parts(op) is None:
        return None
    results = cast("ReturnOp", block.last_op).operand_types
    module = ModuleOp([FuncOp("forward", FunctionType.from_lists(block.arg_types, results), Region(block))])
    context = FlambeauContext()
    Pipeline.of(place(PipelineOptions(backends=(partitioner,)))).run(module, context)
    left = delegation_info(module, context, (partitioner,)).refused
    return "; ".join(f"its part {part} stays: {why}" for part, why in left)
