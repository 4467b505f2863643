"""Writes a partition of `litert` operators as a TFLite model: each operator from its row, the numbers of its types at its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, SSAValue

from flambeau.backends.litert.dialect.operators import INTEGERS, OPEN, LiteRtOp, single
from flambeau.backends.litert.label import labelled
from flambeau.backends.litert.payload import BUFFER, CODES, DTYPES, OPERATOR, OPTIONS, QUANTIZATION, SUBGRAPH, TENSOR, operator_code, write
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.extents import Extent, is_known, is_unknown, least
from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.ir.tensor_types import ElementType, element_of, is_float, is_static, numpy_dtype, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

PARAMETERS = ("filter", "bias")
"""The arguments of layers that are no activations."""


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError."""
    kind = partition.function_type
    ranges = [] if is_static(*kind.inputs) else [_range(value) for value in kind.inputs]
    return Encoded(labelled(encode_model(partition, constants), len(kind.inputs), len(kind.outputs), ranges))


def encode_model(partition: PartitionOp, constants: ModuleConstants) -> bytes:
    """Returns the TFLite model of a partition. Raises BackendError."""
    writer = ModelWriter(constants)
    writer.add(partition.body.block, "main")
    return writer.model()


def _range(value: Attribute) -> tuple[int, int]:
    """Returns the least and the greatest size of the first dimension of an input."""
    size, most = shape_of(value)[:1] or (1,), upper_bounds(value)[:1] or (1,)
    return least(size[0]), most[0]


def _least_size(size: int) -> int:
    """Returns a size where each symbol has its least value."""
    found = size.expression if isinstance(size, Extent) else None
    return size if found is None else found.evaluate({symbol.name: int(symbol.low) for symbol in found.symbols})


@dataclass(frozen=True)
class _Type:
    """The scales and zero points of a tensor: one, or one for each entry of dimension `axis`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0


def _typed(op: LiteRtOp) -> Iterator[tuple[SSAValue, _Type]]:
    """Yields the tensors whose types an operator says, with them."""
    names = {argument.name for argument in op.schema.arguments}
    scales: Sequence[float] = [single(scale) for scale in op.argument("scales")] if "scales" in names else ()
    if not scales:
        return
    zero_points: Sequence[int] = op.argument("zero_points")
    arguments = [op.argument(item.name) for item in op.schema.arguments if item.type.is_tensor and item.name not in PARAMETERS]
    activations = [value for value in (*arguments, op.result) if not is_float(element_of(value))]
    numbers = list(zip(scales, zero_points, strict=True))
    for value, (scale, zero_point) in zip(activations, numbers * len(activations) if len(numbers) == 1 else numbers, strict=True):
        yield value, _Type((scale,), (zero_point,))
    if "filter_scales" in names:
        of_filter = tuple(single(scale) for scale in op.argument("filter_scales"))
        axis = 3 if op.schema.base == "depthwise_conv_2d" else 0
        yield op.argument("filter"), _Type(of_filter, (0,) * len(of_filter), axis)
        if op.argument("bias") is not None:
            of_bias = tuple(single(np.float32(scales[0]) * np.float32(scale)) for scale in of_filter)
            yield op.argument("bias"), _Type(of_bias, (0,) * len(of_bias))


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, GlobalLoadConstantOp)


def _types(ops: Sequence[LiteRtOp]) -> dict[SSAValue, _Type]:
    """Returns the types that operators say of tensors, also of those that are only moved to or from them. Raises BackendError.

    A constant has none here: several operators may read it, as integers of different types.
    """
    found: dict[SSAValue, _Type] = {}

    def learn(value: SSAValue, kind: _Type) -> bool:
        known = found.setdefault(value, kind)
        if known != kind:
            raise BackendError(f"a tensor has the types {known} and {kind}")
        return known is kind

    for op in ops:
        for value, kind in _typed(op):
            if not _is_constant(value):
                learn(value, kind)
    moves = [
        [value for value in (*op.operands, op.result) if element_of(value) in INTEGERS and not _is_constant(value)]
        for op in ops
        if op.keeps_type
    ]
    grows = True
    while grows:
        grows = False
        for group in (*moves, *reversed(moves)):
            kind = next((found[value] for value in group if value in found), None)
            lacking = [] if kind is None else [value for value in group if value not in found]
            for value in lacking:
                grows |= learn(value, cast("_Type", kind))
    return found


class ModelWriter:
    """The parts of a model that its graphs share: operator codes, and buffers, equal ones once."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self._graphs: list[Any] = []
        self._buffers: dict[bytes | None, int] = {None: 0}
        self._codes: dict[tuple[str, int], int] = {}

    @property
    def operators(self) -> Sequence[tuple[str, int]]:
        """The names of the operators, each with its version."""
        return tuple(self._codes)

    def add(self, block: Block, name: str, borders: tuple[Sequence[str], Sequence[str]] | None = None) -> Any:
        """Adds the graph of a block's operators, and gives its record. Raises BackendError.

        `borders` are the names of inputs and outputs; with them, other tensors are named after the modules of the model.
        """
        self._graphs.append(_GraphWriter(self, block, borders).record(name))
        return self._graphs[-1]

    def buffer(self, data: bytes) -> int:
        """Returns the number of a buffer with these bytes."""
        return self._buffers.setdefault(data, len(self._buffers))

    def code(self, name: str, version: int) -> int:
        """Returns the number of an operator in a version."""
        return self._codes.setdefault((name, version), len(self._codes))

    def model(self, **fields: Any) -> bytes:
        """Returns the model, with more fields of its table. Raises BackendError."""
        buffers = [BUFFER.record() if data is None else BUFFER.record(data=data) for data in self._buffers]
        codes = [operator_code(*item) for item in self._codes]
        return write(operator_codes=codes, subgraphs=self._graphs, buffers=buffers, **fields)


