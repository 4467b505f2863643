"""Stores tensors of float32 inside of a partition as float16: half the bytes, on devices with 16-bit storage."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.backends.vulkan.dialect.conversion import DequantizeKernelOp, ToFloatKernelOp, ToHalfKernelOp
from flambeau.backends.vulkan.dialect.kernels import KernelOp
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


def store_halves(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Gives tensors of float32 elements of float16, but inputs, results, and the scales of integers.

    A number of a constant that is beyond float16 becomes its largest number.
    """
    halves: dict[SSAValue, SSAValue] = {}

    def half(value: SSAValue, reader: SchemaOp) -> SSAValue:
        """Returns a value in float16, made before its first reader if need be."""
        if element_of(value) != f32 or value in halves:
            return halves.get(value, value)
        array = constants.array(value)
        if array is None:
            made = ToHalfKernelOp(value)
            made.location = reader.location
        else:
            largest = np.finfo(np.float16).max
            rounded = np.where(np.isfinite(array), np.clip(array, -largest, largest), array).astype(np.float16)
            made = constants.add(f"{constants.name(value)}.f16", rounded, tensor(f16, shape_of(value)))
        Rewriter.insert_op(made, InsertPoint.before(reader))
        halves[value] = made.result
        return made.result

    def halved(name: str, given: Any, reader: SchemaOp) -> Any:
        if isinstance(given, list):
            return [halved(name, item, reader) for item in cast(list[Any], given)]
        return half(cast(SSAValue, given), reader) if isinstance(given, SSAValue) and name != "scales" else cast(Any, given)

    def whole(value: SSAValue, reader: ReturnOp) -> SSAValue:
        """Returns a result in the elements that it had."""
        stored = halves.get(value, value)
        if element_of(stored) == element_of(value):
            return stored
        widened = ToFloatKernelOp(stored)
        Rewriter.insert_op(widened, InsertPoint.before(reader))
        return widened.result

    for op in [*partition.body.block.ops]:
        if isinstance(op, ReturnOp):
            for place, value in enumerate(op.values):
                if isinstance(value.owner, KernelOp):
                    op.operands[place] = whole(value, op)
        elif isinstance(op, KernelOp) and not isinstance(op, DequantizeKernelOp):
            arguments = zip(op.schema.arguments, op.arguments(), strict=True)
            made = type(op)(**{argument.name: halved(argument.name, given, op) for argument, given in arguments})
            made.location = op.location
            Rewriter.insert_op(made, InsertPoint.before(op))
            halves[op.result] = made.result
    erase_unread(partition)


def erase_unread(partition: PartitionOp) -> None:
    """Erases the operators and constants whose results nothing reads."""
    for op in reversed([*partition.body.block.ops]):
        if isinstance(op, (KernelOp, GlobalLoadConstantOp)) and not op.result.uses:
            Rewriter.erase_op(op)
