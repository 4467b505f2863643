"""The analysis of an open file: its modules, each with its diagnostics and the last readable form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, ParsedModule, parse_module, verify_parsed
from flambeau.dialects.text.source_map import Mention, Named, SourceMap
from flambeau.dialects.text.source_text import Source
from flambeau.support.collector import collector_paused
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.language_server.text_positions import Edit, Lines
from flambeau.tools.opt.argument_parser import SPLIT_MARKER
from flambeau.tools.opt.expectations import Expectations
from flambeau.tools.opt.input import split

SMALL = 60_000
"""The most characters of a module that is read at once with the places of all names, which takes several times as long."""

_RUN = re.compile(r"^\s*//\s*RUN:(.*)$", re.MULTILINE)
_PASSES = re.compile(r"(?:^|\s)(?:-p|--passes|--pass-pipeline|--[\w-]*check[\w-]*|--run-reproducer)\b")


@dataclass(frozen=True)
class Settings:
    """The settings for reading files, from the command line or the editor."""

    allow_unregistered: bool = False
    encoding: str = "utf-16"
    """The encoding whose units the editor counts: `utf-8`, `utf-16` or `utf-32`."""


@dataclass(frozen=True)
class Run:
    """The settings in the RUN lines of a test."""

    allow_unregistered: bool = False
    verifies_diagnostics: bool = False
    only_expected: bool = False
    runs_passes: bool = False
    """Whether a RUN line runs passes, so that comments may expect diagnostics of passes."""

    @staticmethod
    def of(text: str) -> Run:
        """Reads the RUN lines."""
        lines = "\n".join(_RUN.findall(text))
        return Run(
            "--allow-unregistered-dialect" in lines,
            "--verify-diagnostics" in lines,
            "--verify-diagnostics=only-expected" in lines,
            _PASSES.search(lines) is not None,
        )


@dataclass(frozen=True)
class Fault:
    """A diagnostic of a chunk, and whether a comment in the text expects it."""

    diagnostic: Diagnostic
    expected: bool = False


@dataclass(frozen=True)
class Chunk:
    """One module of a file: the whole file, or the text between `// -----` lines."""

    source: Source
    start: int
    """The offset in the file where the chunk begins."""
    faults: tuple[Fault, ...] = ()
    parsed: ParsedModule | None = None
    """The module, if the current text can be read; else None."""
    good: ParsedModule | None = None
    """The module of the current text, or of the last earlier text that could be read, with the places of its names."""
    ends_early: bool = False
    """Whether `good` is only the text before the first error, because no complete form could be read yet."""

    @property
    def map(self) -> SourceMap:
        """Returns the places of `good`, in its text."""
        return SourceMap() if self.good is None or self.good.map is None else self.good.map

    @cached_property
    def _edit(self) -> Edit:
        return Edit.between("" if self.good is None else self.good.text, self.source.text)

    def to_good(self, offset: int) -> int | None:
        """Returns the place in the text of `good` that corresponds to an offset of the file."""
        return self._edit.to_old(offset - self.start)

    def before(self, offset: int) -> int:
        """Returns the place in the text of `good` for an offset of the file; for inserted text, the nearest place before the edit."""
        found = self.to_good(offset)
        return self._edit.start if found is None else found

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Returns the offsets in the file of a stretch of the text of `good`; None if it was edited."""
        edit = self._edit
        if start < edit.old_end and end > edit.start:
            return None
        first, last = edit.to_new(start), edit.to_new(end)
        if start >= edit.old_end:
            first = start - edit.old_end + edit.new_end
        return None if first is None or last is None else (self.start + first, self.start + last)

    @property
    def new_from(self) -> int:
        """Returns the offset in the file of the first line that differs from the text of `good`, or that was not read."""
        if self.ends_early:
            return self.start
        return self.start + self.source.text.rfind("\n", 0, self._edit.start) + 1

    def mention_at(self, offset: int) -> Mention | None:
        """Returns the mention of a name at an offset of the file; None if the name is not in `good`."""
        place = self.to_good(offset)
        mention = None if place is None else self.map.mention_at(place)
        return mention if mention is not None and self.span(mention.start, mention.end) is not None else None

    def spans_of(self, named: Named, *, definitions: bool = True) -> Iterator[tuple[int, int]]:
        """Yields the mentions of a value, block or symbol, as offsets of the file."""
        for mention in self.map.mentions_of(named):
            if (definitions or not mention.defines) and (span := self.span(mention.start, mention.end)) is not None:
                yield span

    def operation_at(self, offset: int) -> Operation | None:
        """Returns the innermost operation at an offset of the file."""
        place = self.to_good(offset)
        return None if place is None else self.map.operation_at(place)


