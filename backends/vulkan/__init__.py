"""Compiles partitions to dispatches of our own compute shaders, for Vulkan; see README.md in this folder."""

from flambeau.passes.delegation.interface import Backend, Description, State, one_by_one
from flambeau.support.lazy import later

BACKEND = Backend(
    "vulkan",
    "FlambeauVulkan",
    table=later("flambeau.backends.vulkan.legality:table"),
    convert=later("flambeau.backends.vulkan.lower:convert"),
    encode=one_by_one(later("flambeau.backends.vulkan.encode:encode")),
    decode=later("flambeau.backends.vulkan.decode:decode"),
    unbuilt=later("flambeau.backends.vulkan.shader_modules:unbuilt"),
    description=Description(
        hardware="GPUs with a driver of Vulkan 1.1; tried on two drivers that compute on the CPU",
        platform="Linux, Android",
        choose="networks of floats on a GPU, without a vendor's compiler",
        runtimes="Flambeau's runtime",
        state=State.RUNS_HERE,
    ),
)
