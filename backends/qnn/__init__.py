"""Qualcomm's QNN: ONNX models between integers, or of float16, that Qualcomm's compiler takes; see README.md in this folder."""

from collections.abc import Mapping
from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.lazy import later

ARCHITECTURES: Mapping[str, int] = {
    "QCM6490": 68,
    "QCS9100": 73,
    "SA8255": 73,
    "SA8295": 68,
    "SA8797": 81,
    "SAR2230P": 81,
    "SM8350": 68,
    "SM8450": 69,
    "SM8475": 69,
    "SM8550": 73,
    "SM8650": 75,
    "SM8750": 79,
    "SM8845": 81,
    "SM8850": 81,
    "SSG2115P": 73,
    "SSG2125P": 73,
    "SW6100": 81,
    "SXR1230P": 73,
    "SXR2230P": 69,
    "SXR2330P": 79,
}
"""The chips, and the versions of the Hexagon processor in them. Source: `qc_schema.py` of ExecuTorch's Qualcomm backend."""
PRECISIONS = ("int8", "int16", "f16")
COMPILER = Tool(
    "flambeau-qnn-compiler", "FLAMBEAU_QNN_COMPILER", "a program of yours around Qualcomm's SDK: backends/qnn/setup.md", version=()
)


@dataclass(frozen=True)
class QnnOptions(BackendOptions):
    """The options of the backend."""

    soc: str = "SM8650"
    """The chip, in Qualcomm's words."""
    precision: str = PRECISIONS[0]
    """`int8`: operators between uint8; `int16`: between uint16, beside weights of int8; `f16`: operators of float16."""
    compiled: bool = False
    """Whether a program of the user's makes a context binary of the model now, with the SDK of Qualcomm."""

    @property
    def only_here(self) -> str | None:
        """A device needs what Qualcomm's compiler makes of the model."""
        return None if self.compiled else "its payload is an ONNX model still: Qualcomm's compiler comes first"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.soc not in ARCHITECTURES:
            raise ValueError(f"option 'soc' is one of {', '.join(ARCHITECTURES)}, not {self.soc!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"option 'precision' is one of {', '.join(PRECISIONS)}, not {self.precision!r}")


BACKEND = Backend(
    "qnn",
    "QnnBackend",
    table=later("flambeau.backends.qnn.legality:table"),
    convert=later("flambeau.backends.onnxruntime.lower:convert"),
    encode=one_by_one(later("flambeau.backends.qnn.payload:encode")),
    decode=later("flambeau.backends.qnn.payload:decode"),
    options=QnnOptions,
    refuses=True,
    family="onnxruntime",
    optional_tools=(COMPILER,),
    description=Description(
        hardware="Qualcomm's NPUs, the Hexagon processors of its Snapdragon chips",
        platform="none: Qualcomm's compiler comes first",
        choose="a device has a Snapdragon chip, and Qualcomm's SDK is at hand",
        runtimes="none; numpy here, by the rows of ONNX's operators",
        state=State.INTERCHANGE,
    ),
)
