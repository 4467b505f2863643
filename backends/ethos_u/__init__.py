"""Compiles partitions to command streams of Arm's Ethos-U, by Vela; see README.md in this folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.passes.delegation.partitioner import CompileSpec, Partitioner
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.executorch_names import explains_arguments
from flambeau.support.lazy import later

VELA = Tool("vela", "FLAMBEAU_VELA", "pip install ethos-u-vela", at_least="5.0")
_MACS = {"ethos-u55": (32, 64, 128, 256), "ethos-u65": (256, 512), "ethos-u85": (128, 256, 512, 1024, 2048)}
ACCELERATORS = tuple(f"{name}-{number}" for name, numbers in _MACS.items() for number in numbers)
"""The accelerators, each with its products in a cycle, in Vela's words."""
_PLATFORMS = {
    "ethos-u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65": ("Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "ethos-u85": ("Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
}
"""The system and the memory mode of each family where none is given: those of ExecuTorch's compile specs."""


@dataclass(frozen=True)
class EthosUOptions(BackendOptions):
    """The accelerator, and what it is part of; the names are Vela's."""

    accelerator: str = "ethos-u55-128"
    """The accelerator with its products in a cycle: ethos-u55-32 to ethos-u85-2048."""
    system: str = ""
    """The clocks and memories: a `System_Config` of Vela's configuration; ExecuTorch's for the accelerator unless it is given."""
    memory: str = ""
    """Where weights and tensors lie: a `Memory_Mode` of Vela's configuration; ExecuTorch's for the accelerator unless it is given."""
    config: str = ""
    """A configuration file that defines them; that of Vela unless it is given."""
    optimise: str = "Performance"
    """What Vela minimises: the time (Performance) or the memory of tensors (Size)."""
    activations: str = "int8"
    """The integers that cross borders: `int8`, or `int16` beside weights of int8."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accelerator not in ACCELERATORS:
            raise ValueError(f"option 'accelerator' is one of {', '.join(ACCELERATORS)}, not {self.accelerator!r}")
        if self.optimise not in ("Performance", "Size"):
            raise ValueError(f"option 'optimise' is Performance or Size, not {self.optimise!r}")
        if self.activations not in ("int8", "int16"):
            raise ValueError(f"option 'activations' is int8 or int16, not {self.activations!r}")

    @property
    def family(self) -> str:
        """The accelerator without its products in a cycle: ethos-u55, ethos-u65 or ethos-u85."""
        return self.accelerator.rpartition("-")[0]

    @property
    def platform(self) -> tuple[str, str]:
        """The system and the memory mode."""
        system, memory = _PLATFORMS[self.family]
        return self.system or system, self.memory or memory


BACKEND = Backend(
    "ethos_u",
    "EthosUBackend",
    table=later("flambeau.backends.ethos_u.legality:table"),
    convert=later("flambeau.backends.ethos_u.encode:convert"),
    encode=one_by_one(later("flambeau.backends.ethos_u.encode:encode")),
    options=EthosUOptions,
    refuses=True,
    tools=(VELA,),
    family="tosa",
    description=Description(
        hardware="Arm's NPUs Ethos-U55, U65 and U85",
        platform="microcontrollers and Linux on Arm with Ethos-U's driver",
        choose="a device has an Ethos-U: int8 networks of static sizes, one image at a time",
        runtimes="Flambeau's runtime with Arm's driver, ExecuTorch",
        state=State.COMPILED,
    ),
)


@explains_arguments
class EthosUPartitioner(Partitioner):
    """The partitioner of this backend, under ExecuTorch's name."""

    def __init__(self, compile_spec: Sequence[CompileSpec] = ()):
        super().__init__(BACKEND.name, compile_spec)
