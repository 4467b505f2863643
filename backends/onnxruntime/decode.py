"""Reads an ONNX model as a partition of `onnxruntime` operators, and checks every field that they need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.onnxruntime.dialect.operators import OnnxOp
from flambeau.backends.onnxruntime.label import unlabelled
from flambeau.backends.onnxruntime.messages import ELEMENTS, FLOAT, FLOATS, INT, INTS, NARROW, STRING, read
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.support.lazy import Array, np

IDENTIFIER = "OnnxRuntimeBackend"
_ELEMENTS = {number: element for element, number in ELEMENTS.items()}
_NARROW = {number: element for element, number in NARROW.items()}
_FIELDS = {FLOAT: "f", INT: "i", STRING: "s", FLOATS: "floats", INTS: "ints"}
_BOUNDS = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")
MOST_NUMBERS = 1024
MOST_DIMENSIONS = 32


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    return decoded(unlabelled(data, f"a payload of {IDENTIFIER!r}"), blobs, IDENTIFIER)


def decoded(data: memoryview, blobs: BlobStore, identifier: str) -> ModuleOp:
    """Returns a module with the constants and the partition of a model, for the backend that programs call `identifier`.

    A size that only the run knows is read as the greatest one.
    """
    what = f"a payload of {identifier!r}"
    reader = _Reader(read(data, what), blobs, what)
    kinds = [reader.declared(item) for item in reader.graph.input]
    return partition_module(identifier, kinds, reader.results, reader.globals)


class _Reader:
    def __init__(self, model: Any, blobs: BlobStore, what: str):
        self.graph = model.graph
        self.blobs = blobs
        self.what = what
        self.bounds = {item.key: item.value for item in model.metadata_props}
        self.constants = {item.name: item for item in model.graph.initializer}
        self.values: dict[str, SSAValue] = {}
        self.globals: list[GlobalOp] = []

    def _refused(self, why: str) -> BackendError:
        return BackendError(f"{self.what} is damaged or unsupported: {why}")

    def declared(self, item: Any) -> Tensor:
        """Returns the type of an input or output. Raises BackendError."""
        kind = None if item.type is None else item.type.tensor_type
        if kind is None or kind.shape is None or kind.elem_type not in _ELEMENTS or len(kind.shape.dim) > MOST_DIMENSIONS:
            raise self._refused(f"tensor {item.name[:40]!r} has no type, or one that is not read")
        return tensor(_ELEMENTS[kind.elem_type], [self._size(dim, item.name) for dim in kind.shape.dim])

    def _size(self, dim: Any, name: str) -> int:
        if dim.dim_param is None:
            size = dim.dim_value
        else:
            bounds = _BOUNDS.fullmatch(self.bounds.get(f"bounds of {dim.dim_param}", ""))
            size = -1 if bounds is None else int(bounds[2])
        if size is None or not 0 <= size < 2**31:
            raise self._refused(f"tensor {name[:40]!r} has a size that is not known, and has no bounds")
        return size

    def results(self, *arguments: SSAValue) -> Sequence[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        for item, argument in zip(self.graph.input, arguments, strict=True):
            self._define(item.name, argument, "an input")
        for index, node in enumerate(self.graph.node):
            where = f"node {index}, {node.op_type[:40]}"
            row = find_op(f"onnxruntime.{node.op_type}") if node.op_type.isidentifier() else None
            if row is None or not issubclass(row, OnnxOp) or node.domain:
                raise self._refused(f"{where}, is not read")
            try:
                op = row(**self._arguments(row, node))
            except (VerifyException, TypeError, ValueError, IndexError, OverflowError, KeyError, MemoryError) as error:
                raise self._refused(f"{where}: {error}") from error
            if len(op.results) != len(node.output):
                raise self._refused(f"{where}, gives {len(op.results)} tensors, and names {len(node.output)}")
            for name, result in zip(node.output, op.results, strict=True):
                self._define(name, result, where)
        found = [self._value(item.name) for item in self.graph.output]
        for value, item in zip(found, self.graph.output, strict=True):
            if element_of(value) != element_of(self.declared(item)) or len(shape_of(value)) != len(shape_of(self.declared(item))):
                raise self._refused(f"output {item.name[:40]!r} is {value.type}, and is declared as {self.declared(item)}")
        if not found:
            raise self._refused("it has no outputs")
        return found

    def _define(self, name: str, value: SSAValue, where: str) -> None:
        if name in self.values or name in self.constants or not name:
            raise self._refused(f"{where}, defines the tensor {name[:40]!r} again")
        self.values[name] = value

    def _arguments(self, row: type[OnnxOp], node: Any) -> dict[str, Any]:
        """Returns the arguments of an operator by their names in its row. Raises ValueError and BackendError."""
        inputs, attributes = list(node.input), {item.name: item for item in node.attribute}
        found = dict[str, Any]()
        for argument in row.schema.arguments:
            if argument.keyword_only:
                if argument.name in attributes:
                    found[argument.name] = _attribute(argument, attributes.pop(argument.name))
            elif argument.type.is_tensor and argument.type.is_list:
                found[argument.name], inputs = [self._value(name) for name in inputs], []
            elif not inputs or not inputs[0]:
                inputs = inputs[1:]
                if not argument.may_be_absent:
                    raise ValueError(f"it lacks its input {argument.name!r}")
            elif argument.type.is_tensor:
                found[argument.name] = self._value(inputs.pop(0))
            else:
                found[argument.name] = self._numbers(argument, inputs.pop(0))
        if inputs or attributes:
            raise ValueError(f"it has {len(inputs)} inputs and {len(attributes)} attributes too many")
        return found

    def _value(self, name: str) -> SSAValue:
        if name not in self.values:
            array, element = self._constant(name)
            kind, known = tensor(element, array.shape), f"constant_{len(self.globals)}"
            self.globals.append(GlobalOp(known, kind, self.blobs.add(known, array.reshape(-1).view(np.uint8).data)))
            self.values[name] = GlobalLoadConstantOp(known, kind).result
        return self.values[name]

    def _constant(self, name: str) -> tuple[Array, ElementType]:
        item = self.constants.get(name)
        element = None if item is None else _ELEMENTS.get(item.data_type) or _NARROW.get(item.data_type)
        if item is None or element is None:
            raise self._refused(f"there is no tensor {name[:40]!r} before it is read, or it is of a type that is not read")
        dtype, sizes, is_narrow = np.dtype(numpy_dtype(element)), list(item.dims), item.data_type in _NARROW
        data, count = item.raw_data, prod(sizes)
        size = -(-count // 2) if is_narrow else count * dtype.itemsize
        if data is None or item.external_data or min(sizes, default=0) < 0 or size != len(data):
            raise self._refused(f"constant {name[:40]!r} of {sizes} has not as many bytes")
        elements = _unpacked(np.frombuffer(data, np.uint8), dtype)[:count] if is_narrow else np.frombuffer(data, dtype)
        return elements.reshape(sizes), element

    def _numbers(self, argument: SchemaArgument, name: str) -> Any:
        """Returns a constant input as a number or a tuple of numbers. Raises ValueError."""
        array, element = self._constant(name)
        is_float = argument.type.base == "float"
        if array.ndim != argument.type.is_list or array.size > MOST_NUMBERS or (not is_float and element != i64):
            raise ValueError(f"{argument.name} is {tensor(element, array.shape)}, no number or list of them")
        if is_float and argument.type.is_list and element != f32:
            raise ValueError(f"{argument.name} is of {element}, not of f32")
        numbers: list[Any] = [float(item) if is_float else int(item) for item in array.reshape(-1)]
        return tuple(numbers) if argument.type.is_list else numbers[0]


def _unpacked(data: Array, dtype: np.dtype[Any]) -> Array:
    """Returns integers of 4 bits as those of 8 bits, the lower ones of each byte first."""
    halves = np.stack([data << 4, data & 0xF0], -1).reshape(-1).view(dtype)
    return halves >> 4


def _attribute(argument: SchemaArgument, item: Any) -> Any:
    """Returns the value of an attribute. Raises ValueError for one of another type."""
    base, is_list = argument.type.base, argument.type.is_list
    wanted = {"str": STRING, "float": FLOATS if is_list else FLOAT}.get(base, INTS if is_list else INT)
    value = getattr(item, _FIELDS[wanted]) if item.type == wanted else None
    if value is None:
        raise ValueError(f"its {argument.name} is of the type {item.type}, not {wanted}")
    match base:
        case "str":
            return str(value, "utf-8", "replace")
        case "ScalarType":
            return _ELEMENTS[value]
        case "bool":
            return value != 0
        case _:
            return tuple(value) if is_list else value
