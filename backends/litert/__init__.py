"""LiteRT: TFLite models for its runtime, and for the tools of vendors that read them; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, ProgramFile, State, one_by_one
from flambeau.support.lazy import later


@dataclass(frozen=True)
class LiteRtOptions(BackendOptions):
    """The options of the backend."""

    precision: str = "int8"
    """`int8` takes operators between int8 tensors only; `float32` takes operators of float32; `mixed` takes all of them."""

    @property
    def only_here(self) -> str | None:
        """ExecuTorch has no backend for LiteRT."""
        return "it has no backend that runs a TFLite model"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision not in ("int8", "float32", "mixed"):
            raise ValueError(f"option 'precision' is int8, float32 or mixed, not {self.precision!r}")


BACKEND = Backend(
    "litert",
    "LiteRtBackend",
    table=later("flambeau.backends.litert.legality:table"),
    convert=later("flambeau.backends.litert.lower:convert"),
    encode=one_by_one(later("flambeau.backends.litert.encode:encode")),
    decode=later("flambeau.backends.litert.decode:decode"),
    options=LiteRtOptions,
    refuses=True,
    file=ProgramFile("tflite", later("flambeau.backends.litert.file:encode_file"), {"precision": "mixed"}),
    description=Description(
        hardware="processors and accelerators whose runtimes or compilers read TFLite models",
        platform="none: LiteRT, TFLM or a vendor's compiler reads a payload",
        choose="a vendor's tool takes TFLite models, or to see what of a model LiteRT would run",
        runtimes="none; numpy here, by the rows of its operators",
        state=State.INTERCHANGE,
    ),
)
