"""Reads and writes payloads: ExecuTorch's header of 24 bytes, a flatbuffer `MP00`, and the bytes of constants.

The header is 4 zeros, the magic "MP00", and where the constants are and how many bytes they have (uint64 each, little-endian). The tables
are data, for `runtime/flatbuffer`. Source: `schema.fbs` of ExecuTorch's MPS backend, by the order of its tables and fields.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, make_dataclass
from typing import Any, cast

from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import f32, i1, i32
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Data, Decoder, Encoder, Kind, OneOf, Ref, Refs, Scalar, Scalars, Table, Text

MAGIC = b"MP00"
ALIGNMENT = 16
"""Of the constants, and of each of them, in bytes."""
DATATYPES: dict[Attribute, int] = {f32: 2, i32: 8, i1: 15}
"""The types of elements by their numbers in the format."""

_HEADER = struct.Struct("<4x4sQQ")


@dataclass(frozen=True, slots=True)
class MinMax:
    """The limits that stand beside a node."""

    min_value: float = 0.0
    max_value: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node, one of `NODES`, with its limits."""

    mpsnode_union: Any = None
    min_max: MinMax | None = None


@dataclass(frozen=True, slots=True)
class Inline:
    """Bytes of a constant, which newer payloads have elsewhere."""

    storage: memoryview | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor, and where among the constants its bytes are, if it is one."""

    datatype: int = 0
    num_dims: int = 0
    dims: tuple[int, ...] = ()
    constant_buffer_size: int = 0
    constant_buffer: Inline | None = None
    segment_offset: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """Where the constants are, behind the place that the header says."""

    offset: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """The root table. Its lists have the numbers of values."""

    version: str | None = None
    mps_nodes: tuple[Node, ...] = ()
    mps_values: tuple[Value, ...] = ()
    input_ids: tuple[int, ...] = ()
    output_ids: tuple[int, ...] = ()
    constant_ids: tuple[int, ...] = ()
    graph_type: int = 0
    constant_segment: Segment | None = None


_INT, _FLOAT, _BOOL, _LONG, _INTS = Scalar("i"), Scalar("f", float), Scalar("?", bool), Scalar("q"), Scalars("i")
_FIELDS: dict[str, Kind] = {
    **dict.fromkeys(("alpha", "beta", "min_value", "max_value", "negative_slope", "value", "fill_value", "eps", "epsilon"), _FLOAT),
    **dict.fromkeys(("half_to_float", "keep_dims", "ceil_mode", "count_include_pad", "scale_grad_by_freq", "sparse"), _BOOL),
    **dict.fromkeys(("dims", "perm", "shape", "normalized_shape", "split_sizes", "pad", "values_shape"), _INTS),
    **dict.fromkeys(("input_ids", "output_ids", "indices_id"), _INTS),
    **dict.fromkeys(("approximate", "rounding_mode"), Text()),
    **dict.fromkeys(("dtype", "output_dtype"), Scalar("h")),
    "momentum": _FLOAT,
}
"""The kinds of the fields of nodes that are not numbers of 32 bits."""
_ABSENT: dict[type[Kind], Any] = {Scalars: (), Text: None}


def _node(name: str, fields: str, **others: Kind) -> Table:
    kinds = {item: (_FIELDS | others).get(item, _INT) for item in fields.split()}
    members = [(item, object, field(default=_ABSENT.get(type(kind), 0))) for item, kind in kinds.items()]
    return Table(make_dataclass(name, members, frozen=True), kinds)


def _each(names: str, fields: str, **others: Kind) -> tuple[Table, ...]:
    return tuple(_node(name, fields, **others) for name in names.split())


_ONE, _TWO, _THREE = "input1_id output_id", "input1_id input2_id output_id", "input1_id input2_id input3_id output_id"
_ALPHA, _ROUNDED = f"{_TWO} alpha", f"{_TWO} rounding_mode"
_FULL = "input1_id output_id shape fill_value dtype"
_PADS = "padding_left padding_right padding_top padding_bottom"
_POOL = (
    f"input1_id kernel_height kernel_width stride_height stride_width {_PADS} dilation_height dilation_width ceil_mode "
    "count_include_pad divisor_override output1_id output2_id"
)
_LONGS = dict.fromkeys(("dim", "start", "end", "step"), cast(Kind, _LONG))
_FLOATS = dict.fromkeys(("start", "end", "step"), cast(Kind, _FLOAT))
_GROUP = "input1_id output_id scales_id zero_points_id quant_min quant_max dtype group_size output_dtype"

NODES: tuple[Table, ...] = (
    _node("HardTanh", f"{_ONE} min_value max_value"),
    _node("ReLU", _TWO),
    _node("GELU", f"{_ONE} approximate"),
    _node("LeakyReLU", f"{_ONE} negative_slope"),
    *_each("Softmax LogSoftmax", f"{_ONE} dim half_to_float"),
    *_each("Add Sub", _ALPHA),
    _node("Mul", _TWO),
    *_each("Div Fmod Remainder", _ROUNDED),
    *_each("Min Max Pow Atan2 BitwiseAnd BitwiseOr BitwiseXor Minimum", _TWO),
    *_each("Exp Exp2 Reciprocal Sqrt Neg Log Log10 Log2 Erf Floor Ceil Rsqrt Sigmoid Sin Sign Cos Tan Abs Asin Acos Atan", _ONE),
    *_each("Sinh Cosh Tanh Asinh Acosh Atanh BitwiseNot Isnan Isinf Round LogicalNot", _ONE),
    _node("MatMul", _TWO),
    _node("Addmm", f"{_THREE} beta alpha"),
    *_each("Full FullLike", _FULL),
    _node("Clamp", _ONE),
    _node("Where", _THREE),
    _node("IndexSelect", "input1_id output_id dim index_id"),
    _node("Embedding", f"{_TWO} padding_idx scale_grad_by_freq sparse"),
    _node("IndexTensor", "input1_id indices_id output_id"),
    _node("IndexPut", "input1_id indices_id values_shape values_id output_id"),
    _node("Scatter", "input1_id output_id dim idx_id src_id", dim=_LONG),
    _node("Mean", f"{_ONE} num_dims dims keep_dims"),
    _node("Permute", f"{_ONE} num_dims perm"),
    *_each("View Expand", f"{_ONE} num_dims shape"),
    _node("Cat", "input_ids output_id dim"),
    _node("Squeeze", f"{_ONE} dims"),
    _node("Unsqueeze", f"{_ONE} dim"),
    _node("Select", f"{_ONE} dim index"),
    _node("Slice", f"{_ONE} dim start end step", **_LONGS),
    _node("PixelShuffle", f"{_ONE} upscale_factor"),
    _node("SplitWithSizes", "input1_id output_ids split_sizes dim"),
    _node("Cast", f"{_ONE} dtype"),
    *_each("Conv2D DepthwiseConv2D", f"{_THREE} stride_x stride_y dilation_x dilation_y groups {_PADS}"),
    *_each("Eq Ne Ge Gt Le Lt", _TWO),
    _node("BatchNorm", "input_id mean_id var_id weight_id bias_id momentum epsilon output2_id output1_id output3_id"),
    _node("LayerNorm", "input1_id normalized_shape weight_id bias_id eps output2_id output1_id output3_id"),
    *_each("MaxPool2DWithIndices AvgPool2D", _POOL),
    _node("ConstantPadND", f"{_ONE} pad value"),
    _node("Arange", "output_id start end step dtype", **_FLOATS),
    _node("DequantizePerChannelGroup", _GROUP),
)
"""The nodes, in the order of the format's union."""

