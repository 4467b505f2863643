"""Detached operations: those that patterns and decompositions build and no block contains yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation, OpResult, SSAValue


def detached_ops(values: Iterable[SSAValue]) -> Iterator[Operation]:
    """Yields the detached operations that compute `values`, each after the operations that it uses."""
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