@dataclass(frozen=True)
class Analysis:
    """The current state of a file."""

    text: str
    file: str
    settings: Settings = field(default_factory=Settings)
    run: Run = field(default_factory=Run)
    chunks: tuple[Chunk, ...] = ()

    @cached_property
    def lines(self) -> Lines:
        """The text as lines."""
        return Lines(self.text, self.settings.encoding)

    @cached_property
    def allow_unregistered(self) -> bool:
        """Whether operations of unknown dialects are fine."""
        return self.settings.allow_unregistered or self.run.allow_unregistered

    def chunk_at(self, offset: int) -> Chunk:
        """Returns the chunk that contains an offset of the file."""
        return next(chunk for chunk in reversed(self.chunks) if chunk.start <= offset)

    @property
    def is_complete(self) -> bool:
        """Whether the places of names are known in every module that can be read."""
        return all(chunk.good is not None if chunk.parsed is None else chunk.good is chunk.parsed for chunk in self.chunks)


def moved(text: str, previous: Analysis) -> Analysis:
    """Returns the analysis of a new text with earlier results, without reading it."""
    return _divided(text, previous.file, previous.settings, previous)


def _divided(text: str, file: str, settings: Settings, previous: Analysis | None) -> Analysis:
    sources = split(Source(text, file), SPLIT_MARKER)
    known = previous.chunks if previous is not None else ()
    by_text = {chunk.source.text: chunk for chunk in known}
    chunks: list[Chunk] = []
    for index, source in enumerate(sources):
        start = Lines(text).start(source.line_offset) if not chunks else _start_of(text, chunks[-1], source)
        earlier = by_text.get(source.text)
        if earlier is None and len(known) == len(sources):
            earlier = known[index]
        chunks.append(Chunk(source, start) if earlier is None else Chunk(source, start, good=earlier.good, ends_early=earlier.ends_early))
    return Analysis(text, file, settings, Run.of(text), tuple(chunks))


def _start_of(text: str, before: Chunk, source: Source) -> int:
    """Returns the offset of the text after a marker line."""
    end = text.find("\n", before.start + len(before.source.text))
    return len(text) if end < 0 else end + 1


def analyze(text: str, file: str, settings: Settings | None = None, previous: Analysis | None = None) -> Analysis:
    """Reads and verifies every module of a file. Raises nothing, whatever the text.

    Args:
        text: the file's text.
        file: its name.
        settings: how to read it.
        previous: the previous analysis, whose results are kept for modules that cannot be read now.
    """
    divided = _divided(text, file, settings or Settings(), previous)
    same = previous is not None and previous.run == divided.run and previous.settings == divided.settings
    known = {(chunk.source.text, chunk.source.line_offset): chunk for chunk in previous.chunks} if same and previous is not None else {}
    chunks: list[Chunk] = []
    with collector_paused():
        for chunk in divided.chunks:
            before = known.get((chunk.source.text, chunk.source.line_offset))
            done = before is not None and (before.parsed is not None or before.faults)
            chunks.append(replace(before, start=chunk.start) if before is not None and done else _read(chunk, divided))
    return replace(divided, chunks=tuple(chunks))


