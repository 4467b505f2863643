"""The tables of a TFLite model, version 3. Source: `schema.fbs` of LiteRT.

The options of an operator have the names of the arguments of its row in the dialect; options that are not here keep their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, make_dataclass
from typing import Any

from xdsl.dialects.builtin import f16, f32, i1, i8, i16, i32, i64

from flambeau.backends.litert.dialect.images import PADDINGS
from flambeau.backends.litert.dialect.operators import ACTIVATIONS
from flambeau.dialects.ir.tensor_types import ElementType
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Data, Decoder, Encoder, Kind, OneOf, Ref, Refs, Scalar, Scalars, Table, Text

IDENTIFIER = b"TFL3"
VERSION = 3
DTYPES: dict[ElementType, int] = {f32: 0, f16: 1, i32: 2, i64: 4, i1: 6, i16: 7, i8: 9}
"""The numbers of element types."""
OPERATORS: dict[str, int] = {
    "abs": 101,
    "add": 0,
    "arg_max": 56,
    "arg_min": 79,
    "average_pool_2d": 1,
    "batch_matmul": 126,
    "cast": 53,
    "ceil": 104,
    "concatenation": 2,
    "conv_2d": 3,
    "cos": 108,
    "cumsum": 128,
    "depth_to_space": 5,
    "depthwise_conv_2d": 4,
    "dequantize": 6,
    "div": 42,
    "elu": 111,
    "equal": 71,
    "exp": 47,
    "floor": 8,
    "fully_connected": 9,
    "gather": 36,
    "gelu": 150,
    "greater": 61,
    "greater_equal": 62,
    "hard_swish": 117,
    "leaky_relu": 98,
    "less": 58,
    "less_equal": 63,
    "log": 73,
    "log_softmax": 50,
    "logical_and": 86,
    "logical_not": 87,
    "logical_or": 84,
    "logistic": 14,
    "max_pool_2d": 17,
    "maximum": 55,
    "mean": 40,
    "minimum": 57,
    "mirror_pad": 100,
    "mul": 18,
    "neg": 59,
    "not_equal": 72,
    "pad": 34,
    "padv2": 60,
    "pow": 78,
    "prelu": 54,
    "quantize": 114,
    "reduce_max": 82,
    "reduce_min": 89,
    "reduce_prod": 81,
    "relu": 19,
    "relu6": 21,
    "relu_n1_to_1": 20,
    "reshape": 22,
    "resize_bilinear": 23,
    "resize_nearest_neighbor": 97,
    "reverse_v2": 105,
    "round": 116,
    "rsqrt": 76,
    "select_v2": 123,
    "sin": 66,
    "slice": 65,
    "softmax": 25,
    "space_to_depth": 26,
    "sqrt": 75,
    "square": 92,
    "squared_difference": 99,
    "strided_slice": 45,
    "sub": 41,
    "sum": 74,
    "tanh": 28,
    "tile": 69,
    "transpose": 39,
    "transpose_conv": 67,
}
"""The numbers of the builtin operators."""
_MOST_IN_OLD_FIELD = 127
"""The greatest number of an operator that the field of older readers holds."""

_FLAG, _NUMBER, _CODE = Scalar("B", bool), Scalar("i"), Scalar("b")
_STEPS: dict[str, Kind] = {"padding": _CODE, "stride_w": _NUMBER, "stride_h": _NUMBER}
_GAPS: dict[str, Kind] = {"dilation_w_factor": Scalar("i", default=1), "dilation_h_factor": Scalar("i", default=1)}
_ENDS: dict[str, Kind] = {"fused_activation_function": _CODE}
_CORNERS: dict[str, Kind] = {"align_corners": _FLAG, "half_pixel_centers": _FLAG}
_OPTIONS: dict[int, dict[str, Kind]] = {
    1: {**_STEPS, **_ENDS, **_GAPS},
    2: {**_STEPS, "depth_multiplier": _NUMBER, **_ENDS, **_GAPS},
    5: {**_STEPS, "filter_width": _NUMBER, "filter_height": _NUMBER, **_ENDS},
    8: {**_ENDS, "weights_format": _CODE, "keep_num_dims": _FLAG},
    9: {"beta": Scalar("f", float)},
    10: {"axis": _NUMBER, **_ENDS},
    11: {**_ENDS, "pot_scale_int16": Scalar("B", bool, True)},
    15: {"new_height": _NUMBER, "new_width": _NUMBER, **_CORNERS},
    19: {"block_size": _NUMBER},
    21: _ENDS,
    23: {"axis": _NUMBER, "batch_dims": _NUMBER},
    27: {"keep_dims": _FLAG},
    28: {**_ENDS, "pot_scale_int16": Scalar("B", bool, True)},
    29: _ENDS,
    37: {"in_data_type": _CODE, "out_data_type": _CODE},
    40: {"output_type": _CODE},
    49: {**_STEPS, **_ENDS},
    57: {"output_type": _CODE},
    74: _CORNERS,
    75: {"alpha": Scalar("f", float)},
    77: {"mode": _CODE},
    94: {"block_size": _NUMBER},
    101: {"adj_x": _FLAG, "adj_y": _FLAG},
    102: {"exclusive": _FLAG, "reverse": _FLAG},
    116: {"approximate": _FLAG},
}
_OPTIONS_OF = {
    "conv_2d": 1,
    "depthwise_conv_2d": 2,
    "average_pool_2d": 5,
    "max_pool_2d": 5,
    "fully_connected": 8,
    "softmax": 9,
    "concatenation": 10,
    "add": 11,
    "resize_bilinear": 15,
    "reshape": 17,
    "space_to_depth": 19,
    "mul": 21,
    "pad": 22,
    "gather": 23,
    "transpose": 26,
    "mean": 27,
    "reduce_max": 27,
    "reduce_min": 27,
    "reduce_prod": 27,
    "sum": 27,
    "sub": 28,
    "dequantize": 38,
    "div": 29,
    "strided_slice": 32,
    "exp": 33,
    "log_softmax": 36,
    "cast": 37,
    "maximum": 39,
    "minimum": 39,
    "arg_max": 40,
    "less": 41,
    "neg": 42,
    "padv2": 43,
    "greater": 44,
    "greater_equal": 45,
    "less_equal": 46,
    "slice": 48,
    "transpose_conv": 49,
    "tile": 51,
    "equal": 53,
    "not_equal": 54,
    "pow": 56,
    "arg_min": 57,
    "logical_or": 60,
    "logical_and": 62,
    "logical_not": 63,
    "square": 66,
    "resize_nearest_neighbor": 74,
    "leaky_relu": 75,
    "squared_difference": 76,
    "mirror_pad": 77,
    "abs": 78,
    "reverse_v2": 81,
    "cos": 84,
    "quantize": 89,
    "hard_swish": 91,
    "depth_to_space": 94,
    "select_v2": 98,
    "batch_matmul": 101,
    "cumsum": 102,
    "gelu": 116,
}
"""The numbers of the tables of options, in the union of them; operators without one have none."""
_TYPES = ("FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8")
CODES: dict[str, Sequence[str]] = {
    "padding": PADDINGS,
    "fused_activation_function": ACTIVATIONS,
    "mode": ("REFLECT", "SYMMETRIC"),
    **dict.fromkeys(("in_data_type", "out_data_type", "output_type"), _TYPES),
}
"""The options whose words are numbers in the format, from 0 on."""


def _table(name: str, fields: dict[str, Kind]) -> Table:
    defaults = {item: kind.default if isinstance(kind, Scalar) else None for item, kind in fields.items()}
    return Table(make_dataclass(name, [(item, object, field(default=value)) for item, value in defaults.items()], frozen=True), fields)


_MEMBERS = tuple(_table(f"options_{number}", _OPTIONS.get(number, {})) for number in range(1, 127))
OPTIONS = {name: _MEMBERS[number - 1] for name, number in _OPTIONS_OF.items()}
"""The table of the options of each operator that has one."""
_FLOATS, _INTEGERS, _LONG = Scalars("f", float), Scalars("i"), Scalars("q")
_TYPE_FIELDS: dict[str, Kind] = {"min": _FLOATS, "max": _FLOATS, "scale": _FLOATS, "zero_point": _LONG}
QUANTIZATION = _table("quantization", {**_TYPE_FIELDS, "details": OneOf((_table("custom", {}),)), "quantized_dimension": _NUMBER})
_TENSOR_FIELDS: dict[str, Kind] = {"shape": _INTEGERS, "type": _CODE, "buffer": Scalar("I"), "name": Text()}
_SIGNATURE: dict[str, Kind] = {"shape_signature": _INTEGERS, "has_rank": _FLAG}
_LAST_FIELDS: dict[str, Kind] = {"is_variable": _FLAG, "sparsity": Ref(_table("sparsity", {})), **_SIGNATURE}
TENSOR = _table("tensor", {**_TENSOR_FIELDS, "quantization": Ref(QUANTIZATION), **_LAST_FIELDS})
"""In the signature of a shape, -1 is a size that only the run knows; the shape has one that it may have. LiteRT's compiled models read
signatures of tensors that say they have a rank."""
OPERATOR = _table("operator", {"opcode_index": Scalar("I"), "inputs": _INTEGERS, "outputs": _INTEGERS, "builtin_options": OneOf(_MEMBERS)})
OPERATOR_CODE = _table(
    "operator_code",
    {"deprecated_builtin_code": _CODE, "custom_code": Text(), "version": Scalar("i", default=1), "builtin_code": _NUMBER},
)
BUFFER = _table("buffer", {"data": Data(16)})
SUBGRAPH = _table(
    "subgraph",
    {"tensors": Refs(TENSOR), "inputs": _INTEGERS, "outputs": _INTEGERS, "operators": Refs(OPERATOR), "name": Text()},
)
METADATA = _table("metadata", {"name": Text(), "buffer": Scalar("I")})
TENSOR_NAME = _table("tensor_name", {"name": Text(), "tensor_index": Scalar("I")})
SIGNATURE = _table(
    "signature",
    {
        "inputs": Refs(TENSOR_NAME),
        "outputs": Refs(TENSOR_NAME),
        "signature_key": Text(),
        "deprecated_tag": Text(),
        "subgraph_index": Scalar("I"),
    },
)
_MODEL = _table(
    "model",
    {
        "version": Scalar("I"),
        "operator_codes": Refs(OPERATOR_CODE),
        "subgraphs": Refs(SUBGRAPH),
        "description": Text(),
        "buffers": Refs(BUFFER),
        "metadata_buffer": _INTEGERS,
        "metadata": Refs(METADATA),
        "signature_defs": Refs(SIGNATURE),
    },
)


def operator_code(name: str, version: int) -> Any:
    """Returns the record of an operator in a version."""
    number = OPERATORS[name]
    return OPERATOR_CODE.record(deprecated_builtin_code=min(number, _MOST_IN_OLD_FIELD), version=version, builtin_code=number)


def write(**fields: Any) -> bytes:
    """Returns a model. Raises BackendError for what the format cannot hold."""
    return Encoder(_MODEL, IDENTIFIER, BackendError).encode(_MODEL.record(version=VERSION, **fields))


def read_model(data: memoryview, what: str) -> Any:
    """Returns a model. Raises BackendError for damaged models, and for those of another version."""
    if bytes(data[4:8]) != IDENTIFIER:
        raise BackendError(f"{what} is damaged: it does not begin as a TFLite model")
    model: Any = Decoder(data, what, BackendError).root(_MODEL)
    if model.version != VERSION:
        raise BackendError(f"{what} is of version {model.version}, and those of {VERSION} are read")
    return model


def read(data: memoryview, what: str) -> Any:
    """Returns a model of one graph. Raises as `read_model`, and for more graphs."""
    model = read_model(data, what)
    if len(model.subgraphs) != 1:
        raise BackendError(f"{what} has {len(model.subgraphs)} graphs, and models of one are read")
    return model
