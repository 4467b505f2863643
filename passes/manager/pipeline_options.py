"""The options that every named pipeline takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from xdsl.utils.arg_spec import ArgSpecConvertible

from flambeau.passes.manager.pass_options import Parsed
from flambeau.support.lazy import later

# These modules take as long to import as the rest, and few pipelines name a target, an operator or a backend: imported on first use.
_known_target = later("flambeau.passes.targets.interface:find_target")
_known_operator = later("flambeau.dialects.schema.operators:check_operator_name")
_known_bank = later("flambeau.passes.planning.banks:bank_of")
if TYPE_CHECKING:
    from flambeau.passes.delegation.partitioner import Partitioner as Chosen
else:
    Chosen = Annotated[str, Parsed(later("flambeau.passes.delegation.partitioner:Partitioner"))]
    """An option that is a backend, with options of its own."""


@dataclass(frozen=True)
class PipelineOptions(ArgSpecConvertible):
    """The options in braces after a pipeline's name: `compile{target=flambeau}`."""

    name: ClassVar[str] = "pipeline"
    target: Annotated[str, _known_target] = "executorch"
    """The target of the program: one of those that `flambeau-opt --list-targets` names."""
    preserve: tuple[Annotated[str, _known_operator], ...] = ()
    """Operators to keep whole although they are not Core ATen."""
    backends: tuple[Chosen, ...] = ()
    """Backends to hand parts of the program to, the first choice first, perhaps with options of their own in braces."""
    no_delegate: tuple[str, ...] = ()
    """What no backend gets: paths of modules, and names of operators."""
    bounds: tuple[str, ...] = ()
    """Dynamic sizes, each with the greatest value that it may have: `seq:512`."""
    tuning: str = ""
    """The file with choices of how to compute operators, which `flambeau tune` writes; without, the kernels choose."""
    isa: str = ""
    """Of `tuning`: the instruction set whose choices are taken, x86-64-v4; by default, that of this machine."""
    threads: int = 1
    """Of `tuning`: the number of threads whose choices are taken."""
    planner: str = "best"
    """The algorithm of `plan-memory`, with its other options in braces: `greedy`, `best{alignment=64}`."""
    memory: tuple[Annotated[str, _known_bank], ...] = ()
    """The banks of the device's memory, the fastest first, with their sizes: `sram:512K,dram`."""
    pins: tuple[str, ...] = ()
    """What has to lie in a certain bank: tensors, inputs, outputs, state, and modules by their paths: `encoder.conv1:sram`."""
    alloc_graph_input: bool = True
    """Whether inputs lie in an arena, to which the caller's tensors are copied; without, they are read where the caller has them."""
    alloc_graph_output: bool = True
    """Whether outputs lie in an arena; without, they are written where the caller wants them."""
