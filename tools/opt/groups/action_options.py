"""`--profile-actions`, `--log-actions-to`, `--debug-counter`: watch and forbid single rewrites."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, TextIO

from flambeau.passes.manager import Instrumentation
from flambeau.support.files import open_text
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionAction, OptionGroup
from flambeau.tools.opt.result_files import report_file

if TYPE_CHECKING:
    from collections.abc import Generator

    from flambeau.tools.instruments.debug_counter import DebugCounter
    from flambeau.tools.instruments.spans import SpanInstrumentation


class _Join(OptionAction):
    """An option that may be repeated: the lists are concatenated."""

    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        earlier = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{earlier},{value}" if earlier else value)


class DebugCounterGroup(OptionGroup):
    """The options for debug counters over all chunks."""

    title = "debug counters"

    def __init__(self) -> None:
        self._counter: DebugCounter | None = None

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--debug-counter",
            action=_Join,
            metavar="NAME-skip=N,NAME-count=N",
            help="of the attempts to rewrite by pattern or pass NAME (* is any), forbid the first SKIP and those after the next COUNT",
        )
        group.add_argument(
            "--print-debug-counter",
            action="store_true",
            help="print to stderr how many attempts there were, and how many were let through",
        )

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Reads the counters."""
        self._counter = None
        if arguments.debug_counter is None and not arguments.print_debug_counter:
            return
        from flambeau.tools.instruments.debug_counter import DebugCounter, DebugCounterError, parse_debug_counters

        try:
            self._counter = DebugCounter(parse_debug_counters(arguments.debug_counter or ""))
        except DebugCounterError as error:
            parser.error(str(error))

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the debug counter."""
        return () if self._counter is None else (self._counter,)

    def finish(self, arguments: argparse.Namespace) -> None:
        """Prints the counts, and warns of counters that counted nothing."""
        counter, self._counter = self._counter, None
        if counter is None:
            return
        if arguments.print_debug_counter:
            for name, seen in sorted(counter.seen.items()):
                print(f"{name}: {seen} attempts, {counter.allowed[name]} let through", file=sys.stderr)
        for name in sorted(set(counter.ranges) - set(counter.seen)):
            from flambeau.tools.rendering.diagnostics_rendering import tell

            tell(
                "warning", f"debug counter {name!r} counted nothing: no pattern and no pass of this name tried to rewrite", arguments.color
            )


class ActionsGroup(OptionGroup):
    """The options for traces and logs."""

    title = "actions"

    def __init__(self) -> None:
        self._watchers: list[SpanInstrumentation] = []
        self._files = ExitStack()
        self._opened = False

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--profile-actions",
            metavar="FILE",
            type=report_file,
            help="write a trace in which every pass and every attempt to rewrite is an event, for ui.perfetto.dev or chrome://tracing; "
            "- is stderr",
        )
        group.add_argument("--log-actions-to", metavar="FILE", type=report_file, help="write the same as lines of text; - is stderr")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Resets the state of an earlier run in this process."""
        self._files.close()
        self._watchers = []
        self._opened = False

    def phase(self, name: str, arguments: argparse.Namespace) -> AbstractContextManager[None]:
        """Records the phase as an event. The pipeline is an event of its own."""
        self._open(arguments)
        return self._phase(name)

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the instrumentation that writes the log."""
        return self._watchers

    def finish(self, arguments: argparse.Namespace) -> None:
        """Closes the files."""
        self._files.close()
        self._watchers = []

    def _open(self, arguments: argparse.Namespace) -> None:
        if self._opened or not (arguments.profile_actions or arguments.log_actions_to):
            return
        from flambeau.tools.instruments.trace_events import ActionLog, TraceWriter

        self._opened = True
        if arguments.log_actions_to:
            self._watchers.append(log := ActionLog(self._file(arguments.log_actions_to)))
            self._files.callback(log.close)
        if arguments.profile_actions:
            self._watchers.append(self._files.enter_context(TraceWriter(self._file(arguments.profile_actions))))

    def _file(self, name: str) -> TextIO:
        return sys.stderr if name == "-" else self._files.enter_context(open_text(name))

    @contextmanager
    def _phase(self, name: str) -> Generator[None, None, None]:
        with ExitStack() as stack:
            for watcher in self._watchers if name != "passes" else ():
                stack.enter_context(watcher.phase(name))
            yield
