"""The base class of option groups of `flambeau-opt`: a group adds its options, and the instrumentations that they request."""

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
    """The number of the chunk in the input, from 0."""
    arguments: argparse.Namespace


Arguments: TypeAlias = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage]  argparse names it so
"""The part of the parser that a group adds its options to."""


class OptionAction(argparse.Action):
    """An option with an effect at its place in the order of options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Acts, as argparse calls it."""
        self.act(parser, namespace, values)

    @abstractmethod
    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        """Applies the option with its value."""


class OptionGroup:
    """A base class whose hooks subclasses override."""

    title: str

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Refuses contradictory options, by `parser.error`. A ValueError or OSError is shown, and ends the tool too."""

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the instrumentations for the pipeline over one chunk. Modules needed only by some options are imported here."""
        return ()

    def phase(self, name: str, arguments: argparse.Namespace) -> AbstractContextManager[None]:
        """Wraps each phase of the tool's work on a chunk: `parse`, `verify`, `passes`, `print`."""
        return nullcontext()

    def finish(self, arguments: argparse.Namespace) -> None:
        """Writes reports. Called once after the last chunk, or after an error that ended the work."""
