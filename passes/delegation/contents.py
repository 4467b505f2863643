"""The operators of a delegate as they were before its backend rewrote them: attributes that a partition leaves to its payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, IntegerType, i64

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ir.locations import handle_of, handles_of
from flambeau.dialects.schema.row import SchemaOp

_OPERATORS = "operators"
_HANDLES = "debug_handles"


def record_contents(partition: PartitionOp) -> None:
    """Notes the operators of a partition, and the debug handles of each operation if the program has any, unless they are noted."""
    if _OPERATORS in partition.attributes:
        return
    operators = [op for op in partition.walk() if isinstance(op, SchemaOp)]
    counts = Counter(op.name for op in operators)
    partition.attributes[_OPERATORS] = DictionaryAttr({name: IntegerAttr(count, i64) for name, count in counts.items()})
    handles = [_handles(op) for op in operators]
    if any(handles):
        partition.attributes[_HANDLES] = ArrayAttr(DenseArrayBase.from_list(i64, items) for items in handles)


def recorded_operators(delegate: PartitionOp | PayloadOp) -> Counter[str] | None:
    """Returns the number of operations by operator, as noted; None where nothing is."""
    found = delegate.attributes.get(_OPERATORS)
    if not isinstance(found, DictionaryAttr):
        return None
    return Counter({name: count.value.data for name, count in found.data.items() if isinstance(count, IntegerAttr)})


def recorded_handles(delegate: PartitionOp | PayloadOp) -> Sequence[tuple[int, ...]]:
    """Returns the debug handles of each operation, as noted."""
    found = delegate.attributes.get(_HANDLES)
    if not isinstance(found, ArrayAttr):
        return ()
    items = cast("ArrayAttr[DenseArrayBase[IntegerType]]", found)
    return [tuple(map(int, item.get_values())) for item in items]


def _handles(op: SchemaOp) -> list[int]:
    named = (handle for result in op.results if (handle := handle_of(result)) is not None)
    return list(dict.fromkeys((*handles_of(op.location), *named)))
