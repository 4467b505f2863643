"""Programs of one operator, from the samples of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from row_harness import ROWS, arrays_of, meaning, operation, samples_of
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.contracts import Contract
from flambeau.passes.targets.interface import find_target
from flambeau.support.lazy import Array


def module_of(op: SchemaOp, block: Block) -> ModuleOp:
    """A module whose method is the operation on its inputs."""
    block.add_ops([op, ReturnOp(*op.results)])
    return ModuleOp([FuncOp("forward", FunctionType.from_lists(block.arg_types, op.result_types), Region(block))])


def refused_samples(target: str, contract: Contract) -> Iterator[tuple[str, list[Array], list[Array], Compilation]]:
    """The samples that a contract of a target does not take: the operation, its tensors, its results, and its program."""
    found = find_target(target)
    for name, row in ROWS.items():
        for sample in samples_of(row) if row.level() in ("aten", "quantized_decomposed") else ():
            op, block = operation(row, sample)
            if found.contract(op) is not contract:
                break
            if found.why_not(op) is not None:
                arrays: list[Any] = arrays_of(sample)
                results = meaning(op, arrays)
                compilation = Compilation(module_of(op, block), FlambeauContext(), PipelineOptions(target=target))
                yield name, arrays, results, compilation
