"""How options may be spelt: with one dash, under the names that mlir-opt and xdsl-opt have for them, and what those have that we lack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from flambeau.support.suggestions import nearest

ALIASES = {
    "help-hidden": "help",
    "help-list": "help",
    "help-list-hidden": "help",
    "load-dialect-plugin": "load-plugin",
    "load-pass-plugin": "load-plugin",
    "log-mlir-actions-to": "log-actions-to",
    "mlir-pass-pipeline-crash-reproducer": "crash-reproducer",
    "mlir-print-ir-tree-dir": "dump-dir",
    "output-file": "output",
    "profile-actions-to": "profile-actions",
    "time-passes": "timing",
}
"""Other tools' names of options of ours. Those of mlir-opt that are ours with `mlir-` before them need no line."""

NOTHING_TO_DO = {
    "mlir-disable-threading": "there is one thread",
    "mlir-pass-pipeline-local-reproducer": "reproducers begin as late in the pipeline as the error still comes",
}
"""Options of other tools that ask for what is always so, and why."""

HINTS = {
    "debug": "--remarks prints what passes did or declined, --log-actions-to=- every rewrite",
    "debug-only": "--remarks=REGEX prints what passes did or declined, --log-actions-to=- every rewrite",
    "disable-verify": "--verify-each=0 leaves out the verification after passes",
    "elide-resource-data-from-bytecode": "there is no bytecode",
    "emit-bytecode": "there is no bytecode; flambeau compile writes programs",
    "emit-bytecode-version": "there is no bytecode",
    "log-mlir-actions-filter": "--log-actions-to writes all of them",
    "mlir-enable-debugger-hook": "--debug-counter forbids single rewrites, and flambeau bisect finds the one that is wrong",
    "mlir-output-format": "--timing-json writes the times as JSON",
    "mlir-pretty-debuginfo": "--print-debuginfo prints locations",
    "mlir-print-elementsattrs-with-hex-if-larger": "--elide-elementsattrs-if-larger leaves large constants out",
    "mlir-print-op-on-diagnostic": "diagnostics show the operation anyway",
    "mlir-print-skip-regions": "regions are always printed",
    "no-implicit-module": "operations that stand alone always get a module around them",
    "print-between-passes": "--print-ir-after-all prints the IR after every pass, on stderr",
}
"""Options of other tools that are none of ours, and what there is instead."""

_ON, _OFF = ("1", "true"), ("0", "false")


class Spelling:
    """What each argument of a command line stands for, with two dashes and under our name.

    Args:
        options: the options that there are, without dashes: `passes`, `p`.
        flags: those of them that take no value; `=true` and `=false` may follow them as in LLVM.
        passes: gives the names of passes and pipelines, which are options too.
    """

    def __init__(self, options: Collection[str], flags: Collection[str], passes: Callable[[], Collection[str]]):
        self._options = options
        self._flags = flags
        self._passes = passes

    def resolve_all(self, arguments: Iterable[str]) -> list[str]:
        """The arguments as we write them, without those that ask for nothing. Of a flag that is on and off, the last one counts."""
        found: list[str] = []
        for argument in arguments:
            if (off := self._switched_off(argument)) is not None:
                found = [item for item in found if item != f"--{off}"]
            elif (item := self.resolve(argument)) is not None:
                found.append(item)
        return found

    def _switched_off(self, argument: str) -> str | None:
        """The flag that an argument switches off."""
        name, equals, value = argument.lstrip("-").partition("=")
        ours = self.name_of(name)
        return ours if argument.startswith("-") and ours in self._flags and equals and value.lower() in _OFF else None

    def resolve(self, argument: str) -> str | None:
        """The argument as we write it, None when it asks for nothing; as it is when nothing is known by its name."""
        name, equals, value = argument.lstrip("-").partition("=")
        dashes = len(argument) - len(argument.lstrip("-"))
        if dashes not in (1, 2) or len(name) < 2:
            return argument
        if name in NOTHING_TO_DO:
            return None
        ours = self.name_of(name)
        if self._switched_off(argument) is not None:
            return None
        if ours in self._flags and equals and value.lower() in _ON:
            return f"--{ours}"
        if ours in self._options:
            return f"--{ours}{equals}{value}"
        return f"-{argument}" if dashes == 1 and name[0] in self._options and self._is_name(name) else argument

    def _is_name(self, text: str) -> bool:
        """Whether what begins like a short option is a name, be it misspelt, and not the option with its value behind: `-pcse`."""
        passes = self._passes()
        if text in passes or text in HINTS:
            return True
        alike = (name for name in (*passes, *self._options, *ALIASES) if name[0] == text[0])
        return text[1:] not in passes and nearest(text, alike, cutoff=0.8) is not None

    def name_of(self, name: str) -> str:
        """Our name of an option."""
        ours = name.removeprefix("mlir-")
        return ALIASES.get(name) or (ours if ours in self._options else name)
