"""Runs functions with numpy: operators by their rows, globals, calls and partitions, and other operations by interpreter functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.traits import IsTerminator

from flambeau.dialects.aten.library.philox import RandomStream, drawing
from flambeau.dialects.delegate.ops import CallOp as DelegateCallOp
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.edge.stored_arrays import logical_array
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.flambeau.method_interface import Constant, inputs_of, outputs_of
from flambeau.dialects.flambeau.symbol_definitions import definitions_of
from flambeau.dialects.flambeau.symbol_operations import AssertOp, DefineSymbolOp, ValueOp
from flambeau.dialects.ir.attribute_values import is_extents
from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import numpy_dtype, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.runtime.interpreter.array_kinds import array_kind, array_kinds, check_arrays
from flambeau.runtime.interpreter.execution import OPERATION_LIMIT, CompiledBlock, EndlessError, Kernel, Observer, Run, Scope, compile_block
from flambeau.runtime.interpreter.function_interface import (
    HardwareOnlyError,
    InterpreterError,
    InterpreterFunction,
    Jump,
    UnsupportedError,
    op_name,
)
from flambeau.runtime.interpreter.functions import interpreter_function
from flambeau.runtime.interpreter.symbol_values import Definitions, SymbolValues, symbol_kernel
from flambeau.support.lazy import Array, np
from flambeau.support.numbers import number_as_array
from flambeau.support.shared_memory import shared_with_written
from flambeau.support.tracebacks import in_one_line, raised_outside

Leaf = Array | Constant

_PYTHON_DTYPES = ("bool", "int64", "float64")

DelegateRunner = Callable[[str, memoryview, Mapping[str, memoryview], Sequence[Array], bool], Sequence[Array]]
"""Runs a payload: the identifier of its backend, its bytes, the program's named data, the inputs, and whether the storage of the outputs
follows them; gives the outputs. Raises ValueError."""


class FunctionProgram:
    """Runs the functions of a module. State (mutable globals) keeps its values between calls."""

    def __init__(self, module: ModuleOp, context: FlambeauContext, delegates: DelegateRunner | None = None, limit: int = OPERATION_LIMIT):
        self._context = context
        self._delegates = delegates
        self._limit = limit
        self._delegated = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PartitionOp | PayloadOp)}
        self._named_data = named_data_of(module, context.blobs)
        self._globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self._state: dict[str, Array] = {}
        self._streams: dict[str, RandomStream] = {}
        self._compiled: dict[Block, CompiledBlock] = {}
        self._definitions: dict[Region, Definitions] = {}

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the functions that can be run."""
        return tuple(self._functions)

    def run(self, method: str, inputs: Sequence[Leaf], observer: Observer | None = None) -> list[Leaf]:
        """Runs a function on the leaves of its inputs, and returns the leaves of its outputs. Changes the inputs that the function writes.

        Raises:
            InterpreterError: the method does not exist; an input has a wrong dtype or shape, or the number of inputs is wrong; an
                operation is not supported; or a loop is endless.
        """
        function = self._functions.get(method)
        if function is None:
            raise InterpreterError(f"there is no method {method!r}; there are {', '.join(self._functions) or 'none'}")
        if function.is_declaration:
            raise InterpreterError(f"@{method} is only declared", function)
        arrays = check_inputs(function, inputs, self._symbols(function.body))
        leaves = outputs_of(function)
        given: dict[str | None, Leaf] = dict(zip((leaf.name for leaf in inputs_of(function)), inputs, strict=True))
        written = self.written_inputs(method)
        check_writable(inputs, written, [leaf.name for leaf in inputs_of(function)])
        run = Run(self._block, self._symbols, self._limit, observer)
        # Infinities and NaN are ordinary results.
        with np.errstate(all="ignore"), drawing(self._streams.setdefault(method, RandomStream())):
            results = Scope(run, function.body).region(function.body, arrays, function)
        values = map(_leaf, results, function.function_type.outputs)
        outputs = [(leaf, next(values) if leaf.is_tensor else leaf.value) for leaf in leaves]
        if written:
            # Copies, because outputs and new values of inputs may share memory with an input that is written now.
            outputs = [(leaf, value.copy() if isinstance(value, np.ndarray) else value) for leaf, value in outputs]
        for leaf, value in outputs:
            if leaf.writes is not None:
                cast(Array, given[leaf.writes])[...] = value
        return [value for leaf, value in outputs if leaf.writes is None]

    def run_partition(self, partition: PartitionOp, inputs: Sequence[Array]) -> Sequence[Array]:
        """Runs a partition of the module on its inputs, and returns its outputs. Raises InterpreterError."""
        run = Run(self._block, self._symbols, self._limit, None)
        with np.errstate(all="ignore"):
            return Scope(run, partition.body).region(partition.body, inputs, partition)

    def written_inputs(self, method: str) -> list[int]:
        """Returns the positions of the inputs that a method writes."""
        function = self._functions.get(method)
        if function is None:
            return []
        written = [leaf.writes for leaf in outputs_of(function)]
        return [index for index, leaf in enumerate(inputs_of(function)) if leaf.name in written]

    def seed(self, method: str, seed: int) -> None:
        """Starts the stream of random numbers with this seed, from which a method draws. The seed is 0 at first."""
        self._streams[method] = RandomStream(seed)

    def state(self, method: str, name: str) -> Array | None:
        """Returns the value of a mutable global after the calls so far; None if there is no such global, or it has no value."""
        found = self._globals.get(name)
        if found is None or not (name in self._state or isinstance(found.value, BlobAttr)):
            return None
        return self._load(name, found)

    def _block(self, block: Block) -> CompiledBlock:
        found = self._compiled.get(block)
        if found is None:
            found = self._compiled[block] = compile_block(block, self._kernel)
        return found

    def _symbols(self, region: Region) -> Definitions:
        found = self._definitions.get(region)
        if found is None:
            found = self._definitions[region] = definitions_of(region)
        return found

    def _kernel(self, op: Operation) -> Kernel:
        match op:
            case SchemaOp():
                return schema_kernel(op)
            case GlobalLoadConstantOp():
                array = self._initial(op.global_attr.string_value(), op)
                return lambda _, scope: (array,)
            case GlobalLoadOp():
                name = op.global_attr.string_value()
                return lambda _, scope: (self._load(name, op),)
            case GlobalStoreOp():
                name = op.global_attr.string_value()
                return lambda values, scope: self._store(name, values[0])
            case DelegateCallOp():
                return self._delegate(op)
            case CallOp():
                return self._call(op)
            case DefineSymbolOp() | AssertOp() | ValueOp():
                return symbol_kernel(op)
            case ReturnOp():
                return lambda values, scope: values
            case _:
                function = interpreter_function(op)
                if function is not None:
                    return _function_kernel(op, function)
                if op.has_trait(IsTerminator, value_if_unregistered=False) and not op.successors:
                    return lambda values, scope: values
                raise UnsupportedError(f"{op_name(op)} has no meaning to the interpreter; a plug-in gives it one with @interprets", op)

    def _call(self, op: CallOp) -> Kernel:
        name = op.callee.string_value()
        callee = self._functions.get(name)
        if callee is None or callee.is_declaration:
            raise UnsupportedError(
                f"@{name} is {'not a function of the module' if callee is None else 'only declared'}: it cannot be called", op
            )
        return _calling(op, callee.body)

    def _delegate(self, op: DelegateCallOp) -> Kernel:
        found = self._delegated.get(op.callee.string_value())
        match found:
            case PartitionOp():
                return _calling(op, found.body)
            case PayloadOp():
                data = self._context.blobs.get(found.data)
                return _checked(op, lambda values, scope: run_delegate(self._delegates, found, data, self._named_data, values, False))
            case _:
                raise InterpreterError(f"@{op.callee.string_value()} is not a delegate.partition or delegate.payload of the module", op)

    def _initial(self, name: str, op: Operation) -> Array:
        found = self._globals.get(name)
        if found is not None and found.value is None and found.is_mutable is not None:
            kind = tensor_type(found.type)
            return np.zeros(kind.get_shape(), numpy_dtype(kind.element_type))
        if found is None or found.value is None:
            raise InterpreterError(f"global @{name} has no value", op)
        if not isinstance(found.value, BlobAttr):
            raise UnsupportedError(f"the value of global @{name} is not stored in the context: only blobs are run", op)
        return logical_array(self._context.blobs.get(found.value), tensor_type(found.type))

    def _load(self, name: str, op: Operation) -> Array:
        if name not in self._state:
            self._state[name] = self._initial(name, op)
        return self._state[name]

    def _store(self, name: str, value: Array) -> Sequence[Array]:
        # A copy, because the value may share memory with an input of the caller.
        self._state[name] = value.copy()
        return ()


