"""NXP's eIQ Neutron NPUs: TFLite models that NXP's converter compiles; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.lazy import later

TARGETS = ("imxrt700", "imx95")
CONVERTER = Tool("neutron-converter", "FLAMBEAU_NEUTRON_CONVERTER", "NXP's eIQ Neutron SDK", version=())


@dataclass(frozen=True)
class NeutronOptions(BackendOptions):
    """The options of the backend."""

    target: str = "imxrt700"
    """The chip, in the words of NXP's converter."""

    @property
    def only_here(self) -> str | None:
        """A device needs what the converter makes of the model."""
        missing = CONVERTER.missing()
        return None if missing is None else f"its payload is a TFLite model still: {missing}"

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
    optional_tools=(CONVERTER,),
    description=Description(
        hardware="NXP's NPUs eIQ Neutron, as in i.MX RT700",
        platform="microcontrollers with the NPU, where NXP's converter is installed",
        choose="a device has an eIQ Neutron NPU, and NXP's converter is at hand",
        runtimes="ExecuTorch, of compiled payloads; of others numpy here",
        state=State.INTERCHANGE,
    ),
)
