"""Reads a payload as a partition of `openvino` operators, and checks every field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isnan, prod
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.openvino.dialect.layers import LayerOp, attribute_name
from flambeau.backends.openvino.encode import ELEMENTS
from flambeau.backends.openvino.payload import Payload, read_payload, refused
from flambeau.backends.openvino.representation import OPEN, Layer, Port, read_lines, read_model
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, numpy_dtype, shape_of, tensor, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.support.lazy import Array, np

_BY_NAME = {name: element for element, (name, _) in ELEMENTS.items()}
_BY_PRECISION = {precision: element for element, (_, precision) in ELEMENTS.items()}
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SIZE = re.compile(r"[0-9]{1,18}")
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")
MOST_DIMENSIONS = 32


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    return _Decoder(read_payload(data), named_data, blobs).decode()


class _Decoder:
    """Reads one model as a partition. A size that is unknown before the run is read as its upper bound."""

    def __init__(self, payload: Payload, named_data: Mapping[str, memoryview], blobs: BlobStore):
        self.payload = payload
        self.named_data = named_data
        self.blobs = blobs
        self.layers = (read_lines if payload.is_lines else read_model)(payload.text)
        self.values: dict[tuple[int, int], SSAValue] = {}
        self.arrays: dict[tuple[int, int], Array] = {}
        """The constants."""
        self.globals: list[GlobalOp] = []
        self.block = Block()
        self.returned: list[SSAValue] = []

    def decode(self) -> ModuleOp:
        """Returns the module with the constants and the partition. Raises BackendError."""
        for number, layer in enumerate(self.layers):
            self.where = f"layer {number}, {layer.type[:40]}"
            match layer.type:
                case "Parameter":
                    self._parameter(number, layer)
                case "Const":
                    self._constant(number, layer)
                case "Result":
                    self._result(layer)
                case _:
                    self._operator(number, layer)
        found = (len(self.block.args), len(self.returned))
        if found != (self.payload.inputs, self.payload.outputs) or not self.returned:
            said = f"{self.payload.inputs} inputs and {self.payload.outputs} outputs"
            raise refused(f"its label says {said}, and its text has {found[0]} and {found[1]}")
        self.block.add_op(ReturnOp(self.returned))
        kind = FunctionType.from_lists(list(self.block.arg_types), [value.type for value in self.returned])
        return ModuleOp([*self.globals, PartitionOp("partition", "OpenvinoBackend", kind, Region(self.block))])

    def _expect(self, layer: Layer, inputs: int, outputs: int, *names: str) -> list[str]:
        """Returns the values of a layer's attributes `names`. Raises BackendError unless it is of opset 1 with these numbers of ports."""
        if layer.opset != "1" or len(layer.inputs) != inputs or len(layer.outputs) != outputs or sorted(layer.data) != sorted(names):
            raise refused(f"{self.where}, has other ports or data than such a layer")
        return [layer.data[name] for name in names]

    def _type(self, text: str, sizes: list[int], port: Port) -> Tensor:
        element = _BY_NAME.get(text)
        if element is None:
            raise refused(f"{self.where}, is of {text[:40]!r}; {', '.join(_BY_NAME)} are supported here")
        self._check_port(port, tensor(element, sizes))
        return tensor(element, sizes)

    def _check_port(self, port: Port, kind: Tensor) -> None:
        sizes, said = shape_of(kind), shape_of(kind) if port.sizes is None else port.sizes
        fit = len(said) == len(sizes) and all(found in (OPEN, size) for found, size in zip(said, sizes, strict=True))
        if not fit or port.precision != ELEMENTS[element_of(kind)][1]:
            raise refused(f"{self.where}, gives {kind}, and its port says {port.precision[:40]} {list(said)}")

    def _parameter(self, number: int, layer: Layer) -> None:
        text, shape = self._expect(layer, 0, 1, "element_type", "shape")
        sizes: list[int] = []
        for part in _parts(shape):
            limits = _RANGE.fullmatch(part)
            if (limits is not None and int(limits[1]) > int(limits[2])) or (limits is None and not _SIZE.fullmatch(part)):
                raise refused(f"{self.where}, has a size {part[:40]!r}")
            sizes.append(int(part if limits is None else limits[2]))
        kind = self._type(text, sizes, layer.outputs[0])
        self.values[number, 0] = self.block.insert_arg(kind, len(self.block.args))

    def _constant(self, number: int, layer: Layer) -> None:
        is_named = "key" in layer.data
        text, shape, place, size = self._expect(layer, 0, 1, "element_type", "shape", "key" if is_named else "offset", "size")
        parts = _parts(shape)
        if not all(_SIZE.fullmatch(part) for part in (*parts, size, *(() if is_named else (place,)))):
            raise refused(f"{self.where}, has a shape, an offset or a size that are no numbers")
        sizes, start, length = list(map(int, parts)), 0 if is_named else int(place), int(size)
        kind = self._type(text, sizes, layer.outputs[0])
        stored = self.named_data.get(place) if is_named else self.payload.constants
        if stored is None:
            raise refused(f"{self.where}, needs the named data {place[:80]!r}, which the program lacks")
        if length != prod(sizes) * dtype_of(element_of(kind)).size or start + length > len(stored):
            whose = f"the named data {place[:80]!r} of {len(stored)} bytes" if is_named else f"{len(stored)}"
            raise refused(f"{self.where}, takes bytes {start} to {start + length} of {whose} for {kind}")
        data = stored[start : start + length]
        self.arrays[number, 0] = np.frombuffer(data, numpy_dtype(element_of(kind))).reshape(sizes)

    def _value(self, source: tuple[int, int]) -> SSAValue:
        """Returns the value of a layer's output port. A constant becomes a global when it is first read as a tensor."""
        if source not in self.values:
            array = self.arrays[source]
            name = f"constant_{source[0]}"
            kind = tensor(_BY_PRECISION[self.layers[source[0]].outputs[0].precision], array.shape)
            self.globals.append(GlobalOp(name, kind, self.blobs.add(name, array.reshape(-1).view(np.uint8).data)))
            load = GlobalLoadConstantOp(name, kind)
            self.block.add_op(load)
            self.values[source] = load.result
        return self.values[source]

    def _result(self, layer: Layer) -> None:
        self._expect(layer, 1, 0)
        self.returned.append(self._value(layer.inputs[0]))

    def _operator(self, number: int, layer: Layer) -> None:
        row = find_op(f"openvino.{layer.type}") if layer.type.isidentifier() else None
        if row is None or not issubclass(row, LayerOp) or layer.opset != str(row.opset):
            raise refused(f"{self.where} of opset{layer.opset[:40]}, is not supported here")
        inputs = list(layer.inputs)
        data = dict(layer.data)
        given: dict[str, Any] = {}
        for argument in row.schema.arguments:
            if argument.keyword_only:
                given[argument.name] = self._attribute(argument, data.pop(attribute_name(argument.name), None))
            elif argument.type.is_list and argument.type.is_tensor:
                given[argument.name], inputs = [self._value(source) for source in inputs], []
            elif not inputs:
                raise refused(f"{self.where}, lacks its input {argument.name!r}")
            elif argument.type.is_tensor:
                given[argument.name] = self._value(inputs.pop(0))
            else:
                given[argument.name] = self._numbers(argument, inputs.pop(0))
        if inputs or data:
            raise refused(f"{self.where}, has more inputs or data than such a layer")
        try:
            op = row(**given)
        except (VerifyException, TypeError) as error:
            raise refused(f"{self.where}: {error}") from error
        if len(op.results) != len(layer.outputs):
            raise refused(f"{self.where}, gives {len(op.results)} tensors, and has {len(layer.outputs)} ports for them")
        self.block.add_op(op)
        for place, (result, port) in enumerate(zip(op.results, layer.outputs, strict=True)):
            self._check_port(port, tensor_type(result))
            self.values[number, place] = result

    def _numbers(self, argument: SchemaArgument, source: tuple[int, int]) -> Any:
        """Returns a constant input as a number or a tuple of numbers. Raises BackendError if the input is no constant for the argument."""
        array = self.arrays.get(source)
        wanted = np.float32 if argument.type.base == "float" else np.int64
        if array is None or array.dtype != wanted or array.ndim != argument.type.is_list or array.size > 1024:
            raise refused(f"{self.where}, takes {argument.name!r} as a constant{' list' if argument.type.is_list else ''} of numbers")
        return tuple(array.tolist()) if argument.type.is_list else array.item()

    def _attribute(self, argument: SchemaArgument, text: str | None) -> Any:
        """Returns the value of an attribute, from its text in the model's `data`."""
        parts = None if text is None else _parts(text) if argument.type.is_list else [text]
        values = None if parts is None else [_ATTRIBUTES[argument.type.base](part) for part in parts]
        if values is None or None in values:
            raise refused(f"{self.where}, has the {argument.name} {text if text is None else text[:40]!r}")
        return tuple(values) if argument.type.is_list else values[0]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if isnan(value) else value


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


_ATTRIBUTES: Mapping[str, Callable[[str], Any]] = {"bool": {"true": True, "false": False}.get, "int": _integer, "float": _real, "str": str}
