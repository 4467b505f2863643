"""Runs the payloads of backends: with their simulators, or with numpy, by what they decode into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, states_of
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.interface import BackendError, CompiledError, find_identifier, unknown_identifier
from flambeau.runtime.interpreter import FunctionProgram, HardwareOnlyError, InterpreterError
from flambeau.support.lazy import Array, np

_Decode = Callable[[memoryview, Mapping[str, memoryview], BlobStore], ModuleOp]


def run_payload(
    identifier: str, data: memoryview, named_data: Mapping[str, memoryview], arguments: Sequence[Array], with_outputs: bool = False
) -> Sequence[Array]:
    """Runs a delegate: what the interpreter takes as `delegates`.

    The arguments are the inputs; `with_outputs`, then the storage of the outputs, which is not read. Raises BackendError, and
    HardwareOnlyError for a backend that can neither simulate nor decode.
    """
    backend = find_identifier(identifier)
    if backend is None:
        raise BackendError(unknown_identifier(identifier))
    if backend.simulate is not None:
        return backend.simulate(data, named_data, arguments)
    if backend.decode is None:
        raise HardwareOnlyError(f"the payloads of backend {backend.name!r} run on its hardware only")
    table = backend.table if isinstance(backend.table, OperatorTable) else backend.table(backend.options())
    try:
        return _run_partition(backend.name, backend.decode, data, named_data, arguments, with_outputs, table.tensors.static)
    except CompiledError as error:
        raise HardwareOnlyError(str(error)) from error


@dataclass
class _Program:
    """What a payload decodes into.

    Attributes:
        shapes: those of its inputs, the states behind the others.
        run: a module with the function `main`.
        states: the values of its states, which begin with zeros.
    """

    shapes: Sequence[tuple[int, ...]]
    run: FunctionProgram
    states: Sequence[Array]


class _Decoded:
    """The payloads of one program, decoded once each."""

    def __init__(self, named_data: Mapping[str, memoryview]):
        self.named_data = named_data
        self.programs: dict[tuple[str, bytes, bool], _Program] = {}

    @property
    def has_states(self) -> bool:
        """Whether what it computes depends on what it computed before."""
        return any(program.states for program in self.programs.values())

    def program(self, name: str, decode: _Decode, data: memoryview, is_open: bool) -> _Program:
        """Returns what a payload decodes into; the run decides its sizes if it `is_open`."""
        key = (name, bytes(data), is_open)
        if key not in self.programs:
            self.programs[key] = _decoded(decode, data, self.named_data, is_open)
        return self.programs[key]


_MOST = 8
_recent: list[_Decoded] = []
"""The program that ran last, and some with states before it."""


def _payloads_of(named_data: Mapping[str, memoryview]) -> _Decoded:
    """Returns the payloads of a program, which has its own named data."""
    global _recent
    found = next((item for item in _recent if item.named_data is named_data), None) or _Decoded(named_data)
    _recent = [found, *(item for item in _recent if item is not found and item.has_states)][:_MOST]
    return found


def _run_partition(
    name: str,
    decode: _Decode,
    data: memoryview,
    named_data: Mapping[str, memoryview],
    arguments: Sequence[Array],
    with_outputs: bool,
    is_static: bool,
) -> Sequence[Array]:
    """Runs what a payload decodes into, as the body of a function. Unless it `is_static`, sizes may be smaller than it says.

    The arguments may have values of all states behind the inputs; their new values are behind the results then. Else it keeps them.
    """
    payloads = _payloads_of(named_data)
    program = payloads.program(name, decode, data, False)
    shapes, count = program.shapes, len(program.states)
    keeps = count > 0 and (with_outputs or len(arguments) < len(shapes))
    inputs = arguments[: len(shapes) - count] if with_outputs else arguments
    # ExecuTorch's compilers give a tensor without dimensions one of size 1.
    inputs = [
        given.reshape(1) if not given.ndim and len(shape) == 1 else given for shape, given in zip(shapes, inputs, strict=False)
    ] + list(inputs[len(shapes) :])
    if not is_static and any(map(_is_smaller, inputs, shapes)):
        program = payloads.program(name, decode, data, True)
    try:
        outputs = [np.asarray(value) for value in program.run.run("main", [*inputs, *(program.states if keeps else ())])]
    except InterpreterError as error:
        raise BackendError(f"{name}: {error}") from error
    if keeps:
        outputs, program.states = outputs[: len(outputs) - count], outputs[len(outputs) - count :]
    if with_outputs and len(inputs) + len(outputs) != len(arguments):
        raise BackendError(
            f"{name}: a call has {len(arguments)} arguments, and its payload {len(inputs)} inputs and {len(outputs)} outputs"
        )
    return outputs


def _is_smaller(given: Array, shape: Sequence[int]) -> bool:
    """Returns whether an input has other sizes than the payload's."""
    return len(shape) != given.ndim or any(is_known(size) and size != found for size, found in zip(shape, given.shape, strict=True))


def _decoded(decode: _Decode, data: memoryview, named_data: Mapping[str, memoryview], is_open: bool) -> _Program:
    context = FlambeauContext()
    module = decode(data, named_data, context.blobs)
    partition = next(op for op in module.body.block.ops if isinstance(op, PartitionOp))
    arguments = partition.body.block.args
    shapes = [shape_of(argument) for argument in arguments]
    kept = arguments[len(arguments) - len(states_of(partition)) :]
    states = [np.zeros(shape_of(argument), numpy_dtype(element_of(argument))) for argument in kept]
    if is_open:
        _open_sizes(partition)
    kind = partition.function_type
    block = Block(arg_types=kind.inputs.data)
    call = CallOp(partition.sym_name.data, block.args, kind.outputs.data)
    block.add_ops([call, ReturnOp(*call.results)])
    module.body.block.add_op(FuncOp("main", kind, Region(block)))
    return _Program(shapes, FunctionProgram(module, context), states)


def _open_sizes(partition: PartitionOp) -> None:
    """Lets the run decide each size. A payload says the greatest ones, and that inputs have smaller ones is seen when they come."""
    block = partition.body.block
    for value in (*block.args, *(result for op in block.ops if isinstance(op, SchemaOp) for result in op.results)):
        Rewriter.replace_value_with_new_type(value, TensorType(element_of(value), [DYNAMIC_INDEX] * len(shape_of(value))))
    assert block.last_op is not None
    outputs = [value.type for value in block.last_op.operands]
    partition.function_type = FunctionType.from_lists(list(block.arg_types), outputs)
