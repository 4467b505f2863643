"""`group-attention`: lets query heads share the heads of keys and values that a model repeats for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.attention import ScaledDotProductAttentionOp
from flambeau.dialects.aten.movement.repeat import RepeatInterleaveSelfIntOp
from flambeau.dialects.aten.movement.shape import ExpandOp, ReshapeOp, UnsqueezeOp, ViewOp
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites


def _repeated(value: SSAValue) -> tuple[SSAValue, int] | None:
    """Returns the heads of [batch, heads, places, features] that stand several times in a row, and how many times each."""
    match value.owner:
        case RepeatInterleaveSelfIntOp() as op:
            (source, repeats, dim, _), shape = op.arguments(), shape_of(value)
            return (source, repeats) if is_known(repeats) and len(shape) == 4 and dim in (1, -3) else None
        case ReshapeOp() | ViewOp() as op if isinstance(copies := op.operands[0].owner, ExpandOp):
            inner = copies.operands[0].owner
            if not isinstance(inner, UnsqueezeOp):
                return None
            source, wide = inner.operands[0], shape_of(copies.result)
            shape, result = shape_of(source), shape_of(value)
            if len(shape) != 4 or len(result) != 4 or len(wide) != 5 or not all(map(is_known, (shape[1], wide[2]))):
                return None
            repeats = wide[2]
            expected = ((*shape[:2], 1, *shape[2:]), (*shape[:2], repeats, *shape[2:]), (shape[0], shape[1] * repeats, *shape[2:]))
            found = (shape_of(inner.result), wide, result)
            same = (provably_equal(a, b) for one, other in zip(expected, found, strict=True) for a, b in zip(one, other, strict=True))
            return (source, repeats) if all(same) else None
        case _:
            return None


@rewrites(ScaledDotProductAttentionOp, counter="attentions grouped")
def _grouped(op: ScaledDotProductAttentionOp) -> SchemaOp | None:
    """Makes attention of heads of keys and values that are repeated equally often grouped-query attention."""
    query, key, value, mask, dropout, causal, scale, grouped = op.arguments()
    keys, values = _repeated(key), _repeated(value)
    if op.level() != "aten" or grouped or keys is None or values is None:
        return None
    if keys[1] != values[1] or len(shape_of(query)) != 4 or not provably_equal(shape_of(query)[1], shape_of(key)[1]):
        return decline("not grouped: the heads of the query, of keys and of values are of different numbers")
    return ScaledDotProductAttentionOp(query, keys[0], values[0], mask, dropout, causal, scale=scale, enable_gqa=True)


@dataclass(frozen=True)
class GroupAttentionPass(PatternPass):
    """Makes attention over repeated heads of keys and values `enable_gqa`, so that the repeated heads need not exist.

    Needs: `aten` operators. Leaves: attention that no model's `repeat_kv` or `repeat_interleave` stands before; the repetitions are dead.
    """

    name = "group-attention"
    works_on = ("aten",)

    def patterns(self) -> Sequence[Pattern]:
        """Returns the one pattern."""
        return [_grouped]
