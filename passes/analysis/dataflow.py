"""Sparse data-flow analysis: a fact about each value, found as the least solution of equations between them.

A fact is an immutable value with `join`, the least fact that covers two. An analysis says what holds of results given the operands
(forward), or of operands given the results (backward); the solver brings it through branches, loops and calls, and to an end.

xDSL has a framework of this kind, which stops at operations with regions and at branches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar

from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.passes.analysis.value_flow import ValueFlow
from flambeau.passes.rewriting.actions import analysis


class Fact(Protocol):
    """An element of a join semilattice. Equal facts compare equal."""

    def join(self, other: Self) -> Self:
        """Returns the least fact that holds wherever this or the other does."""
        ...


FactT = TypeVar("FactT", bound=Fact)

PATIENCE = 16
"""After so many changes a fact is widened."""


class _Analysis(ABC, Generic[FactT]):
    """Base class of forward and backward analyses."""

    @abstractmethod
    def bottom(self) -> FactT:
        """Returns the least fact, with which every value starts."""

    def widen(self, before: FactT, after: FactT) -> FactT:
        """Returns a fact that covers `after` and ends a chain of ever greater facts, as of a counter; `after` if chains are short."""
        return after

    def run(self, root: Operation) -> Facts[FactT]:
        """Returns the facts about all values inside `root`."""
        with analysis(type(self).__name__, root):
            return self._solve(root)

    @abstractmethod
    def _solve(self, root: Operation) -> Facts[FactT]: ...


class Facts(Generic[FactT]):
    """The facts that an analysis found, by value."""

    def __init__(self, found: Mapping[SSAValue, FactT], bottom: FactT):
        self._found = found
        self._bottom = bottom

    def __getitem__(self, value: SSAValue) -> FactT:
        """Returns the fact about a value; bottom for one that nothing reaches."""
        return self._found.get(value, self._bottom)


class _Solver(Generic[FactT]):
    """The worklist, and the facts so far."""

    def __init__(self, owner: _Analysis[FactT]):
        self._owner = owner
        self.bottom = owner.bottom()
        self.facts: dict[SSAValue, FactT] = {}
        self._changes: Counter[SSAValue] = Counter()
        self._work: deque[Operation] = deque()
        self._waiting: set[Operation] = set()

    def fact(self, value: SSAValue) -> FactT:
        return self.facts.get(value, self.bottom)

    def push(self, op: Operation) -> None:
        if op not in self._waiting:
            self._waiting.add(op)
            self._work.append(op)

    def pop(self) -> Operation | None:
        if not self._work:
            return None
        op = self._work.popleft()
        self._waiting.discard(op)
        return op

    def join(self, value: SSAValue, fact: FactT) -> bool:
        """Joins a fact into that of a value; returns whether the fact changed."""
        before = self.fact(value)
        after = before.join(fact)
        if after == before:
            return False
        self._changes[value] += 1
        if self._changes[value] > PATIENCE:
            after = self._owner.widen(before, after)
        self.facts[value] = after
        return True

    def spread(self, values: Iterable[tuple[SSAValue, FactT]], along: Mapping[SSAValue, Sequence[SSAValue]]) -> list[SSAValue]:
        """Joins facts, also along the edges from value to values in `along`; returns the values whose facts changed."""
        changed: list[SSAValue] = []
        pending = list(values)
        while pending:
            value, fact = pending.pop()
            if self.join(value, fact):
                changed.append(value)
                pending += [(other, self.fact(value)) for other in along.get(value, ())]
        return changed


class ForwardAnalysis(_Analysis[FactT]):
    """Facts about results follow from facts about operands."""

    @abstractmethod
    def entry(self, value: SSAValue) -> FactT:
        """Returns the fact about a value from outside: an argument of a function, or of a block of an unknown operation."""

    @abstractmethod
    def transfer(self, op: Operation, operands: Sequence[FactT]) -> Sequence[FactT]:
        """Returns the facts about the results of `op`, one for each. Greater operands must not give smaller results."""

    def _solve(self, root: Operation) -> Facts[FactT]:
        flow = ValueFlow(root)
        solver = _Solver(self)
        arguments = [a for op in root.walk() for region in op.regions for block in region.blocks for a in block.args]
        outside = [a for a in arguments if a not in flow.sources or a in flow.open]
        self._changed(solver, solver.spread([(a, self.entry(a)) for a in outside], flow.targets))
        for op in root.walk():
            if op is not root:
                solver.push(op)
        while (op := solver.pop()) is not None:
            results = [(index, result) for index, result in enumerate(op.results) if result not in flow.sources]
            if not results:
                continue
            facts = self.transfer(op, [solver.fact(operand) for operand in op.operands])
            self._changed(solver, solver.spread([(result, facts[index]) for index, result in results], flow.targets))
        return Facts(solver.facts, solver.bottom)

    @staticmethod
    def _changed(solver: _Solver[FactT], values: Sequence[SSAValue]) -> None:
        for value in values:
            for use in value.uses:
                solver.push(use.operation)


class BackwardAnalysis(_Analysis[FactT]):
    """Backward analysis: facts about operands follow from facts about results."""

    @abstractmethod
    def exit(self, op: Operation) -> Sequence[FactT]:
        """Returns the facts about the operands of `op` whatever happens to its results: those of a return or of an effect."""

    @abstractmethod
    def transfer(self, op: Operation, results: Sequence[FactT]) -> Sequence[FactT]:
        """Returns the facts about the operands of `op`, one for each, given those about its results."""

    def _solve(self, root: Operation) -> Facts[FactT]:
        flow = ValueFlow(root)
        solver = _Solver(self)
        operations = [op for op in root.walk() if op is not root]
        for op in operations:
            self._changed(solver, solver.spread(zip(op.operands, self.exit(op), strict=True), flow.sources))
        for op in reversed(operations):
            solver.push(op)
        while (op := solver.pop()) is not None:
            if any(result in flow.sources for result in op.results):
                continue
            facts = self.transfer(op, [solver.fact(result) for result in op.results])
            self._changed(solver, solver.spread(zip(op.operands, facts, strict=True), flow.sources))
        return Facts(solver.facts, solver.bottom)

    @staticmethod
    def _changed(solver: _Solver[FactT], values: Sequence[SSAValue]) -> None:
        for value in values:
            if isinstance(value, OpResult):
                solver.push(value.op)
