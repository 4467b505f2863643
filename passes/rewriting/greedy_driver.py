"""The greedy pattern driver: finds patterns by operation class, keeps locations, bounds the work."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import islice

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation, OpResult
from xdsl.rewriter import InsertPoint

from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError, is_listening, remark
from flambeau.dialects.ir.extents import UndecidedError
from flambeau.passes.rewriting.actions import Action, action_listener, may_rewrite, note_action
from flambeau.passes.rewriting.counters import count
from flambeau.passes.rewriting.dead_operations import is_dead
from flambeau.passes.rewriting.explanation import explaining
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.uses import Rewriter, editing_operands

ERASE_DEAD = "erase-dead-operation"
"""The action that erases an operation without uses or effects."""

_REMEMBERED = 32
"""The number of the last applications to look at when rewriting does not come to an end."""


class RewriteLimitError(OperationError):
    """A set of patterns that does not come to an end."""


class PatternDriver:
    """Applies patterns until none matches.

    One sweep in program order, then whatever the rewrites touched. Inserted operations without a location get that of the operation they
    stem from. Operations without uses or effects are erased when met.

    Args:
        patterns: tried on an operation by descending benefit, in this order among equals, until one applies.
        limit: bounds the rewrites per operation of the input.
        recursive: whether to look again at what rewrites inserted or changed; without, each operation of the input is looked at once.
        only: which operations patterns are tried on; all when None.
        explain: whether to keep the reasons that patterns give for not applying in `declined`; without, they become remarks.
        top_down: whether to begin with the first operation in program order; otherwise with the last.
        most: how many rewrites may happen; any number when None.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        *,
        limit: int = 64,
        recursive: bool = True,
        only: Callable[[Operation], bool] | None = None,
        explain: bool = False,
        top_down: bool = True,
        most: int | None = None,
    ):
        self.limit = limit
        self.recursive = recursive
        self.only = only
        self.explain = explain
        self.top_down = top_down
        self.most = most
        for item in patterns:
            if not isinstance(item, Pattern):  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
                shown = getattr(item, "__name__", type(item).__name__)
                raise ValueError(f"{shown!r} is not a pattern: @rewrites(…) before a function makes one of it")
        self._patterns = sorted(patterns, key=lambda item: -item.benefit)
        self._found: dict[type[Operation], tuple[Pattern, ...]] = {}
        self.applied: Counter[str] = Counter()
        """The number of rewrites of each pattern, by class name."""
        self.declined: dict[Operation, dict[str, str]] = {}
        """Why patterns, by class name, did not apply to operations that are still there."""

    def patterns_for(self, kind: type[Operation]) -> tuple[Pattern, ...]:
        """Returns the patterns that are tried on operations of a class, in order."""
        found = self._found.get(kind)
        if found is None:
            found = self._found[kind] = tuple(p for p in self._patterns if issubclass(kind, p.roots))
        return found

    def run(self, root: Operation) -> bool:
        """Rewrites what is inside `root` in place; returns whether anything changed.

        Raises:
            RewriteLimitError: when there is no end to it; names the patterns of the cycle.
            OperationError: of the operation at which a pattern raised ValueError.
        """
        block = next((block for region in root.regions for block in region.blocks), None)
        if block is None:
            return False
        with editing_operands():
            return _Run(self, root, Rewriter(InsertPoint.at_end(block))).run()


