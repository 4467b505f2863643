"""The search: applies reducers under delta debugging, until none finds a smaller module for which the predicate holds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, print_module, verify_parsed
from flambeau.tools.reduction.reducer import Reducer
from flambeau.tools.reduction.reducers import all_reducers
from flambeau.tools.reduction.reducers.reduce_texts import LocationsReducer

Predicate: TypeAlias = Callable[[ModuleOp, FlambeauContext], object]
"""A function that judges a module, with a result used as a truth value. It may change the module."""

Stop: TypeAlias = Literal["timeout", "limit", "interrupt"]


class ReductionError(ValueError):
    """An error for a module that cannot be reduced, because the predicate does not hold for it."""


@dataclass(frozen=True)
class Progress:
    """The progress of a reduction, for display."""

    reducer: str
    operations: int
    at_start: int
    tests: int

    def __str__(self) -> str:
        return f"{self.operations} of {self.at_start} operations, {self.tests} tests; now {self.reducer}"


@dataclass
class ReductionResult:
    """The smallest module found, and the cost of finding it."""

    module: ModuleOp
    text: str
    """The module as text, with its locations if it has any."""
    operations_before: int
    operations: int
    tests: int = 0
    """The number of times that the predicate was evaluated."""
    invalid: int = 0
    """The number of candidates that did not verify."""
    repeated: int = 0
    """The number of candidates that had been tested before."""
    seconds: float = 0.0
    stopped: Stop | None = None
    """The reason why the search ended early; the predicate holds for the result all the same."""
    accepted: Counter[str] = field(default_factory=Counter[str])
    """The number of steps of each reducer."""


class _Stopped(Exception):
    def __init__(self, reason: Stop):
        super().__init__(reason)
        self.reason: Stop = reason


def count_operations(module: ModuleOp) -> int:
    """Returns the number of operations in a module, including functions and terminators."""
    return sum(1 for _ in module.walk()) - 1


def module_text(module: ModuleOp) -> str:
    """Returns the text of a module, with its locations if it has any."""
    return print_module(module, locations=bool(LocationsReducer().targets(module)))


def reduce_module(
    module: ModuleOp,
    context: FlambeauContext,
    predicate: Predicate,
    *,
    reducers: Sequence[Reducer[Any]] | None = None,
    timeout: float | None = None,
    max_tests: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> ReductionResult:
    """Makes a module smaller while a predicate holds.

    Every candidate is printed, parsed and verified before the predicate sees it, so that the result can be written and read.

    Args:
        module: valid IR for which the predicate holds; it is not changed.
        context: owns the module's weights, and receives those of candidates.
        predicate: judges a module.
        reducers: the ways to make the module smaller, in the order to try them; all reducers by default.
        timeout: the seconds after which the search ends.
        max_tests: how often the predicate may be evaluated.
        on_progress: called after each test.

    Returns:
        The smallest module found. An interrupt from the keyboard ends the search as a timeout does.

    Raises:
        ReductionError: the predicate does not hold for the module as it is.
        IRError: the module does not survive being printed and parsed.
    """
    return Reduction(module, context, predicate, timeout=timeout, max_tests=max_tests, on_progress=on_progress).run(reducers)


class Reduction:
    """A run of `reduce_module`; `result` is always the smallest module so far, also after an error of the predicate."""

    def __init__(
        self,
        module: ModuleOp,
        context: FlambeauContext,
        predicate: Predicate,
        *,
        timeout: float | None = None,
        max_tests: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ):
        self._context = context
        self._predicate = predicate
        self._start = time.monotonic()
        self._timeout = timeout
        self._max_tests = max_tests
        self._on_progress = on_progress
        self._seen: set[bytes] = set()
        self.begun = False
        """Whether the predicate was found to hold for the module as it was."""
        count = count_operations(module)
        self.result = ReductionResult(module, module_text(module), count, count)

    def run(self, reducers: Sequence[Reducer[Any]] | None = None) -> ReductionResult:
        """Runs the reduction to its end. Raises as `reduce_module` does."""
        text = self.result.text
        try:
            self._seen.add(_key(text))
            if not self._holds(self._read(text), "start"):
                raise ReductionError("the predicate does not hold for the module as it is: there is nothing to reduce")
            self.begun = True
            self._accept(text)
            self._to_fixpoint(all_reducers(self._context.blobs) if reducers is None else reducers)
        except _Stopped as stop:
            self.result.stopped = stop.reason
        except KeyboardInterrupt:
            self.result.stopped = "interrupt"
        finally:
            self.result.seconds = time.monotonic() - self._start
        return self.result

    def _to_fixpoint(self, reducers: Sequence[Reducer[Any]]) -> None:
        settled: dict[int, str] = {}
        while any(settled.get(index) != self.result.text for index in range(len(reducers))):
            for index, reducer in enumerate(reducers):
                if settled.get(index) != self.result.text:
                    self._minimize(reducer)
                    settled[index] = self.result.text

    def _minimize(self, reducer: Reducer[Any]) -> None:
        """Applies delta debugging: changes all targets at once, then halves, quarters, …, single ones; the rest is divided further."""
        count = size = len(reducer.targets(self.result.module))
        while size:
            start = 0
            while start < count:
                if self._attempt(reducer, start, start + size):
                    count = len(reducer.targets(self.result.module))
                else:
                    start += size
            size //= 2

    def _attempt(self, reducer: Reducer[Any], start: int, stop: int) -> bool:
        """Returns whether changing these targets gives a valid new module for which the predicate holds, and makes it the result."""
        candidate = self.result.module.clone()
        try:
            reducer.apply(candidate, reducer.targets(candidate)[start:stop])
            verify_module(candidate)
            text = module_text(candidate)
        except Exception:  # an invalid edit may fail in the verifier or the printer of any dialect, in any way
            self.result.invalid += 1
            return False
        key = _key(text)
        if key in self._seen:
            self.result.repeated += 1
            return False
        self._seen.add(key)
        try:
            parsed = parse_module(text, self._context).module
            if not self._holds(parsed, reducer.name):
                return False
            self._accept(text)
        except IRError:
            self.result.invalid += 1
            return False
        self.result.accepted[reducer.name] += 1
        return True

    def _read(self, text: str) -> ModuleOp:
        parsed = parse_module(text, self._context)
        verify_parsed(parsed)
        return parsed.module

    def _accept(self, text: str) -> None:
        # The predicate may have changed the module that it saw.
        module = self._read(text)
        count = count_operations(module)
        # The fields of the result must change together, so nothing that an interrupt could split is done between.
        self.result.module, self.result.text, self.result.operations = module, text, count

    def _holds(self, module: ModuleOp, reducer: str) -> bool:
        if self._timeout is not None and time.monotonic() - self._start > self._timeout:
            raise _Stopped("timeout")
        if self._max_tests is not None and self.result.tests >= self._max_tests:
            raise _Stopped("limit")
        self.result.tests += 1
        if self._on_progress is not None:
            self._on_progress(Progress(reducer, self.result.operations, self.result.operations_before, self.result.tests))
        return bool(self._predicate(module, self._context))


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
