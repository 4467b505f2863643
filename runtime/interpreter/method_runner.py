"""Runs `exec` methods with numpy inside their planned arenas, so that a wrong memory plan shows as a wrong result.

In a method that is not planned, each tensor slot has its own memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.aten.library.philox import RandomStream, drawing
from flambeau.dialects.cpu import LoopOp
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.edge.layout import byte_strides, dim_order, upper_bounds
from flambeau.dialects.edge.stored_arrays import logical_array
from flambeau.dialects.exec import literals
from flambeau.dialects.exec.instructions import (
    COPY_INDEX,
    CallOp,
    DelegateCallOp,
    EvaluateOp,
    FailOp,
    FreeOp,
    JumpFalseOp,
    LabelOp,
    MoveOp,
    ReturnOp,
)
from flambeau.dialects.exec.method import MethodOp, named_data_of, written_inputs
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slots import AliasOp, ConstantOp, ExternalOp, Roots, StateOp, TensorOp, nbytes, place_of, root_of
from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import is_static, may_equal, numpy_dtype, shape_of, tensor, tensor_type
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime.interpreter.array_kinds import check_size
from flambeau.runtime.interpreter.execution import OPERATION_LIMIT, EndlessError, Observer
from flambeau.runtime.interpreter.function_interface import InterpreterError, UnsupportedError
from flambeau.runtime.interpreter.function_runner import (
    DelegateRunner,
    FunctionProgram,
    Leaf,
    check_writable,
    run_delegate,
)
from flambeau.runtime.interpreter.kernels import PRIMITIVES, TENSOR_PRIMITIVES, compute_kernel
from flambeau.support.lazy import Array, np
from flambeau.support.numbers import number_as_array
from flambeau.support.suggestions import did_you_mean

_POISON = 0xAB
"""The byte that fills memory before a program writes it."""


@dataclass
class _Memory:
    """The memory and the values of the slots of one method while it runs."""

    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    arenas: list[memoryview] = field(default_factory=list[memoryview])
    storage: dict[SSAValue, memoryview] = field(default_factory=dict[SSAValue, memoryview])
    """The bytes of each tensor slot that does not use another slot's memory."""
    roots: Roots = field(default_factory=dict[SSAValue, tuple[SSAValue, int]])

    def resized(self, slot: SSAValue, shape: Sequence[int]) -> Array | None:
        """Returns the memory of a dynamic tensor as an array of `shape`; None if the slot's type does not admit the shape."""
        if is_static(slot) or not may_equal(shape, shape_of(slot)):
            return None
        kind = tensor(tensor_type(slot).element_type, shape, LayoutAttr.of(dim_order(slot)))
        root, offset = root_of(slot, self.roots)
        return np.ndarray(tuple(shape), numpy_dtype(kind.element_type), self.storage[root], offset, byte_strides(kind))


