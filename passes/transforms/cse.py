"""`cse`: computes equal operations on equal operands once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsolatedFromAbove, is_side_effect_free

from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import Rewriter

Items: TypeAlias = frozenset[tuple[str, Attribute]]
Key: TypeAlias = tuple[type[Operation], tuple[SSAValue, ...], Items, Items, tuple[Attribute, ...]]


def _key(op: Operation) -> Key:
    return type(op), tuple(op.operands), frozenset(op.properties.items()), frozenset(op.attributes.items()), tuple(op.result_types)


@dataclass(frozen=True)
class CsePass(OperationPass):
    """Replaces an operation without side effects by an equal earlier one of its block or of an enclosing block.

    Needs nothing. Leaves no two equal pure operations of which the second is in the block of the first or nested in it, as far as values
    are visible there. Operations with regions stay. The first one's location stays.
    """

    name = "cse"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place, in one sweep."""
        for region in op.regions:
            for block in region.blocks:
                self._visit(block, [], Rewriter(InsertPoint.at_end(block)))

    def _visit(self, block: Block, enclosing: list[dict[Key, Operation]], rewriter: Rewriter) -> None:
        known: dict[Key, Operation] = {}
        scopes = [*enclosing, known]
        for op in list(block.ops):
            if op.regions:
                visible = [] if op.has_trait(IsolatedFromAbove) else scopes
                for region in op.regions:
                    for inner in region.blocks:
                        self._visit(inner, visible, rewriter)
                continue
            if not op.results or not is_side_effect_free(op):
                continue
            key = _key(op)
            earlier = next((scope[key] for scope in scopes if key in scope), None)
            if earlier is None:
                known[key] = op
            elif may_rewrite(self.name, op):
                rewriter.replace(op, [], list(earlier.results))
                count("equal operations merged")
