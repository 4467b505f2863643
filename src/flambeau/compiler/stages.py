"""The stages of compilation, and the detection of a module's stage."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.pipelines import ROAD

STAGES = tuple(stage.name for stage in ROAD)
"""The stages of a module, in order."""


class StageError(ValueError):
    """An error for a stage that does not exist, or that the module is already past."""


def stage_of(module: ModuleOp, otherwise: str = "aten") -> str:
    """Returns the stage of a module, one of STAGES, from its operations; `otherwise` where functions have no operators of a level.

    Raises StageError for a mixture of stages.
    """
    methods = [op for op in module.body.block.ops if isinstance(op, MethodOp)]
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if methods and functions:
        raise StageError("the module holds both functions and planned methods; lower the functions first")
    if methods:
        return "planned" if all(method.arena_sizes is not None for method in methods) else "exec"
    if any(isinstance(op, PartitionOp | PayloadOp) for op in module.body.block.ops):
        # Backends take operators of the edge level only, and may have taken every one.
        return "edge"
    found = {op.level() for function in functions for op in function.walk() if isinstance(op, SchemaOp)}
    levels = found & {"aten", "core", "edge"}
    if len(levels) > 1:
        raise StageError(f"the module mixes the levels {' and '.join(sorted(levels))}; finish the conversion that was begun")
    return next(iter(levels), "edge" if "fused" in found else otherwise)


def count_operations(module: ModuleOp) -> int:
    """Returns the number of operations within functions or methods."""
    return sum(1 for item in module.body.block.ops if isinstance(item, FuncOp | MethodOp) for op in item.walk() if op is not item)
