"""Compiles graphs of TOSA to VGF files, with Arm's model converter; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.backends.tosa import TosaOptions
from flambeau.passes.delegation.interface import Backend, Description, State, one_by_one
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.lazy import later

CONVERTER = Tool("model-converter", "FLAMBEAU_MODEL_CONVERTER", "pip install ai_ml_sdk_model_converter", at_least="0.11")


@dataclass(frozen=True)
class VgfOptions(TosaOptions):
    """The options of the backend: those of its TOSA graphs."""

    @property
    def only_here(self) -> str | None:
        """ExecuTorch's backend of this name reads VGF files too."""
        return None


BACKEND = Backend(
    "vgf",
    "VgfBackend",
    table=later("flambeau.backends.tosa.legality:table"),
    convert=later("flambeau.backends.tosa.lower:convert"),
    encode=one_by_one(later("flambeau.backends.vgf.encode:encode")),
    simulate=later("flambeau.backends.vgf.simulate:simulate"),
    options=VgfOptions,
    refuses=True,
    family="tosa",
    tools=(CONVERTER,),
    description=Description(
        hardware="GPUs and NPUs with the ML extensions of Vulkan",
        platform="Vulkan with VK_ARM_tensors and VK_ARM_data_graph",
        choose="devices of Arm whose Vulkan driver runs graphs",
        runtimes="Flambeau's runtime, ExecuTorch; here on Arm's emulation layers",
        state=State.COMPILED,
    ),
)
