"""`sccp`: replaces values that are the same constant on every path that can run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, HasFolder

from flambeau.passes.manager import OperationPass, count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.uses import replace_uses

_VARIES = object()
"""The fact about a value that is not one constant."""
_STORABLE = (IntegerAttr, FloatAttr, DenseIntOrFPElementsAttr)


@dataclass(frozen=True)
class SccpPass(OperationPass):
    """Sparse conditional constant propagation: finds constants through branches and regions of which only those that can run count.

    Folds the operations that xDSL can fold, such as those of `arith`, and knows `cf.br`, `cf.cond_br` and `scf.if`; operations with other
    regions or successors, calls and operators have results that vary. `fold-constants` evaluates operators on weights.

    Needs nothing. Leaves control flow as it is, with constant conditions where they are known; `canonicalize` removes what nothing reads.
    """

    name = "sccp"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        solver = _Solver()
        with analysis("constants", op):
            solver.solve(op)
        for value, fact in solver.facts.items():
            if not isinstance(fact, _STORABLE) or not value.uses:
                continue
            owner = value.owner
            around = owner if isinstance(owner, Operation) else owner.parent_op()
            if around is None or around.has_trait(ConstantLike) or not may_rewrite(self.name, around):
                continue
            constant = arith.ConstantOp(cast(Any, fact))
            constant.location = around.location
            place = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
            Rewriter.insert_op(constant, place)
            replace_uses(value, constant.result)
            count("values replaced")


class _Solver:
    """The facts about values so far: none for one that nothing gives a value yet, an attribute for a constant, or `_VARIES`."""

    def __init__(self) -> None:
        self.facts: dict[SSAValue, object] = {}
        self._runs: set[Block] = set()
        self._work: deque[Operation] = deque()
        self._waiting: set[Operation] = set()

    def solve(self, root: Operation) -> None:
        """Finds the facts about all values inside `root`, which stands for a function or holds functions that anybody may call."""
        self._open(root)
        while self._work:
            op = self._work.popleft()
            self._waiting.discard(op)
            if op.parent in self._runs:
                self._visit(op)

    def _open(self, op: Operation) -> None:
        """Lets every region of an operation run, with any arguments."""
        for region in op.regions:
            if (block := region.first_block) is not None:
                self._join(block.args, [_VARIES] * len(block.args))
                self._run(block)

    def _run(self, block: Block) -> None:
        if block not in self._runs:
            self._runs.add(block)
            self._push(block.ops)

    def _join(self, values: Sequence[SSAValue], facts: Iterable[object]) -> None:
        for value, fact in zip(values, facts, strict=True):
            old = self.facts.get(value)
            if fact is None or old is _VARIES or old == fact:
                continue
            self.facts[value] = fact if old is None else _VARIES
            self._push(use.operation for use in value.uses)

    def _push(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            if op not in self._waiting:
                self._waiting.add(op)
                self._work.append(op)

    def _known(self, values: Iterable[SSAValue]) -> list[object]:
        return [self.facts.get(value) for value in values]

    def _visit(self, op: Operation) -> None:
        match op:
            case cf.BranchOp():
                self._branch(op.successor, op.arguments)
            case cf.ConditionalBranchOp():
                holds = self._condition(op.cond)
                if True in holds:
                    self._branch(op.then_block, op.then_arguments)
                if False in holds:
                    self._branch(op.else_block, op.else_arguments)
            case scf.IfOp():
                holds = self._condition(op.cond)
                for region, when in ((op.true_region, True), (op.false_region, False)):
                    if when in holds and region.blocks:
                        self._run(region.block)
            case scf.YieldOp() if isinstance(around := op.parent_op(), scf.IfOp):
                self._join(around.results, self._known(op.operands))
            case _ if op.regions or op.successors:
                self._join(op.results, [_VARIES] * len(op.results))
                self._open(op)
                for block in op.successors:
                    self._join(block.args, [_VARIES] * len(block.args))
                    self._run(block)
            case _:
                self._join(op.results, self._fold(op))

    def _branch(self, block: Block, arguments: Sequence[SSAValue]) -> None:
        self._join(block.args, self._known(arguments))
        self._run(block)

    def _condition(self, value: SSAValue) -> tuple[bool, ...]:
        """Returns the values that a condition may have."""
        fact = self.facts.get(value)
        if fact is None:
            return ()
        return (bool(fact.value.data),) if isinstance(fact, IntegerAttr) else (True, False)

    def _fold(self, op: Operation) -> Sequence[object]:
        """Returns the facts about the results, given those about the operands."""
        if not op.results:
            return ()
        varies: Sequence[object] = [_VARIES] * len(op.results)
        operands = self._known(op.operands)
        if None in operands:
            return [None] * len(op.results)
        if (folder := op.get_trait(HasFolder)) is None:
            return varies
        constants = [arith.ConstantOp(cast(Any, fact)).result if isinstance(fact, _STORABLE) else None for fact in operands]
        given = [old if new is None else new for old, new in zip(op.operands, constants, strict=True)]
        copy = op.clone({old: new for old, new in zip(op.operands, given, strict=True)})
        try:
            folded = folder.fold(copy)
        # The operation fails on these constants, or has no meaning to evaluate; its results are unknown.
        except (ArithmeticError, ValueError, NotImplementedError):
            folded = None
        known = dict(zip(given, operands, strict=True))
        facts = varies if folded is None else [known.get(item, _VARIES) if isinstance(item, SSAValue) else item for item in folded]
        copy.drop_all_references()
        return [fact if fact is _VARIES or isinstance(fact, Attribute) else _VARIES for fact in facts]
