"""The passes and pipelines that exist: this folder's files, xDSL's passes, and the lists in `passes/__init__.py`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

import flambeau.passes
from flambeau.dialects.diagnostics import Diagnostic, Position
from flambeau.passes.options import Option, OptionError, construct

if TYPE_CHECKING:
    from flambeau.passes.pipelines import Pipeline

_LIBRARY = ("options", "pipelines", "registry")
"""Files of this folder that are not passes."""


_REGISTERED: dict[str, type[ModulePass]] = {}
"""Passes of layers above this one, and of plug-ins."""
_PIPELINES: dict[str, Pipeline] = {}
"""Pipelines of layers above this one, and of plug-ins."""


class PipelineError(ValueError):
    """A pipeline that does not parse, or names passes or options that do not exist."""

    def __init__(self, message: str, offset: int | None = None, text: str | None = None):
        super().__init__(message)
        self.message = message
        self.offset = offset
        """Where in the text of the pipeline."""
        self.text = text
        """The text, once it is known."""

    @property
    def diagnostic(self) -> Diagnostic:
        """The error, with its place in the text."""
        if self.text is None or self.offset is None:
            return Diagnostic("error", self.message)
        before = self.text[: self.offset]
        return Diagnostic("error", self.message, Position("<pipeline>", before.count("\n") + 1, self.offset - before.rfind("\n")))

    def __str__(self) -> str:
        return self.message if self.text is None or self.offset is None else str(self.diagnostic)


@cache
def own_pass_names() -> tuple[str, ...]:
    """The names of our passes, by listing the folder: `fold_constants.py` is `fold-constants`."""
    modules = pkgutil.iter_modules(flambeau.passes.__path__)
    return tuple(sorted(m.name.replace("_", "-") for m in modules if not m.ispkg and m.name not in _LIBRARY))


def register_pass(kind: type[ModulePass]) -> None:
    """Makes a pass of a layer above this one known by its name."""
    _REGISTERED[kind.name] = kind


def registered_passes() -> dict[str, type[ModulePass]]:
    """The passes that layers above this one made known, by name."""
    return dict(_REGISTERED)


def own_pass(name: str) -> type[ModulePass]:
    """The class of one of our passes, imported now."""
    module = importlib.import_module(f"flambeau.passes.{name.replace('-', '_')}")
    return getattr(module, "".join(part.capitalize() for part in name.split("-")) + "Pass")


@cache
def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass by name, ours before xDSL's of the same name, as factories that import it."""
    passes: dict[str, Callable[[], type[ModulePass]]] = dict(get_all_passes())
    for name in own_pass_names():
        passes[name] = _factory(name)
    return passes


def _factory(name: str) -> Callable[[], type[ModulePass]]:
    return lambda: own_pass(name)


def register_pipeline(name: str, pipeline: Pipeline) -> None:
    """Makes a named pipeline known: a function from options to passes."""
    _PIPELINES[name] = pipeline


def pipelines() -> dict[str, Pipeline]:
    """Every named pipeline."""
    from flambeau.passes.pipelines import PIPELINES

    return PIPELINES | _PIPELINES


def find_passes(name: str, options: Sequence[Option] = ()) -> Sequence[ModulePass]:
    """The passes that a name stands for: one, or those of a named pipeline.

    Raises:
        PipelineError: an unknown name or option, or a value that does not fit; with the option's offset.
    """
    kind = find_pass(name)
    try:
        if kind is not None:
            return [construct(kind, f"pass {name!r}", options)]
        if name in (known := pipelines()):
            from flambeau.passes.pipelines import PipelineOptions

            return known[name](construct(PipelineOptions, f"pipeline {name!r}", options))
    except OptionError as error:
        raise PipelineError(str(error), error.offset) from error
    except (ValueError, TypeError) as error:
        raise PipelineError(f"{'pipeline' if kind is None else 'pass'} {name!r}: {error}") from error
    raise PipelineError(f"there is no pass or pipeline {name!r}{did_you_mean(name, [*all_passes(), *_REGISTERED, *known])}")


def find_pass(name: str) -> type[ModulePass] | None:
    """The class of a pass, imported now; None when there is none of that name. Those of plug-ins come first."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    factory = all_passes().get(name)
    return None if factory is None else factory()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known name that is nearest, or nothing."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
