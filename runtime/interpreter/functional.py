"""Running functions of schema operators (`aten`, `core`, `edge`, `quantized_decomposed`, `fused`) and of plug-ins' operations with numpy.

A function is compiled once to a flat list of steps over numbered slots; a slot is emptied after its last use, so memory follows liveness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, PayloadOp
from flambeau.dialects.delegate.ops import ReturnOp as PartitionReturnOp
from flambeau.dialects.interface import Constant, inputs_of, outputs_of
from flambeau.dialects.lazy import Array, np
from flambeau.dialects.ml_program import BlobAttr, GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.row import SchemaOp
from flambeau.dialects.tracebacks import in_one_line
from flambeau.dialects.types import tensor_type
from flambeau.dialects.weights import logical_array
from flambeau.runtime.interpreter.functions import InterpreterFunction, array_kind, interpreter_function

Leaf = Array | Constant
Observer = Callable[[Operation, Sequence[Array]], None]
"""Called after each operation with its results."""


DelegateRunner = Callable[[str, memoryview, Sequence[Array]], Sequence[Array]]
"""Runs a payload: the identifier of its backend, its bytes, the inputs; gives the outputs. Raises ValueError."""


class InterpreterError(ValueError):
    """A module that cannot run, or inputs that do not fit it. One line, for people; `op` is the operation that cannot, if it is one."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op


_Kind = tuple[tuple[int, ...], "np.dtype[np.generic]"]
"""Shape and dtype."""


@dataclass(frozen=True)
class _Step:
    op: Operation
    run: Callable[[list[Any]], Sequence[Array]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    last_uses: tuple[int, ...]


_Compiled = tuple[list[_Step], list[int], list[int]]
"""Steps, and the slots of arguments and results."""


class FunctionProgram:
    """The functions of a module, ready to run. State (mutable globals) lasts from call to call."""

    def __init__(self, module: ModuleOp, context: FlambeauContext, delegates: DelegateRunner | None = None):
        self._context = context
        self._delegates = delegates
        self._delegated = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PartitionOp | PayloadOp)}
        self._globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self._state: dict[str, Array] = {}
        self._compiled: dict[str, _Compiled] = {}

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(self._functions)

    def run(self, method: str, inputs: Sequence[Leaf], observer: Observer | None = None) -> list[Leaf]:
        """Runs a function on the leaves of its inputs, and gives the leaves of its outputs.

        Raises:
            InterpreterError: no such method; wrong number, dtype or shape of inputs; an operation without a meaning.
        """
        function = self._functions.get(method)
        if function is None:
            raise InterpreterError(f"there is no method {method!r}; there are {', '.join(self._functions) or 'none'}")
        if method not in self._compiled:
            self._compiled[method] = self._compile(block_of(function))
        tensors = iter(_run(self._compiled[method], check_inputs(function, inputs), observer))
        return [next(tensors) if leaf.is_tensor else leaf.value for leaf in outputs_of(function)]

    def _compile(self, block: Block) -> _Compiled:
        numbers: dict[SSAValue, int] = {argument: index for index, argument in enumerate(block.args)}
        arguments = list(numbers.values())
        last: dict[int, int] = {}
        pending: list[tuple[Operation, Callable[[list[Any]], Sequence[Array]]]] = []
        results: list[int] = []
        for op in block.ops:
            if isinstance(op, ReturnOp | PartitionReturnOp):
                results = [numbers[value] for value in op.operands]
                break
            for value in op.operands:
                last[numbers[value]] = len(pending)
            for value in op.results:
                numbers[value] = len(numbers)
            pending.append((op, self._kernel(op)))
        for result in results:
            last.pop(result, None)
        by_step: dict[int, list[int]] = {}
        for slot, index in last.items():
            by_step.setdefault(index, []).append(slot)
        steps = [
            _Step(
                op,
                run,
                tuple(numbers[value] for value in op.operands),
                tuple(numbers[value] for value in op.results),
                tuple(by_step.get(index, ())),
            )
            for index, (op, run) in enumerate(pending)
        ]
        return steps, arguments, results

    def _kernel(self, op: Operation) -> Callable[[list[Any]], Sequence[Array]]:
        match op:
            case SchemaOp():
                return schema_kernel(op)
            case GlobalLoadConstantOp():
                array = self._initial(op.global_attr.string_value())
                return lambda _: (array,)
            case GlobalLoadOp():
                name = op.global_attr.string_value()
                return lambda _: (self._load(name),)
            case GlobalStoreOp():
                name = op.global_attr.string_value()
                return lambda values: self._store(name, values[0])
            case CallOp():
                return self._delegate(op)
            case _:
                function = interpreter_function(op)
                if function is None:
                    raise InterpreterError(
                        f"{op_name(op)} has no meaning to the interpreter; a plug-in gives it one by register_interpreter_function", op
                    )
                return _foreign_kernel(op, function)

    def _delegate(self, op: CallOp) -> Callable[[list[Any]], Sequence[Array]]:
        found = self._delegated.get(op.callee.string_value())
        match found:
            case PartitionOp():
                compiled = self._compile(found.body.block)
                return lambda values: _run(compiled, values)
            case PayloadOp():
                data = self._context.blobs.get(found.data)
                return lambda values: run_delegate(self._delegates, found, data, values)
            case _:
                raise InterpreterError(f"@{op.callee.string_value()} names no delegate.partition or delegate.payload of the module")

    def _initial(self, name: str) -> Array:
        found = self._globals.get(name)
        if found is None or not isinstance(found.value, BlobAttr):
            raise InterpreterError(f"global @{name} has no value")
        return logical_array(self._context.blobs.get(found.value), tensor_type(found.type))

    def _load(self, name: str) -> Array:
        if name not in self._state:
            self._state[name] = self._initial(name)
        return self._state[name]

    def _store(self, name: str, value: Array) -> Sequence[Array]:
        self._state[name] = value
        return ()


