"""The named pipelines: each is one word in `flambeau-opt -p`, and `compile` is the whole road from ATen to a planned program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.passes.canonicalize import CanonicalizePass
from flambeau.passes.convert_aten_to_core import ConvertAtenToCorePass
from flambeau.passes.convert_core_to_edge import ConvertCoreToEdgePass
from flambeau.passes.convert_edge_to_exec import ConvertEdgeToExecPass
from flambeau.passes.convert_edge_to_fused import ConvertEdgeToFusedPass
from flambeau.passes.cse import CsePass
from flambeau.passes.decompose_aten import DecomposeAtenPass
from flambeau.passes.elide_views import ElideViewsPass
from flambeau.passes.fold_batch_norm import FoldBatchNormPass
from flambeau.passes.fold_constants import FoldConstantsPass
from flambeau.passes.fuse_epilogues import FuseEpiloguesPass
from flambeau.passes.fuse_rms_norm import FuseRmsNormPass
from flambeau.passes.place_concat import PlaceConcatPass
from flambeau.passes.plan_memory import PlanMemoryPass
from flambeau.passes.propagate_layouts import PropagateLayoutsPass
from flambeau.passes.registry import pipelines
from flambeau.passes.remove_dead_code import RemoveDeadCodePass
from flambeau.passes.reuse_storage import ReuseStoragePass
from flambeau.passes.verify_plan import VerifyPlanPass


@dataclass(frozen=True)
class PipelineOptions(ArgSpecConvertible):
    """What may stand in braces after a pipeline's name: `compile{target=flambeau}`."""

    name: ClassVar[str] = "pipeline"
    target: str = "executorch"
    """What the program may use: `executorch` or `flambeau`."""
    preserve: tuple[str, ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[str, ...] = ()
    """Backends to hand parts of the program to, the first choice first."""


Pipeline = Callable[[PipelineOptions], Sequence[ModulePass]]


def aten_to_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """From any ATen operator to the closed set of Core ATen."""
    return [
        # Composite operators in terms of Core ATen, but for those that the target runs whole.
        DecomposeAtenPass(target=options.target, preserve=options.preserve),
        # From here on only the closed set exists; whatever is left outside it is reported, all at once.
        ConvertAtenToCorePass(),
    ]


def optimize_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """What needs neither layout nor storage: one form, no repetition, weights folded."""
    return [
        CanonicalizePass(),
        # Batch norms disappear before constants are folded: their statistics are then dead.
        FoldBatchNormPass(),
        FoldConstantsPass(),
        CanonicalizePass(),
        CsePass(),
        RemoveDeadCodePass(),
    ]


def core_to_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """Types, scalars and memory explicit."""
    return [
        ConvertCoreToEdgePass(),
        # Casts of constants are constants.
        FoldConstantsPass(),
        CsePass(),
        RemoveDeadCodePass(),
    ]


def optimize_edge(options: PipelineOptions) -> Sequence[ModulePass]:
    """What only Flambeau's runtime can do: fused operators on packed weights, layouts chosen for its kernels."""
    if options.target != "flambeau":
        return []
    return [
        ConvertEdgeToFusedPass(),
        FuseRmsNormPass(),
        # Convolutions are channels-last now; the changes of layout between them meet and cancel.
        PropagateLayoutsPass(),
        CanonicalizePass(),
        CsePass(),
        # Layouts are settled, so an epilogue's operands are of the same type where they can be fused at all.
        FuseEpiloguesPass(),
        RemoveDeadCodePass(),
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
        ConvertEdgeToExecPass(target=options.target),
        # What only renames bytes costs nothing from here on.
        ElideViewsPass(target=options.target),
        PlaceConcatPass(),
        # Last, because it merges lifetimes that the passes above still split.
        ReuseStoragePass(),
        RemoveDeadCodePass(),
    ]


def plan_memory(options: PipelineOptions) -> Sequence[ModulePass]:
    """Every slot gets its place, and an independent check of the result."""
    return [PlanMemoryPass(), VerifyPlanPass()]


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
