"""The passes and pipelines that exist: this folder's files, xDSL's passes, and the lists in `passes/__init__.py`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

import flambeau.passes

_LIBRARY = ("registry", "runner", "pipelines")
"""Files of this folder that are not passes."""


_REGISTERED: dict[str, type[ModulePass]] = {}
"""Passes of layers above this one."""


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


def find_pass(spec: ArgSpec) -> ModulePass:
    """The pass that a parsed specification asks for. Raises PipelineError for unknown names and options."""
    registered = _REGISTERED.get(spec.name)
    factory = all_passes().get(spec.name) if registered is None else _constant(registered)
    if factory is None:
        from flambeau.passes.pipelines import PIPELINES

        near = get_close_matches(spec.name, [*all_passes(), *_REGISTERED, *PIPELINES], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PipelineError(f"there is no pass or pipeline {spec.name!r}{hint}")
    try:
        return factory().from_spec(spec)
    except (ValueError, TypeError, ArgSpecParseError) as error:
        raise PipelineError(f"pass {spec.name!r}: {error}") from error


def parse_passes(text: str) -> list[ModulePass]:
    """The passes of a pipeline such as `canonicalize,cse,plan-memory{alignment=64}`; pipelines' names stand for their passes."""
    from flambeau.passes.pipelines import PIPELINES, PipelineOptions

    passes: list[ModulePass] = []
    try:
        specs = list(parse_pipeline(text))
    except ArgSpecParseError as error:
        raise PipelineError(f"the pipeline {text!r} does not parse: {' '.join(str(error).split())}") from error
    for spec in specs:
        pipeline = PIPELINES.get(spec.name)
        if pipeline is None:
            passes.append(find_pass(spec))
            continue
        try:
            passes.extend(pipeline(PipelineOptions.from_spec(ArgSpec(PipelineOptions.name, spec.parameters))))
        except (ValueError, TypeError) as error:
            raise PipelineError(f"pipeline {spec.name!r}: {error}") from error
    return passes
