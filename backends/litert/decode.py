"""Reads a TFLite model as a partition of `litert` operators, and checks every field that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.litert.dialect.operators import OPEN, LiteRtOp
from flambeau.backends.litert.encode import PARAMETERS
from flambeau.backends.litert.label import Range, unlabelled
from flambeau.backends.litert.payload import CODES, DTYPES, OPERATORS, OPTIONS, read
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.extents import is_known, unknown
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_float, is_static, numpy_dtype, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.support.lazy import Array, np

_ELEMENTS = {number: element for element, number in DTYPES.items()}
MOST_DIMENSIONS = 6
_NAMES = {number: name for name, number in OPERATORS.items()}


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    identifier = "LiteRtBackend"
    return decoded(*unlabelled(data, f"a payload of {identifier!r}"), blobs, identifier)


def decoded(data: memoryview, ranges: Sequence[Range], blobs: BlobStore, identifier: str) -> ModuleOp:
    """Returns a module with the constants and the partition of a model, for the backend that programs call `identifier`.

    `ranges` are those of the first sizes of the inputs that only the run knows; without them, nothing is known of these.
    """
    what = f"a payload of {identifier!r}"
    reader = _Reader(read(data, what), blobs, what)
    inputs = reader.graph.inputs
    if ranges and len(ranges) != len(inputs):
        raise BackendError(f"{what} is damaged: it has {len(inputs)} inputs, and the sizes of {len(ranges)}")
    kinds = [reader.kind(*item) for item in zip(inputs, ranges or [(1, None)] * len(inputs), strict=True)]
    return partition_module(identifier, kinds, reader.results, reader.globals)


class _Reader:
    def __init__(self, model: Any, blobs: BlobStore, what: str):
        self.model = model
        self.graph = model.subgraphs[0]
        self.blobs = blobs
        self.what = what
        self.values: dict[int, SSAValue] = {}
        self.globals: list[GlobalOp] = []

    def _refused(self, why: str) -> BackendError:
        return BackendError(f"{self.what} is damaged or unsupported: {why}")

    def _tensor(self, number: int) -> Any:
        if not 0 <= number < len(self.graph.tensors):
            raise self._refused(f"there is no tensor {number}")
        return self.graph.tensors[number]

    def kind(self, number: int, first: Range | tuple[int, None] = (1, None)) -> Tensor:
        """Returns the type of a tensor, whose first size is in a range if only the run knows it. Raises BackendError."""
        item = self._tensor(number)
        shape = list(item.shape_signature or item.shape)
        is_open, rank = shape[:1] == [OPEN], len(item.shape)
        if item.type not in _ELEMENTS or len(shape) != rank or rank > MOST_DIMENSIONS or min(shape[is_open:], default=1) < 1:
            raise self._refused(f"tensor {number} is of a type or of sizes that are not read")
        return tensor(_ELEMENTS[item.type], [*[unknown(*first)] * is_open, *shape[is_open:]])

    def results(self, *arguments: SSAValue) -> Sequence[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        self.values.update(zip(self.graph.inputs, arguments, strict=True))
        for index, step in enumerate(self.graph.operators):
            codes = self.model.operator_codes
            code = codes[step.opcode_index] if 0 <= step.opcode_index < len(codes) else None
            number = -1 if code is None else max(code.builtin_code, code.deprecated_builtin_code)
            row = find_op(f"litert.{_NAMES[number]}") if number in _NAMES else None
            if row is None or not issubclass(row, LiteRtOp) or len(step.outputs) != 1:
                raise self._refused(f"operator {index} has the number {number}, which is not read, or not one result")
            try:
                result = row(**self._arguments(row, step)).result
            except (VerifyException, TypeError, ValueError, IndexError, OverflowError) as error:
                raise self._refused(f"operator {index}, {row.schema.base}: {error}") from error
            if not _is_alike(result, self.kind(step.outputs[0])):
                raise self._refused(
                    f"operator {index}, {row.schema.base}, gives {result.type}, and its tensor is {self.kind(step.outputs[0])}"
                )
            self._define(step.outputs[0], result, f"operator {index}, {row.schema.base}")
        return [self._value(number) for number in self.graph.outputs]

    def _define(self, number: int, value: SSAValue, what: str) -> None:
        if number in self.values:
            raise self._refused(f"{what} computes tensor {number} again")
        self.values[number] = value

    def _arguments(self, row: type[LiteRtOp], step: Any) -> dict[str, Any]:
        """Returns the arguments of an operator by their names in its row. Raises ValueError and BackendError."""
        name, found = row.schema.base, dict[str, Any]()
        inputs, options = list(step.inputs), step.builtin_options
        if name in OPTIONS and not isinstance(options, OPTIONS[name].record):
            raise ValueError("it has the options of another operator")
        for argument in row.schema.arguments:
            if argument.type.is_tensor:
                is_list = argument.type.is_list
                given = inputs if is_list else inputs[:1]
                values = [self._value(number) for number in given]
                found[argument.name] = values if is_list else values[0] if values else None
                inputs = inputs[len(given) :]
            elif not argument.keyword_only:
                found[argument.name] = tuple(int(item) for item in self._constant(inputs.pop(0)).reshape(-1))
            elif argument.name == "dtype":
                found[argument.name] = element_of(self.kind(step.outputs[0]))
            elif name in OPTIONS and argument.name in OPTIONS[name].fields:
                value = getattr(options, argument.name)
                found[argument.name] = _word(argument.name, value) if argument.name in CODES else value
        if inputs:
            raise ValueError(f"it has {len(inputs)} operands too many")
        return found | self._types(row, step)

    def _types(self, row: type[LiteRtOp], step: Any) -> dict[str, Any]:
        """Returns the arguments that are types of integers."""
        names = {argument.name for argument in row.schema.arguments}
        if "scales" not in names:
            return {}
        operands = [argument for argument in row.schema.arguments if not argument.keyword_only]
        given: dict[str, int] = dict(zip((argument.name for argument in operands), step.inputs, strict=False))
        activations = [given[item.name] for item in operands if item.name in given and item.type.is_tensor and item.name not in PARAMETERS]
        outputs: list[int] = [] if row.keeps_type else list(step.outputs)
        numbers = [self._type(number) for number in [*activations, *outputs] if not is_float(element_of(self.kind(number)))]
        if not numbers:
            return {}
        if any(item is None or len(item[0]) != 1 for item in numbers):
            raise ValueError("its integers have no scale, or several")
        found = {"scales": [item[0][0] for item in numbers if item], "zero_points": [item[1][0] for item in numbers if item]}
        if "filter_scales" in names:
            if "filter" not in given:
                raise ValueError("it has no filter")
            kind = self._type(given["filter"])
            found["filter_scales"] = [] if kind is None else list(kind[0])
        return found

    def _type(self, number: int) -> tuple[Sequence[float], Sequence[int]] | None:
        item = self._tensor(number).quantization
        return None if item is None or not item.scale else (item.scale, item.zero_point)

    def _value(self, number: int) -> SSAValue:
        if number not in self.values:
            array, kind, name = self._constant(number), self.kind(number), f"constant_{number}"
            self.globals.append(GlobalOp(name, kind, self.blobs.add(name, array.reshape(-1).view(np.uint8).data)))
            self.values[number] = GlobalLoadConstantOp(name, kind).result
        return self.values[number]

    def _constant(self, number: int) -> Array:
        item, kind = self._tensor(number), self.kind(number)
        buffers = self.model.buffers
        data = buffers[item.buffer].data if 0 < item.buffer < len(buffers) else None
        dtype = np.dtype(numpy_dtype(element_of(kind)))
        if data is None or not is_static(kind) or len(data) != prod(shape_of(kind)) * dtype.itemsize:
            raise self._refused(f"tensor {number} is no constant of {kind}, and nothing before it computes it")
        return np.frombuffer(data, dtype).reshape(shape_of(kind))


def _is_alike(value: SSAValue, kind: Tensor) -> bool:
    """Returns whether a value has an element type, the sizes that are known, and others that only the run knows."""
    sizes = zip(shape_of(value), shape_of(kind), strict=False)
    is_alike = len(shape_of(value)) == len(shape_of(kind)) and element_of(value) == element_of(kind)
    return is_alike and all(is_known(a) == is_known(b) and (not is_known(a) or a == b) for a, b in sizes)


def _word(name: str, number: int) -> str:
    """Returns the word of an option. Raises ValueError."""
    if not 0 <= number < len(CODES[name]):
        raise ValueError(f"its {name} is {number}, which means nothing")
    return CODES[name][number]
