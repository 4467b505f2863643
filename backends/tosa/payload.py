"""The tables of a TOSA flatbuffer, version 1.0. Source: `tosa.fbs` of the TOSA serialization library.

An operator's attributes have the names of the arguments of its row in the dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, make_dataclass
from typing import Any

from xdsl.dialects.builtin import f16, i1, i8, i16, i32

from flambeau.backends.tosa.dialect.operators import RANGES, i48
from flambeau.dialects.ir.tensor_types import ElementType, f32, numpy_dtype
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Data, Decoder, Encoder, Kind, OneOf, Ref, Refs, Scalar, Scalars, Table, Text, Texts
from flambeau.support.lazy import Array, np

IDENTIFIER = b"TOSA"
DTYPES: dict[ElementType, int] = {i1: 1, i8: 3, i16: 4, i32: 5, i48: 6, f32: 7, f16: 8}
"""The numbers of element types."""
OPERATORS: Sequence[str] = (
    "argmax avg_pool2d conv2d conv3d depthwise_conv2d fft2d matmul max_pool2d rfft2d transpose_conv2d clamp erf sigmoid tanh add "
    "arithmetic_right_shift bitwise_and bitwise_or bitwise_xor intdiv logical_and logical_left_shift logical_right_shift logical_or "
    "logical_xor maximum minimum mul pow sub table abs bitwise_not ceil clz cos exp floor log logical_not negate reciprocal rsqrt sin "
    "select equal greater greater_equal reduce_all reduce_any reduce_max reduce_min reduce_product reduce_sum concat pad reshape reverse "
    "slice tile transpose gather scatter resize cast rescale const identity custom cond_if while_loop variable variable_write "
    "variable_read const_shape"
).split()
"""The operators: the first has the number 1."""
SHAPES = frozenset(("shape", "start", "size", "multiples", "padding", "scale", "offset", "border"))
"""The operands that are shapes, whose numbers are of 64 bits."""
MODES = ("nearest", "bilinear")
"""The ways to resize images: the first has the number 1."""

_NUMBERS, _FLAG, _CODE = Scalars("i"), Scalar("B", bool), Scalar("I")
_CONVOLUTION: dict[str, Kind] = {"pad": _NUMBERS, "stride": _NUMBERS, "dilation": _NUMBERS, "local_bound": _FLAG, "acc_type": _CODE}
_POOL: dict[str, Kind] = {"kernel": _NUMBERS, "stride": _NUMBERS, "pad": _NUMBERS}
_FLAGS = ("per_channel", "input_unsigned", "output_unsigned")
_ATTRIBUTES: dict[str, dict[str, Kind]] = {
    "avg_pool2d": {**_POOL, "acc_type": _CODE},
    "max_pool2d": {**_POOL, "nan_mode": _CODE},
    "conv2d": _CONVOLUTION,
    "depthwise_conv2d": _CONVOLUTION,
    "transpose_conv2d": {"out_pad": _NUMBERS, "stride": _NUMBERS, "local_bound": _FLAG, "acc_type": _CODE},
    "resize": {"mode": _CODE},
    "clamp": {"min_val": Data(8), "max_val": Data(8), "nan_mode": _CODE},
    "maximum": {"nan_mode": _CODE},
    "minimum": {"nan_mode": _CODE},
    "arithmetic_right_shift": {"round": _FLAG},
    "reduce_max": {"axis": Scalar("i"), "nan_mode": _CODE},
    "reduce_min": {"axis": Scalar("i"), "nan_mode": _CODE},
    "reduce_product": {"axis": Scalar("i")},
    "reduce_sum": {"axis": Scalar("i")},
    "concat": {"axis": Scalar("i")},
    "transpose": {"perms": _NUMBERS},
    "reverse": {"axis": Scalar("i")},
    "rescale": {"scale32": _FLAG, "rounding_mode": _CODE, **dict.fromkeys(_FLAGS, _FLAG)},
}


def _table(name: str, fields: dict[str, Kind]) -> Table:
    return Table(make_dataclass(name, [(item, object, field(default=None)) for item in fields], frozen=True), fields)


ATTRIBUTES = {name: _table(name, _ATTRIBUTES.get(name, {})) for name in OPERATORS}
"""The table of the attributes of each operator."""
_VERSION_NUMBERS: dict[str, Kind] = dict.fromkeys(("major", "minor", "patch"), Scalar("i", default=-1))
_VERSION = _table("version", {**_VERSION_NUMBERS, "draft": Scalar("B", bool, 1)})
TENSOR = _table("tensor", {"name": Text(required=True), "shape": _NUMBERS, "type": _CODE, "data": Data(8)})
SHAPE = _table("shape", {"name": Text(required=True), "rank": _CODE, "data": Data(8)})
OPERATOR = _table("operator", {"op": _CODE, "attribute": OneOf(tuple(ATTRIBUTES.values())), "inputs": Texts(), "outputs": Texts()})
_LISTS: dict[str, Kind] = {"operators": Refs(OPERATOR), "tensors": Refs(TENSOR)}
BLOCK = _table("block", {"name": Text(), **_LISTS, "inputs": Texts(), "outputs": Texts(), "shapes": Refs(SHAPE)})
_REGION = _table("region", {"name": Text(), "blocks": Refs(BLOCK)})
_GRAPH = _table("graph", {"version": Ref(_VERSION), "regions": Refs(_REGION)})


def packed(array: Array, element: ElementType) -> bytes:
    """Returns the bytes of numbers, little end first: 6 of each int48. Raises BackendError for numbers that int48 lacks."""
    if element != i48:
        return np.ascontiguousarray(array, numpy_dtype(element)).tobytes()
    numbers = np.ascontiguousarray(array, np.int64)
    least, most = RANGES[i48]
    if numbers.min(initial=0) < least or numbers.max(initial=0) > most:
        raise BackendError(f"a constant has numbers from {numbers.min()} to {numbers.max()}, beyond those of int48")
    return numbers.reshape(-1, 1).view(np.uint8)[:, :6].tobytes()


def bytes_of(element: ElementType) -> int:
    """Returns the bytes of a number."""
    return 6 if element == i48 else numpy_dtype(element).itemsize


def unpacked(data: bytes | memoryview, element: ElementType, count: int) -> Array:
    """Returns the first numbers that bytes hold."""
    if element != i48:
        return np.frombuffer(data, numpy_dtype(element), count)
    octets = np.frombuffer(data, np.uint8, 6 * count).reshape(count, 6)
    wide = np.pad(octets, ((0, 0), (2, 0))).view(np.int64)[:, 0]
    return wide >> 16


def write(block: Any) -> bytes:
    """Returns the graph of one block. Raises BackendError for what the format cannot hold."""
    region = _REGION.record(name="main", blocks=(block,))
    version = _VERSION.record(major=1, minor=0, patch=0, draft=False)
    return Encoder(_GRAPH, IDENTIFIER, BackendError).encode(_GRAPH.record(version=version, regions=(region,)))


def read(data: memoryview) -> Any:
    """Returns the block of a graph of one block. Raises BackendError for damaged graphs, and for those of another version."""
    if bytes(data[4:8]) != IDENTIFIER:
        raise BackendError("a payload of 'TosaBackend' is damaged: it does not begin as a TOSA graph")
    graph: Any = Decoder(data, "a payload of 'TosaBackend'", BackendError).root(_GRAPH)
    version, blocks = graph.version, [block for region in graph.regions for block in region.blocks]
    if version is None or (version.major, version.minor) != (1, 0):
        raise BackendError(f"a payload of 'TosaBackend' is of version {version and version.major}, and those of 1.0 are read")
    if len(blocks) != 1:
        raise BackendError(f"a payload of 'TosaBackend' has {len(blocks)} blocks, and graphs of one are read")
    return blocks[0]
