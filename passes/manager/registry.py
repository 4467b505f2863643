"""The passes and pipelines that exist: our files, xDSL's passes, the lists of `pipelines.py`, and those of plug-ins."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

import flambeau.passes
from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.passes.manager.pass_options import Option, OptionError, construct
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.support.position import Position
from flambeau.support.tables import RegistrationError, Table, check_called, hint, origin

PipelineFunction = Callable[[PipelineOptions], Sequence[ModulePass]]
"""A named pipeline: the passes that it stands for, given its options."""

_FILES = (
    "conversion/*.py",
    "delegation/partition.py",
    "delegation/*_partitions.py",
    "delegation/*_payloads.py",
    "memory/*.py",
    "transforms/*.py",
)
"""The files that are passes."""

PIPELINE_FILE = "<pipeline>"
"""The name of a pipeline's text in messages."""


class PipelineError(ValueError):
    """A pipeline that does not parse, or names passes or options that do not exist."""

    def __init__(self, message: str, offset: int | None = None, text: str | None = None):
        super().__init__(message)
        self.message = message
        self.offset = offset
        """The place in the text of the pipeline."""
        self.text = text
        """The text, once it is known."""

    @property
    def diagnostic(self) -> Diagnostic:
        """The error, with its place in the text."""
        if self.text is None or self.offset is None:
            return Diagnostic("error", self.message)
        before = self.text[: self.offset]
        return Diagnostic("error", self.message, Position(PIPELINE_FILE, before.count("\n") + 1, self.offset - before.rfind("\n")))

    def __str__(self) -> str:
        return self.message if self.text is None or self.offset is None else str(self.diagnostic)


@cache
def own_pass_names() -> tuple[str, ...]:
    """Returns the names of our passes."""
    return tuple(sorted(_own_pass_files()))


@cache
def _own_pass_files() -> dict[str, Path]:
    """Returns the file of each of our passes, by the pass's name: `fold_constants.py` is `fold-constants`."""
    files = (file for folder in flambeau.passes.__path__ for pattern in _FILES for file in Path(folder).glob(pattern))
    return {file.stem.replace("_", "-"): file for file in files if file.stem != "__init__"}


def own_pass_file(name: str) -> Path:
    """Returns the file of one of our passes."""
    return _own_pass_files()[name]


def _builtin_pass(name: str) -> tuple[str, type[ModulePass]] | None:
    if name in own_pass_names():
        return "Flambeau", own_pass(name)
    return ("xDSL", all_passes()[name]()) if name in all_passes() else None


@cache
def _own_pipelines() -> dict[str, PipelineFunction]:
    """Returns the named pipelines of ours, found as the passes are: by the name of their file."""
    return importlib.import_module("flambeau.passes.pipelines").PIPELINES


def _builtin_pipeline(name: str) -> tuple[str, PipelineFunction] | None:
    return ("Flambeau", _own_pipelines()[name]) if name in _own_pipelines() else None


_PASSES: Table[type[ModulePass]] = Table("pass", _builtin_pass)
"""Passes of layers above this one, and of plug-ins."""
_PIPELINES: Table[PipelineFunction] = Table("pipeline", _builtin_pipeline)
"""Pipelines of layers above this one, and of plug-ins."""


def register_pass(kind: type[ModulePass]) -> None:
    """Makes a pass of a layer above this one, or of a plug-in, known by its name. Raises RegistrationError for a name that is taken."""
    if kind.name in pipelines():
        raise RegistrationError(f"{origin()} declares the pass {kind.name!r}, but there is a pipeline of that name; give it another name")
    _PASSES.add(kind.name, kind)


def registered_passes() -> dict[str, type[ModulePass]]:
    """Returns the passes that layers above this one, and plug-ins, made known, by name."""
    return _PASSES.items()


def own_pass(name: str) -> type[ModulePass]:
    """Returns the class of one of our passes, imported now."""
    file = own_pass_file(name)
    module = importlib.import_module(f"flambeau.passes.{file.parent.name}.{file.stem}")
    return getattr(module, "".join(part.capitalize() for part in name.split("-")) + "Pass")


@cache
def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Returns every pass by name, ours before xDSL's of the same name, as factories that import it."""
    passes: dict[str, Callable[[], type[ModulePass]]] = dict(get_all_passes())
    for name in own_pass_names():
        passes[name] = _factory(name)
    return passes


def _factory(name: str) -> Callable[[], type[ModulePass]]:
    return lambda: own_pass(name)


def register_pipeline(name: str, function: PipelineFunction) -> None:
    """Makes a named pipeline known: a function from options to passes. Raises RegistrationError for a name that is taken."""
    if name in all_passes() or name in _PASSES.items():
        raise RegistrationError(f"{origin()} declares the pipeline {name!r}, but there is a pass of that name; give it another name")
    _PIPELINES.add(name, function)


def pipeline(name: str) -> Callable[[PipelineFunction], PipelineFunction]:
    """Declares the function below as the pipeline `name`, as `register_pipeline` does."""
    check_called("pipeline", name, "my-pipeline")

    def declare(function: PipelineFunction) -> PipelineFunction:
        register_pipeline(name, function)
        return function

    return declare


def pipelines() -> dict[str, PipelineFunction]:
    """Returns every named pipeline."""
    return _own_pipelines() | _PIPELINES.items()


def every_name() -> list[str]:
    """Returns the names of all pipelines and passes."""
    return sorted({*pipelines(), *all_passes(), *registered_passes()})


def find_passes(name: str, options: Sequence[Option] = ()) -> Sequence[ModulePass]:
    """Returns the passes that a name stands for: one, or those of a named pipeline.

    Raises:
        PipelineError: an unknown name or option, or a value that does not fit; with the option's offset.
    """
    kind = find_pass(name)
    try:
        if kind is not None:
            return [construct(kind, f"pass {name!r}", options)]
        if name in (known := pipelines()):
            passes = known[name](construct(PipelineOptions, f"pipeline {name!r}", options))
            wrong = next((item for item in passes if not isinstance(item, ModulePass)), None)  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
            if wrong is not None:
                raise TypeError(f"its function gives {wrong!r} among its passes: it must give instances of passes")
            return passes
    except OptionError as error:
        raise PipelineError(str(error), error.offset) from error
    except (ValueError, TypeError) as error:
        raise PipelineError(f"{'pipeline' if kind is None else 'pass'} {name!r}: {error}") from error
    raise PipelineError(f"there is no pass or pipeline {name!r}{hint(name, [*all_passes(), *_PASSES.items(), *known])}")


def find_pass(name: str) -> type[ModulePass] | None:
    """Returns the class of a pass, imported now; None when there is none of that name."""
    if (found := _PASSES.items().get(name)) is not None:
        return found
    if (factory := all_passes().get(name)) is not None:
        return factory()
    return None if name in pipelines() else _PASSES.find(name)
