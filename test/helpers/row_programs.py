"""Programs of one operator, from the samples of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from row_harness import ROWS, samples_of
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import PlacedOp, TensorOp, nbytes
from flambeau.dialects.ir.tensor_types import tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation


def module_of(op: SchemaOp, block: Block) -> ModuleOp:
    """A module whose method is the operation on its inputs."""
    block.add_ops([op, ReturnOp(*op.results)])
    return ModuleOp([FuncOp("forward", FunctionType.from_lists(block.arg_types, op.result_types), Region(block))])


def refused_samples(target: str, kernel: str) -> Iterator[tuple[str, list[Array], list[Array], Compilation]]:
    """The samples that the contract of a target's kernel does not take: the operation, its tensors, its results, and its program."""
    found = find_target(target)
    for name, row in ROWS.items():
        for sample in samples_of(row) if row.level() in ("aten", "quantized_decomposed") else ():
            op, block = operation(row, sample)
            if found.table.named(type(op)) != kernel:
                break
            if found.table.why_not(op) is not None:
                arrays: list[Any] = arrays_of(sample)
                results = meaning(op, arrays)
                compilation = Compilation(module_of(op, block), FlambeauContext(), PipelineOptions(target=target))
                yield name, arrays, results, compilation


class OverOldBytes:
    """The program of one operation whose results lie where an input was that is read before: its last one, of floats."""

    def __init__(self, target: str, op: SchemaOp, block: Block, size: int):
        before = block.insert_arg(tensor(f32, (size,)), len(block.args))
        read = aten.amax(before, (0,))
        # What is returned is not written over.
        end = ReturnOp(*op.results, read, *op.operands)
        block.add_ops([read.owner, op, end])
        function = FuncOp("forward", FunctionType.from_lists(block.arg_types, end.operand_types), Region(block))
        self.compilation = Compilation(ModuleOp([function]), FlambeauContext(), PipelineOptions(target=target))
        self.program = self.compilation.emit()

    @property
    def lies_there(self) -> bool:
        """Whether every tensor that a call writes, but for the first, lies inside the bytes of that input."""
        (method,) = (op for op in self.compilation.module.walk() if isinstance(op, MethodOp))
        inside = _bytes_of(method.terminator.inputs[-1])
        calls = [op for op in method.instructions if isinstance(op, CallOp)]
        written = [_bytes_of(slot) for call in calls[1:] for slot in call.outs if isinstance(slot.owner, TensorOp)]
        return bool(written) and all(part.start >= inside.start and part.stop <= inside.stop for part in written)


def _bytes_of(slot: SSAValue) -> range:
    """The bytes of the arena in which a planned tensor lies."""
    _, offset = cast(PlacedOp, slot.owner).place or (0, 0)
    return range(offset, offset + nbytes(slot.type))


def kept_samples(target: str, row: type[SchemaOp]) -> Iterator[tuple[SchemaOp, Block, list[Any]]]:
    """The samples that the kernel of a target takes, with elements in each tensor: the operation, its block, and its tensors."""
    for sample in samples_of(row):
        op, block = operation(row, sample)
        arrays: list[Any] = arrays_of(sample)
        if find_target(target).table.why_not(op) is None and all(array.size for array in arrays):
            yield op, block, arrays
