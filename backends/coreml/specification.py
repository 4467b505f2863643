"""The messages of Core ML's models, as far as a program of MIL needs them.

Sources: `Model.proto`, `FeatureTypes.proto` and `MIL.proto` of coremltools, by the numbers of their fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import f16, i8
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import f32, i1, i32, i64, ui8
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.protobuf import Field, Map, Message, Number, Record, Scalar

STRING = 2
UINT32 = 33
SHORT = {25: i8, 35: ui8}
"""The integers of 4 bits, signed and not, with what holds them here."""
INT4, UINT4 = SHORT
DATA_TYPES: dict[Attribute, int] = {i1: 1, f16: 10, f32: 11, i8: 21, i32: 23, ui8: 31}
"""The types of elements, by their numbers in MIL."""
ARRAYS: dict[Attribute, int] = {f16: 65552, f32: 65568, i32: 131104}
"""The types of elements of inputs and outputs."""
INPUTS: dict[Attribute, Attribute] = {f16: f16, f32: f32, i32: i32, i64: i32, i1: i32}
"""What inputs and outputs of each type are in a model: ExecuTorch's runtime copies integers of 64 bits and booleans to these and back."""
VERSIONS = {15: 6, 16: 7, 17: 8, 18: 9}
"""The version of the specification of each set of operators, by the number of its iOS."""

_TEXTS = Field(1, Scalar.TEXT, many=True)


def _sized(name: str) -> Message:
    return Message(name, {"size": Field(1, Number.UINT)})


def _values(name: str, kind: Number) -> Message:
    return Message(name, {"values": Field(1, kind, many=True)})


_DIMENSION = Message("Dimension", {"constant": Field(1, _sized("ConstantDimension"))})
_TENSOR_TYPE = Message(
    "TensorType", {"dataType": Field(1, Number.INT), "rank": Field(2, Number.INT), "dimensions": Field(3, _DIMENSION, many=True)}
)
_VALUE_TYPE = Message("ValueType", {"tensorType": Field(1, _TENSOR_TYPE), "stateType": Field(5, lambda: _STATE_TYPE)})
_STATE_TYPE = Message("StateType", {"wrappedType": Field(1, _VALUE_TYPE)})
_TENSOR_VALUE = Message(
    "TensorValue",
    {
        "floats": Field(1, _values("RepeatedFloats", Number.FLOAT)),
        "ints": Field(2, _values("RepeatedInts", Number.INT)),
        "bools": Field(3, _values("RepeatedBools", Number.BOOL)),
        "strings": Field(4, Message("RepeatedStrings", {"values": _TEXTS})),
        "bytes": Field(7, Message("RepeatedBytes", {"values": Field(1, Scalar.DATA)})),
    },
)
_IMMEDIATE = Message("ImmediateValue", {"tensor": Field(1, _TENSOR_VALUE)})
_BLOB = Message("BlobFileValue", {"fileName": Field(1, Scalar.TEXT), "offset": Field(2, Number.UINT)})
_VALUE = Message("Value", {"type": Field(2, _VALUE_TYPE), "immediateValue": Field(3, _IMMEDIATE), "blobFileValue": Field(5, _BLOB)})
_NAMED_TYPE = Message("NamedValueType", {"name": Field(1, Scalar.TEXT), "type": Field(2, _VALUE_TYPE)})
_BINDING = Message("Binding", {"name": Field(1, Scalar.TEXT, optional=True), "value": Field(2, _VALUE)})
_ARGUMENT = Message("Argument", {"arguments": Field(1, _BINDING, many=True)})
_OPERATION = Message(
    "Operation",
    {
        "type": Field(1, Scalar.TEXT),
        "inputs": Field(2, Map(Scalar.TEXT, _ARGUMENT)),
        "outputs": Field(3, _NAMED_TYPE, many=True),
        "attributes": Field(5, Map(Scalar.TEXT, _VALUE)),
    },
)
_BLOCK = Message("Block", {"outputs": Field(2, Scalar.TEXT, many=True), "operations": Field(3, _OPERATION, many=True)})
_FUNCTION = Message(
    "Function",
    {
        "inputs": Field(1, _NAMED_TYPE, many=True),
        "opset": Field(2, Scalar.TEXT),
        "block_specializations": Field(3, Map(Scalar.TEXT, _BLOCK)),
    },
)
_PROGRAM = Message("Program", {"version": Field(1, Number.INT), "functions": Field(2, Map(Scalar.TEXT, _FUNCTION))})
_ARRAY = Message("ArrayFeatureType", {"shape": Field(1, Number.INT, many=True), "dataType": Field(2, Number.INT)})
_STATE = Message("StateFeatureType", {"arrayType": Field(1, _ARRAY)})
_FEATURE_TYPE = Message("FeatureType", {"multiArrayType": Field(5, _ARRAY), "stateType": Field(8, _STATE)})
_FEATURE = Message("FeatureDescription", {"name": Field(1, Scalar.TEXT), "type": Field(3, _FEATURE_TYPE)})
_METADATA = Message("Metadata", {"shortDescription": Field(1, Scalar.TEXT), "userDefined": Field(100, Map(Scalar.TEXT, Scalar.TEXT))})
_FEATURES = {"input": Field(1, _FEATURE, many=True), "output": Field(10, _FEATURE, many=True), "state": Field(13, _FEATURE, many=True)}
_DESCRIPTION = Message("ModelDescription", {**_FEATURES, "metadata": Field(100, _METADATA)})
MODEL = Message(
    "Model", {"specificationVersion": Field(1, Number.INT), "description": Field(2, _DESCRIPTION), "mlProgram": Field(502, _PROGRAM)}
)


