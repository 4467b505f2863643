"""The reducer of calls: inlines bodies, so that the signature no longer blocks other reductions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue

from flambeau.tools.reduction.edits import is_terminator, replace_results
from flambeau.tools.reduction.reducer import NotApplicableError, Reducer


class CallsReducer(Reducer[CallOp]):
    """A reducer that replaces a call by a copy of the called function, which has one block and no calls."""

    name = "calls"

    def targets(self, module: ModuleOp) -> Sequence[CallOp]:
        """Returns the calls of functions with one block and no calls."""
        functions = _leaves(module)
        return [op for op in module.walk() if isinstance(op, CallOp) and op.callee.string_value() in functions]

    def apply(self, module: ModuleOp, targets: Sequence[CallOp]) -> None:
        """Inlines copies of their bodies."""
        functions = _leaves(module)
        for call in targets:
            _inline(call, functions[call.callee.string_value()])


def _leaves(module: ModuleOp) -> dict[str, FuncOp]:
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1 and not any(isinstance(inner, CallOp) for inner in op.walk())
    }


def _inline(call: CallOp, function: FuncOp) -> None:
    block, around = function.body.block, call.parent
    if around is None or block.last_op is None or len(call.arguments) != len(block.args):
        raise NotApplicableError("there is no body to copy")
    copies: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    for op in block.ops:
        if not is_terminator(op):
            around.insert_op_before(op.clone(copies), call)
    replace_results(call, [copies.get(value, value) for value in block.last_op.operands])
