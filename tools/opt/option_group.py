"""The base of groups of options of `flambeau-opt`: a group adds its options, and the instrumentation that they ask for."""

from __future__ import annotations

import argparse
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import ParsedModule
from flambeau.passes.manager import Instrumentation, Pipeline


@dataclass(eq=False)
class Chunk:
    """One module of the input on its way through the tool."""

    parsed: ParsedModule
    context: FlambeauContext
    pipeline: Pipeline
    number: int
    """Counted from 0 over the input."""
    arguments: argparse.Namespace


Arguments: TypeAlias = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage]  argparse names it so
"""The part of the parser that a group adds its options to."""


class OptionAction(argparse.Action):
    """An option that does something where it stands."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """The function that argparse calls."""
        self.act(parser, namespace, values)

    @abstractmethod
    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        """Does it, given the value of the option."""


class OptionGroup:
    """Overrides what it needs."""

    title: str

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Refuses combinations that make no sense, by `parser.error`. A ValueError or OSError is shown, and ends the tool too."""

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the instrumentations for the pipeline over one chunk. Modules that only some options need are imported here."""
        return ()

    def phase(self, name: str, arguments: argparse.Namespace) -> AbstractContextManager[None]:
        """Is entered around each phase of the tool's work on a chunk: `parse`, `verify`, `passes`, `print`."""
        return nullcontext()

    def finish(self, arguments: argparse.Namespace) -> None:
        """Called once after the last chunk, or after what ended the work before: writes reports."""
