"""Samsung's Exynos: TFLite models that Samsung's compiler takes; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later

CHIPSETS = ("E9955", "E9965")


@dataclass(frozen=True)
class ExynosOptions(BackendOptions):
    """The options of the backend."""

    chipset: str = "E9955"
    """The chip, in the words of Samsung's compiler."""

    @property
    def only_here(self) -> str | None:
        """A device needs what the compiler makes of the model."""
        return "its payload is a TFLite model still: Samsung's compiler (Exynos AI LiteCore) comes first"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chipset not in CHIPSETS:
            raise ValueError(f"option 'chipset' is one of {', '.join(CHIPSETS)}, not {self.chipset!r}")


BACKEND = Backend(
    "exynos",
    "EnnBackend",
    table=later("flambeau.backends.exynos.payload:table"),
    convert=later("flambeau.backends.litert.lower:convert"),
    encode=one_by_one(later("flambeau.backends.exynos.payload:encode")),
    decode=later("flambeau.backends.exynos.payload:decode"),
    options=ExynosOptions,
    refuses=True,
    family="litert",
    description=Description(
        hardware="Samsung's NPUs of Exynos 2500 and 2600",
        platform="none: Samsung's compiler comes first",
        choose="a device has an Exynos chip, and Samsung's compiler is at hand",
        runtimes="none; numpy here, by the rows of TFLite's operators",
        state=State.INTERCHANGE,
    ),
)
