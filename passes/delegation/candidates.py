"""The operations that go to a backend, and why the others stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import is_dequantized_constant
from flambeau.passes.analysis.quantized_operators import together_with
from flambeau.passes.delegation.grouping import group
from flambeau.passes.delegation.partitioner import Partitioner

Veto = Callable[[Operation], str | None]
"""Why the user keeps an operation from every backend; None for one that may go."""


def no_veto(op: Operation) -> str | None:
    """Returns None: the veto that keeps nothing."""
    return None


def _why_not(op: Operation, partitioner: Partitioner, veto: Veto) -> str | None:
    """Returns why an operation stays, whatever stands around it; None if it may go."""
    return veto(op) or partitioner.why_not(op) or _why_apart(op, partitioner, veto)


def _why_apart(op: Operation, partitioner: Partitioner, veto: Veto) -> str | None:
    """Returns why something without which an operation is not taken stays: a dequantized constant, or a part of a larger operator."""
    rule = partitioner.table.rule(type(op)) if isinstance(op, SchemaOp) else None
    for part in together_with(op) if partitioner.table.integers else ():
        if (reason := veto(part) or partitioner.why_kept(part)) is not None:
            return f"{part.name}, with which it is computed in integers, stays: {reason}"
    for part in rule.together(cast(SchemaOp, op)) if rule is not None else ():
        if (reason := veto(part) or partitioner.why_not(part) or _why_constants_apart(part, partitioner, veto)) is not None:
            return f"{part.name}, with which it is taken, stays: {reason}"
    return _why_constants_apart(op, partitioner, veto)


def _why_constants_apart(op: Operation, partitioner: Partitioner, veto: Veto) -> str | None:
    """Returns why a dequantized constant that an operation reads stays."""
    rule = partitioner.table.rule(type(op)) if isinstance(op, SchemaOp) else None
    values = [(name, cast(SchemaOp, op).argument(name)) for name in rule.dequantized] if rule is not None else []
    for name, value in values:
        if is_dequantized_constant(value) and (reason := veto(value.owner) or partitioner.why_not(value.owner)) is not None:
            return f"its constant {name!r} is dequantized elsewhere: {reason}"
    return None


def why_left(op: Operation, partitioner: Partitioner, veto: Veto = no_veto) -> str:
    """Returns why an operation is in no group."""
    few = f"its group has fewer than {partitioner.options.least} operators, too few for a delegate"
    return _why_not(op, partitioner, veto) or ("what reads it stays" if partitioner.options.least == 1 else few)


def functions_with_bodies(module: ModuleOp) -> list[FuncOp]:
    """Returns the functions of a module from which something can be taken: a declaration has no body."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def blocks_of(op: Operation) -> Iterator[Block]:
    """Yields the blocks in the regions of an operation, and those of control flow inside of them."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                if inner.regions and not inner.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                    yield from blocks_of(inner)


def groups_for(block: Block, partitioner: Partitioner, veto: Veto, equal: Sequence[Sequence[Operation]] = ()) -> list[list[Operation]]:
    """Returns the operations of a block that a backend takes, in groups that can become one delegate each."""

    @cache
    def takes(op: Operation) -> bool:
        return _why_not(op, partitioner, veto) is None

    return group(block, takes, partitioner.table.most, equal)
