"""Which dispatches wait for those before them. The others may run beside these."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect.kernels import Dispatch, KernelOp
from flambeau.dialects.ir.tensor_types import nbytes

Span = tuple[int, int]
"""Bytes of the block of memory, from the first to before the last."""


def waits(dispatches: Iterable[tuple[KernelOp, Dispatch]], offset: Callable[[SSAValue], int]) -> list[bool]:
    """Returns, for each dispatch, whether it must wait for all before it.

    It does if it reads bytes that one of them wrote since the last wait, or writes bytes that one of them read or wrote. The last buffer of
    a dispatch is what it writes.
    """
    found: list[bool] = []
    read: list[Span] = []
    written: list[tuple[Span, KernelOp]] = []
    for op, dispatch in dispatches:
        *sources, goal = [(start := offset(value), start + nbytes(value)) for value in dispatch.buffers]
        must = any(_meet(source, span) for source in sources for span, _ in written)
        must = must or any(_meet(goal, span) for span in read)
        must = must or any(_meet(goal, span) for span, other in written if other is not op or not op.writes_apart)
        if must:
            read, written = [], []
        found.append(must)
        read += sources
        written.append((goal, op))
    return found


def _meet(some: Span, others: Span) -> bool:
    return some[0] < others[1] and others[0] < some[1]
