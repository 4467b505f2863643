"""`inline`: replaces calls of functions by their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, ModuleOp
from xdsl.dialects.cf import BranchOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.ir.symbols import symbols_of
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.uses import replace_uses

_REPLACED = 3
"""The number of operations that inlining a call removes: the call, and from the copied body the function itself and its return."""


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replaces each `func.call` by the body of its function, innermost calls first.

    Needs nothing. Leaves calls of declarations, of functions that call themselves, directly or through others, of functions of more than
    `max_size` operations, and, inside of operations such as `scf.if`, of functions with branches. A remark says why. The functions stay;
    `symbol-dce` erases the private ones that nothing calls any more.
    """

    name = "inline"
    max_size: int = 100_000
    """The most operations of a function that is inlined."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        functions = {name: item for name, item in symbols_of(op).items() if isinstance(item, FuncOp)}
        done: dict[FuncOp, int] = {}
        for function in _callees_first(functions):
            size = 0
            for item in list(function.walk()):
                size += 1
                if isinstance(item, CallOp) and (callee := functions.get(item.callee.string_value())) is not None:
                    if (reason := self._why_not(item, callee, done)) is not None:
                        remark(item, f"not inlined: {reason}")
                    elif may_rewrite(self.name, item):
                        _inline(item, callee)
                        size += done[callee] - _REPLACED
                        count("calls inlined")
            done[function] = size

    def _why_not(self, call: CallOp, callee: FuncOp, done: Mapping[FuncOp, int]) -> str | None:
        name = f"@{callee.sym_name.data}"
        if callee.is_declaration:
            return f"{name} is only declared"
        if callee not in done:
            return f"{name} calls itself, directly or through others"
        if done[callee] > self.max_size:
            return f"{name} has {done[callee]} operations, more than max-size={self.max_size}"
        if len(callee.body.blocks) > 1 and not isinstance(call.parent_op(), FuncOp):
            return f"{name} has branches, and stands in a region of one block"
        return None


def _callees_first(functions: Mapping[str, FuncOp]) -> Iterator[FuncOp]:
    """Yields each function after the functions that it calls, except for functions that call each other."""
    seen: set[FuncOp] = set()
    for root in functions.values():
        stack: list[tuple[FuncOp, Iterator[FuncOp]]] = [] if root in seen else [(root, _callees(root, functions))]
        seen.add(root)
        while stack:
            function, callees = stack[-1]
            following = next((callee for callee in callees if callee not in seen), None)
            if following is None:
                stack.pop()
                yield function
            else:
                seen.add(following)
                stack.append((following, _callees(following, functions)))


def _callees(function: FuncOp, functions: Mapping[str, FuncOp]) -> Iterator[FuncOp]:
    names = [item.callee.string_value() for item in function.walk() if isinstance(item, CallOp)]
    return (functions[name] for name in names if name in functions)


def _inline(call: CallOp, callee: FuncOp) -> None:
    body = callee.body.clone()
    _locate(body, call)
    blocks = list(body.blocks)
    if len(blocks) == 1:
        last = blocks[0].last_op
        assert isinstance(last, ReturnOp)
        returned = list(last.operands)
        last.detach()
        last.erase()
        # A returned value may be an argument of the function, which was replaced by the call's argument.
        given: dict[SSAValue, SSAValue] = dict(zip(blocks[0].args, call.arguments, strict=True))
        results: Sequence[SSAValue] = [given.get(value, value) for value in returned]
        Rewriter.inline_block(blocks[0], InsertPoint.before(call), list(call.arguments))
    else:
        block = call.parent
        assert block is not None and block.parent is not None
        after = block.split_before(call, arg_types=call.result_types)
        region = block.parent
        index = region.get_block_index(after)
        for item in blocks:
            body.detach_block(item)
        region.insert_block(blocks, index)
        block.add_op(BranchOp(blocks[0], *call.arguments))
        for item in blocks:
            if isinstance(last := item.last_op, ReturnOp):
                branch = BranchOp(after, *last.operands)
                branch.location = last.location
                last.detach()
                last.erase()
                item.add_op(branch)
        results = after.args
    for old, new in zip(call.results, results, strict=True):
        replace_uses(old, new)
    call.detach()
    call.erase()


def _locate(body: Region, call: CallOp) -> None:
    """Sets the location of each copied operation to its own location, called from the location of the call."""
    if call.location is UNKNOWN_LOC:
        return
    for new in body.walk():
        if new.location is not UNKNOWN_LOC:
            new.location = CallSiteLoc(new.location, call.location)
