"""Operations that stand in no block yet, as patterns and decompositions build them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation, OpResult, SSAValue


def detached_ops(values: Iterable[SSAValue]) -> Iterator[Operation]:
    """The operations behind `values` that stand in no block yet, each after those it uses."""
    seen: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(v.op, False) for v in reversed(list(values)) if isinstance(v, OpResult)]
    while stack:
        op, ready = stack.pop()
        if ready:
            yield op
            continue
        if op in seen or op.parent is not None:
            continue
        seen.add(op)
        stack.append((op, True))
        stack.extend((v.op, False) for v in reversed(op.operands) if isinstance(v, OpResult))
