"""MediaTek's NeuroPilot: TFLite models that MediaTek's compiler takes; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.lazy import later

PLATFORMS = ("mt6989", "mt6991", "mt6993")
COMPILER = Tool("ncc-tflite", "FLAMBEAU_NCC_TFLITE", "MediaTek's NeuroPilot SDK", version=())


@dataclass(frozen=True)
class NeuropilotOptions(BackendOptions):
    """The options of the backend."""

    platform: str = "mt6989"
    """The chip, as ExecuTorch's compile spec `platform-config` names it."""
    arch: str = ""
    """The architecture for which ncc-tflite compiles, such as mdla5.1; without it a payload stays a TFLite model."""

    @property
    def only_here(self) -> str | None:
        """A device needs what the compiler makes of the model."""
        if not self.arch:
            return "its payload is a TFLite model still: MediaTek's ncc-tflite compiles it for the option 'arch'"
        missing = COMPILER.missing()
        return None if missing is None else f"its payload is a TFLite model still: {missing}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.platform not in PLATFORMS:
            raise ValueError(f"option 'platform' is one of {', '.join(PLATFORMS)}, not {self.platform!r}")


BACKEND = Backend(
    "neuropilot",
    "NeuropilotBackend",
    table=later("flambeau.backends.neuropilot.payload:table"),
    convert=later("flambeau.backends.litert.lower:convert"),
    encode=one_by_one(later("flambeau.backends.neuropilot.payload:encode")),
    decode=later("flambeau.backends.neuropilot.payload:decode"),
    options=NeuropilotOptions,
    refuses=True,
    family="litert",
    optional_tools=(COMPILER,),
    description=Description(
        hardware="MediaTek's APUs of Dimensity chips",
        platform="Android on Dimensity, where MediaTek's compiler is installed",
        choose="a device has a Dimensity chip, and MediaTek's compiler is at hand",
        runtimes="ExecuTorch, of compiled payloads; of others numpy here",
        state=State.INTERCHANGE,
    ),
)