class MethodProgram:
    """Runs the `exec` methods of a module. State keeps its values between calls."""

    def __init__(self, module: ModuleOp, context: FlambeauContext, delegates: DelegateRunner | None = None, limit: int = OPERATION_LIMIT):
        self._context = context
        self._delegates = delegates
        self._limit = limit
        self._named_data = named_data_of(module, context.blobs)
        self._delegated = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PartitionOp | PayloadOp)}
        self._partitions = FunctionProgram(module, context, delegates, limit)
        self._globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self._methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, MethodOp)}
        self._memories: dict[str, _Memory] = {}
        self._shared: dict[int | str, memoryview] = {}
        """What methods have in common: arenas after the first that hold state, by their number, and unplanned state, by its name."""
        self._streams: dict[str, RandomStream] = {}

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the methods that can be run."""
        return tuple(self._methods)

    def run(self, method: str, inputs: Sequence[Leaf], observer: Observer | None = None) -> list[Leaf]:
        """Runs a method on the leaves of its inputs, and returns copies of the leaves of its outputs. Changes the inputs that it writes.

        Raises:
            InterpreterError: the method does not exist; an input has a wrong dtype or shape, or the number of inputs is wrong; a kernel or
                delegate is not supported; or a loop is endless.
        """
        found = self._methods.get(method)
        if found is None:
            raise InterpreterError(f"there is no method {method!r}; there are {', '.join(self._methods) or 'none'}")
        if method not in self._memories:
            self._memories[method] = self._allocate(found)
        memory = self._memories[method]
        declared = found.input_names.data if found.input_names is not None else ()
        slots = list(found.terminator.inputs)
        if len(inputs) != len(slots):
            raise InterpreterError(f"{method} takes {len(slots)} input{'s' * (len(slots) != 1)}, got {len(inputs)}")
        names = [declared[index].data if index < len(declared) else f"input_{index}" for index in range(len(slots))]
        for slot, value, name in zip(slots, inputs, names, strict=True):
            self._set_input(memory, slot, value, name)
        written = written_inputs(found)
        check_writable(inputs, written, names)
        with drawing(self._streams.setdefault(method, RandomStream())):
            self._execute(found, memory, observer)
        outputs = [_output(memory.values[slot]) for slot in found.terminator.outputs]
        for index in written:
            cast(Array, inputs[index])[...] = memory.values[slots[index]]
        return outputs

    def written_inputs(self, method: str) -> list[int]:
        """Returns the positions of the inputs that a method writes."""
        return written_inputs(self._methods[method])

    def seed(self, method: str, seed: int) -> None:
        """Starts the stream of random numbers with this seed, from which a method draws. The seed is 0 at first."""
        self._streams[method] = RandomStream(seed)

    def state(self, method: str, name: str) -> Array | None:
        """Returns the value of a mutable global after the calls of a method so far; None if there is no such global, or it has no value."""
        if method in self._methods and method not in self._memories:
            self._memories[method] = self._allocate(self._methods[method])
        memory = self._memories.get(method)
        for slot, value in memory.values.items() if memory is not None else ():
            if isinstance(slot.owner, StateOp) and slot.owner.global_name.string_value() == name:
                return cast(Array, value.copy())
        found = self._globals.get(name)
        if found is None or not isinstance(found.value, BlobAttr):
            return None
        return logical_array(self._context.blobs.get(found.value), tensor_type(found.type))

    @staticmethod
    def _set_input(memory: _Memory, slot: SSAValue, value: Leaf, name: str) -> None:
        if not isinstance(slot.type, TensorType):
            is_read = any(not isinstance(use.operation, ReturnOp) or slot in use.operation.outputs for use in slot.uses)
            memory.values[slot] = _scalar(value, memory.values[slot], name, is_fixed=not is_read)
            return
        target = cast(Array, memory.values[slot])
        array = number_as_array(value, target.dtype) if isinstance(value, bool | int | float) and not target.shape else np.asarray(value)
        resized = memory.resized(slot, array.shape)
        target = target if resized is None else resized
        if array.dtype != target.dtype:
            raise InterpreterError(f"input {name!r} must be {target.dtype}, got {array.dtype}")
        if array.shape != target.shape:
            most = "" if is_static(slot) else "at most "
            raise InterpreterError(f"input {name!r} must have {most}the shape {list(upper_bounds(slot))}, got {list(array.shape)}")
        target[...] = array
        memory.values[slot] = target

    # Memory

    def _allocate(self, method: MethodOp) -> _Memory:
        memory = _Memory(arenas=[self._arena(number, method) for number, _ in enumerate(method.arena_sizes or (), 1)])
        for op in method.slots:
            memory.values[op.results[0]] = self._initial(op, memory)
        return memory

    def _arena(self, number: int, method: MethodOp) -> memoryview:
        """Returns arena `number` of a method. An arena that methods share is made once, with the initial values of its state."""
        states = [op for other in self._methods.values() for op in other.slots if isinstance(op, StateOp)]
        states = [op for op in states if number > 1 and op.place is not None and op.place[0] == number]
        if not states:
            return _fresh((method.arena_sizes or ())[number - 1], "an arena", method)
        if number not in self._shared:
            sizes = [(other.arena_sizes or ())[number - 1 : number] for other in self._methods.values()]
            self._shared[number] = _fresh(max(size for found in sizes for size in found), "an arena", method)
            for op in states:
                self._set_first_value(op, _storage(op.slot, [self._shared[number]] * number))
        return self._shared[number]

    def _set_first_value(self, op: StateOp, storage: memoryview) -> None:
        found = self._globals.get(op.global_name.string_value())
        has_value = found is not None and isinstance(found.value, BlobAttr)
        storage[:] = self._global(op.global_name.string_value()) if has_value else bytes(len(storage))

    def _state_storage(self, op: StateOp, arenas: list[memoryview]) -> memoryview:
        name = op.global_name.string_value()
        if op.place is not None and op.place[0] > 1:
            return _storage(op.slot, arenas)
        if op.place is None and name in self._shared:
            return self._shared[name]
        storage = _storage(op.slot, arenas)
        self._set_first_value(op, storage)
        if op.place is None:
            self._shared[name] = storage
        return storage

    def _initial(self, op: Operation, memory: _Memory) -> Any:
        match op:
            case ConstantOp():
                memory.storage[op.slot] = self._global(op.global_name.string_value())
            case StateOp():
                memory.storage[op.slot] = self._state_storage(op, memory.arenas)
            case TensorOp() | ExternalOp():
                memory.storage[op.slot] = _storage(op.slot, memory.arenas)
            case AliasOp():
                pass
            case literals.IntOp() | literals.DoubleOp():
                return op.number
            case literals.BoolOp():
                return op.truth
            case literals.StringOp():
                return op.value.data
            case literals.NoneOp():
                return None
            case literals.DoubleListOp():
                return op.numbers
            case literals.BoolListOp():
                return op.truths
            case literals.IntListOp() | literals.TensorListOp() | literals.OptionalTensorListOp():
                return op
            case _:
                raise UnsupportedError(f"{op.name} has no meaning to the interpreter", op)
        root, offset = root_of(op.results[0], memory.roots)
        kind = tensor_type(op.results[0])
        return np.ndarray(upper_bounds(kind), numpy_dtype(kind.element_type), memory.storage[root], offset, byte_strides(kind))

    def _global(self, name: str) -> memoryview:
        found = self._globals.get(name)
        if found is None or not isinstance(found.value, BlobAttr):
            raise InterpreterError(f"global @{name} has no value")
        return self._context.blobs.get(found.value)

    # Execution

    def _execute(self, method: MethodOp, memory: _Memory, observer: Observer | None) -> None:
        instructions = method.instructions
        labels = {op.label.data: index for index, op in enumerate(instructions) if isinstance(op, LabelOp)}
        position, budget = 0, self._limit
        jumps: dict[Operation | None, int] = {}
        while position < len(instructions):
            op = instructions[position]
            position += 1
            budget -= 1
            if budget < 0:
                busiest = max(jumps, key=jumps.__getitem__, default=None)
                raise EndlessError(self._limit, busiest, jumps.get(busiest, 0))
            match op:
                case CallOp():
                    try:
                        self._call(op, memory, observer)
                    except InterpreterError:
                        raise
                    except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
                        raise InterpreterError(f"{op.operator.data}: {error}", op) from error
                case DelegateCallOp():
                    self._delegate(op, memory, observer)
                case LoopOp():
                    self._loop(op, memory, observer)
                case JumpFalseOp():
                    condition = memory.values[op.condition]
                    holds = bool(condition.all()) if isinstance(condition, np.ndarray) else bool(condition)
                    if not holds:
                        position = labels[op.label.data]
                        jumps[op] = jumps.get(op, 0) + 1
                case EvaluateOp():
                    _evaluate(op, memory.values)
                case MoveOp():
                    memory.values[op.target] = memory.values[op.source]
                case FailOp():
                    number = float(cast(Array, memory.values[op.found]).reshape(-1)[0])
                    raise InterpreterError(op.message.data if math.isnan(number) else f"{op.message.data}; got {int(number)}", op)
                case LabelOp() | FreeOp():
                    pass
                case _:
                    raise UnsupportedError(f"{op.name} has no meaning to the interpreter", op)

    def _call(self, op: CallOp, memory: _Memory, observer: Observer | None) -> None:
        name = op.operator.data
        ins = [_argument(memory.values[value], memory.values) for value in op.ins]
        if name in PRIMITIVES:
            named = [*op.outs, *op.returns]
            memory.values[named[0] if named else op.ins[-1]] = PRIMITIVES[name](*(ins if named else ins[:-1]))
            return
        targets = op.ins[:1] if name == COPY_INDEX else (*(op.outs or (() if op.writes else op.returns)), *op.writes)
        slots = [item for value in targets for item in _tensors(value, memory.values)]
        outs = [cast(Array, memory.values[slot]) for slot in slots]
        results = self._compute(name, ins, outs)
        if op.writes:
            # Copies, because the new value of one argument may be the old value of another.
            results = [result.copy() for result in results]
        _resize(memory, slots, outs, results)
        _write(name, outs, results)
        if observer is not None and (others := observer(op, outs)) is not None:
            _write(name, outs, others)

    def _delegate(self, op: DelegateCallOp, memory: _Memory, observer: Observer | None) -> None:
        name = op.delegate.string_value()
        # The payload knows how many arguments are inputs; the reader of a .pte only guessed it.
        slots = [*op.ins, *op.outs]
        arguments = [cast(Array, memory.values[slot]) for slot in slots]
        match self._delegated.get(name):
            case PartitionOp() as partition:
                results = self._partitions.run_partition(partition, arguments[: len(partition.body.block.args)])
            case PayloadOp() as payload:
                results = run_delegate(self._delegates, payload, self._context.blobs.get(payload.data), self._named_data, arguments, True)
            case _:
                raise InterpreterError(f"@{name} is not a delegate.partition or delegate.payload of the module")
        if len(results) > len(slots):
            raise InterpreterError(f"delegate @{name} gave {len(results)} results for a call with {len(slots)} arguments")
        slots, outs = slots[len(slots) - len(results) :], arguments[len(slots) - len(results) :]
        _resize(memory, slots, outs, results)
        _write(f"delegate @{name}", outs, results)
        if observer is not None and (others := observer(op, outs)) is not None:
            _write(name, outs, others)

    def _loop(self, op: LoopOp, memory: _Memory, observer: Observer | None) -> None:
        values: dict[SSAValue, Any] = dict(zip(op.body.block.args, (memory.values[slot] for slot in op.ins), strict=True))
        outs = [cast(Array, memory.values[slot]) for slot in op.outs]
        for item in op.elements:
            like = np.empty(shape_of(item.result), numpy_dtype(tensor_type(item.result).element_type))
            (values[item.result],) = self._compute(item.operator.data, [values[value] for value in item.arguments], [like])
        _write(op.name, outs, [values[value] for value in op.yielded])
        if observer is not None and (others := observer(op, outs)) is not None:
            _write(op.name, outs, others)

    @staticmethod
    def _compute(name: str, ins: list[Any], outs: list[Array]) -> Sequence[Array]:
        if name in TENSOR_PRIMITIVES:
            return [TENSOR_PRIMITIVES[name](*ins)]
        kernel = row_kernels().get(name)
        if kernel is None:
            raise UnsupportedError(f"the interpreter has no kernel {name}{did_you_mean(name, row_kernels())}")
        return [np.asarray(result) for result in compute_kernel(kernel, ins, outs)]


def _evaluate(op: EvaluateOp, values: dict[SSAValue, Any]) -> None:
    """Computes the expressions of an instruction, and stores their values in `values`. Raises InterpreterError."""
    symbols = {expression.symbol.name: int(values[slot]) for expression, slot in op.known_slots.items() if expression.symbol is not None}
    for expression, slot in op.computed_slots.items():
        try:
            values[slot] = expression.evaluate(symbols)
        except ZeroDivisionError as error:
            raise InterpreterError(f"{op.name}: {expression} cannot be computed: {error}", op) from error


def _scalar(value: Leaf, held: object, name: str, *, is_fixed: bool) -> object:
    """Returns the caller's value for a scalar input that holds `held`. Raises InterpreterError for values that the C runtime refuses."""
    item = cast(object, value.item()) if isinstance(value, np.generic | np.ndarray) and value.ndim == 0 else value
    if isinstance(held, float) and type(item) is int:
        item = float(item)
    if type(item) is not type(held):
        raise InterpreterError(f"input {name!r} must be of type {type(held).__name__}, got {type(item).__name__}")
    if is_fixed and item != held:
        raise InterpreterError(f"input {name!r} is fixed to {held!r} in this program, got {item!r}")
    return item


