"""Base classes of passes on one operation and its regions, so that pipelines can nest them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pattern import Pattern


@dataclass(frozen=True)
class OperationPass(ModulePass):
    """A pass that reads and writes nothing outside the operation it is given.

    `func.func(my-pass)` runs it on each function; at the top level it runs on the module. A pass that needs the module's globals or
    other functions derives from xDSL's `ModulePass` instead, and may not be nested.
    """

    anchors: ClassVar[tuple[str, ...]] = ()
    """The operations that it may run on, by name; any when empty."""
    works_on: ClassVar[tuple[str, ...]] = ()
    """The operations, or the dialects, that it does something with: a warning says when there are others only. Any when empty."""

    @abstractmethod
    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites `op` and what is inside it, in place."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module."""
        self.apply_to(ctx, op)


@dataclass(frozen=True)
class PatternPass(OperationPass):
    """A pass that is a set of patterns, applied until none matches."""

    @abstractmethod
    def patterns(self) -> Sequence[Pattern]:
        """Returns the patterns, in the order in which they are tried on an operation."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Applies the patterns. Raises ValueError for anything else."""
        found = self.patterns()
        if not isinstance(found, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
            raise ValueError(f"patterns() of {type(self).__name__} gives {type(found).__name__}, not a list of patterns")
        PatternDriver(found).run(op)
