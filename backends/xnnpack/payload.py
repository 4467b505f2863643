"""Reads and writes payloads: ExecuTorch's header `XH00`, then its flatbuffer `XN01`. The program's named data have the weights.

The tables are data, for `runtime/flatbuffer`. A node has the name of its row in the dialect, and its fields follow from the row: `x_id` is
the value of the argument or the result `x`, `num_dims` the length of the list that follows, each other field the argument of its name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, make_dataclass
from typing import Any, cast

from xdsl.dialects.builtin import f16, i8, i32

from flambeau.dialects.ir.tensor_types import f32
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Decoder, Encoder, Kind, OneOf, Ref, Refs, Scalar, Scalars, Table, Text, Union

MAGIC = b"XH00"
IDENTIFIER = b"XN01"
ALIGNMENT = 16
"""Of the flatbuffer and of what follows it, in bytes."""

INVALID_ID = 2**32 - 1
"""The id of a value that is absent."""
NO_OFFSET = 2**64 - 1
"""The offset of a constant that has a key instead."""
DATATYPES = {1: f32, 2: f16}
"""The element types by their numbers in the format."""
QINT8 = 3
QUANTIZED_DATATYPES = {QINT8: (i8, False), 5: (i32, False), 6: (i8, True), 7: (i32, True)}
"""Of integers that stand for floats, with whether each channel has a scale of its own."""
QDINT8 = 9
"""Of 8-bit integers with a scale and a zero point for each row, which a run finds."""
EXTERNAL_INPUT, EXTERNAL_OUTPUT = 1, 2
"""The flags of values that a caller gives and gets."""

_HEADER = struct.Struct("<4s4sHIIIQ")


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor. `id_out` is its number in nodes, `external_id` its place among a call's arguments, `constant_buffer_idx` its constant."""

    datatype: int = 0
    num_dims: int = 0
    dims: tuple[int, ...] = ()
    constant_buffer_idx: int = 0
    external_id: int = INVALID_ID
    flags: int = 0
    id_out: int = 0


@dataclass(frozen=True, slots=True)
class PerChannelQuant:
    """Parameters of quantization with a scale for each channel."""

    scale: tuple[float, ...] = ()
    channel_dim: int = 0
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass(frozen=True, slots=True)
class PerTensorQuant:
    """Parameters of quantization with one scale and zero point."""

    scale: float = 0.0
    zero_point: int = 0


@dataclass(frozen=True, slots=True)
class PerTokenDynamicQuant:
    """Parameters of quantization with scales that each run computes."""

    num_nonbatch_dims: int = 0


@dataclass(frozen=True, slots=True)
class PerChannelGroupQuant:
    """Parameters of quantization with a scale for each group of a channel."""

    scale: tuple[float, ...] = ()
    channel_dim: int = 0
    group_size: int = 0
    scale_bf16: tuple[int, ...] = ()
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass(frozen=True, slots=True)
class QuantizedTensorValue:
    """A tensor of quantized numbers, with their parameters."""

    tensor_value: TensorValue | None = None
    quant_params: object = None


@dataclass(frozen=True, slots=True)
class OutputMinMax:
    """The limits of a node's result."""

    output_min: float = 0.0
    output_max: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `xnode_union` is a record of one of `NODES`."""

    xnode_union: Any = None
    debug_handle: int = 0
    output_min_max: OutputMinMax | None = None


@dataclass(frozen=True, slots=True)
class ConstantDataOffset:
    """A constant: the named data `named_key` of the program, or `size` bytes at `offset` after the flatbuffer."""

    offset: int = 0
    size: int = 0
    named_key: str | None = None


@dataclass(frozen=True, slots=True)
class InlineConstant:
    """A constant within the flatbuffer, which only older formats have."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The root table. Constant 0 means that a value has no constant."""

    version: str | None = None
    xnodes: tuple[Node, ...] = ()
    xvalues: tuple[TensorValue | QuantizedTensorValue, ...] = ()
    num_externs: int = 0
    input_ids: tuple[int, ...] = ()
    output_ids: tuple[int, ...] = ()
    constant_buffer: tuple[InlineConstant, ...] = ()
    mem_buffer_sizes: tuple[int, ...] = ()
    constant_data: tuple[ConstantDataOffset, ...] = ()


