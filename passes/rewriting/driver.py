"""The pattern driver: patterns found by operation class, locations kept, a bound on the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from flambeau.dialects.diagnostics import OperationError
from flambeau.dialects.row import detached_ops
from flambeau.passes.rewriting.actions import Action, action_listener


class Pattern(ABC):
    """A local rewrite rooted at operations of the classes in `roots` (subclasses included)."""

    roots: ClassVar[tuple[type[Operation], ...]]

    @abstractmethod
    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` through `rewriter`, or leaves everything as it is when it does not match."""


class RewriteLimitError(OperationError):
    """A set of patterns that does not come to an end."""


def replace_with_values(op: Operation, values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Replaces `op` by `values`; operations behind them that stand nowhere yet are inserted before `op`, with its location and names."""
    for old, new in zip(op.results, values, strict=True):
        if old.name_hint is not None and isinstance(new, OpResult) and new.op.parent is None and new.name_hint is None:
            new.name_hint = old.name_hint
    for new_op in detached_ops(values):
        rewriter.insert(new_op, InsertPoint.before(op))
    rewriter.replace(op, [], list(values))


class PatternDriver:
    """Applies patterns until none matches.

    One sweep in program order, then whatever the rewrites touched. Inserted operations without a location get that of the operation they
    stem from. Operations without uses or effects are erased when met. `limit` bounds the rewrites per operation of the input.
    """

    def __init__(self, patterns: Sequence[Pattern], *, limit: int = 64):
        self._patterns = patterns
        self._limit = limit
        self._found: dict[type[Operation], tuple[Pattern, ...]] = {}
        self.applied: Counter[str] = Counter()
        """How often each pattern rewrote something, by class name."""

    def _patterns_for(self, kind: type[Operation]) -> tuple[Pattern, ...]:
        found = self._found.get(kind)
        if found is None:
            found = self._found[kind] = tuple(p for p in self._patterns if issubclass(kind, p.roots))
        return found

    def run(self, root: Operation) -> bool:
        """Rewrites what is inside `root` in place; returns whether anything changed. Raises RewriteLimitError."""
        block = next((block for region in root.regions for block in region.blocks), None)
        if block is None:
            return False
        work = list(root.walk(reverse=True))
        waiting = set(work)
        erased: set[Operation] = set()
        current: list[Operation] = []
        changed = False
        budget = self._limit * len(work) + 1000

        def push(op: Operation) -> None:
            if op not in waiting and self._patterns_for(type(op)):
                waiting.add(op)
                work.append(op)

        def inserted(op: Operation) -> None:
            if current and op.location is UNKNOWN_LOC:
                op.location = current[0].location
            push(op)

        def removed(op: Operation) -> None:
            erased.add(op)
            for operand in op.operands:
                if isinstance(operand, OpResult):
                    push(operand.op)

        listener = action_listener()
        rewriter = PatternRewriter(InsertPoint.at_end(block))
        rewriter.operation_insertion_handler = [inserted]
        rewriter.operation_removal_handler = [removed]
        rewriter.operation_modification_handler = [push]
        while work:
            op = work.pop()
            waiting.discard(op)
            if op in erased or op is root:
                continue
            if is_trivially_dead(op):
                rewriter.erase(op)
                changed = True
                continue
            for pattern in self._patterns_for(type(op)):
                action = Action("pattern", type(pattern).__name__, op) if listener is not None else None
                if listener is not None and action is not None and not listener.before_action(action):
                    continue
                current[:] = [op]
                rewriter.has_done_action = False
                rewriter.insertion_point = InsertPoint.before(op)
                try:
                    pattern.rewrite(op, rewriter)
                except ValueError as error:
                    raise error if isinstance(error, OperationError) else OperationError(op, str(error)) from error
                if listener is not None and action is not None:
                    listener.after_action(action, rewriter.has_done_action)
                if rewriter.has_done_action:
                    changed = True
                    name = type(pattern).__name__
                    self.applied[name] += 1
                    budget -= 1
                    if budget < 0:
                        frequent = ", ".join(f"{key} ({count} times)" for key, count in self.applied.most_common(3))
                        raise RewriteLimitError(op, f"rewriting does not come to an end; last at {op.name}; most applied: {frequent}")
                    break
        return changed


def apply_patterns(root: Operation, patterns: Sequence[Pattern]) -> bool:
    """Applies `patterns` to what is inside `root` until none matches; returns whether anything changed."""
    return PatternDriver(patterns).run(root)


def rename_values(op: Operation, new: Operation, make_name: Callable[[str], str] = str) -> None:
    """Gives the results of `new` the name hints of those of `op`."""
    for old_result, new_result in zip(op.results, new.results, strict=True):
        if old_result.name_hint is not None:
            new_result.name_hint = make_name(old_result.name_hint)
