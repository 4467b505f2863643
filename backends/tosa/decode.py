"""Reads a TOSA graph as a partition of `tosa` operators, and checks every field that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.tosa.payload import DTYPES, MODES, OPERATORS, SHAPES, bytes_of, read, unpacked
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_float, numpy_dtype, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.support.lazy import Array, np

MOST_DIMENSIONS = 6
_ELEMENTS = {number: element for element, number in DTYPES.items()}


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    reader = _Reader(read(data), blobs)
    return partition_module("TosaBackend", [reader.kind(name) for name in reader.block.inputs], reader.results, reader.globals)


def _refused(what: str) -> BackendError:
    return BackendError(f"a payload of 'TosaBackend' is damaged or unsupported: {what}")


class _Reader:
    def __init__(self, block: Any, blobs: BlobStore):
        self.block = block
        self.blobs = blobs
        self.tensors: dict[str, Any] = {item.name: item for item in block.tensors}
        self.shapes: dict[str, Any] = {item.name: item for item in block.shapes}
        self.values: dict[str, SSAValue] = {}
        self.globals: list[GlobalOp] = []

    def kind(self, name: str) -> Tensor:
        """Returns the type of a tensor. Raises BackendError."""
        item = self.tensors.get(name)
        if item is None or item.type not in _ELEMENTS or len(item.shape) > MOST_DIMENSIONS or min(item.shape, default=1) < 1:
            raise _refused(f"{name!r} is no tensor of a type and of sizes that are read")
        return tensor(_ELEMENTS[item.type], item.shape)

    def results(self, *arguments: SSAValue) -> Sequence[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        self.values.update(zip(self.block.inputs, arguments, strict=True))
        for index, step in enumerate(self.block.operators):
            number: int = step.op
            name = OPERATORS[number - 1] if 1 <= number <= len(OPERATORS) else ""
            if name in ("const", "const_shape"):
                continue
            if name == "identity" and len(step.inputs) == len(step.outputs) == 1:
                self._define(step.outputs[0], self._value(step.inputs[0]), f"operator {index}, {name}")
                continue
            row = find_op(f"tosa.{name}")
            if row is None or type(step.attribute).__name__ != name or len(step.outputs) != 1:
                raise _refused(f"operator {index} is {name or number}, which is not read, or not of one result")
            try:
                result = row(**self._arguments(row, step)).result
            except (VerifyException, TypeError, ValueError, IndexError, OverflowError) as error:
                raise error if isinstance(error, BackendError) else _refused(f"operator {index}, {name}: {error}") from error
            self._define(step.outputs[0], result, f"operator {index}, {name}")
        return [self._value(name) for name in self.block.outputs]

    def _define(self, output: str, result: SSAValue, what: str) -> None:
        if output in self.values or self.kind(output) != result.type:
            raise _refused(f"{what}, gives {result.type} as {output!r}, which is of another type or there already")
        self.values[output] = result

    def _arguments(self, row: Any, step: Any) -> dict[str, Any]:
        inputs, given = list(step.inputs), dict[str, Any]()
        for argument in row.schema.arguments:
            name = argument.name
            if name == "dtype":
                given[name] = element_of(self.kind(step.outputs[0]))
            elif name in ("min_val", "max_val"):
                given[name] = np.frombuffer(getattr(step.attribute, name), numpy_dtype(element_of(self.kind(step.outputs[0]))), 1)[0].item()
            elif name == "mode":
                given[name] = MODES[step.attribute.mode - 1]
            elif argument.keyword_only:
                given[name] = getattr(step.attribute, name)
            elif argument.type.is_tensor and argument.type.is_list:
                given[name], inputs = [self._value(item) for item in inputs], []
            elif argument.type.is_tensor:
                given[name] = self._value(inputs.pop(0))
            elif name in SHAPES:
                given[name] = self._sizes(inputs.pop(0))
            else:
                read = float if argument.type.base == "Scalar" and self._is_float(inputs[0]) else int
                numbers = tuple(read(item) for item in self._array(inputs.pop(0)).reshape(-1))
                given[name] = numbers if argument.type.is_list else numbers[0]
        if inputs:
            raise _refused(f"{row.schema.base} has {len(inputs)} operands more than it takes")
        return given

    def _is_float(self, name: str) -> bool:
        return is_float(element_of(self.kind(name)))

    def _value(self, name: str) -> SSAValue:
        if name not in self.values:
            array, kind, place = self._array(name), self.kind(name), f"constant_{len(self.globals)}"
            self.globals.append(GlobalOp(place, kind, self.blobs.add(place, array.reshape(-1).view(np.uint8).data)))
            self.values[name] = GlobalLoadConstantOp(place, kind).result
        return self.values[name]

    def _array(self, name: str) -> Array:
        kind = self.kind(name)
        element, count = element_of(kind), prod(shape_of(kind))
        data = self.tensors[name].data
        if data is None or len(data) < count * bytes_of(element):
            raise _refused(f"{name!r} is not known where it is read, or has {0 if data is None else len(data)} bytes for {kind}")
        return unpacked(data, element, count).reshape(shape_of(kind))

    def _sizes(self, name: str) -> tuple[int, ...]:
        item = self.shapes.get(name)
        if item is None or item.data is None or item.rank > 2 * MOST_DIMENSIONS or len(item.data) < 8 * item.rank:
            raise _refused(f"{name!r} is no shape of up to {2 * MOST_DIMENSIONS} numbers")
        return tuple(int(size) for size in np.frombuffer(item.data, np.int64, item.rank))
