"""ONNX Runtime: ONNX models for its runtime, and for the tools of vendors that read them; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, FoundLibrary, ProgramFile, State, one_by_one
from flambeau.support.lazy import later


@dataclass(frozen=True)
class OnnxRuntimeOptions(BackendOptions):
    """The options of the backend."""

    sizes: bool = False
    """Whether operators may need sizes that none of their operands has: a file, whose inputs have them, does so."""

    @property
    def only_here(self) -> str | None:
        """ExecuTorch has no backend for ONNX Runtime."""
        return "it has no backend that runs an ONNX model"


BACKEND = Backend(
    "onnxruntime",
    "OnnxRuntimeBackend",
    table=later("flambeau.backends.onnxruntime.legality:table"),
    convert=later("flambeau.backends.onnxruntime.lower:convert"),
    encode=one_by_one(later("flambeau.backends.onnxruntime.encode:encode")),
    decode=later("flambeau.backends.onnxruntime.decode:decode"),
    options=OnnxRuntimeOptions,
    file=ProgramFile("onnx", later("flambeau.backends.onnxruntime.file:encode_file"), options={"sizes": "true"}, has_states=True),
    found=FoundLibrary("FLAMBEAU_ONNXRUNTIME_LIBRARY", "onnxruntime", "capi", "libonnxruntime."),
    description=Description(
        hardware="CPUs: x86, Arm; the compilers of vendors read its models too",
        platform="Linux, macOS",
        choose="models that ONNX Runtime runs, or that a vendor's tool for ONNX takes",
        runtimes="Flambeau's runtime",
        state=State.RUNS_HERE,
    ),
)
