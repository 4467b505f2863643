"""Sorts the slot declarations of a method into the order that the format demands."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import SlotOp


def order_declarations(method: MethodOp) -> None:
    """Moves each declaration before the declarations that use it; otherwise the order is kept."""
    done: set[Operation] = set()
    anchor: Operation | None = None
    block = method.body.block
    for root in method.slots:
        stack = [root]
        while stack:
            op = stack[-1]
            if op in done:
                stack.pop()
                continue
            missing = [value.op for value in op.operands if isinstance(value, OpResult) and value.op not in done]
            if missing:
                stack += [item for item in reversed(missing) if isinstance(item, SlotOp)]
                continue
            stack.pop()
            done.add(op)
            expected = block.first_op if anchor is None else anchor.next_op
            if op is not expected and expected is not None:
                op.detach()
                block.insert_op_before(op, expected)
            anchor = op
