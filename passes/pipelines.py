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
    # Finds the class by name, so that a tool imports only the passes that it runs or lists.
    kind = find_pass(name)
    assert kind is not None, f"there is no pass {name}"
    return kind(**options)


def _target(options: PipelineOptions) -> Target:
    # Imported here, because targets take longer to import than this file, and `flambeau-opt --help` only lists pipelines.
    from flambeau.passes.targets.interface import find_target

    return find_target(options.target)


def aten_to_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """From any ATen operator to the closed set of Core ATen."""
    return [
        # First, so that the sizes of all results have bounds in the following passes.
        _pass("bound-symbols", bounds=options.bounds),
        # Expresses complex numbers by real numbers while all ATen operators are still allowed.
        _pass("lower-complex"),
        # Lets query heads share key heads instead of repeating these, while attention is still a single operator.
        _pass("group-attention"),
        # Expresses composite operators by Core ATen, except for operators that some kernel or backend runs whole.
        _pass("decompose-aten"),
        # From here on, only Core ATen and these are legal; one error reports all other operators.
        _pass("convert-aten-to-core"),
    ]


def optimize_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """Optimizations that need neither layout nor storage: canonical form, CSE, folding of weights."""
    return [
        _pass("canonicalize"),
        # Before `fold-constants`, so that the statistics of folded batch norms are unused constants.
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
        # Folds the casts of constants that the conversion has added.
        _pass("fold-constants"),
        _pass("cse"),
        _pass("remove-dead-code"),
    ]


def optimize_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """Uses the target's fused forms on packed weights, and the layouts that its kernels take."""
    if _target(options).is_plain:
        return []
    return [
        # Before float operators are fused, and before layout changes separate quantized operators from their neighbours.
        _pass("fuse-quantized", target=options.target),
        # Replaces operators and groups of operators by the fused operators of the target.
        _pass("convert-edge-to-fused", target=options.target, tuning=options.tuning, isa=options.isa, threads=options.threads),
        _pass("fuse-rms-norm", target=options.target),
        # Fused convolutions are channels-last, so the layout changes between them meet and cancel.
        _pass("propagate-layouts", target=options.target),
        _pass("canonicalize"),
        _pass("cse"),
        # After the layouts are final, because an epilogue is fused only if its operands have the same type.
        _pass("fuse-epilogues"),
        _pass("remove-dead-code"),
    ]


def place(options: PipelineOptions, are_compiled: bool = False, most_folded: int | None = None) -> Sequence[ModulePass]:
    """Cuts out what each backend of `options` takes, perhaps for its compiler; and folds constants of so many bytes."""
    return [
        # Decomposes operators that the first backend to take them takes in parts, and those that nothing runs whole.
        _pass(
            "legalize-operators",
            target=options.target,
            preserve=options.preserve,
            backends=options.backends,
            no_delegate=options.no_delegate,
        ),
        _pass("fold-constants", **({} if most_folded is None else {"limit": most_folded})),
        _pass("canonicalize"),
        _pass("partition", backends=options.backends, no_delegate=options.no_delegate, are_compiled=are_compiled),
    ]


def delegate(options: PipelineOptions) -> Sequence[ModulePass]:
    """Hands what the backends of `options` take to them, if any are named: `delegate{backends=a,b}`."""
    if not options.backends:
        return []
    return [
        *place(options, are_compiled=True),
        # Converts partitions to the backends' own operators; `cse` then removes equal operators.
        _pass("convert-partitions"),
        _pass("cse"),
        _pass("lower-partitions"),
        # Removes loads of constants that only payloads contain now.
        _pass("remove-dead-code"),
    ]


def legalize(options: PipelineOptions) -> Sequence[ModulePass]:
    """From operators that no backend took to those that the target runs."""
    # Before operators in floats are decomposed that have a kernel between integers only.
    integers = [_pass("convert-edge-to-cadence", target=options.target)] if _target(options).has_of("cadence") else []
    return [
        *integers,
        _pass("legalize-operators", target=options.target, preserve=options.preserve),
        _pass("fold-constants"),
        _pass("canonicalize"),
        _pass("cse"),
        _pass("remove-dead-code"),
    ]


def edge_to_exec(options: PipelineOptions) -> Sequence[ModulePass]:
    """From values to storage: kernel calls that write into slots."""
    return [
        # Dequantizes weights where they are used: at the start of a method, the floats of all layers would live at once.
        _pass("sink-operators"),
        # Replaces structured control flow by blocks and branches, the only form that the later passes handle.
        _pass("lower-scf"),
        _pass(
            "convert-edge-to-exec",
            target=options.target,
            alloc_graph_input=options.alloc_graph_input,
            alloc_graph_output=options.alloc_graph_output,
        ),
        # Lowers the computation of sizes while every slot still has its declared storage.
        _pass("lower-expressions"),
        # Lets branches and loops write directly to the slots of their results, while no other slot shares these.
        _pass("coalesce-slots"),
        # After copies between jumps were removed, jumps may lead to jumps.
        _pass("simplify-jumps"),
        # Replaces operators that only reinterpret bytes by views, which cost nothing at run time.
        _pass("elide-views", target=options.target),
        # Lets the parts of a concatenation be computed in place; after `elide-views`, fewer parts are views of other slots.
        _pass("place-concat", target=options.target),
        # After the passes above, because it merges the lifetimes of slots, which they need separate.
        _pass("reuse-storage", target=options.target),
        # Lowers the peak of live bytes where branches may run one after the other; the last that looks at lifetimes before the plan.
        _pass("reorder-instructions"),
        _pass("remove-dead-code"),
    ]


def plan_memory(options: PipelineOptions) -> Sequence[ModulePass]:
    """Plans the memory of slots, and checks the plan independently."""
    return [planner_pass(options), _pass("verify-plan")]


def planner_pass(options: PipelineOptions, methods: Sequence[str] = ()) -> ModulePass:
    """Returns `plan-memory` with the planner of `options`, for some methods or all, and the target's alignment by default.

    Raises PipelineError, ValueError.
    """
    match parse(options.planner).elements:
        case (Element(name, given),):
            alignment = Option("alignment", (Value(str(_target(options).alignment)),))
            defaults = [] if any(option.key == alignment.key for option in given) else [alignment]
            lists = {"methods": methods, "banks": options.memory or _target(options).banks, "pins": options.pins}
            chosen = [Option(key, tuple(map(Value, values))) for key, values in lists.items() if values]
            return find_passes("plan-memory", [Option("algorithm", (Value(name),)), *chosen, *defaults, *given])[0]
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
    # The target's fused operators and layouts come after delegation, so that they hide no operator from the backends.
    Stage("exec", ("legalize", "optimize-edge", "edge-to-exec")),
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
    "legalize": legalize,
    "edge-to-exec": edge_to_exec,
    "plan": plan_memory,
    "compile": compile_pipeline,
}
"""Every named pipeline of ours."""
