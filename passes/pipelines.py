"""The named pipelines, and the stages from ATen to a planned program as one list of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass

from flambeau.passes.manager.grammar import Element, parse
from flambeau.passes.manager.pass_options import Option, Value
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.manager.registry import PipelineFunction, find_pass, find_passes

if TYPE_CHECKING:
    from flambeau.passes.targets.interface import Target


def _pass(name: str, **options: object) -> ModulePass:
    # By name, so that a tool that runs or lists few passes imports few.
    kind = find_pass(name)
    assert kind is not None, f"there is no pass {name}"
    return kind(**options)


def _target(options: PipelineOptions) -> Target:
    # Imported here: it takes longer to import than this file, and `flambeau-opt --help` only lists pipelines.
    from flambeau.passes.targets.interface import find_target

    return find_target(options.target)


def aten_to_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """From any ATen operator to the closed set of Core ATen."""
    return [
        # What knows the greatest value of a size comes first: every operator of it then has bounded results.
        _pass("bound-symbols", bounds=options.bounds),
        # Complex numbers in terms of real ones, while operators of all of ATen may be used for it.
        _pass("lower-complex"),
        # While attention is one operator: query heads share the heads of keys that would be repeated for them.
        _pass("group-attention"),
        # Composite operators in terms of Core ATen, but for those that the target or a backend runs whole.
        _pass("decompose-aten", target=options.target, preserve=options.preserve, backends=options.backends),
        # From here on only the closed set exists; whatever is left outside it is reported, all at once.
        _pass("convert-aten-to-core", target=options.target, preserve=options.preserve, backends=options.backends),
    ]


def optimize_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """Optimizations that need neither layout nor storage: canonical form, CSE, folding of weights."""
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
        _pass("convert-core-to-edge", target=options.target),
        # Casts of constants are constants.
        _pass("fold-constants"),
        _pass("cse"),
        _pass("remove-dead-code"),
    ]


def optimize_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """Uses the target's fused forms on packed weights, and the layouts that its kernels take."""
    if _target(options).is_plain:
        return []
    return [
        # Before their operators become fused forms in floats, and what only moves between them is in their way.
        _pass("fuse-quantized", target=options.target),
        # Operators, and groups of them, in the fused forms that the target has.
        _pass("convert-edge-to-fused", target=options.target),
        _pass("fuse-rms-norm", target=options.target),
        # Convolutions are channels-last now; the changes of layout between them meet and cancel.
        _pass("propagate-layouts", target=options.target),
        _pass("canonicalize"),
        _pass("cse"),
        # Layouts are settled, so an epilogue's operands are of the same type where they can be fused at all.
        _pass("fuse-epilogues"),
        _pass("remove-dead-code"),
    ]


def delegate(options: PipelineOptions) -> Sequence[ModulePass]:
    """Hands what the backends of `options` take to them, if any are named: `delegate{backends=a,b}`."""
    if not options.backends:
        return []
    return [
        _pass("partition", backends=options.backends, no_delegate=options.no_delegate),
        # What was kept whole for a backend, and that none took.
        *(_decompose_the_rest(options) if _keep_operators(options) else ()),
        # In terms of the backend's own operators, of which equal ones are computed once.
        _pass("convert-partitions"),
        _pass("cse"),
        _pass("lower-partitions"),
        # Constants that a payload holds are loaded no more.
        _pass("remove-dead-code"),
    ]


def _keep_operators(options: PipelineOptions) -> bool:
    """Whether a backend wants operators whole that are not Core ATen."""
    from flambeau.passes.delegation.options import find_choice

    return any(rule.whole for name in options.backends for rule in find_choice(name).table.rules.values())


def _decompose_the_rest(options: PipelineOptions) -> Sequence[ModulePass]:
    """From operators of the edge level that were kept for a backend to those that the target runs."""
    return [
        _pass("decompose-aten", target=options.target, preserve=options.preserve),
        _pass("convert-aten-to-core", target=options.target, preserve=options.preserve),
        _pass("canonicalize"),
        *core_to_edge(options),
    ]


def edge_to_exec(options: PipelineOptions) -> Sequence[ModulePass]:
    """From values to storage: kernel calls that write into slots."""
    return [
        # Blocks and branches, so that whatever follows sees one form of control flow.
        _pass("lower-scf"),
        _pass(
            "convert-edge-to-exec",
            target=options.target,
            alloc_graph_input=options.alloc_graph_input,
            alloc_graph_output=options.alloc_graph_output,
        ),
        # The sizes that the run computes, while the slots are still as they were declared.
        _pass("lower-expressions"),
        # Branches compute into the slots of their results, and loops write over what they carry, while these are nothing else's.
        _pass("coalesce-slots"),
        # Where nothing is left to copy, a jump leads to a jump.
        _pass("simplify-jumps"),
        # Operators that only rename bytes become views, which cost nothing.
        _pass("elide-views", target=options.target),
        # Parts are written where the whole lies; fewer of them are views of something else now.
        _pass("place-concat", target=options.target),
        # Last, because it merges lifetimes that the passes above still split.
        _pass("reuse-storage", target=options.target),
        _pass("remove-dead-code"),
    ]


def plan_memory(options: PipelineOptions) -> Sequence[ModulePass]:
    """Plans the memory of slots, and checks the plan independently."""
    return [planner_pass(options), _pass("verify-plan")]


def planner_pass(options: PipelineOptions) -> ModulePass:
    """Returns `plan-memory` with the planner of `options`, and the target's alignment by default. Raises PipelineError, ValueError."""
    match parse(options.planner).elements:
        case (Element(name, given),):
            alignment = Option("alignment", (Value(str(_target(options).alignment)),))
            defaults = [] if any(option.key == alignment.key for option in given) else [alignment]
            return find_passes("plan-memory", [Option("algorithm", (Value(name),)), *defaults, *given])[0]
        case _:
            raise ValueError(f"a planner is a name, perhaps with options of plan-memory in braces, not {options.planner!r}")


@dataclass(frozen=True)
class Stage:
    """A stage of the road, and how a module gets there from the one before it."""

    name: str
    steps: tuple[str, ...] = ()
    """Named pipelines."""

    def passes(self, options: PipelineOptions) -> Sequence[ModulePass]:
        """Returns the passes that lead to this stage from the one before."""
        return [item for step in self.steps for item in PIPELINES[step](options)]


ROAD = (
    Stage("aten"),
    Stage("core", ("aten-to-core",)),
    Stage("edge", ("optimize-core", "core-to-edge", "delegate")),
    # The target's fused forms and layouts come after backends have chosen: it keeps nothing from them.
    Stage("exec", ("optimize-edge", "edge-to-exec")),
    Stage("planned", ("plan",)),
)
"""The stages of a module, in order. The emitter takes it from the last one to a `.pte`."""


def compile_pipeline(options: PipelineOptions) -> Sequence[ModulePass]:
    """The whole pipeline, from ATen operators to planned memory."""
    return [item for stage in ROAD for item in stage.passes(options)]


PIPELINES: dict[str, PipelineFunction] = {
    "aten-to-core": aten_to_core,
    "optimize-core": optimize_core,
    "core-to-edge": core_to_edge,
    "optimize-edge": optimize_edge,
    "delegate": delegate,
    "edge-to-exec": edge_to_exec,
    "plan": plan_memory,
    "compile": compile_pipeline,
}
"""Every named pipeline of ours."""
