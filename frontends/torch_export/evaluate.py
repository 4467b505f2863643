"""Runs the `aten` and `core` levels with PyTorch: each operation as the operator of its schema."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import torch
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.flambeau.method_interface import inputs_of, outputs_of
from flambeau.dialects.flambeau.symbol_definitions import definitions_of
from flambeau.dialects.flambeau.symbol_operations import AssertOp, DefineSymbolOp, ValueOp
from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export.imported_operators import functional_overload
from flambeau.frontends.torch_export.values import MEMORY_FORMATS
from flambeau.runtime.interpreter.function_interface import InterpreterError
from flambeau.runtime.interpreter.symbol_values import SymbolValues, symbol_kernel

_FORMATS = {name: value for value, name in MEMORY_FORMATS.items()}


_ENFORCED = re.compile(r"\[enforce fail at [^]]*\] .*?\. ")
"""The start of a message of PyTorch's allocator: the file, the line and the condition in PyTorch's source."""


class EvaluationError(ValueError):
    """An error of a module that PyTorch cannot run, or of unsuitable inputs. The message is one line; `op` is the operation at fault."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, op=op)


def run_aten(module: ModuleOp, context: FlambeauContext, inputs: Sequence[torch.Tensor], method: str = "forward") -> list[torch.Tensor]:
    """Runs a method once on input tensors and returns its output tensors. State starts at its initial value.

    Raises:
        EvaluationError: there is no such method, the inputs do not fit, or PyTorch has no such operator.
    """
    return AtenProgram(module, context).run(inputs, method)


Observer = Callable[[Operation, Sequence[torch.Tensor]], None]
"""A function that receives each operation and its results after the operation has run."""


def run_leaves(
    module: ModuleOp, context: FlambeauContext, inputs: Sequence[Any], method: str = "forward", observer: Observer | None = None
) -> list[Any]:
    """Runs a method as `run_aten` does, on leaves of the inputs (numpy arrays, tensors, constants); returns leaves of the outputs.

    Raises EvaluationError.
    """
    return runner_of(AtenProgram(module, context, observer), method)(inputs)


def runner_of(program: AtenProgram, method: str = "forward") -> Callable[[Sequence[Any]], list[Any]]:
    """Returns a function from leaves of a method's inputs to those of its outputs, which raises EvaluationError."""
    return lambda inputs: _run_leaves(program, method, inputs)


def thread_count() -> int:
    """Returns the number of threads of PyTorch's operators."""
    return torch.get_num_threads()


def _run_leaves(program: AtenProgram, method: str, inputs: Sequence[Any]) -> list[Any]:
    function = program.method(method)
    leaves = inputs_of(function)
    if len(inputs) != len(leaves):
        raise EvaluationError(f"{method} takes {len(leaves)} inputs, got {len(inputs)}")
    tensors: list[torch.Tensor] = []
    for leaf, value in zip(leaves, inputs, strict=True):
        if leaf.is_tensor:
            tensors.append(torch.as_tensor(value))
        elif value != leaf.value:
            raise EvaluationError(f"input {leaf.name!r} is fixed to {leaf.value!r} in this program, got {value!r}")
    results = iter(program.run(tensors, method))
    return [next(results) if leaf.is_tensor else leaf.value for leaf in outputs_of(function) if leaf.writes is None]


def can_run(function: FuncOp) -> bool:
    """Returns whether PyTorch can run every operation of a method: operators with a schema, globals, symbols and a return."""
    return all(isinstance(op, _RUN) for op in function.body.walk())


_RUN = (SchemaOp, GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp, DefineSymbolOp, AssertOp, ValueOp, ReturnOp)


