"""MediaTek's NeuroPilot: TFLite models that MediaTek's compiler takes; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later

PLATFORMS = ("mt6989", "mt6991", "mt6993")


@dataclass(frozen=True)
class NeuropilotOptions(BackendOptions):
    """The options of the backend."""

    platform: str = "mt6989"
    """The chip, as ExecuTorch's compile spec `platform-config` names it."""

    @property
    def only_here(self) -> str | None:
        """A device needs what the compiler makes of the model."""
        return "its payload is a TFLite model still: MediaTek's compiler (mtk_neuron) comes first"

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
    description=Description(
        hardware="MediaTek's APUs of Dimensity chips",
        platform="none: MediaTek's compiler comes first",
        choose="a device has a Dimensity chip, and MediaTek's compiler is at hand",
        runtimes="none; numpy here, by the rows of TFLite's operators",
        state=State.INTERCHANGE,
    ),
)
