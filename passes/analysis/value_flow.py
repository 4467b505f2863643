"""The flow of unchanged values through branches, loops, conditionals and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import cf, func, scf
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.ir.symbols import symbols_in

OpT = TypeVar("OpT", bound=Operation)
Describe: TypeAlias = Callable[[Any, "ValueFlow"], None]

_KINDS: dict[type[Operation], Describe] = {}


class ValueFlow:
    """The values that flow into each value inside an operation.

    An operation with regions or successors that nobody described is opaque: nothing is known of the arguments of its blocks, and of its
    results only what an analysis says.
    """

    def __init__(self, root: Operation):
        self.targets: dict[SSAValue, list[SSAValue]] = {}
        """For each value, those that it becomes."""
        self.sources: dict[SSAValue, list[SSAValue]] = {}
        """For each value that stands for others only, which they are."""
        self.open: set[SSAValue] = set()
        """Arguments that a branch reaches that nobody described: they may be more than their sources."""
        self._root = root
        operations = list(root.walk())
        self._functions = {op.sym_name.data: op for op in operations if isinstance(op, func.FuncOp)}
        self._named = {name for op in operations if not isinstance(op, func.CallOp) for name in _symbols(op)}
        for op in operations:
            describe = _KINDS.get(type(op))
            if describe is not None:
                describe(op, self)
            else:
                self.open.update(argument for block in op.successors for argument in block.args)

    def add(self, sources: Iterable[SSAValue], targets: Iterable[SSAValue]) -> None:
        """Says that each target may be the source beside it, and nothing but its sources."""
        for source, target in zip(sources, targets, strict=True):
            self.targets.setdefault(source, []).append(target)
            self.sources.setdefault(target, []).append(source)

    def function(self, name: str) -> func.FuncOp | None:
        """Returns the function of this name; None without a body."""
        found = self._functions.get(name)
        return found if found is not None and found.body.blocks else None

    def sees_all_calls(self, function: func.FuncOp) -> bool:
        """Returns whether every call of a function is among the calls that are described."""
        private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        return private and function is not self._root and function.sym_name.data not in self._named


def flows(kind: type[OpT]) -> Callable[[Callable[[OpT, ValueFlow], None]], Callable[[OpT, ValueFlow], None]]:
    """Makes the function below describe, with `ValueFlow.add`, where operations of a class hand their operands on."""

    def declare(function: Callable[[OpT, ValueFlow], None]) -> Callable[[OpT, ValueFlow], None]:
        _KINDS[kind] = cast(Describe, function)
        return function

    return declare


def _symbols(op: Operation) -> list[str]:
    return [name for attribute in (*op.properties.values(), *op.attributes.values()) for name in symbols_in(attribute)]


def _yields(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if last is not None else ()


@flows(cf.BranchOp)
def _branch(op: cf.BranchOp, flow: ValueFlow) -> None:
    flow.add(op.arguments, op.successor.args)


@flows(cf.ConditionalBranchOp)
def _conditional_branch(op: cf.ConditionalBranchOp, flow: ValueFlow) -> None:
    flow.add(op.then_arguments, op.then_block.args)
    flow.add(op.else_arguments, op.else_block.args)


@flows(scf.IfOp)
def _if(op: scf.IfOp, flow: ValueFlow) -> None:
    for region in (op.true_region, op.false_region):
        if region.blocks and op.results:
            flow.add(_yields(region.block), op.results)


@flows(scf.ForOp)
def _for(op: scf.ForOp, flow: ValueFlow) -> None:
    carried = op.body.block.args[1:]
    for given in (op.iter_args, _yields(op.body.block)):
        flow.add(given, carried)
        flow.add(given, op.results)


@flows(scf.WhileOp)
def _while(op: scf.WhileOp, flow: ValueFlow) -> None:
    before, after = op.before_region.block, op.after_region.block
    flow.add(op.arguments, before.args)
    flow.add(_yields(after), before.args)
    # The first operand of scf.condition is the condition.
    flow.add(_yields(before)[1:], after.args)
    flow.add(_yields(before)[1:], op.results)


@flows(func.CallOp)
def _call(op: func.CallOp, flow: ValueFlow) -> None:
    callee = flow.function(op.callee.string_value())
    if callee is None:
        return
    if flow.sees_all_calls(callee):
        flow.add(op.arguments, callee.body.blocks[0].args)
    for block in callee.body.blocks:
        if isinstance(block.last_op, func.ReturnOp):
            flow.add(block.last_op.operands, op.results)
