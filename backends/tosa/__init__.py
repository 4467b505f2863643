"""TOSA 1.0: graphs for the tools of Arm and of others that read them; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later


@dataclass(frozen=True)
class TosaOptions(BackendOptions):
    """The options of the backend."""

    profile: str = "int"
    """`int` takes operators between integers only; `fp` takes operators of float32 and float16; `both` those of `int`, and of float32."""
    activations: str = "int8"
    """The integers that cross borders: `int8`, or `int16` beside weights of int8, which is TOSA's EXT-INT16 and ExecuTorch's a16w8."""

    @property
    def only_here(self) -> str | None:
        """No runtime reads the graph itself."""
        return "it has no backend that runs a TOSA graph: a vendor's compiler comes first"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile not in ("int", "fp", "both"):
            raise ValueError(f"option 'profile' is int, fp or both, not {self.profile!r}")
        if self.activations not in ("int8", "int16"):
            raise ValueError(f"option 'activations' is int8 or int16, not {self.activations!r}")
        if self.activations == "int16" and self.profile == "fp":
            raise ValueError("option 'activations' is int16, and profile fp has no integers: use profile int or both")


BACKEND = Backend(
    "tosa",
    "TosaBackend",
    table=later("flambeau.backends.tosa.legality:table"),
    encode=one_by_one(later("flambeau.backends.tosa.encode:encode")),
    convert=later("flambeau.backends.tosa.lower:convert"),
    decode=later("flambeau.backends.tosa.decode:decode"),
    options=TosaOptions,
    refuses=True,
    description=Description(
        hardware="NPUs and GPUs whose compilers read TOSA",
        platform="none: a vendor's compiler comes first",
        choose="the vendor's tool takes TOSA graphs, or to see what of a model is integer arithmetic",
        runtimes="none; numpy here, by the rows of its operators",
        state=State.INTERCHANGE,
    ),
)