def _run(compiled: _Compiled, values: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    steps, arguments, results = compiled
    slots: list[Any] = [None] * (len(arguments) + sum(len(step.outputs) for step in steps))
    for slot, array in zip(arguments, values, strict=True):
        slots[slot] = array
    for step in steps:
        outputs = step.run([slots[index] for index in step.inputs])
        if observer is not None:
            observer(step.op, outputs)
        for slot, array in zip(step.outputs, outputs, strict=True):
            slots[slot] = array
        for slot in step.last_uses:
            slots[slot] = None
    return [slots[index] for index in results]


def run_delegate(delegates: DelegateRunner | None, payload: PayloadOp, data: memoryview, inputs: Sequence[Array]) -> Sequence[Array]:
    """Runs a payload. Raises InterpreterError when nothing here can, or when its backend refuses it."""
    name, identifier = payload.sym_name.data, payload.backend.data
    if delegates is None:
        raise InterpreterError(f"@{name} runs on the backend {identifier!r}, and the interpreter was given no backends")
    try:
        return delegates(identifier, data, inputs)
    except ValueError as error:
        raise InterpreterError(f"@{name}: {error}") from error


def schema_kernel(op: SchemaOp) -> Callable[[list[Any]], Sequence[Array]]:
    """A function from operand arrays to result arrays: the row's meaning with this operation's attributes. Raises InterpreterError."""
    if not type(op).has("numpy"):
        raise InterpreterError(f"{op.name} has no meaning to the interpreter: its row has no `numpy`", op)
    expected = _expected(op)

    def run(values: list[Any]) -> Sequence[Array]:
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are results like others
                computed: Any = op.numpy(*op.bind(values, op.properties))
        except (ValueError, LookupError, ArithmeticError) as error:
            raise InterpreterError(f"{op.name}: {error}", op) from error
        results = cast("Sequence[Array]", computed if isinstance(computed, tuple | list) else (computed,))
        arrays = [np.asarray(item) for item in results]
        _check_results(op, arrays, expected)
        return arrays

    return run


def block_of(function: FuncOp) -> Block:
    """The block of a function. Raises InterpreterError when there are several: control flow between blocks is not run."""
    if len(function.body.blocks) != 1:
        raise InterpreterError(f"@{function.sym_name.data} has {len(function.body.blocks)} blocks; the interpreter runs only one", function)
    return function.body.block


def op_name(op: Operation) -> str:
    """The name that stands in the text."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _foreign_kernel(op: Operation, function: InterpreterFunction) -> Callable[[list[Any]], Sequence[Array]]:
    def run(values: list[Any]) -> Sequence[Array]:
        try:
            arrays = [np.asarray(item) for item in function(op, values)]
        except InterpreterError:
            raise
        except Exception as error:  # whatever a function from outside does, its operation is to be named
            raise InterpreterError(f"{op.name}: its interpreter function failed: {in_one_line(error)}", op) from error
        if len(arrays) != len(op.results):
            raise InterpreterError(f"{op.name}: its interpreter function gave {len(arrays)} arrays for {len(op.results)} results", op)
        _check_results(op, arrays, expected)
        return arrays

    expected = _expected(op)
    return run


def _expected(op: Operation) -> list[_Kind]:
    try:
        return [array_kind(kind) for kind in op.result_types]
    except TypeError as error:
        raise InterpreterError(f"{op.name} has no meaning to the interpreter: {error}", op) from error


def _check_results(op: Operation, arrays: Sequence[Array], expected: Sequence[_Kind]) -> None:
    for array, (shape, dtype) in zip(arrays, expected, strict=True):
        fits = len(array.shape) == len(shape) and all(a == b for a, b in zip(array.shape, shape, strict=True) if b >= 0)
        if array.dtype != dtype or not fits:
            raise InterpreterError(f"{op.name} gave {array.dtype} {array.shape}, but its type says {dtype} {shape}", op)


def check_inputs(function: FuncOp, inputs: Sequence[Leaf]) -> list[Array]:
    """The tensors among the leaves of a call, checked against the function. Raises InterpreterError."""
    leaves = inputs_of(function)
    if len(inputs) != len(leaves):
        raise InterpreterError(f"{function.sym_name.data} takes {len(leaves)} inputs, got {len(inputs)}")
    kinds = iter(function.function_type.inputs)
    arrays: list[Array] = []
    for leaf, value in zip(leaves, inputs, strict=True):
        if not leaf.is_tensor:
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = cast(Constant, value.item())
            if value != leaf.value:
                raise InterpreterError(f"input {leaf.name!r} is fixed to {leaf.value!r} in this program, got {value!r}")
            continue
        try:
            shape, dtype = array_kind(next(kinds))
        except TypeError as error:
            raise InterpreterError(f"input {leaf.name!r}: {error}") from error
        array = np.asarray(value)
        if array.dtype != dtype:
            raise InterpreterError(f"input {leaf.name!r} must be {dtype}, got {array.dtype}")
        if array.ndim != len(shape) or any(b >= 0 and a != b for a, b in zip(array.shape, shape, strict=True)):
            raise InterpreterError(f"input {leaf.name!r} must have the shape {list(shape)}, got {list(array.shape)}")
        arrays.append(array)
    return arrays
