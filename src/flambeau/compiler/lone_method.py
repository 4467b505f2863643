"""A module in which one method is for a while the only one, so that passes see no other."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from flambeau.support.tables import hint


@contextmanager
def method_alone(module: ModuleOp, name: str) -> Generator[None, None, None]:
    """Takes the other methods out of a module, but for the functions that it calls, and puts them back where they were.

    Raises ValueError if there is no such method.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    if name not in functions:
        raise ValueError(f"there is no method {name!r}{hint(name, list(functions), listing=True)}")
    kept: dict[str, FuncOp] = {}
    pending = [name]
    while pending:
        if (found := functions.get(callee := pending.pop())) is not None and callee not in kept:
            kept[callee] = found
            pending += [op.callee.string_value() for op in found.walk() if isinstance(op, CallOp)]
    order = list(module.body.block.ops)
    absent = [op for op in functions.values() if op.sym_name.data not in kept]
    for op in absent:
        op.detach()
    try:
        yield
    finally:
        for op in reversed(absent):
            after = next((item for item in order[order.index(op) + 1 :] if item.parent is module.body.block), None)
            if after is None:
                module.body.block.add_op(op)
            else:
                module.body.block.insert_op_before(op, after)