def run_delegate(
    delegates: DelegateRunner | None,
    payload: PayloadOp,
    data: memoryview,
    named_data: Mapping[str, memoryview],
    arguments: Sequence[Array],
    with_outputs: bool,
) -> Sequence[Array]:
    """Runs a payload of the bytes `data` on `arguments`, and returns its results.

    Raises InterpreterError when `delegates` is None, or when the backend refuses the payload.
    """
    name, identifier = payload.sym_name.data, payload.backend.data
    if delegates is None:
        raise UnsupportedError(f"@{name} runs on the backend {identifier!r}, and the interpreter was given no backends")
    try:
        return delegates(identifier, data, named_data, arguments, with_outputs)
    except ValueError as error:
        kind = HardwareOnlyError if isinstance(error, HardwareOnlyError) else InterpreterError
        raise kind(f"@{name}: {error}") from error


def schema_kernel(op: SchemaOp) -> Kernel:
    """Returns the function from operand arrays to result arrays, by the row and attributes of `op`. Raises InterpreterError without one."""
    if not type(op).has("numpy"):
        raise UnsupportedError(f"{op.name} has no meaning to the interpreter: its row has no `numpy`", op)

    symbolic = any(isinstance(item, ExtentAttr) or is_extents(item) for item in op.properties.values())

    def run(values: list[Array], scope: Scope) -> Sequence[Array]:
        arguments = op.bind(values, op.properties)
        if symbolic:
            arguments = [scope.symbols.number(argument, op) for argument in arguments]
        try:
            computed: Any = op.call("numpy", arguments)
        except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
            raise InterpreterError(f"{op.name}: {error}", op) from error
        return flat_results(computed)

    return _checked(op, run)


