"""Writes a partition of `litert` operators as a TFLite model: each operator from its row, the numbers of its types at its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.backends.litert.dialect.operators import LiteRtOp, single
from flambeau.backends.litert.payload import BUFFER, CODES, DTYPES, OPERATOR, OPTIONS, QUANTIZATION, SUBGRAPH, TENSOR, operator_code, write
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import ElementType, element_of, numpy_dtype, shape_of
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

FILTER, BIAS = 1, 2
"""The operands of layers that are no activations."""


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError."""
    return Encoded(_Writer(partition, constants).model())


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
    is_layer = "filter_scales" in names
    activations = [op.operands[0]] if is_layer else list(op.operands)
    numbers = list(zip(scales, zero_points, strict=True))
    for value, (scale, zero_point) in zip((*activations, op.result), numbers * 2 if len(numbers) == 1 else numbers, strict=True):
        yield value, _Type((scale,), (zero_point,))
    if is_layer:
        of_filter = tuple(single(scale) for scale in op.argument("filter_scales"))
        axis = 3 if op.schema.base == "depthwise_conv_2d" else 0
        yield op.operands[FILTER], _Type(of_filter, (0,) * len(of_filter), axis)
        if len(op.operands) > BIAS:
            of_bias = tuple(single(np.float32(scales[0]) * np.float32(scale)) for scale in of_filter)
            yield op.operands[BIAS], _Type(of_bias, (0,) * len(of_bias))


def _types(ops: Sequence[LiteRtOp]) -> dict[SSAValue, _Type]:
    """Returns the types that operators say of tensors, also of those that are only moved to or from them. Raises BackendError."""
    found: dict[SSAValue, _Type] = {}

    def learn(value: SSAValue, kind: _Type) -> bool:
        known = found.setdefault(value, kind)
        if known != kind:
            raise BackendError(f"a tensor has the types {known} and {kind}")
        return known is kind

    for op in ops:
        for value, kind in _typed(op):
            learn(value, kind)
    moves = [[*op.operands, op.result] for op in ops if op.keeps_type]
    grows = True
    while grows:
        grows = False
        for group in (*moves, *reversed(moves)):
            kind = next((found[value] for value in group if value in found), None)
            lacking = [] if kind is None else [value for value in group if value not in found]
            for value in lacking:
                grows |= learn(value, cast("_Type", kind))
    return found


class _Writer:
    def __init__(self, partition: PartitionOp, constants: ModuleConstants):
        self.block = partition.body.block
        self.constants = constants
        self.types = _types([op for op in self.block.ops if isinstance(op, LiteRtOp)])
        self.numbers: dict[SSAValue, int] = {}
        self.tensors: list[Any] = []
        self.buffers: list[Any] = [BUFFER.record()]
        self.codes: dict[tuple[str, int], int] = {}
        self.operators: list[Any] = []

    def model(self) -> bytes:
        inputs = [self._declare(argument) for argument in self.block.args]
        last = self.block.last_op
        assert last is not None
        for op in self.block.ops:
            if isinstance(op, LiteRtOp):
                self._operator(op)
            elif op is not last:
                array = self.constants.array(op.results[0])
                assert array is not None
                self._declare(op.results[0], array)
        outputs: list[int] = []
        for value in last.operands:
            outputs.append(self._output(value, outputs))
        graph = SUBGRAPH.record(tensors=self.tensors, inputs=inputs, outputs=outputs, operators=self.operators, name="main")
        codes = [operator_code(*item) for item in self.codes]
        return write(operator_codes=codes, subgraphs=[graph], buffers=self.buffers)

    def _declare(self, value: SSAValue, array: Array | None = None) -> int:
        """Returns the number of a new tensor; of a constant, with its elements."""
        self.numbers[value] = self._tensor(element_of(value), shape_of(value), array, self.types.get(value))
        return self.numbers[value]

    def _tensor(self, element: ElementType, shape: Sequence[int], array: Array | None = None, kind: _Type | None = None) -> int:
        buffer = 0
        if array is not None:
            buffer = len(self.buffers)
            self.buffers.append(BUFFER.record(data=np.ascontiguousarray(array, numpy_dtype(element)).tobytes()))
        numbers = None
        if kind is not None:
            numbers = QUANTIZATION.record(scale=kind.scales, zero_point=kind.zero_points, quantized_dimension=kind.axis)
        name = f"tensor_{len(self.tensors)}"
        self.tensors.append(TENSOR.record(shape=shape, type=DTYPES[element], buffer=buffer, name=name, quantization=numbers))
        return len(self.tensors) - 1

    def _output(self, value: SSAValue, others: Sequence[int]) -> int:
        """Returns the number of an output: runtimes want each to be the result of an operator, and no other output."""
        source = self.numbers[value]
        if isinstance(value.owner, LiteRtOp) and source not in others:
            return source
        shape = self._tensor(i32, (len(shape_of(value)),), np.array(shape_of(value), np.int32))
        number = self._tensor(element_of(value), shape_of(value), None, self.types.get(value))
        self._add("reshape", 1, {}, [source, shape], number)
        return number

    def _add(self, name: str, version: int, options: dict[str, Any], inputs: Sequence[int], output: int) -> None:
        code = self.codes.setdefault((name, version), len(self.codes))
        record = OPTIONS[name].record(**options) if name in OPTIONS else None
        self.operators.append(OPERATOR.record(opcode_index=code, inputs=inputs, outputs=[output], builtin_options=record))

    def _operator(self, op: LiteRtOp) -> None:
        name, inputs, options = op.schema.base, list[int](), dict[str, Any]()
        for argument in op.schema.arguments:
            value = op.argument(argument.name)
            if argument.type.is_tensor:
                values = cast("list[SSAValue | None]", value if isinstance(value, list) else [value])
                inputs += [self.numbers[item] for item in values if item is not None]  # only a last operand is ever left out
            elif not argument.keyword_only:
                inputs.append(self._tensor(i32, _pairs(argument.name, value).shape, _pairs(argument.name, value)))
            elif name in OPTIONS and argument.name in OPTIONS[name].fields:
                options[argument.name] = CODES[argument.name].index(value) if argument.name in CODES else value
        if name == "depthwise_conv_2d":
            options["depth_multiplier"] = shape_of(op.result)[3] // shape_of(op.operands[0])[3]
        self._add(name, op.versions.get(element_of(op.operands[0]), 1), options, inputs, self._declare(op.result))


def _pairs(name: str, numbers: Sequence[int]) -> Array:
    """Returns numbers that are an operand: of padding, a pair for each dimension."""
    found = np.array(numbers, np.int32)
    return found.reshape(-1, 2) if name == "padding" else found
