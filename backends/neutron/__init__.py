"""NXP's eIQ Neutron NPUs: TFLite models that NXP's converter compiles; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later

TARGETS = ("imxrt700",)


@dataclass(frozen=True)
class NeutronOptions(BackendOptions):
    """The options of the backend."""

    target: str = "imxrt700"
    """The chip, in the words of NXP's converter."""

    @property
    def only_here(self) -> str | None:
        """A device needs what the converter makes of the model."""
        return "its payload is a TFLite model still: NXP's neutron-converter (eiq-neutron-sdk) comes first"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target not in TARGETS:
            raise ValueError(f"option 'target' is one of {', '.join(TARGETS)}, not {self.target!r}")


BACKEND = Backend(
    "neutron",
    "NeutronBackend",
    table=later("flambeau.backends.neutron.legality:table"),
    convert=later("flambeau.backends.litert.lower:convert"),
    encode=one_by_one(later("flambeau.backends.neutron.payload:encode")),
    decode=later("flambeau.backends.neutron.payload:decode"),
    options=NeutronOptions,
    refuses=True,
    family="litert",
    description=Description(
        hardware="NXP's NPUs eIQ Neutron, as in i.MX RT700",
        platform="none: NXP's converter compiles a payload first",
        choose="a device has an eIQ Neutron NPU, and NXP's converter is at hand",
        runtimes="none; numpy here, by the rows of TFLite's operators",
        state=State.INTERCHANGE,
    ),
)