def _calling(op: Operation, region: Region) -> Kernel:
    """Returns the kernel that runs `region` in a scope of its own, without the values around `op`."""
    return _checked(op, lambda values, scope: Scope(scope.run, region).region(region, values, op))


def _checked(op: Operation, kernel: Kernel) -> Kernel:
    """Returns a kernel that runs `kernel`, and raises InterpreterError unless the results have the types of `op`."""
    kinds = array_kinds(op, op.result_types)
    is_dynamic = any(not is_known(extent) for shape, _ in kinds for extent in shape)

    def run(values: list[Array], scope: Scope) -> Sequence[Array] | Jump:
        given = kernel(values, scope)
        if isinstance(given, Jump):
            return given
        arrays = [np.asarray(item) for item in given]
        if len(arrays) != len(kinds):
            raise InterpreterError(f"{op_name(op)} gave {len(arrays)} arrays for {len(kinds)} results", op)
        if is_dynamic:
            for value, array in zip(op.results, arrays, strict=True):
                scope.symbols.learn(value, array, op)
        check_arrays(op, arrays, kinds, scope.symbols)
        return arrays

    return run


def _function_kernel(op: Operation, function: InterpreterFunction) -> Kernel:
    def run(values: list[Array], scope: Scope) -> Sequence[Array] | Jump:
        try:
            given = _run_with_regions(op, function, values, scope) if op.regions or op.successors else function(op, values)
            # Runs an iterator here, so that its errors are handled as the function's.
            return given if isinstance(given, Jump) else [np.asarray(item) for item in given]
        except InterpreterError:
            raise
        except Exception as error:  # a function of a plug-in may raise anything; the error names its operation
            place = raised_outside(error)
            where = "" if place is None else f" (at {place.file}:{place.line})"
            raise InterpreterError(f"{op.name}: its interpreter function failed{where}: {in_one_line(error)}", op) from error

    return _checked(op, run)


def _run_with_regions(op: Operation, function: InterpreterFunction, values: list[Array], scope: Scope) -> Sequence[Array] | Jump:
    rounds: dict[Region, int] = {}

    def run_region(region: Region, arguments: Sequence[Array]) -> Sequence[Array]:
        rounds[region] = rounds.get(region, 0) + 1
        return scope.region(region, arguments, op)

    try:
        return function(op, values, run_region)
    except EndlessError as error:
        error.blame(op, max(rounds.values()))
        raise


def _leaf(array: Array, kind: Attribute) -> Leaf:
    """Returns a result as an array, or as a Python number if its type is a number's type that Python has."""
    if isinstance(kind, TensorType) or array.dtype not in _PYTHON_DTYPES:
        return array
    return cast(Constant, array.item())


def check_writable(inputs: Sequence[Leaf], written: Sequence[int], names: Sequence[str]) -> None:
    """Raises InterpreterError unless the inputs that the program writes are writable arrays, which share no memory with other inputs."""
    for value, name in ((inputs[index], names[index]) for index in written):
        if not isinstance(value, np.ndarray) or not value.flags.writeable:
            what = "a read-only array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise InterpreterError(f"input {name!r} is written by the program, and {what} was given: give an array that may be written")
    if (shared := shared_with_written(inputs, written)) is not None:
        first, other = (names[index] for index in shared)
        raise InterpreterError(f"input {first!r} is written by the program, and shares memory with input {other!r}: give a copy of one")


def check_inputs(function: FuncOp, inputs: Sequence[Leaf], definitions: Definitions) -> list[Array]:
    """Returns the leaves of a call as arrays. Raises InterpreterError unless they fit the arguments of the function."""
    leaves = inputs_of(function)
    if len(inputs) != len(leaves):
        raise InterpreterError(f"{function.sym_name.data} takes {len(leaves)} input{'s' * (len(leaves) != 1)}, got {len(inputs)}")
    kinds = iter(function.function_type.inputs)
    arguments = iter(function.body.blocks[0].args)
    arrays: list[Array] = []
    dynamic: list[tuple[str, Array, Sequence[int]]] = []
    symbols = SymbolValues(definitions)
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
        array = number_as_array(value, dtype) if isinstance(value, bool | int | float) else np.asarray(value)
        if array.dtype != dtype:
            raise InterpreterError(f"input {leaf.name!r} must be {dtype}, got {array.dtype}")
        is_dynamic = not all(map(is_known, shape))
        if array.ndim != len(shape) or (not is_dynamic and array.shape != shape):
            raise InterpreterError(f"input {leaf.name!r} must have the shape {list(shape)}, got {list(array.shape)}")
        argument = next(arguments)
        if is_dynamic:
            dynamic.append((f"input {leaf.name!r}: ", array, shape))
            symbols.learn(argument, array, None, dynamic[-1][0])
        arrays.append(array)
    for what, array, shape in dynamic:
        symbols.check(array, shape, what)
    return arrays
