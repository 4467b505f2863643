"""Qualcomm's QNN: ONNX models between integers, or of float16, that Qualcomm's compiler takes; see README.md in this folder."""

from collections.abc import Mapping
from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.passes.vendor_tools.tool import Tool
from flambeau.support.lazy import later


@dataclass(frozen=True)
class Chip:
    """A chip: Qualcomm's number of it, the version of the Hexagon processor in it, and the MB of memory that this has."""

    number: int
    architecture: int
    megabytes: int


CHIPS: Mapping[str, Chip] = {
    "QCM6490": Chip(93, 68, 2),
    "QCS9100": Chip(77, 73, 8),
    "SA8255": Chip(52, 73, 8),
    "SA8295": Chip(39, 68, 8),
    "SA8797": Chip(72, 81, 16),
    "SAR2230P": Chip(95, 81, 4),
    "SC8380XP": Chip(60, 73, 8),
    "SM8350": Chip(30, 68, 4),
    "SM8450": Chip(36, 69, 8),
    "SM8475": Chip(42, 69, 8),
    "SM8550": Chip(43, 73, 8),
    "SM8650": Chip(57, 75, 8),
    "SM8750": Chip(69, 79, 8),
    "SM8845": Chip(97, 81, 8),
    "SM8850": Chip(87, 81, 8),
    "SSG2115P": Chip(46, 73, 2),
    "SSG2125P": Chip(58, 73, 2),
    "SW6100": Chip(96, 81, 4),
    "SXR1230P": Chip(45, 73, 2),
    "SXR2230P": Chip(53, 69, 8),
    "SXR2330P": Chip(75, 79, 8),
}
"""The chips, in Qualcomm's words. Source: `qc_schema.py` of ExecuTorch's Qualcomm backend."""
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
        if self.soc not in CHIPS:
            raise ValueError(f"option 'soc' is one of {', '.join(CHIPS)}, not {self.soc!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"option 'precision' is one of {', '.join(PRECISIONS)}, not {self.precision!r}")


BACKEND = Backend(
    "qnn",
    "QnnBackend",
    table=later("flambeau.backends.qnn.legality:table"),
    convert=later("flambeau.backends.qnn.lower:convert"),
    encode=one_by_one(later("flambeau.backends.qnn.payload:encode")),
    decode=later("flambeau.backends.qnn.payload:decode"),
    options=QnnOptions,
    refuses=True,
    specs=("qnn_compile_spec",),
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