LISTS = ("perm", "new_shape", "offsets", "sizes", "pre_paddings", "post_paddings")
"""The fields of nodes that have a number for each dimension."""
_UINT, _FLOAT = Scalar("I"), Scalar("f", float)
_FIELDS: dict[str, Kind] = {
    **dict.fromkeys(("alpha", "negative_slope", "padding_value"), _FLOAT),
    **dict.fromkeys(LISTS, Scalars("I")),
}
"""The kinds of the fields of nodes that are not numbers from 0 on."""


def _node(name: str, fields: str) -> Table:
    names = fields.split()
    return Table(make_dataclass(name, names, frozen=True), {field: _FIELDS.get(field, _UINT) for field in names})


_UNARY = "input_id output_id flags"
_BINARY = "input1_id input2_id output_id flags"
_CONVOLUTION = (
    "padding_top padding_right padding_bottom padding_left kernel_height kernel_width subsampling_height subsampling_width dilation_height "
    "dilation_width group_input_channels group_output_channels groups adjustment_height adjustment_width input1_id filter_id bias_id "
    "output_id flags"
)
_POOL = (
    "padding_top padding_right padding_bottom padding_left pooling_height pooling_width stride_height stride_width dilation_height "
    "dilation_width input_id output_id flags"
)
_CONCATENATION = "axis input1_id input2_id input3_id input4_id output_id flags input5_id"

NODES = (
    _node("add", _BINARY),
    _node("fully_connected", "input1_id filter_id bias_id output_id flags"),
    _node("softmax", _UNARY),
    _node("sigmoid", _UNARY),
    _node("static_transpose", "num_dims perm input_id output_id flags"),
    _node("clamp", _UNARY),
    _node("conv2d", _CONVOLUTION),
    _node("div", _BINARY),
    _node("static_resize_bilinear2d", "new_height new_width input_id output_id flags"),
    _node("static_constant_pad", "pre_paddings post_paddings padding_value input_id output_id flags"),
    _node("avg_pooling2d", _POOL),
    _node("minimum", _BINARY),
    _node("depthwise_conv2d", _CONVOLUTION),
    _node("max_pooling2d", _POOL),
    _node("multiply", _BINARY),
    _node("subtract", _BINARY),
    _node("floor", _UNARY),
    _node("convert", _UNARY),
    _node("global_avg_pooling2d", _UNARY),
    _node("static_reshape", "num_dims new_shape input_id output_id flags"),
    _node(
        "arg_max_pooling2d",
        "padding_top padding_right padding_bottom padding_left pooling_height pooling_width input_id output_value_id output_index_id flags",
    ),
    _node("square_root", _UNARY),
    _node("ceiling", _UNARY),
    _node("hardswish", _UNARY),
    _node("leaky_relu", "negative_slope input_id output_id flags"),
    _node("maximum", _BINARY),
    _node("negate", _UNARY),
    _node("square", _UNARY),
    _node("elu", "alpha input_id output_id flags"),
    _node("abs", _UNARY),
    _node("prelu", _BINARY),
    _node("concatenate2", _CONCATENATION),
    _node("concatenate3", _CONCATENATION),
    _node("concatenate4", _CONCATENATION),
    _node("static_slice", "num_dims offsets sizes input_id output_id flags"),
    _node("scaled_dot_product_attention", "query_id key_id value_id scale_id mask_id output_id flags"),
    _node("batch_matrix_multiply", _BINARY),
    _node("concatenate5", _CONCATENATION),
    _node("conv_transpose2d", _CONVOLUTION),
    _node("reciprocal_square_root", _UNARY),
    _node("log", _UNARY),
    _node("gelu", _UNARY),
    _node("tanh", _UNARY),
    _node("exp", _UNARY),
    _node("sin", _UNARY),
    _node("copy", _UNARY),
    _node("cos", _UNARY),
)
"""The nodes, in the order of the format's union."""

