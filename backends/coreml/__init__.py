"""Core ML: programs of MIL for Apple's devices; see README.md in this folder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, ProgramFile, State, one_by_one
from flambeau.support.lazy import later

if TYPE_CHECKING:
    from flambeau.support.lazy import Array

TARGETS = ("iOS15", "iOS16", "iOS17", "iOS18")
UNITS = ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")

STATES_SINCE = 18
"""The first iOS whose models have states."""
WEIGHTS = ("given", "palettized4")


@dataclass(frozen=True)
class CoreMlOptions(BackendOptions):
    """The options of the backend."""

    precision: str = "f16"
    """What tensors are between inputs and outputs, which are of float32: `f16`, which Apple's neural engine computes in, or `f32`."""
    target: str = "iOS17"
    """The first iOS that runs the model, which says what operators there are; macOS 12 to 15 are as iOS15 to iOS18."""
    compute_units: str = "all"
    """Where the model may run, for ExecuTorch's runtime: all, cpu_only, cpu_and_gpu, cpu_and_ne."""

    weights: str = "given"
    """What weights are: as the program has them (`given`), or tables of 16 numbers and 4 bits for each element (`palettized4`)."""

    take_over_mutable_buffer: bool = True
    """Whether, from iOS18 on, a state that one delegate alone reads and writes, and that begins with zeros, is in its model, in float16."""

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = {"precision": ("f16", "f32"), "target": TARGETS, "compute_units": UNITS, "weights": WEIGHTS}
        for option, known in choices.items():
            if (value := getattr(self, option)) not in known:
                raise ValueError(f"option {option!r} is {', '.join(known[:-1])} or {known[-1]}, not {value!r}")
        if self.weights != "given" and self.set_of_operators < 16:
            raise ValueError(f"option 'weights' is {self.weights!r}, which iOS16 has first, and the target is {self.target!r}")

    @property
    def set_of_operators(self) -> int:
        """The number of the target's iOS."""
        return int(self.target.removeprefix("iOS"))


def takes_state(first: "Array", options: CoreMlOptions) -> bool:
    """Returns whether a state with this first value is one of the model: those of Core ML begin with zeros."""
    return options.take_over_mutable_buffer and options.set_of_operators >= STATES_SINCE and first.dtype.kind == "f" and not first.any()


BACKEND = Backend(
    "coreml",
    "CoreMLBackend",
    table=later("flambeau.backends.coreml.legality:table"),
    convert=later("flambeau.backends.coreml.lower:convert"),
    encode=one_by_one(later("flambeau.backends.coreml.encode:encode")),
    decode=later("flambeau.backends.coreml.decode:decode"),
    options=CoreMlOptions,
    file=ProgramFile("mlpackage", later("flambeau.backends.coreml.file:encode_package"), has_states=True, mark="Manifest.json"),
    judged={"precision": "f32"},
    takes_state=takes_state,
    description=Description(
        hardware="Apple's neural engine, GPUs and CPUs, by Core ML; not tried on a device",
        platform="iOS and macOS, in ExecuTorch's runtime",
        choose="iPhones, iPads and Macs",
        runtimes="ExecuTorch; numpy here, by the rows of MIL's operators",
        state=State.INTERCHANGE,
    ),
)
