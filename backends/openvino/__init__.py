"""Compiles partitions to models of OpenVINO, in its intermediate representation; see README.md in this folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, FoundLibrary, State, one_by_one
from flambeau.passes.delegation.partitioner import CompileSpec, Partitioner
from flambeau.support.executorch_names import explains_arguments
from flambeau.support.lazy import later

PRECISIONS = ("f32", "f16", "bf16")


@dataclass(frozen=True)
class OpenvinoOptions(BackendOptions):
    """Where a model runs, and what its payload is."""

    device: str = "CPU"
    """What OpenVINO calls the device; an option of the runtime goes before it."""
    precision: str = "f32"
    """What the device may compute in: f32, f16 or bf16; an option of the runtime goes before it."""
    compiled: bool = False
    """Whether the model is compiled now, by the OpenVINO that is installed here, for machines like this one."""

    @property
    def only_here(self) -> str | None:
        """Stock ExecuTorch compiles no models."""
        how = "the models that it holds are compiled when they are loaded; openvino{compiled=true} compiles them now"
        return None if self.compiled else how

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision not in PRECISIONS:
            raise ValueError(f"the precision is one of {', '.join(PRECISIONS)}, not {self.precision!r}")


BACKEND = Backend(
    "openvino",
    "OpenvinoBackend",
    table=later("flambeau.backends.openvino.legality:table"),
    convert=later("flambeau.backends.openvino.lower:convert"),
    encode=one_by_one(later("flambeau.backends.openvino.encode:encode")),
    decode=later("flambeau.backends.openvino.decode:decode"),
    options=OpenvinoOptions,
    found=FoundLibrary("FLAMBEAU_OPENVINO_LIBRARY", "openvino", "libs", "libopenvino_c."),
    description=Description(
        hardware="CPUs of Intel, AMD and Arm; Intel's GPUs and NPUs, which are not tested here",
        platform="Linux, macOS",
        choose="computers with Intel's processors; what OpenVINO compiles for them",
        runtimes="Flambeau's runtime; ExecuTorch, from bytes, where it is compiled ahead: `openvino{compiled=true}`",
        state=State.RUNS_HERE,
    ),
)


@explains_arguments
class OpenvinoPartitioner(Partitioner):
    """The partitioner of this backend, under ExecuTorch's name."""

    def __init__(self, compile_spec: Sequence[CompileSpec] = ()):
        super().__init__(BACKEND.name, compile_spec)