class _Run:
    """One run of a driver: the worklist, and what the rewriter tells it."""

    def __init__(self, driver: PatternDriver, root: Operation, rewriter: Rewriter):
        self.driver = driver
        self.root = root
        self.rewriter = rewriter
        self.work = list(root.walk(reverse=driver.top_down))
        self.waiting = set(self.work)
        self.known = set(self.work)
        self.erased: set[Operation] = set()
        self.current: tuple[Operation, Pattern] | None = None
        self.budget = driver.limit * len(self.work) + 1000
        self.last: deque[tuple[str, Operation]] = deque(maxlen=_REMEMBERED)
        rewriter.operation_insertion_handler = [self._inserted]
        rewriter.operation_removal_handler = [self._removed]
        rewriter.operation_modification_handler = [self._push]

    def _push(self, op: Operation, *, may_be_dead: bool = False) -> None:
        if not self.driver.recursive or op in self.waiting or not (may_be_dead or self.driver.patterns_for(type(op))):
            return
        if self._is_inside(op):
            self.waiting.add(op)
            self.work.append(op)

    def _is_inside(self, op: Operation) -> bool:
        """Returns whether `op` stands inside the root: what is around it is not to be touched."""
        if self.root.parent is None:
            return True
        around = op.parent_op()
        while around is not None and around is not self.root:
            around = around.parent_op()
        return around is not None

    def _inserted(self, op: Operation) -> None:
        # Operations in its regions were built without an event, or were moved here.
        for item in reversed(list(op.walk())) if op.regions else (op,):
            if item is not op and item in self.known:
                continue
            if self.current is not None and item.location is UNKNOWN_LOC:
                item.location = self.current[0].location
            self._push(item)
            if op.regions:
                self.known.add(item)

    def _removed(self, op: Operation) -> None:
        gone = list(op.walk())
        self.erased.update(gone)
        for operand in (operand for item in gone for operand in item.operands):
            if isinstance(operand, OpResult) and operand.op not in self.erased:
                self._push(operand.op, may_be_dead=True)
                # A pattern may now match the only remaining reader together with the operation that it reads.
                readers = list(islice((use.operation for use in operand.uses if use.operation not in self.erased), 2))
                if len(readers) == 1:
                    self._push(readers[0], may_be_dead=readers[0].parent is None)

    def _declined(self, reason: str) -> None:
        if self.current is not None:
            op, pattern = self.current
            self.driver.declined.setdefault(op, {})[type(pattern).__name__] = reason

    def run(self) -> bool:
        driver = self.driver
        driver.declined = {}
        with explaining(self._declined) if driver.explain or is_listening() else nullcontext():
            changed = self._run()
        driver.declined = {op: reasons for op, reasons in driver.declined.items() if op not in self.erased}
        if not driver.explain:
            for op, reasons in driver.declined.items():
                for reason in dict.fromkeys(reasons.values()):
                    remark(op, reason)
        return changed

    def _run(self) -> bool:
        changed = False
        while self.work and (self.driver.most is None or sum(self.driver.applied.values()) < self.driver.most):
            op = self.work.pop()
            self.waiting.discard(op)
            if op in self.erased or op is self.root:
                continue
            if op.parent is None:
                # A pattern built the operation and did not insert it: its operands would stay alive because of it.
                self._removed(op)
                op.erase(safe_erase=False)
                continue
            if is_dead(op) and may_rewrite(ERASE_DEAD, op):
                self.rewriter.erase(op)
                count("dead operations erased")
                changed = True
                continue
            if self.driver.only is not None and not self.driver.only(op):
                continue
            for pattern in self.driver.patterns_for(type(op)):
                if self._apply(pattern, op):
                    changed = True
                    break
        return changed

    def _apply(self, pattern: Pattern, op: Operation) -> bool:
        """Tries one pattern on one operation; whether it rewrote something."""
        name = type(pattern).__name__
        listener = action_listener()
        action = None if listener is None else Action("pattern", name, op)
        if listener is not None and action is not None and not listener.before_action(action):
            return False
        rewriter = self.rewriter
        self.current = op, pattern
        rewriter.has_done_action = False
        rewriter.insertion_point = InsertPoint.before(op)
        try:
            pattern.rewrite(op, rewriter)
        except OperationError:
            raise
        except UndecidedError as error:
            self._declined(str(error))
        except ValueError as error:
            raise OperationError(op, str(error)) from error
        except (Exception, SystemExit) as error:
            note_action(error, Action("pattern", name, op))
            raise
        finally:
            self.current = None
        if listener is not None and action is not None:
            listener.after_action(action, rewriter.has_done_action)
        if not rewriter.has_done_action:
            return False
        self.driver.applied[name] += 1
        if op in self.driver.declined:
            self.driver.declined[op].pop(name, None)
        if pattern.counter:
            count(pattern.counter)
        self.last.append((name, op))
        self.budget -= 1
        if self.budget < 0:
            raise self._limit_error(op)
        return True

    def _limit_error(self, op: Operation) -> RewriteLimitError:
        cycle = _shortest_cycle(list(self.last))
        names = list(dict.fromkeys(name for name, _ in cycle))
        times = sum(self.driver.applied[name] for name in names)
        whose = f"{names[0]} was" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} were"
        message = f"rewriting does not come to an end: {whose} applied {times} times, last to {op.name}"
        notes = tuple(Diagnostic("note", f"{name} rewrote {rewritten.name}", op=rewritten) for name, rewritten in cycle)
        return RewriteLimitError(op, message, notes)


def _shortest_cycle(last: Sequence[tuple[str, Operation]]) -> Sequence[tuple[str, Operation]]:
    """Returns the end of `last`: the shortest sequence that all of `last` repeats. Returns all of `last` if there is no such sequence."""
    steps = [(name, op.name) for name, op in last]
    for length in range(1, len(steps) // 2 + 1):
        if all(steps[-1 - back] == steps[-1 - back - length] for back in range(len(steps) - length)):
            return last[-length:]
    return last


def apply_patterns(root: Operation, patterns: Sequence[Pattern]) -> bool:
    """Applies `patterns` to what is inside `root` until none matches; returns whether anything changed.

    Raises:
        OperationError: a pattern raised ValueError, or rewriting does not come to an end; then it names the patterns of the cycle.

    Example:
        copy = module.clone()
        assert apply_patterns(copy, [fuse])
        assert "aten.add.Tensor(%x, %y) {alpha = 0.5}" in print_module(copy)
    """
    return PatternDriver(patterns).run(root)