_TENSOR_VALUE = Table(
    TensorValue,
    {
        "datatype": Scalar("h"),
        "num_dims": _UINT,
        "dims": Scalars("I"),
        "constant_buffer_idx": _UINT,
        "external_id": _UINT,
        "flags": _UINT,
        "id_out": _UINT,
    },
)
_QUANTIZATIONS = (
    Table(
        PerChannelQuant,
        {"scale": Scalars("f", float), "channel_dim": Scalar("i"), "scale_buffer_idx": _UINT, "num_scales": _UINT},
    ),
    Table(PerTensorQuant, {"scale": _FLOAT, "zero_point": Scalar("i")}),
    Table(PerTokenDynamicQuant, {"num_nonbatch_dims": Scalar("i")}),
    Table(
        PerChannelGroupQuant,
        {
            "scale": Scalars("f", float),
            "channel_dim": Scalar("i"),
            "group_size": Scalar("i"),
            "scale_bf16": Scalars("H"),
            "scale_buffer_idx": _UINT,
            "num_scales": _UINT,
        },
    ),
)
_QUANTIZED = Table(QuantizedTensorValue, {"tensor_value": Ref(_TENSOR_VALUE), "quant_params": OneOf(_QUANTIZATIONS)})
_LIMITS = Table(OutputMinMax, {"output_min": _FLOAT, "output_max": _FLOAT})
_NODE = Table(Node, {"xnode_union": OneOf(NODES), "debug_handle": _UINT, "output_min_max": Ref(_LIMITS)})
_GRAPH = Table(
    Graph,
    {
        "version": Text(),
        "xnodes": Refs(_NODE),
        "xvalues": Refs(Union("value", (_TENSOR_VALUE, _QUANTIZED))),
        "num_externs": _UINT,
        "input_ids": Scalars("I"),
        "output_ids": Scalars("I"),
        "constant_buffer": Refs(Table(InlineConstant, {})),
        "mem_buffer_sizes": Scalars("I"),
        "constant_data": Refs(Table(ConstantDataOffset, {"offset": Scalar("Q"), "size": Scalar("Q"), "named_key": Text()})),
    },
)


def write_payload(graph: Graph) -> bytes:
    """Returns the payload of a graph whose constants are all named data. Raises BackendError for a number that the format cannot hold."""
    flatbuffer = Encoder(_GRAPH, IDENTIFIER, BackendError).encode(graph)
    start = _aligned(_HEADER.size)
    end = _aligned(start + len(flatbuffer))
    header = _HEADER.pack(bytes(4), MAGIC, _HEADER.size, start, len(flatbuffer), end, 0)
    return b"".join((header, bytes(start - len(header)), flatbuffer, bytes(end - start - len(flatbuffer))))


def read_payload(data: memoryview) -> tuple[Graph, memoryview]:
    """Returns the graph of a payload, and the bytes of constants that follow it. Raises BackendError for bytes that are no payload."""
    if len(data) < _HEADER.size:
        raise BackendError(f"XNNPACK payload: it has {len(data)} bytes; its header alone takes {_HEADER.size}")
    zeros, magic, size, start, length, constants, constants_length = _HEADER.unpack_from(data)
    if zeros != bytes(4) or magic != MAGIC:
        raise BackendError(f"XNNPACK payload: it starts with {zeros + magic!r}, not with {bytes(4) + MAGIC!r}")
    if not _HEADER.size <= size <= start or start + length > len(data):
        raise BackendError(f"XNNPACK payload: its graph should be at bytes {start} to {start + length} of {len(data)}")
    if constants < start + length or constants + constants_length > len(data):
        where = f"bytes {constants} to {constants + constants_length} of {len(data)}"
        raise BackendError(f"XNNPACK payload: its constants should be at {where}, behind the graph")
    flatbuffer = data[start : start + length]
    if bytes(flatbuffer[4:8]) != IDENTIFIER:
        raise BackendError(f"XNNPACK payload: its graph is of format {bytes(flatbuffer[4:8])!r}; {IDENTIFIER!r} is the one known")
    graph = cast(Graph, Decoder(flatbuffer, "the XNNPACK payload", BackendError).root(_GRAPH))
    return graph, data[constants : constants + constants_length]


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
