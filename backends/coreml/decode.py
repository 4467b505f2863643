"""Reads a payload as a partition of `coreml` operators, and checks every field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.coreml import BACKEND
from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.dialect.compressed import PALETTE, ConstexprMilOp, LutToDenseMilOp
from flambeau.backends.coreml.dialect.elementwise import AT_BORDERS, CastMilOp
from flambeau.backends.coreml.dialect.operators import MOST_DIMENSIONS, MilOp
from flambeau.backends.coreml.encode import WEIGHTS_FILE
from flambeau.backends.coreml.package import read_package, stored
from flambeau.backends.coreml.specification import refused
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, i1, i32, i64, nbytes, numpy_dtype, shape_of, tensor, ui8, ui32
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.runtime.protobuf import Record
from flambeau.runtime.protobuf import decode as decoded
from flambeau.support.lazy import Array, np

_ELEMENTS = {number: element for element, number in spec.DATA_TYPES.items()} | spec.SHORT | {spec.UINT32: ui32}
_INPUTS: dict[str, Attribute] = {str(element): element for element in spec.INPUTS}
_SIDES = ("inputs", "outputs")
_DTYPES = {element: name for name, element in AT_BORDERS.items()}
_FIELDS: dict[str, tuple[Attribute, ...]] = {"floats": (f32,), "ints": (i32,), "bools": (i1,)}
_MOST_BYTES = 1 << 40
_KINDS: dict[str, tuple[Attribute, ...]] = {"int": (i32,), "bool": (i1,), "float": (f16, f32)}


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads.

    A state is an argument behind the inputs, and a result behind the outputs.
    """
    model, weights, metadata = read_package(data)
    record = decoded(spec.MODEL, model, "the model of a Core ML payload", BackendError)
    reader = _Reader(record, weights, metadata, blobs)
    inputs = [*reader.inputs, *reader.states.values()]
    return partition_module(BACKEND.identifier, inputs, reader.results, reader.globals, list(reader.states))


@dataclass(frozen=True)
class _Constant:
    """A constant of a program: an array or a text."""

    kind: Tensor | None
    array: Array | None = None
    text: str = ""