def _resize(memory: _Memory, slots: Sequence[SSAValue], outs: list[Array], results: Sequence[Array]) -> None:
    """Gives each dynamic slot the shape of its result, and replaces its array in `outs`."""
    for index, (slot, result) in enumerate(zip(slots, results, strict=False)):
        if result.shape != outs[index].shape and (resized := memory.resized(slot, result.shape)) is not None:
            memory.values[slot] = outs[index] = resized


def _write(name: str, outs: Sequence[Array], results: Sequence[Array]) -> None:
    for out, result in zip(outs, results, strict=True):
        if out.shape != result.shape:
            raise InterpreterError(f"{name} gave the shape {list(result.shape)} for a slot of shape {list(out.shape)}")
        out[...] = result.astype(out.dtype, copy=False)


def _fresh(size: int, what: str, op: Operation) -> memoryview:
    check_size((size,), np.dtype(np.uint8), what, op)
    return memoryview(bytearray([_POISON]) * size)


def _storage(slot: SSAValue, arenas: list[memoryview]) -> memoryview:
    place = place_of(slot)
    size = nbytes(slot.type)
    if place is None:
        return _fresh(size, "a tensor", cast(Operation, slot.owner))
    return arenas[place[0] - 1][place[1] : place[1] + size]


def _argument(value: Any, values: dict[SSAValue, Any]) -> Any:
    match value:
        case literals.IntListOp():
            return tuple(values[item] for item in value.items)
        case literals.TensorListOp():
            return [values[item] for item in value.items]
        case literals.OptionalTensorListOp():
            return [None if item is None else values[item] for item in value.entries]
        case _:
            return value


def _tensors(slot: SSAValue, values: dict[SSAValue, Any]) -> Sequence[SSAValue]:
    held = values[slot]
    return tuple(held.items) if isinstance(held, literals.TensorListOp) else (slot,)


def _output(value: Any) -> Leaf:
    return cast(Leaf, value.copy() if isinstance(value, np.ndarray) else value)
