"""Prints the IR between passes: before and after passes as MLIR does, and changes as LLVM does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.text.operation_text import PrintingOptions, TextWithNames, operation_text
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline, pass_text
from flambeau.support.terminal import wants_colour
from flambeau.tools.instruments.snapshot import Snapshot

ELIDED_ABOVE = 64
"""Constants of more elements are not printed between passes unless the user says otherwise."""

Selection: TypeAlias = frozenset[str] | Literal["all"]
"""Names of passes."""

ChangeMode: TypeAlias = Literal["full", "quiet", "diff"]
"""The modes of printing changes: all IR; only the IR after passes that changed something; or a diff."""

CHANGE_MODES = ("full", "quiet", "diff", "cdiff")
"""The names of the modes for users; `cdiff` is a diff that is always in colour."""


def print_changes(stream: IO[str], mode: str, **others: Any) -> ChangePrinting:
    """Returns the instrumentation that prints changes in a mode; diffs are coloured on a terminal."""
    colour = wants_colour(stream, always=mode == "cdiff")
    shown: dict[str, ChangeMode] = {"full": "full", "quiet": "quiet"}
    return ChangePrinting(stream, shown.get(mode, "diff"), colour, **others)


def header(what: str, step: PassStep, note: str = "") -> str:
    """Returns the line above a dump, `// -----// IR Dump After CsePass (cse) //----- //`; for a nested pass also with its operation."""
    place = ""
    if step.op is not step.module:
        symbol = symbol_name(step.op)
        place = f" ('{step.op.name}' operation{f': @{symbol}' if symbol else ''})"
    return f"// -----// IR {what} {type(step.pass_).__name__}{note} ({pass_text(step.pass_)}){place} //----- //"


def _chosen(selection: Selection, step: PassStep) -> bool:
    return selection == "all" or step.name in selection


@dataclass(eq=False)
class IRPrinting(Instrumentation):
    """An instrumentation that prints the IR before and after passes.

    Attributes:
        stream: the output.
        before: selects the passes before which to print.
        after: selects the passes after which to print.
        only_changed: print after a pass only if it changed something.
        after_failure: print the IR that a failed pass left.
        module_scope: print the whole module also for a pass that runs on one function.
        options: how to print.
    """

    stream: IO[str]
    before: Selection = frozenset()
    after: Selection = frozenset()
    only_changed: bool = False
    after_failure: bool = False
    module_scope: bool = False
    options: PrintingOptions = field(default_factory=lambda: PrintingOptions(elide_above=ELIDED_ABOVE))
    _found: Snapshot | None = None

    def before_pass(self, step: PassStep) -> None:
        """Prints the IR before the pass."""
        if _chosen(self.before, step):
            self._print("Dump Before", step)
        if self.only_changed and _chosen(self.after, step):
            self._found = Snapshot(step.op, locations=self.options.locations)

    def after_pass(self, step: PassStep) -> None:
        """Prints the IR after the pass."""
        if not _chosen(self.after, step):
            return
        if self.only_changed and self._found == Snapshot(step.op, locations=self.options.locations):
            return
        self._print("Dump After", step)

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Prints the IR that the failed pass left."""
        if self.after_failure:
            self._print("Dump After", step, " Failed")

    def _print(self, what: str, step: PassStep, note: str = "") -> None:
        op = step.module if self.module_scope else step.op
        self.stream.write(f"{header(what, step, note)}\n{operation_text(op, self.options)}\n")


@dataclass(eq=False)
class ChangePrinting(Instrumentation):
    """An instrumentation that prints the changes of each pass.

    In a diff, values have the names that the IR after the pass gives them, so that a value that is gone does not rename all that follow.

    Attributes:
        stream: the output.
        mode: the part of a change to print.
        colour: whether lines of a diff are coloured.
        module_scope: compare and print the whole module also for a pass that runs on one function.
        options: how to print.
    """

    stream: IO[str]
    mode: ChangeMode = "full"
    colour: bool = False
    module_scope: bool = False
    options: PrintingOptions = field(default_factory=lambda: PrintingOptions(elide_above=ELIDED_ABOVE))
    _found: Snapshot | None = None
    _text: TextWithNames | None = None
    _text_of: tuple[Operation, Snapshot] | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Prints the input if whole IR is printed."""
        if self.mode == "full":
            self.stream.write(f"// -----// IR Dump At Start //----- //\n{operation_text(module, self.options)}\n")

    def before_pass(self, step: PassStep) -> None:
        """Records the IR before the pass."""
        op = self._scope(step)
        self._found = Snapshot(op, locations=self.options.locations)
        if self.mode == "diff" and self._text_of != (op, self._found):
            self._text = TextWithNames(op, self.options)

    def after_pass(self, step: PassStep) -> None:
        """Prints the difference."""
        op = self._scope(step)
        left = Snapshot(op, locations=self.options.locations)
        changed = left != self._found
        if self.mode == "diff" and self._text is not None:
            before, self._text = (self._text, TextWithNames(op, self.options) if changed else self._text)
            self._text_of = (op, left)
            if changed:
                diff = "".join(f"{line}\n" for line in self._diff(before.named_as(self._text), self._text.text))
                self.stream.write(f"{header('Diff After', step)}\n{diff}\n")
        elif changed:
            self.stream.write(f"{header('Dump After', step)}\n{operation_text(op, self.options)}\n")
        if not changed and self.mode != "quiet":
            self.stream.write(f"{header('Diff After' if self.mode == 'diff' else 'Dump After', step)} [no change]\n\n")

    def _scope(self, step: PassStep) -> Operation:
        return step.module if self.module_scope else step.op

    def _diff(self, before: str, after: str) -> Iterable[str]:
        lines = diff_lines(before, after)
        return coloured(lines) if self.colour else lines


def diff_lines(before: str, after: str) -> list[str]:
    """Returns the lines of a unified diff, without the names of files."""
    from difflib import unified_diff

    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]


_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines of a diff in the usual colours."""
    for line in lines:
        colour = _COLOURS.get(line[:1])
        yield f"{colour}{line}\x1b[0m" if colour else line
