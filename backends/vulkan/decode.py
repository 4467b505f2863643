"""Reads a payload as a partition of `vulkan` operators, and checks that its dispatches are those of the operators."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.vulkan import BACKEND
from flambeau.backends.vulkan.dialect.kernels import MOST_BYTES, KernelOp
from flambeau.backends.vulkan.hazards import waits
from flambeau.backends.vulkan.payload import (
    ELEMENTS,
    FloatArgument,
    IntArgument,
    IntsArgument,
    Operator,
    Program,
    TensorArgument,
    TensorsArgument,
    TextArgument,
    read_payload,
    refused,
)
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, nbytes, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.delegation.interface import partition_module

_MOST_DIMENSIONS = 16


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    decoder = _Decoder(read_payload(data), named_data, blobs)
    inputs = [decoder.kind(number) for number in decoder.program.inputs]
    return partition_module(BACKEND.identifier, inputs, decoder.results, decoder.globals)


class _Decoder:
    """Reads one program as a partition."""

    def __init__(self, program: Program, named_data: Mapping[str, memoryview], blobs: BlobStore):
        self.program = program
        self.named_data = named_data
        self.blobs = blobs
        self.values: dict[int, SSAValue] = {}
        self.globals: list[GlobalOp] = []

    def kind(self, number: int) -> Tensor:
        """Returns the type of a value. Raises BackendError if there is none of this number, or it is no tensor that a device binds."""
        if number >= len(self.program.values):
            raise refused(f"it names value {number} of {len(self.program.values)}")
        value = self.program.values[number]
        if value.element >= len(ELEMENTS):
            raise refused(f"value {number} has elements of the type {value.element}; this backend knows {len(ELEMENTS)}")
        element = ELEMENTS[value.element]
        size = dtype_of(element).size * prod(value.shape)
        if len(value.shape) > _MOST_DIMENSIONS or not 0 < size <= MOST_BYTES or value.offset + size > self.program.memory:
            raise refused(
                f"value {number} of the sizes {list(value.shape)[:20]} at byte {value.offset} of {self.program.memory} fits no device"
            )
        return tensor(element, value.shape)

    def results(self, *arguments: SSAValue) -> list[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        for number, argument in zip(self.program.inputs, arguments, strict=True):
            self._define(number, argument, "an input")
        for number, value in enumerate(self.program.values):
            if value.key is not None or value.data is not None:
                self._constant(number)
        operators = [self._operator(place, operator) for place, operator in enumerate(self.program.operators)]
        self._check_calls(operators)
        return [self._value("an output", number) for number in self.program.outputs]

    def _define(self, number: int, value: SSAValue, what: str) -> None:
        if number in self.values:
            raise refused(f"value {number} is {what}, and something else too")
        if self.kind(number) != value.type:
            raise refused(f"{what} has the sizes {list(shape_of(value))}, and value {number} others")
        self.values[number] = value

    def _constant(self, number: int) -> None:
        kind, value = self.kind(number), self.program.values[number]
        data = value.data if value.key is None else self.named_data.get(value.key)
        if data is None or (value.key is not None and value.data is not None):
            raise refused(f"value {number} has the name {str(value.key)[:80]!r}, which the program lacks, or two sources")
        size = nbytes(kind)
        if len(data) < size:
            raise refused(f"value {number} takes {size} bytes, and its constant has {len(data)}")
        name = f"value_{number}"
        self.globals.append(GlobalOp(name, kind, self.blobs.add(name, data[:size])))
        self._define(number, GlobalLoadConstantOp(name, kind).result, "a constant")

    def _value(self, where: str, number: int) -> SSAValue:
        if number not in self.values:
            raise refused(f"{where} reads value {number}, which nothing before it gives")
        return self.values[number]

    def _operator(self, place: int, operator: Operator) -> KernelOp:
        name = operator.name or ""
        where = f"operator {place}, {name[:40]},"
        row = find_op(name)
        if row is None or not issubclass(row, KernelOp):
            raise refused(f"{where} is not supported here")
        if len(operator.arguments) != len(row.schema.arguments):
            raise refused(f"{where} has {len(operator.arguments)} arguments, and its schema {len(row.schema.arguments)}")
        given = {
            argument.name: self._argument(where, argument, item.kind)
            for argument, item in zip(row.schema.arguments, operator.arguments, strict=True)
        }
        try:
            op = row(**given)
        except (VerifyException, TypeError) as error:
            raise refused(f"{where} {error}") from error
        self._define(operator.result, op.result, "a result")
        return op

    def _argument(self, where: str, argument: SchemaArgument, kind: object) -> Any:
        kinds = argument.type
        match kind:
            case TensorArgument(value) if kinds.is_tensor and not kinds.is_list:
                return None if value == -1 else self._value(where, value)
            case TensorsArgument(values) if kinds.is_tensor and kinds.is_list:
                return [self._value(where, value) for value in values]
            case IntsArgument(values) if kinds.is_list and not kinds.is_tensor:
                return values
            case FloatArgument(value) if kinds.base == "float":
                return value
            case TextArgument(value) if kinds.base == "str" and value is not None:
                return value
            case IntArgument(value) if kinds.base in ("int", "bool") and not kinds.is_list:
                return bool(value) if kinds.base == "bool" else value
            case _:
                raise refused(f"{where} has the argument {argument.name!r} in another form")

    def _check_calls(self, operators: list[KernelOp]) -> None:
        """Raises BackendError unless the dispatches are those of the operators, in their order."""
        numbers = {value: number for number, value in self.values.items()}
        expected = [(place, dispatch) for place, op in enumerate(operators) for dispatch in op.dispatches()]
        if len(expected) != len(self.program.calls):
            raise refused(f"it has {len(self.program.calls)} dispatches, and its operators have {len(expected)}")
        modules = [module.name for module in self.program.modules]
        pipelines = [(modules[item.module], item.constants) for item in self.program.pipelines if item.module < len(modules)]
        offsets = {value: self.program.values[number].offset for value, number in numbers.items()}
        must = waits([(operators[place], dispatch) for place, dispatch in expected], offsets.__getitem__)
        for index, (call, (place, dispatch)) in enumerate(zip(self.program.calls, expected, strict=True)):
            pipeline = pipelines[call.pipeline] if call.pipeline < len(pipelines) else None
            found = (call.operator, pipeline, call.values, call.pushed, call.groups, call.waits)
            values = tuple(numbers[value] for value in dispatch.buffers)
            if found != (place, (dispatch.module, dispatch.constants), values, dispatch.pushed, dispatch.groups, must[index]):
                raise refused(f"dispatch {index} is not what operator {place}, {operators[place].name}, dispatches")
