"""The named pipelines: each is one word in `flambeau-opt -p`, and `compile` is the whole road from ATen to a planned program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.passes.convert_aten_to_core import ConvertAtenToCorePass
from flambeau.passes.decompose_aten import DecomposeAtenPass


@dataclass(frozen=True)
class PipelineOptions(ArgSpecConvertible):
    """What may stand in braces after a pipeline's name: `compile{target=flambeau}`."""

    name: ClassVar[str] = "pipeline"
    target: str = "executorch"
    """What the program may use: `executorch` or `flambeau`."""


def aten_to_core(options: PipelineOptions) -> Sequence[ModulePass]:
    """From any ATen operator to the closed set of Core ATen."""
    return [DecomposeAtenPass(target=options.target), ConvertAtenToCorePass()]


PIPELINES: dict[str, Callable[[PipelineOptions], Sequence[ModulePass]]] = {
    "aten-to-core": aten_to_core,
}