_LIMITS = Table(MinMax, {"min_value": _FLOAT, "max_value": _FLOAT})
_NODE = Table(Node, {"mpsnode_union": OneOf(NODES), "min_max": Ref(_LIMITS)})
_VALUE = Table(
    Value,
    {
        "datatype": Scalar("h"),
        "num_dims": _INT,
        "dims": _INTS,
        "constant_buffer_size": Scalar("Q"),
        "constant_buffer": Ref(Table(Inline, {"storage": Data(16)})),
        "segment_offset": Scalar("Q"),
    },
)
_GRAPH = Table(
    Graph,
    {
        "version": Text(),
        "mps_nodes": Refs(_NODE),
        "mps_values": Refs(_VALUE),
        "input_ids": _INTS,
        "output_ids": _INTS,
        "constant_ids": _INTS,
        "graph_type": Scalar("h"),
        "constant_segment": Ref(Table(Segment, {"offset": Scalar("Q"), "size": Scalar("Q")})),
    },
)


def refused(what: str) -> BackendError:
    """Returns the error for a damaged or unsupported payload; `what` is the reason."""
    return BackendError(f"MPS payload: {what}")


def write_payload(graph: Graph, constants: bytes) -> bytes:
    """Returns the bytes of a payload. Raises BackendError for a number that the format cannot hold."""
    flatbuffer = Encoder(_GRAPH, MAGIC, BackendError).encode(graph)
    start = aligned(_HEADER.size + len(flatbuffer))
    header = _HEADER.pack(MAGIC, start, len(constants))
    return b"".join((header, flatbuffer, bytes(start - len(header) - len(flatbuffer)), constants))


def read_payload(data: memoryview) -> tuple[Graph, memoryview]:
    """Returns the graph of a payload, and its constants. Raises BackendError for bytes that are no payload."""
    if len(data) < _HEADER.size or bytes(data[:8]) != bytes(4) + MAGIC:
        raise refused(f"it does not start with 4 zeros, {MAGIC!r} and 16 bytes more")
    _, start, size = _HEADER.unpack_from(data)
    if not _HEADER.size <= start <= start + size == len(data):
        raise refused(f"its constants should be bytes {start} to {start + size}, the last of {len(data)}")
    flatbuffer = data[_HEADER.size : start]
    if bytes(flatbuffer[4:8]) != MAGIC:
        raise refused(f"its graph is of the format {bytes(flatbuffer[4:8])!r}, and {MAGIC!r} is the one known")
    return cast(Graph, Decoder(flatbuffer, "the MPS payload", BackendError).root(_GRAPH)), data[start:]


def aligned(size: int) -> int:
    """Returns the first multiple of the alignment from a number of bytes on."""
    return -(-size // ALIGNMENT) * ALIGNMENT
