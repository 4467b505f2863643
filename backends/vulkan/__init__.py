"""Compiles partitions to dispatches of our own compute shaders, for Vulkan; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later


@dataclass(frozen=True)
class VulkanOptions(BackendOptions):
    """The options of the backend."""

    precision: str = "f32"
    """What tensors inside of a payload are stored in: as they are, or float32 as `f16`, on devices with 16-bit storage."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision not in ("f32", "f16"):
            raise ValueError(f"option 'precision' is f32 or f16, not {self.precision!r}")


BACKEND = Backend(
    "vulkan",
    "FlambeauVulkan",
    table=later("flambeau.backends.vulkan.legality:table"),
    convert=later("flambeau.backends.vulkan.lower:convert"),
    encode=one_by_one(later("flambeau.backends.vulkan.encode:encode")),
    decode=later("flambeau.backends.vulkan.decode:decode"),
    options=VulkanOptions,
    unbuilt=later("flambeau.backends.vulkan.shader_modules:unbuilt"),
    description=Description(
        hardware="GPUs with a driver of Vulkan 1.1; tried on two drivers that compute on the CPU",
        platform="Linux, Android",
        choose="networks of floats on a GPU, without a vendor's compiler",
        runtimes="Flambeau's runtime",
        state=State.RUNS_HERE,
    ),
)
