"""The passes and pipelines that exist: this folder's files, xDSL's passes, and the lists in `passes/__init__.py`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import ArgSpecParseError

import flambeau.passes

if TYPE_CHECKING:
    from flambeau.passes.pipelines import Pipeline

_LIBRARY = ("registry", "pipelines")
"""Files of this folder that are not passes."""


_REGISTERED: dict[str, type[ModulePass]] = {}
"""Passes of layers above this one, and of plug-ins."""
_PIPELINES: dict[str, Pipeline] = {}
"""Pipelines of layers above this one, and of plug-ins."""


class PipelineError(ValueError):
    """A pipeline that does not parse or names what does not exist."""


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


def _constant(kind: type[ModulePass]) -> Callable[[], type[ModulePass]]:
    return lambda: kind


def register_pipeline(name: str, pipeline: Pipeline) -> None:
    """Makes a named pipeline known: a function from options to passes."""
    _PIPELINES[name] = pipeline


def pipelines() -> dict[str, Pipeline]:
    """Every named pipeline."""
    from flambeau.passes.pipelines import PIPELINES

    return PIPELINES | _PIPELINES


def find_passes(spec: ArgSpec) -> Sequence[ModulePass]:
    """The passes that a specification asks for: one, or those of a named pipeline. Raises PipelineError for unknown names and options."""
    name = spec.name
    if name in (known := pipelines()):
        from flambeau.passes.pipelines import PipelineOptions

        try:
            return known[name](PipelineOptions.from_spec(ArgSpec(PipelineOptions.name, spec.parameters)))
        except (ValueError, TypeError) as error:
            raise PipelineError(f"pipeline {name!r}: {error}") from error
    factory = all_passes().get(name) if name not in _REGISTERED else _constant(_REGISTERED[name])
    if factory is None:
        near = get_close_matches(name, [*all_passes(), *_REGISTERED, *known], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PipelineError(f"there is no pass or pipeline {name!r}{hint}")
    try:
        return [factory().from_spec(spec)]
    except (ValueError, TypeError, ArgSpecParseError) as error:
        raise PipelineError(f"pass {name!r}: {error}") from error
