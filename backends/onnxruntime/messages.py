"""The messages of an ONNX file, as far as models here have them. Source: `onnx.proto` of ONNX 1.23.

Numbers of a sequence are written one by one, as this schema of the second version of Protocol Buffers has them.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64

from flambeau.backends.onnxruntime.dialect.operators import LEAST_OPSET, OPSET
from flambeau.dialects.ir.tensor_types import ElementType, ui8, ui16, ui32, ui64
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.protobuf import Field, Message, Number, Record, Scalar, decode

IR_VERSIONS = {LEAST_OPSET: 9, OPSET: 10}
"""The versions of the format in which models with an opset are, the first that may have it."""
PRODUCER = "flambeau"
ELEMENTS: dict[ElementType, int] = {
    f32: 1,
    ui8: 2,
    i8: 3,
    ui16: 4,
    i16: 5,
    i32: 6,
    i64: 7,
    i1: 9,
    f16: 10,
    f64: 11,
    ui32: 12,
    ui64: 13,
    bf16: 16,
}
"""The numbers of element types."""
NARROW: dict[ElementType, int] = {ui8: 21, i8: 22}
"""The numbers of those of 4 bits, which are integers of 8 bits elsewhere."""
FLOAT, INT, STRING, FLOATS, INTS = 1, 2, 3, 6, 7
"""The numbers of the types of attributes."""


def _integers(number: int) -> Field:
    return Field(number, Number.INT, many=True, packed=False)


def _texts(number: int) -> Field:
    return Field(number, Scalar.TEXT, many=True)


ENTRY = Message("StringStringEntryProto", {"key": Field(1, Scalar.TEXT), "value": Field(2, Scalar.TEXT)})
DIMENSION = Message("Dimension", {"dim_value": Field(1, Number.INT, optional=True), "dim_param": Field(2, Scalar.TEXT, optional=True)})
SHAPE = Message("TensorShapeProto", {"dim": Field(1, DIMENSION, many=True)})
TENSOR_TYPE = Message("TypeProto.Tensor", {"elem_type": Field(1, Number.INT), "shape": Field(2, SHAPE)})
TYPE = Message("TypeProto", {"tensor_type": Field(1, TENSOR_TYPE)})
VALUE_INFO = Message("ValueInfoProto", {"name": Field(1, Scalar.TEXT), "type": Field(2, TYPE)})
TENSOR = Message(
    "TensorProto",
    {
        "dims": _integers(1),
        "data_type": Field(2, Number.INT),
        "name": Field(8, Scalar.TEXT),
        "raw_data": Field(9, Scalar.DATA, optional=True),
        "external_data": Field(13, ENTRY, many=True),
        "data_location": Field(14, Number.INT),
    },
)
ATTRIBUTE = Message(
    "AttributeProto",
    {
        "name": Field(1, Scalar.TEXT),
        "f": Field(2, Number.FLOAT, optional=True),
        "i": Field(3, Number.INT, optional=True),
        "s": Field(4, Scalar.DATA, optional=True),
        "floats": Field(7, Number.FLOAT, many=True, packed=False),
        "ints": _integers(8),
        "type": Field(20, Number.INT),
    },
)
NODE = Message(
    "NodeProto",
    {
        "input": _texts(1),
        "output": _texts(2),
        "name": Field(3, Scalar.TEXT),
        "op_type": Field(4, Scalar.TEXT),
        "attribute": Field(5, ATTRIBUTE, many=True),
        "domain": Field(7, Scalar.TEXT),
    },
)
GRAPH = Message(
    "GraphProto",
    {
        "node": Field(1, NODE, many=True),
        "name": Field(2, Scalar.TEXT),
        "initializer": Field(5, TENSOR, many=True),
        "input": Field(11, VALUE_INFO, many=True),
        "output": Field(12, VALUE_INFO, many=True),
        "value_info": Field(13, VALUE_INFO, many=True),
    },
)
OPERATOR_SET = Message("OperatorSetIdProto", {"domain": Field(1, Scalar.TEXT), "version": Field(2, Number.INT)})
MODEL = Message(
    "ModelProto",
    {
        "ir_version": Field(1, Number.INT),
        "producer_name": Field(2, Scalar.TEXT),
        "producer_version": Field(3, Scalar.TEXT),
        "graph": Field(7, GRAPH),
        "opset_import": Field(8, OPERATOR_SET, many=True),
        "metadata_props": Field(14, ENTRY, many=True),
    },
)


def read(data: memoryview, what: str) -> Any:
    """Returns the record of a model. Raises BackendError, in whose message the bytes are `what`."""
    model: Record = decode(MODEL, data, what, BackendError)
    opsets = [item.version for item in model.opset_import if not item.domain]
    if len(model.opset_import) != 1 or [model.ir_version] != [IR_VERSIONS.get(opset) for opset in opsets] or model.graph is None:
        found = f"is an ONNX model of IR version {model.ir_version} and the opsets {opsets}, or without a graph"
        raise BackendError(f"{what} {found}; those of the opsets {LEAST_OPSET} to {OPSET} are read")
    return model