def refused(what: str) -> BackendError:
    """Returns the error for a damaged or unsupported payload; `what` is the reason."""
    return BackendError(f"Core ML payload: {what}")


def opset(ios: int) -> str:
    """Returns the name of a set of operators."""
    return f"CoreML{VERSIONS[ios] - 1}"


def value_type(data_type: int, shape: Sequence[int]) -> Record:
    """Returns the type of a tensor."""
    dimensions = [_DIMENSION.record(constant=_sized("").record(size=size)) for size in shape]
    return _VALUE_TYPE.record(tensorType=_TENSOR_TYPE.record(dataType=data_type, rank=len(shape), dimensions=dimensions))


def named_type(name: str, kind: Record) -> Record:
    """Returns a value with its type."""
    return _NAMED_TYPE.record(name=name, type=kind)


def immediate(data_type: int, shape: Sequence[int], field: str, values: Any) -> Record:
    """Returns a value that stands in the model, whose elements are in one of the fields of a TensorValue."""
    tensor = _TENSOR_VALUE.record(**{field: Record(values=values)})
    return _VALUE.record(type=value_type(data_type, shape), immediateValue=_IMMEDIATE.record(tensor=tensor))


def text(words: str) -> Record:
    """Returns a text as a value."""
    return immediate(STRING, (), "strings", [words])


def in_file(data_type: int, shape: Sequence[int], name: str, offset: int) -> Record:
    """Returns a value that stands in a file of weights."""
    return _VALUE.record(type=value_type(data_type, shape), blobFileValue=_BLOB.record(fileName=name, offset=offset))


def operation(
    kind: str, inputs: Mapping[str, Sequence[str | Record]], outputs: Sequence[Record], attributes: Mapping[str, Record]
) -> Record:
    """Returns an operation whose inputs are values by name, or stand in the operation."""
    bound = {name: _ARGUMENT.record(arguments=[_bound(value) for value in values]) for name, values in inputs.items()}
    return _OPERATION.record(type=kind, inputs=bound, outputs=outputs, attributes=attributes)


def _bound(value: str | Record) -> Record:
    return _BINDING.record(name=value) if isinstance(value, str) else _BINDING.record(value=value)


def feature(name: str, element: Attribute, shape: Sequence[int]) -> Record:
    """Returns the description of an input or an output."""
    array = _ARRAY.record(shape=shape, dataType=ARRAYS[element])
    return _FEATURE.record(name=name, type=_FEATURE_TYPE.record(multiArrayType=array))


def state_type(kind: Record) -> Record:
    """Returns the type of a state that holds a tensor."""
    return _VALUE_TYPE.record(stateType=_STATE_TYPE.record(wrappedType=kind))


def state_feature(name: str, shape: Sequence[int]) -> Record:
    """Returns the description of a state, which is of float16."""
    array = _ARRAY.record(shape=shape, dataType=ARRAYS[f16])
    return _FEATURE.record(name=name, type=_FEATURE_TYPE.record(stateType=_STATE.record(arrayType=array)))


def model(
    ios: int, features: Mapping[str, Sequence[Record]], inputs: Sequence[Record], operations: Sequence[Record], said: Mapping[str, str]
) -> Record:
    """Returns a model of one function, whose outputs are described by `features`."""
    block = _BLOCK.record(outputs=[item.name for item in features["output"]], operations=operations)
    main = _FUNCTION.record(inputs=inputs, opset=opset(ios), block_specializations={opset(ios): block})
    metadata = _METADATA.record(shortDescription="Made by Flambeau.", userDefined=said)
    return MODEL.record(
        specificationVersion=VERSIONS[ios],
        description=_DESCRIPTION.record(**features, metadata=metadata),
        mlProgram=_PROGRAM.record(version=1, functions={"main": main}),
    )
