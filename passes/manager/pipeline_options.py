"""The options that every named pipeline takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from xdsl.utils.arg_spec import ArgSpecConvertible

# Few pipelines name a target, an operator, a backend or a planner, and what knows them takes as long to import as the rest: each check
# imports what it asks.


def _known_target(name: str) -> None:
    from flambeau.passes.targets.interface import find_target

    find_target(name)


def _known_operator(name: str) -> None:
    from flambeau.dialects.schema.operators import check_operator

    check_operator(name)


def _known_backend(name: str) -> None:
    from flambeau.backends.interface import find_backend

    find_backend(name)


@dataclass(frozen=True)
class PipelineOptions(ArgSpecConvertible):
    """The options in braces after a pipeline's name: `compile{target=flambeau}`."""

    name: ClassVar[str] = "pipeline"
    target: Annotated[str, _known_target] = "executorch"
    """The target of the program: one of those that `flambeau-opt --list-targets` names."""
    preserve: tuple[Annotated[str, _known_operator], ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[Annotated[str, _known_backend], ...] = ()
    """Backends to hand parts of the program to, the first choice first."""
    planner: str = "best"
    """The algorithm of `plan-memory`, with its other options in braces: `greedy`, `best{alignment=64}`."""
    alloc_graph_input: bool = True
    """Whether inputs lie in an arena, to which the caller's tensors are copied; without, they are read where the caller has them."""
    alloc_graph_output: bool = True
    """Whether outputs lie in an arena; without, they are written where the caller wants them."""
