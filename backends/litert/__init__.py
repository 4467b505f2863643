"""LiteRT: TFLite models for its runtime, and for the tools of vendors that read them; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, FoundLibrary, ProgramFile, State, one_by_one
from flambeau.support.lazy import later

KERNELS = "xnnpack optimized reference".split()
"""The sets of kernels of LiteRT, those of the delegate XNNPACK first."""


@dataclass(frozen=True)
class LiteRtOptions(BackendOptions):
    """The options of the backend."""

    precision: str = "int8"
    """`int8` takes operators between int8 tensors only; `float32` takes operators of float32; `mixed` takes all of them."""
    activations: str = "int8"
    """The integers of activations: `int8`, or `int16`, without zero points, beside weights of int8."""
    kernels: str = KERNELS[0]
    """The kernels of LiteRT that run a model: xnnpack, optimized, reference; an option of the runtime goes before it."""
    weights: str = "float32"
    """How constants of float operators are stored: as they are, or as `float16`, which an operator of the model makes floats of."""

    @property
    def only_here(self) -> str | None:
        """ExecuTorch has no backend for LiteRT."""
        return "it has no backend that runs a TFLite model"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision not in ("int8", "float32", "mixed"):
            raise ValueError(f"option 'precision' is int8, float32 or mixed, not {self.precision!r}")
        if self.activations not in ("int8", "int16"):
            raise ValueError(f"option 'activations' is int8 or int16, not {self.activations!r}")
        if self.activations == "int16" and self.precision == "float32":
            raise ValueError("option 'activations' is int16, and precision float32 has no integers: use precision int8 or mixed")
        if self.kernels not in KERNELS:
            raise ValueError(f"option 'kernels' is one of {', '.join(KERNELS)}, not {self.kernels!r}")
        if self.weights not in ("float32", "float16"):
            raise ValueError(f"option 'weights' is float32 or float16, not {self.weights!r}")
        if self.weights == "float16" and self.precision == "int8":
            raise ValueError("option 'weights' is float16, and precision int8 has no floats: use precision float32 or mixed")


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
    found=FoundLibrary("FLAMBEAU_LITERT_LIBRARY", "ai_edge_litert", "", "libLiteRt."),
    description=Description(
        hardware="CPUs: x86, Arm; TFLM and the compilers of vendors read its models too",
        platform="Linux, macOS",
        choose="models that LiteRT runs, or that a vendor's tool for TFLite takes",
        runtimes="Flambeau's runtime",
        state=State.RUNS_HERE,
    ),
)
