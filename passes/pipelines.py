"""The named pipelines: each is one word in `flambeau-opt -p`, and `compile` is the whole road from ATen to a planned program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.passes.options import Option, Value
from flambeau.passes.registry import find_pass, find_passes, pipelines


def _known_target(name: str) -> None:
    from flambeau.dialects.exec.target import find_target  # it takes as long to import as this file, and few name one

    find_target(name)


def _known_operator(name: str) -> None:
    from flambeau.passes.decompose_aten import check_operator

    check_operator(name)


def _known_backend(name: str) -> None:
    delegate(PipelineOptions(backends=(name,)))


@dataclass(frozen=True)
class PipelineOptions(ArgSpecConvertible):
    """What may stand in braces after a pipeline's name: `compile{target=flambeau}`."""

    name: ClassVar[str] = "pipeline"
    target: Annotated[str, _known_target] = "executorch"
    """What the program may use: `executorch` or `flambeau`."""
    preserve: tuple[Annotated[str, _known_operator], ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[Annotated[str, _known_backend], ...] = ()
    """Backends to hand parts of the program to, the first choice first."""
    planner: str = "best"
    """What finds a place for each tensor, in braces with other options of `plan-memory`: `greedy`, `best{alignment=64}`."""


Pipeline = Callable[[PipelineOptions], Sequence[ModulePass]]


def _pass(name: str, **options: object) -> ModulePass:
    # By name, so that a tool that runs or lists few passes imports few.
    kind = find_pass(name)
    assert kind is not None, f"there is no pass {name}"
    return kind(**options)


def aten_to_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """From any ATen operator to the closed set of Core ATen."""
    return [
        # Composite operators in terms of Core ATen, but for those that the target runs whole.
        _pass("decompose-aten", target=options.target, preserve=options.preserve),
        # From here on only the closed set exists; whatever is left outside it is reported, all at once.
        _pass("convert-aten-to-core"),
    ]


def optimize_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """What needs neither layout nor storage: one form, no repetition, weights folded."""
    return [
        _pass("canonicalize"),
        # Batch norms disappear before constants are folded: their statistics are then dead.
        _pass("fold-batch-norm"),
        _pass("fold-constants"),
        _pass("canonicalize"),
        _pass("cse"),
        _pass("remove-dead-code"),
    ]


def core_to_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """Types, scalars and memory explicit."""
    return [
        _pass("convert-core-to-edge"),
        # Casts of constants are constants.
        _pass("fold-constants"),
        _pass("cse"),
        _pass("remove-dead-code"),
    ]


def optimize_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """What only Flambeau's runtime can do: fused operators on packed weights, layouts chosen for its kernels."""
    if options.target != "flambeau":
        return []
    return [
        _pass("convert-edge-to-fused"),
        _pass("fuse-rms-norm"),
        # Convolutions are channels-last now; the changes of layout between them meet and cancel.
        _pass("propagate-layouts"),
        _pass("canonicalize"),
        _pass("cse"),
        # Layouts are settled, so an epilogue's operands are of the same type where they can be fused at all.
        _pass("fuse-epilogues"),
        _pass("remove-dead-code"),
    ]


def delegate(options: PipelineOptions) -> Sequence[ModulePass]:
    """What `options.backends` take goes to them, if any are named. The passes are those that the layer of backends made known."""
    if not options.backends:
        return []
    if "delegate" not in (known := pipelines()):
        raise ValueError("backends are named, but none are loaded: call flambeau.backends.delegate.register_passes() first")
    return known["delegate"](options)


def edge_to_exec(options: PipelineOptions) -> Sequence[ModulePass]:
    """From values to storage: kernel calls that write into slots."""
    return [
        _pass("convert-edge-to-exec", target=options.target),
        # What only renames bytes costs nothing from here on.
        _pass("elide-views", target=options.target),
        _pass("place-concat"),
        # Last, because it merges lifetimes that the passes above still split.
        _pass("reuse-storage"),
        _pass("remove-dead-code"),
    ]


def plan_memory(options: PipelineOptions) -> Sequence[ModulePass]:
    """Every slot gets its place, and an independent check of the result."""
    return [planner_pass(options.planner), _pass("verify-plan")]


def planner_pass(text: str) -> ModulePass:
    """`plan-memory` as `PipelineOptions.planner` says. Raises PipelineError, ValueError."""
    from flambeau.passes.manager.grammar import Element, parse
    from flambeau.passes.planning.portfolio import check_algorithm

    match parse(text).elements:
        case (Element(name, options),):
            check_algorithm(name)
            return find_passes("plan-memory", [Option("algorithm", (Value(name),)), *options])[0]
        case _:
            raise ValueError(f"a planner is a name, perhaps with options of plan-memory in braces, not {text!r}")


def compile_pipeline(options: PipelineOptions) -> Sequence[ModulePass]:
    """The whole road."""
    return [
        *aten_to_core(options),
        *optimize_core(options),
        *core_to_edge(options),
        *optimize_edge(options),
        *delegate(options),
        *edge_to_exec(options),
        *plan_memory(options),
    ]


PIPELINES: dict[str, Pipeline] = {
    "aten-to-core": aten_to_core,
    "optimize-core": optimize_core,
    "core-to-edge": core_to_edge,
    "optimize-edge": optimize_edge,
    "edge-to-exec": edge_to_exec,
    "plan": plan_memory,
    "compile": compile_pipeline,
}