class AtenProgram:
    """A module of schema operators, ready to run; mutable globals keep their values from call to call."""

    def __init__(self, module: ModuleOp, context: FlambeauContext, observer: Observer | None = None):
        self._observer = observer
        self.methods: dict[str, FuncOp] = {}
        self.globals: dict[str, torch.Tensor] = {}
        for op in module.body.block.ops:
            if isinstance(op, FuncOp):
                self.methods[op.sym_name.data] = op
            elif isinstance(op, GlobalOp):
                self.globals[op.sym_name.data] = _global_tensor(op, context)

    def method(self, name: str) -> FuncOp:
        """Returns the method with a name. Raises EvaluationError."""
        if name not in self.methods:
            raise EvaluationError(f"the module has no method {name!r}; it has {', '.join(sorted(self.methods)) or 'none'}")
        return self.methods[name]

    def run(self, inputs: Sequence[torch.Tensor], method: str = "forward") -> list[torch.Tensor]:
        """Calls the method once: returns its results, and writes to the inputs that it mutates. Raises EvaluationError."""
        function = self.method(method)
        arguments = function.body.block.args
        if len(inputs) != len(arguments):
            raise EvaluationError(f"{method} takes {len(arguments)} tensors, got {len(inputs)}")
        values: dict[SSAValue, Any] = {}
        names = [leaf.name for leaf in inputs_of(function) if leaf.is_tensor]
        for name, argument, given in zip(names, arguments, inputs, strict=True):
            kind = tensor_type(argument)
            wanted, shape = shape_of(kind), tuple(given.shape)
            if given.dtype is not torch_dtype(kind.element_type) or len(shape) != len(wanted):
                raise EvaluationError(_misfit(name, method, kind, given))
            values[argument] = given
        symbols = SymbolValues(definitions_of(function.body))
        try:
            for name, argument in zip(names, arguments, strict=True):
                symbols.learn(argument, values[argument], None, f"input {name!r} of {method}: ")
            for name, argument in zip(names, arguments, strict=True):
                if not all(map(symbols.fits, shape_of(argument), values[argument].shape)):
                    raise EvaluationError(_misfit(name, method, tensor_type(argument), values[argument]))
            with torch.no_grad():
                for op in function.body.block.ops:
                    if isinstance(op, ReturnOp):
                        return _returned(function, [values[operand] for operand in op.operands], inputs)
                    self._run(op, values, symbols)
        except InterpreterError as error:
            raise EvaluationError(str(error), error.diagnostic.op) from error
        raise EvaluationError(f"{method} does not return")

    def _run(self, op: Operation, values: dict[SSAValue, Any], symbols: SymbolValues) -> None:
        if isinstance(op, GlobalLoadConstantOp | GlobalLoadOp):
            values[op.results[0]] = self.globals[op.global_attr.string_value()]
        elif isinstance(op, GlobalStoreOp):
            # A copy: the value may be a view of an input, which the caller may change.
            self.globals[op.global_attr.string_value()] = values[op.value].clone()
        elif isinstance(op, SchemaOp):
            try:
                results = run_operation(op, values, symbols)
            except (RuntimeError, MemoryError) as error:
                raise EvaluationError(f"{op.name}: {_ENFORCED.sub('', ' '.join(str(error).split()))}", op) from error
            values.update(zip(op.results, results, strict=True))
            for result, found in zip(op.results, results, strict=True):
                symbols.learn(result, cast(Any, found), op)
            if self._observer is not None:
                self._observer(op, results)
        elif isinstance(op, DefineSymbolOp | AssertOp | ValueOp):
            found = symbol_kernel(op)([values[operand].numpy() for operand in op.operands], SimpleNamespace(symbols=symbols))
            values.update(zip(op.results, map(torch.as_tensor, found), strict=True))
        else:
            raise EvaluationError(f"PyTorch cannot run {op.name}: only operators with a schema, globals, symbols and a return")


def _returned(function: FuncOp, results: list[torch.Tensor], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Writes the new values of mutated inputs to these inputs, and returns the other results."""
    given = dict(zip((leaf.name for leaf in inputs_of(function) if leaf.is_tensor), inputs, strict=True))
    written = [leaf.writes for leaf in outputs_of(function) if leaf.writes is not None]
    if not written:
        return results
    # A result, or the new value of an input, may share memory with an input that is written below.
    values = [value.clone() for value in results]
    last = len(values) - len(written)
    for name, value in zip(written, values[last:], strict=True):
        given[name].copy_(value)
    return values[:last]


def run_operation(op: SchemaOp, values: dict[SSAValue, Any], symbols: SymbolValues | None = None) -> list[torch.Tensor]:
    """Returns the result tensors of one operation for its operand tensors. Raises EvaluationError; InterpreterError for an unknown size."""
    known = SymbolValues({}) if symbols is None else symbols
    if op.schema.namespace == "quantized_decomposed":
        # Importing torchvision registers its operators.
        importlib.import_module("torch.ao.quantization.fx._decomposed")
    try:
        overload = functional_overload(type(op))
    except AttributeError:
        raise EvaluationError(f"PyTorch cannot run {op.name}: it is not one of its operators") from None
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
        given = _python_value(known.number(value, op), values)
        # The table stores the default `dtype=long` of a schema as a number.
        if argument.type.base == "ScalarType" and isinstance(given, int):
            continue
        if argument.type.base == "MemoryFormat" and given is not None:
            given = _FORMATS[given] if isinstance(given, str) else None
        if argument.keyword_only and given is None:
            continue
        if argument.keyword_only:
            kwargs[argument.name] = given
        else:
            args.append(given)
    if op.schema.base == "as_strided":
        # Values of the IR have no shared memory: the row reads the elements in row-major order.
        args[0] = args[0].clone(memory_format=torch.contiguous_format)
    return _flat(overload(*args, **kwargs))


def torch_dtype(element: Attribute) -> torch.dtype:
    """Returns the dtype of an element type."""
    return cast(torch.dtype, getattr(torch, dtype_of(element).torch))


def _python_value(value: Any, values: dict[SSAValue, Any]) -> Any:
    if isinstance(value, SSAValue):
        return values[value]
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, Attribute):
        return torch_dtype(value)
    if isinstance(value, tuple | list):
        return [_python_value(item, values) for item in cast("Sequence[Any]", value)]
    return value


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [found for item in cast("Sequence[Any]", value) for found in _flat(item)]


def _misfit(name: str, method: str, kind: Tensor, given: torch.Tensor) -> str:
    wanted = f"{torch_dtype(kind.element_type)} of shape {list(shape_of(kind))}"
    return f"input {name!r} of {method} must be {wanted}, got {given.dtype} of shape {list(given.shape)}"


def _global_tensor(op: GlobalOp, context: FlambeauContext) -> torch.Tensor:
    kind = cast(Tensor, op.type)
    dtype = torch_dtype(element_of(kind))
    if op.value is None:
        return torch.zeros(shape_of(kind), dtype=dtype)
    data = context.blobs.get(op.blob)
    if not len(data):
        return torch.empty(shape_of(kind), dtype=dtype)
    # Copied: PyTorch has no read-only tensors, and the bytes belong to the store.
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape_of(kind))