def completed(analysis: Analysis, is_wanted: Callable[[], bool] = lambda: True) -> Analysis:
    """Returns the analysis with the names of large modules too; unchanged once `is_wanted` returns False."""
    chunks: list[Chunk] = []
    with collector_paused():
        for chunk in analysis.chunks:
            done = chunk.good is not None if chunk.parsed is None else chunk.good is chunk.parsed
            try:
                chunks.append(chunk if done else _with_names(chunk, analysis, is_wanted))
            except _Unwanted:
                return analysis
    return replace(analysis, chunks=tuple(chunks))


def _with_names(chunk: Chunk, analysis: Analysis, is_wanted: Callable[[], bool]) -> Chunk:
    context = _GivingUp(is_wanted, allow_unregistered=analysis.allow_unregistered)
    try:
        parsed = _parse(chunk.source, context, with_names=True)
    except IRError as error:
        return _after(error, replace(chunk, parsed=None))
    return replace(chunk, parsed=parsed, good=parsed, ends_early=False)


class _Unwanted(Exception):
    """A signal that the text has changed while it was read, so that the result is not needed."""


class _GivingUp(FlambeauContext):
    """A context that ends reading soon after `is_wanted` returns False."""

    def __init__(self, is_wanted: Callable[[], bool], *, allow_unregistered: bool):
        super().__init__(allow_unregistered=allow_unregistered)
        self._is_wanted = is_wanted

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        if not self._is_wanted():
            raise _Unwanted
        return super().get_optional_op(name, dialect_stack=dialect_stack)


def _parse(source: Source, context: FlambeauContext, *, with_names: bool) -> ParsedModule:
    parsed = parse_module(source.text, context, source.file, line_offset=source.line_offset, record_symbols=with_names)
    return _indexed(parsed)


def _indexed(parsed: ParsedModule) -> ParsedModule:
    if parsed.map is not None:
        # The first use builds the indices of the map: here, so that no request of the editor waits for them.
        parsed.map.operation_at(0)
        parsed.map.definition_of("")
        parsed.map.mention_at(0)
    return parsed


def _read(chunk: Chunk, analysis: Analysis) -> Chunk:
    try:
        context = FlambeauContext(allow_unregistered=analysis.allow_unregistered)
        parsed = _parse(chunk.source, context, with_names=len(chunk.source.text) <= SMALL)
    except IRError as error:
        return _after(error, replace(chunk, faults=_judged(chunk.source, error.diagnostics, analysis.run)))
    found: tuple[Diagnostic, ...] = ()
    try:
        verify_parsed(parsed)
    except IRError as error:
        found = error.diagnostics
    except Exception as error:  # the rules of a plug-in's operation may fail in any way
        found = (Diagnostic("error", f"the verifier fails: {in_one_line(error)}"),)
    read = replace(chunk, parsed=parsed, faults=_judged(chunk.source, found, analysis.run))
    return read if parsed.map is None else replace(read, good=parsed, ends_early=False)


def _after(error: IRError, chunk: Chunk) -> Chunk:
    """Returns a chunk that cannot be read, with the form before the error, or a complete earlier form if there is one."""
    if error.before is None or (chunk.good is not None and not chunk.ends_early):
        return chunk
    return replace(chunk, good=_indexed(error.before), ends_early=True)


def _judged(source: Source, found: tuple[Diagnostic, ...], run: Run) -> tuple[Fault, ...]:
    """Returns the diagnostics, each with whether a comment of a test expects it."""
    if not run.verifies_diagnostics:
        return tuple(map(Fault, found))
    expectations = Expectations(source, only_expected=run.only_expected)
    malformed = [Fault(problem) for problem in expectations.problems]
    faults: list[Fault] = []
    for diagnostic in found:
        before = len(expectations.problems)
        expectations.see(diagnostic)
        faults.append(Fault(diagnostic, expected=len(expectations.problems) == before))
    if run.runs_passes:
        return (*malformed, *faults)
    unmet = expectations.finish()[len(expectations.problems) :]
    return (*malformed, *faults, *map(Fault, unmet))
