"""Every row on its samples with sizes that only the run knows: what it infers compiles, and computes what the sizes that are known give.

    PYTHONPATH=test:test/helpers python test/helpers/dynamic_rows.py [--dims outermost|all] [row …]

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
from row_harness import ROWS, arrays_of, assert_close, meaning, operation, samples_of
from row_walk import UNINITIALIZED
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import UndecidedError, extent, largest
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor, tensor_type
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.inferred_types import UndecidedTypesError
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import compile_pipeline
from flambeau.passes.targets.interface import target_names
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte

UNDECIDED = frozenset(
    f"aten.{name}"
    for name in (
        # The sizes of weights decide them.
        "lstm_cell",
        "gru_cell",
        "block_diag",
        # Kernels of target flambeau alone; where the sizes are known, others do their work on executorch.
        "_embedding_bag",
        "embedding_bag",
        "embedding_dense_backward",
        "avg_pool2d_backward",
        "_adaptive_avg_pool2d_backward",
        "native_layer_norm_backward",
        "native_group_norm_backward",
        "max_pool3d_with_indices",
        "adaptive_max_pool3d",
        "scatter_reduce.two",
        "scatter.reduce",
        "scatter.value_reduce",
        "convolution_backward",
        "conv3d",
        "conv3d.padding",
        "convolution",
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
        _, block = dynamic_operation(row, sample, dims)
    except (VerifyException, UndecidedError, UndecidedTypesError):
        found.counts["not for these sizes"] += 1
        return
    if known.draws() or not any(array.ndim for array in arrays) or row.level() not in ("aten", "core", "edge", "fused"):
        return
    wanted = meaning(known, arrays)
    for target in targets:
        if row.level() == "fused" and target != "flambeau":
            continue
        found.counts[f"compiled for {target}"] += 1
        try:
            results = _compute(row, sample, dims, target)
            if row.name not in UNINITIALIZED:
                assert_close("the program", results, wanted)
        except Exception as error:
            what = " ".join(str(error).split())[:400]
            shapes = [list(shape_of(argument)) for argument in block.args]
            found.disagreements.append(
                f"{row.name} on {target}, {shapes}, {[list(a.shape) for a in arrays]}: {type(error).__name__}: {what}"
            )


def _compute(row: type[SchemaOp], sample: Sequence[Any], dims: Dims, target: str) -> list[Any]:
    op, block = dynamic_operation(row, sample, dims)
    block.add_op(op)
    block.add_op(ReturnOp(*op.results))
    kind = FunctionType.from_lists(block.arg_types, [result.type for result in op.results])
    module, context = ModuleOp([FuncOp("forward", kind, Region(block))]), FlambeauContext()
    Pipeline.of(compile_pipeline(PipelineOptions(target=target))).run(module, context, verify_each=True)
    method = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward")
    return [np.asarray(item) for item in method.execute(arrays_of(sample))]


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