class _GraphWriter:
    def __init__(self, model: ModelWriter, block: Block, borders: tuple[Sequence[str], Sequence[str]] | None):
        self.model = model
        self.block = block
        self.types = _types([op for op in block.ops if isinstance(op, LiteRtOp)])
        self.numbers: dict[SSAValue, int] = {}
        self.constant_numbers: dict[tuple[SSAValue, _Type | None], int] = {}
        self.tensors: list[Any] = []
        self.operators: list[Any] = []
        self.is_named = borders is not None
        self.names = set[str]()
        last = block.last_op
        assert last is not None
        self.results = last.operands
        inputs, outputs = borders if borders is not None else ([""] * len(block.args), [""] * len(self.results))
        self.inputs = [self._unused(name) for name in inputs]
        self.outputs = [self._unused(name) for name in outputs]

    def record(self, name: str) -> Any:
        """Returns the graph. Raises BackendError."""
        inputs = [self._declare(argument, name) for argument, name in zip(self.block.args, self.inputs, strict=True)]
        ends = dict(zip(reversed(self.results), reversed(self.outputs), strict=True))
        for op in self.block.ops:
            if isinstance(op, LiteRtOp):
                self._operator(op, ends.get(op.result))
        outputs: list[int] = []
        for value, output in zip(self.results, self.outputs, strict=True):
            outputs.append(self._output(value, outputs, output))
        return SUBGRAPH.record(tensors=self.tensors, inputs=inputs, outputs=outputs, operators=self.operators, name=name)

    def _unused(self, name: str) -> str:
        """Returns a name that no other tensor has, which is like this one."""
        if not self.is_named:
            return ""
        found, number = name, 0
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def _declare(self, value: SSAValue, name: str) -> int:
        """Returns the number of a new tensor."""
        self.numbers[value] = self._tensor(name, element_of(value), shape_of(value), None, self.types.get(value))
        return self.numbers[value]

    def _number(self, value: SSAValue, kind: _Type | None = None) -> int:
        """Returns the number of a tensor; of a constant, which has one for each type as which it is read."""
        if not _is_constant(value):
            return self.numbers[value]
        if (value, kind) not in self.constant_numbers:
            constants = self.model.constants
            name, array = self._unused(constants.name(value)), constants.elements(value)
            self.constant_numbers[value, kind] = self._tensor(name, element_of(value), shape_of(value), array, kind)
        return self.constant_numbers[value, kind]

    def _tensor(self, name: str, element: ElementType, shape: Sequence[int], array: Array | None = None, kind: _Type | None = None) -> int:
        buffer = 0 if array is None else self.model.buffer(np.ascontiguousarray(array, numpy_dtype(element)).tobytes())
        numbers = None
        if kind is not None:
            numbers = QUANTIZATION.record(scale=kind.scales, zero_point=kind.zero_points, quantized_dimension=kind.axis)
        name = name or f"tensor_{len(self.tensors)}"
        if element not in DTYPES or any(map(is_unknown, shape)):
            types = ", ".join(map(str, DTYPES))
            raise BackendError(
                f"tensor {name!r} is {tensor(element, shape)}, and a TFLite model has tensors of {types}, of sizes with bounds"
            )
        sizes, signature = [_least_size(size) for size in shape], [size if is_known(size) else OPEN for size in shape]
        signed = signature if signature != sizes else None
        record = TENSOR.record(
            shape=sizes,
            type=DTYPES[element],
            buffer=buffer,
            name=name,
            quantization=numbers,
            shape_signature=signed,
            has_rank=signed is not None,
        )
        self.tensors.append(record)
        return len(self.tensors) - 1

    def _output(self, value: SSAValue, others: Sequence[int], name: str) -> int:
        """Returns the number of an output: runtimes want each to be the result of an operator, and no other output."""
        source = self._number(value)
        if isinstance(value.owner, LiteRtOp) and source not in others:
            return source
        sizes = np.array([size if is_known(size) else OPEN for size in shape_of(value)], np.int32)
        shape = self._tensor(self._unused(f"{name}/shape"), i32, sizes.shape, sizes)
        number = self._tensor(name, element_of(value), shape_of(value), None, self.types.get(value))
        self._add("reshape", 1, {}, [source, shape], number)
        return number

    def _add(self, name: str, version: int, options: dict[str, Any], inputs: Sequence[int], output: int) -> None:
        code = self.model.code(name, version)
        record = OPTIONS[name].record(**options) if name in OPTIONS else None
        self.operators.append(OPERATOR.record(opcode_index=code, inputs=inputs, outputs=[output], builtin_options=record))

    def _operator(self, op: LiteRtOp, end: str | None) -> None:
        """Adds an operator, whose result has the name of an output, or one with the path of its module."""
        name, inputs, options = op.schema.base, list[int](), dict[str, Any]()
        path = "/".join((*islice(module_paths(op.location), 1), name))
        kept = self.types.get(op.result) if op.keeps_type else None
        kinds = {value: kept for value in op.operands if element_of(value) in INTEGERS} | dict(_typed(op))
        for argument in op.schema.arguments:
            value = op.argument(argument.name)
            if argument.type.is_tensor:
                values = cast("list[SSAValue | None]", value if isinstance(value, list) else [value])
                inputs += [
                    self._number(item, kinds.get(item)) for item in values if item is not None
                ]  # only a last operand is ever left out
            elif not argument.keyword_only:
                numbers = _pairs(argument.name, value)
                inputs.append(self._tensor(self._unused(f"{path}/{argument.name}"), i32, numbers.shape, numbers))
            elif name in OPTIONS and argument.name in OPTIONS[name].fields:
                options[argument.name] = CODES[argument.name].index(value) if argument.name in CODES else value
        if name == "depthwise_conv_2d":
            options["depth_multiplier"] = shape_of(op.result)[3] // shape_of(op.operands[0])[3]
        self._add(name, op.version, options, inputs, self._declare(op.result, self._unused(path) if end is None else end))


def _pairs(name: str, numbers: Sequence[int]) -> Array:
    """Returns numbers that are an operand: of padding, a pair for each dimension."""
    found = np.array(numbers, np.int32)
    return found.reshape(-1, 2) if name == "padding" else found