class _Reader:
    """Reads one program."""

    def __init__(self, model: Record, weights: memoryview, metadata: Mapping[str, Any], blobs: BlobStore):
        self.weights = weights
        self.blobs = blobs
        self.globals: list[GlobalOp] = []
        self.constants: dict[str, _Constant] = {}
        self.values: dict[str, SSAValue] = {}
        self.ios = next((ios for ios, version in spec.VERSIONS.items() if version == model.specificationVersion), 0)
        program, description = model.mlProgram, model.description
        if not self.ios or program is None or description is None or program.version != 1 or program.functions.keys() != {"main"}:
            raise refused("it is no program of MIL with one function, of a specification from 6 to 9")
        self.main = program.functions["main"]
        name = spec.opset(self.ios)
        if self.main.opset != name or self.main.block_specializations.keys() != {name} or self.main.block_specializations[name] is None:
            raise refused(f"its function is not of the operators {name}, which its version has")
        self.block = self.main.block_specializations[name]
        tensors = [item for item in self.main.inputs if item.type is None or item.type.stateType is None]
        self.states = {item.name: self._state(item.type.stateType) for item in self.main.inputs if item not in tensors}
        self.written: dict[str, SSAValue] = {}
        self.names = [item.name for item in tensors]
        said = [metadata.get("inputNames"), metadata.get("outputNames")]
        described = [[item.name for item in side] for side in (description.input, description.output)]
        if not said == described == [self.names, list(self.block.outputs)]:
            raise refused("the names of its inputs and outputs are not those of its function")
        user: Mapping[str, str] = description.metadata.userDefined if description.metadata is not None else {}
        kinds, self.outputs = ([_INPUTS[word] for word in user.get(f"flambeau.{side}", "").split() if word in _INPUTS] for side in _SIDES)
        if (len(kinds), len(self.outputs)) != (len(self.names), len(self.block.outputs)):
            raise refused("it does not say of what types its inputs and outputs are")
        self.inputs = [self._input(item, kind) for item, kind in zip(tensors, kinds, strict=True)]

    def _state(self, kind: Record) -> Tensor:
        found = self._type(kind.wrappedType)
        if element_of(found) != f16:
            raise refused(f"a state is {found}, and those of Core ML are of f16")
        return found

    def _input(self, item: Record, element: Attribute) -> Tensor:
        kind = self._type(item.type)
        if spec.INPUTS[element] != element_of(kind):
            raise refused(f"the input {item.name[:40]!r} is {kind}, and its metadata says {element}")
        return tensor(element, shape_of(kind))

    def _type(self, kind: Record | None, most: int = MOST_DIMENSIONS) -> Tensor:
        found = None if kind is None or kind.stateType is not None else kind.tensorType
        element = None if found is None else _ELEMENTS.get(found.dataType)
        if found is None or element is None:
            raise refused("a value is no tensor of a type that is known here")
        shape = [0 if item.constant is None else item.constant.size for item in found.dimensions]
        if len(shape) != found.rank or len(shape) > most or min(shape, default=1) < 1 or prod(shape) > _MOST_BYTES:
            raise refused(f"a value has the sizes {shape[:9]}, and {found.rank} dimensions")
        return tensor(element, shape)

    def results(self, *arguments: SSAValue) -> Sequence[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        for name, value in zip((*self.names, *self.states), arguments, strict=True):
            self._define(name, CastMilOp(value, dtype="int32").result if element_of(value) in (i1, i64) else value)
        for number, item in enumerate(self.block.operations):
            self.where = f"operation {number}, {item.type[:40]!r},"
            if item.type == "const":
                self._constant(item)
            elif item.type in ("read_state", "write_state"):
                self._access(item)
            else:
                self._operator(item)
        self.where = "the function"
        outputs = [self._output(name, kind) for name, kind in zip(self.block.outputs, self.outputs, strict=True)]
        return [*outputs, *(self.written.get(name, self.values[name]) for name in self.states)]

    def _output(self, name: str, element: Attribute) -> SSAValue:
        """Returns a result in the elements that the runtime makes of it."""
        value = self._value(name)
        if spec.INPUTS[element] != element_of(value):
            raise refused(f"the output {name[:40]!r} is of {element_of(value)}, and its metadata says {element}")
        return value if element == element_of(value) else CastMilOp(value, dtype=_DTYPES[element]).result

    def _access(self, item: Record) -> None:
        """Reads or writes a state. A value that was read before is not the one behind a write."""
        given = {name: [binding.name for binding in argument.arguments] for name, argument in item.inputs.items()}
        match given, [output.name for output in item.outputs]:
            case {"input": [str(state)], **rest}, [name] if state in self.states and item.type == "read_state" and not rest:
                self._define(name, self.written.get(state, self.values[state]))
            case {"input": [str(state)], "data": [str(data)]}, [] if state in self.states and item.type == "write_state":
                self.written[state] = self._value(data)
            case _:
                raise refused(f"{self.where} is of no state")

    def _define(self, name: str, value: SSAValue) -> None:
        if name in self.values or name in self.constants:
            raise refused(f"there are two values {name[:40]!r}")
        self.values[name] = value

    def _constant(self, item: Record) -> None:
        value = item.attributes.get("val")
        if value is None or len(item.outputs) != 1 or item.inputs or item.outputs[0].type != value.type:
            raise refused(f"{self.where} has no value of its type")
        name = item.outputs[0].name
        if name in self.values or name in self.constants:
            raise refused(f"there are two values {name[:40]!r}")
        self.constants[name] = self._read(value)

    def _read(self, value: Record) -> _Constant:
        tensors = None if value.type is None else value.type.tensorType
        given = None if value.immediateValue is None else value.immediateValue.tensor
        if tensors is not None and tensors.dataType == spec.STRING:
            if tensors.rank or given is None or given.strings is None or len(given.strings.values) != 1:
                raise refused(f"{self.where} is no single text")
            return _Constant(None, text=given.strings.values[0])
        is_short = tensors is not None and tensors.dataType in spec.SHORT
        kind = self._type(value.type, MOST_DIMENSIONS + 2)  # a table of a palette has two more than its weight
        dtype = numpy_dtype(element_of(kind))
        if value.blobFileValue is not None:
            if value.blobFileValue.fileName != WEIGHTS_FILE or given is not None:
                raise refused(f"{self.where} is in the file {value.blobFileValue.fileName[:80]!r}, which the package lacks")
            data = stored(self.weights, value.blobFileValue.offset, kind, is_short=is_short)
            array = _unpacked(data, kind) if is_short else np.frombuffer(data, dtype)
        else:
            array = self._immediate(given, kind, dtype, is_short)
        return _Constant(kind, array.reshape(shape_of(kind)))

    def _immediate(self, given: Record | None, kind: Tensor, dtype: Any, is_short: bool) -> Array:
        for field, elements in _FIELDS.items():
            values = None if given is None else getattr(given, field)
            if values is not None and element_of(kind) in elements and len(values.values) == prod(shape_of(kind)):
                try:
                    return np.array(values.values, dtype)
                except OverflowError:
                    break
        data = None if given is None or given.bytes is None else given.bytes.values
        size = -(-nbytes(kind) // 2) if is_short else nbytes(kind)
        if data is None or element_of(kind) in (f32, i32, i1) or len(data) != size:
            raise refused(f"{self.where} has not the elements of {kind}")
        return _unpacked(data, kind) if is_short else np.frombuffer(data, dtype)

    def _value(self, name: str) -> SSAValue:
        """Returns a value by its name. A constant is loaded when it is first read as a tensor."""
        if name not in self.values:
            constant = self.constants.get(name)
            if constant is None or constant.kind is None or constant.array is None:
                raise refused(f"{self.where} reads {name[:40]!r}, which nothing before it gives")
            symbol = f"constant_{len(self.globals)}"
            data = np.ascontiguousarray(constant.array).reshape(-1).view(np.uint8).data
            self.globals.append(GlobalOp(symbol, constant.kind, self.blobs.add(symbol, data)))
            self.values[name] = GlobalLoadConstantOp(symbol, constant.kind).result
        return self.values[name]

    def _operator(self, item: Record) -> None:
        row = find_op(f"{BACKEND.name}.{item.type}") if item.type.isidentifier() else None
        if row is None or not issubclass(row, MilOp) or row.since > self.ios:
            raise refused(f"{self.where} is not supported here")
        bound: Mapping[str, Record] = item.inputs
        names = {name: [str(binding.name) for binding in argument.arguments] for name, argument in bound.items() if argument}
        given: dict[str, Any] = {}
        if issubclass(row, ConstexprMilOp):
            names = self._parameters(item)
        for argument in row.schema.arguments:
            if argument.name in names:
                given[argument.name] = self._argument(row, argument, names.pop(argument.name))
            elif not argument.may_be_absent:
                raise refused(f"{self.where} lacks its input {argument.name!r}")
        if names:
            raise refused(f"{self.where} has the input {next(iter(names))[:40]!r}, which is not known here")
        try:
            op = row(**given)
        except (VerifyException, TypeError) as error:
            raise refused(f"{self.where} {error}") from error
        if [result.type for result in op.results] != [self._type(output.type) for output in item.outputs]:
            raise refused(f"{self.where} gives other tensors than it says")
        for output, result in zip(item.outputs, op.results, strict=True):
            self._define(output.name, result)

    def _parameters(self, item: Record) -> dict[str, list[str]]:
        """Returns the names of the constants that stand in an operation."""
        bound: Mapping[str, Record] = item.inputs
        given = {name: argument.arguments[0].value for name, argument in bound.items() if argument and len(argument.arguments) == 1}
        values: dict[str, Any] = {**given, **{name: value for name, value in item.attributes.items() if name != "name"}}
        if None in values.values() or len(item.outputs) != 1:
            raise refused(f"{self.where} has operands that do not stand in it")
        names = {name: f"{item.outputs[0].name}.{name}" for name in values}
        read = {name: self._read(value) for name, value in values.items()}
        if item.type == LutToDenseMilOp.schema.base:
            read = self._palette(read)
        names = {name: names[name] for name in read}
        self.constants.update({names[name]: value for name, value in read.items()})
        return {name: [found] for name, found in names.items()}

    def _palette(self, given: Mapping[str, _Constant]) -> dict[str, _Constant]:
        """Returns the indices of a palette in their shape, and a table of one dimension. Raises BackendError."""
        indices, table, shape = (given.get(name, _Constant(None)) for name in ("indices", "lut", "shape"))
        if indices.kind is None or indices.array is None or table.kind is None or table.array is None or table.array.size != PALETTE:
            raise refused(f"{self.where} has not the operands of a palette of {PALETTE}")
        places = indices.array
        if shape.array is not None:
            sizes = tuple(map(int, shape.array.reshape(-1)))
            if places.ndim != 1 or not 0 < prod(sizes) <= _MOST_BYTES or len(places) != -(-prod(sizes) // 2):
                raise refused(f"{self.where} has {places.size} bytes of places, and the shape {list(sizes)}")
            places = _unpacked(places.data, tensor(ui8, sizes)).reshape(sizes)
        if element_of(indices.kind) != ui8 or places.max() >= PALETTE:
            raise refused(f"{self.where} has places that are not in its table of {PALETTE}")
        kind = tensor(element_of(table.kind), (PALETTE,))
        return {"indices": _Constant(tensor(ui8, places.shape), places), "lut": _Constant(kind, table.array.reshape(-1))}

    def _argument(self, row: type[MilOp], argument: SchemaArgument, names: Sequence[str]) -> Any:
        if argument.type.is_tensor and argument.type.is_list:
            return [self._value(name) for name in names]
        if len(names) != 1:
            raise refused(f"{self.where} has {len(names)} values of {argument.name!r}")
        if argument.type.is_tensor:
            return self._value(names[0])
        constant = self.constants.get(names[0])
        what = f"{self.where} takes {argument.name!r} as a constant {argument.type.base}{' list' if argument.type.is_list else ''}"
        if constant is None or (argument.type.base == "str") != (constant.kind is None):
            raise refused(what)
        if constant.kind is None or constant.array is None:
            return constant.text
        if element_of(constant.kind) not in _KINDS[argument.type.base] or constant.array.ndim != argument.type.is_list:
            raise refused(what)
        return tuple(constant.array.tolist()) if argument.type.is_list else constant.array.item()


def _unpacked(data: memoryview, kind: Tensor) -> Array:
    """Returns integers of 4 bits, the first one in the lower half of its byte."""
    pairs = np.frombuffer(data, np.uint8)
    halves = np.stack((pairs & 15, pairs >> 4), -1).reshape(-1)[: nbytes(kind)]
    return halves if element_of(kind) == ui8 else np.where(halves > 7, halves.astype(np.int8) - 16, halves).astype(np.int8)
