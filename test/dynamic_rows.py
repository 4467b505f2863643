"""Every row on its samples with sizes that only the run knows: what it infers compiles, and computes what the sizes that are known give.

    PYTHONPATH=test:test/helpers python test/dynamic_rows.py [--dims outermost|all] [row …]

walks the rows that are named, or all, and prints every disagreement.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from row_harness import ROWS, assert_close, samples_of
from row_walk import UNINITIALIZED, runs_level
from xdsl.dialects.builtin import ComplexType, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import UndecidedError, extent, largest
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor, tensor_type
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.inferred_types import UndecidedTypesError
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PassError
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import compile_pipeline
from flambeau.passes.targets.interface import target_names
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

UNDECIDED = frozenset(
    f"aten.{name}"
    for name in (
        # The sizes of weights decide them.
        "lstm_cell",
        "gru_cell",
        "block_diag",
        # Whether there are fewer elements than before decides them.
        "resize",
        "resize_as",
    )
)
"""Rows that need to know more of the sizes than what they are at most."""
Dims: TypeAlias = Literal["outermost", "all"]


@dataclass
class DynamicWalk:
    """What a walk met."""

    counts: Counter[str] = field(default_factory=Counter[str])
    disagreements: list[str] = field(default_factory=list[str])


def _dynamic(kind: Tensor, dims: Dims) -> Tensor:
    """The type with a symbol for each of its sizes, the same for the same size."""
    shape = shape_of(kind)
    chosen = range(len(shape)) if dims == "all" else range(min(1, len(shape)))
    sizes = [extent(of_symbol(Symbol(f"s{size}", 0, 2 * size))) if dim in chosen and size > 1 else size for dim, size in enumerate(shape)]
    return tensor(element_of(kind), sizes, kind.encoding)


def dynamic_operation(row: type[SchemaOp], sample: Sequence[Any], dims: Dims) -> tuple[SchemaOp, Block]:
    """The operation on a sample, of operands with symbols for sizes. Raises VerifyException, UndecidedError."""
    op, block = operation(row, sample)
    kinds = [_dynamic(tensor_type(argument), dims) for argument in block.args]
    renewed = Block(arg_types=kinds)
    given: dict[SSAValue, SSAValue] = dict(zip(block.args, renewed.args, strict=True))
    operands = [given[operand] for operand in op.operands]
    types = op.infer_types(operands, op.properties)
    if any(largest(size) is None for kind in types for size in shape_of(kind)):
        raise UndecidedError("a size without a bound")
    new = type(op).create(operands=operands, result_types=types, properties=op.properties)
    new.verify_()
    return new, renewed


def walk(names: Sequence[str], dims: Dims, targets: Sequence[str] = target_names(), samples: int | None = None) -> DynamicWalk:
    """Walks the samples of rows, or the first ones."""
    found = DynamicWalk()
    for name in names:
        for sample in samples_of(ROWS[name])[:samples]:
            _walk_sample(ROWS[name], sample, dims, targets, found)
    return found


def _walk_sample(row: type[SchemaOp], sample: Sequence[Any], dims: Dims, targets: Sequence[str], found: DynamicWalk) -> None:
    arrays = arrays_of(sample)
    try:
        known, _ = operation(row, sample)
        op, block = dynamic_operation(row, sample, dims)
    except (VerifyException, UndecidedError, UndecidedTypesError):
        found.counts["not for these sizes"] += 1
        return
    if known.draws() or not any(array.ndim for array in arrays) or row.level() not in ("aten", "core", "edge", "fused", "cadence"):
        return
    if any(isinstance(element_of(result), ComplexType) for result in known.results):
        return  # pairs of dynamic sizes cannot become views of complex numbers
    wanted = meaning(known, arrays)
    for target in targets:
        if not runs_level(target, row.level()):
            continue
        try:
            results = _compute(op, block, arrays, target)
            if row.name not in UNINITIALIZED:
                assert_close("the program", results, wanted, row=row)
            found.counts[f"compiled for {target}"] += 1
        except Exception as error:
            if isinstance(error, PassError) and not _compiles(*operation(row, sample), target):
                found.counts[f"not on {target}, whatever the sizes"] += 1
                continue
            what = " ".join(str(error).split())[:400]
            shapes = [list(shape_of(argument)) for argument in block.args]
            sizes = [list(array.shape) for array in arrays]
            found.disagreements.append(f"{row.name} on {target}, {shapes}, {sizes}: {type(error).__name__}: {what}")


def _program(op: SchemaOp, block: Block, target: str) -> bytes:
    """The program of one function, which is an operation on the arguments of a block."""
    operands = {argument: index for index, argument in enumerate(block.args)}
    body = Block(arg_types=block.arg_types)
    copy = op.clone({argument: body.args[index] for argument, index in operands.items()})
    body.add_ops([copy, ReturnOp(*copy.results)])
    kind = FunctionType.from_lists(body.arg_types, [result.type for result in copy.results])
    module, context = ModuleOp([FuncOp("forward", kind, Region(body))]), FlambeauContext()
    Pipeline.of(compile_pipeline(PipelineOptions(target=target))).run(module, context, verify_each=True)
    return b"".join(emit_pte(module, context))


def _compiles(op: SchemaOp, block: Block, target: str) -> bool:
    try:
        _program(op, block, target)
    except PassError:
        return False
    return True


def _compute(op: SchemaOp, block: Block, arrays: Sequence[Array], target: str) -> list[Any]:
    method = Runtime.get().load_program(_program(op, block, target)).load_method("forward")
    return [np.asarray(item) for item in method.execute(arrays)]


def main() -> int:
    """Returns whether anything disagreed."""
    parser = argparse.ArgumentParser(prog="dynamic_rows", description="Every row on sizes that only the run knows.")
    parser.add_argument("rows", nargs="*", help="their names, aten.add.Tensor (all)")
    parser.add_argument("--dims", choices=("outermost", "all"), default="outermost", help="which sizes are symbols (outermost)")
    arguments = parser.parse_args()
    found = walk(arguments.rows or sorted(ROWS), arguments.dims)
    print(*found.disagreements, sep="\n")
    print(*[f"{count} {word}" for word, count in found.counts.items()], f"{len(found.disagreements)} disagreements", sep=", ")
    return 1 if found.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
