"""Writes a partition of `vulkan` operators as a payload: plans its memory, and calls the modules that its operators dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect.kernels import Dispatch, KernelOp
from flambeau.backends.vulkan.hazards import waits
from flambeau.backends.vulkan.payload import (
    ALIGNMENT,
    ELEMENTS,
    Argument,
    Call,
    FloatArgument,
    IntArgument,
    IntsArgument,
    Module,
    Operator,
    Pipeline,
    Program,
    TensorArgument,
    TensorsArgument,
    TextArgument,
    Value,
    write_payload,
)
from flambeau.backends.vulkan.shader_modules import module_bytes
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.locations import common_module, module_paths
from flambeau.dialects.ir.tensor_types import element_of, nbytes, shape_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.passes.planning.buffers import Buffer, align
from flambeau.passes.planning.portfolio import plan_buffers
from flambeau.support.lazy import np

if TYPE_CHECKING:
    from typing_extensions import Buffer as Bytes

    from flambeau.dialects.schema.schema import SchemaArgument
    from flambeau.passes.rewriting.constants import ModuleConstants

LEAST_NAMED = 512
"""The fewest bytes of a constant that is worth a name."""


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError for operators of other dialects, and where shaders are missing."""
    return _Encoder(partition, constants).encode()


@dataclass
class _Span:
    """When the bytes of values are needed, in numbers of operators."""

    start: int
    end: int
    size: int


class _Encoder:
    """Writes one partition. Values are numbered in the order in which they occur."""

    def __init__(self, partition: PartitionOp, constants: ModuleConstants):
        self.partition = partition
        self.constants = constants
        self.numbers: dict[SSAValue, int] = {}
        self.values: list[SSAValue] = []
        self.operators: list[KernelOp] = []
        self.calls: list[tuple[int, Dispatch]] = []
        self.named: dict[str, Bytes] = {}

    def encode(self) -> Encoded:
        """Returns the payload and its named data."""
        block = self.partition.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        for argument in block.args:
            self._number(argument)
        for op in block.ops:
            if isinstance(op, GlobalLoadConstantOp):
                if op.result.uses:
                    self._number(op.result)
            elif isinstance(op, KernelOp):
                self._number(op.result)
                self.calls += [(len(self.operators), dispatch) for dispatch in op.dispatches()]
                self.operators.append(op)
            elif op is not terminator:
                where = f"partition @{self.partition.sym_name.data}"
                raise BackendError(f"vulkan: {where} holds {op.name}, which is not an operator of the vulkan dialect")
        offsets, memory = self._planned(block.args, terminator.values)
        dispatches = [(self.operators[operator], dispatch) for operator, dispatch in self.calls]
        names = list(dict.fromkeys(dispatch.module for _, dispatch in self.calls))
        pipelines = {key: place for place, key in enumerate(dict.fromkeys(_pipeline(dispatch) for _, dispatch in self.calls))}
        program = Program(
            tuple(self.numbers[value] for value in block.args),
            tuple(self.numbers[value] for value in terminator.values),
            memory,
            tuple(self._value(value, offsets[value]) for value in self.values),
            tuple(self._operator(op) for op in self.operators),
            tuple(Module(name, memoryview(module_bytes(name))) for name in names),
            tuple(Pipeline(names.index(name), words) for name, words in pipelines),
            tuple(
                self._call(operator, dispatch, pipelines[_pipeline(dispatch)], must)
                for (operator, dispatch), must in zip(self.calls, waits(dispatches, offsets.__getitem__), strict=True)
            ),
        )
        modules = [common_module(module_paths(op.location)) for op in self.operators]
        return Encoded(write_payload(program), self.named, modules=modules)

    def _number(self, value: SSAValue) -> None:
        self.numbers[value] = len(self.values)
        self.values.append(value)

    def _planned(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> tuple[dict[SSAValue, int], int]:
        """Returns the offset of each value, and the bytes of all. Constants lie behind what is planned, equal ones at one place."""
        homes = {value: _home(value) for value in self.values}
        spans: dict[SSAValue, _Span] = {value: _Span(0, 1, nbytes(value)) for value in inputs}
        for place, op in enumerate(self.operators):
            for value in (*op.operands, op.result):
                if not isinstance(homes[value].owner, GlobalLoadConstantOp):
                    spans.setdefault(homes[value], _Span(place, place + 1, nbytes(value))).end = place + 1
        for value in outputs:
            if homes[value] in spans:
                spans[homes[value]].end = len(self.operators) + 1
        plan = plan_buffers([Buffer(span.start, span.end, span.size) for span in spans.values()], alignment=ALIGNMENT)
        offsets = dict(zip(spans, plan.offsets, strict=True))
        memory, places = align(plan.size, ALIGNMENT), dict[str, int]()
        for value in self.values:
            if isinstance(value.owner, GlobalLoadConstantOp):
                digest = self.constants.sha256(np.ascontiguousarray(self.constants.elements(value)))
                if digest not in places:
                    places[digest] = memory
                    memory = align(memory + nbytes(value), ALIGNMENT)
                offsets[value] = places[digest]
        return {value: offsets[home] for value, home in homes.items()}, memory

    def _value(self, value: SSAValue, offset: int) -> Value:
        element = ELEMENTS.index(element_of(value))
        if not isinstance(value.owner, GlobalLoadConstantOp):
            return Value(element, shape_of(value), offset)
        array = np.ascontiguousarray(self.constants.elements(value))
        data = array.reshape(-1).view(np.uint8).data
        if len(data) < LEAST_NAMED:
            return Value(element, shape_of(value), offset, data=data)
        digest = self.constants.sha256(array)
        self.named[digest] = data
        return Value(element, shape_of(value), offset, digest)

    def _operator(self, op: KernelOp) -> Operator:
        arguments = zip(op.schema.arguments, op.arguments(), strict=True)
        return Operator(op.name, tuple(Argument(self._argument(*item)) for item in arguments), self.numbers[op.result])

    def _argument(self, argument: SchemaArgument, value: Any) -> object:
        if argument.type.is_tensor:
            if isinstance(value, list):
                return TensorsArgument(tuple(self.numbers[item] for item in cast("list[SSAValue]", value)))
            return TensorArgument(-1 if value is None else self.numbers[value])
        if argument.type.is_list:
            return IntsArgument(value)
        match argument.type.base:
            case "float":
                return FloatArgument(value)
            case "str":
                return TextArgument(value)
            case _:
                return IntArgument(int(value))

    def _call(self, operator: int, dispatch: Dispatch, pipeline: int, must: bool) -> Call:
        return Call(operator, pipeline, tuple(self.numbers[value] for value in dispatch.buffers), dispatch.pushed, dispatch.groups, must)


def _pipeline(dispatch: Dispatch) -> tuple[str, tuple[int, ...]]:
    return dispatch.module, dispatch.constants


def _home(value: SSAValue) -> SSAValue:
    """Returns the value whose bytes a value has: itself, unless it is the result of an operator that dispatches nothing."""
    while isinstance(value.owner, KernelOp) and not value.owner.dispatches():
        value = value.owner.operands[0]
    return value
