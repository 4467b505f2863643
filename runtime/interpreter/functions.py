"""The table of interpreter functions, which run operations without a row: those of xDSL's dialects and of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Operation

from flambeau.dialects.delegate.ops import CallOp as DelegateCallOp
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.runtime.interpreter.function_interface import InterpreterFunction
from flambeau.support.tables import RegistrationError, note_registration, origin

MODULE_OPERATIONS = (CallOp, DelegateCallOp, GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp, ReturnOp)
"""Operations without a schema that need the module around them, or end its functions: `FunctionProgram` runs them itself."""

_REGISTERED: dict[type[Operation], InterpreterFunction] = {}


def register_interpreter_function(kind: type[Operation], function: InterpreterFunction) -> None:
    """Makes `function` run the operations of a class. Raises RegistrationError if the class has a function or a row already."""
    if _REGISTERED.get(kind) is function:
        return
    if kind in _REGISTERED or kind in _builtin_functions() or issubclass(kind, (SchemaOp, *MODULE_OPERATIONS)):
        why = "its row says what it means" if issubclass(kind, SchemaOp) else "it has a meaning already"
        raise RegistrationError(f"{origin()} declares what {kind.name!r} means to the interpreter, but {why}")
    _REGISTERED[kind] = function
    note_registration(f"interpreter function {kind.name!r}", lambda: _REGISTERED.pop(kind, None) and None)


FunctionT = TypeVar("FunctionT", bound=InterpreterFunction)


def interprets(kind: type[Operation]) -> Callable[[FunctionT], FunctionT]:
    """Returns a decorator that registers a function for the operations of a class, as `register_interpreter_function` does."""
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
        raise RegistrationError("@interprets is given a class of operations: write @interprets(MyOp)")

    def declare(function: FunctionT) -> FunctionT:
        register_interpreter_function(kind, function)
        return function

    return declare


def interpreter_function(op: Operation) -> InterpreterFunction | None:
    """Returns the function that runs `op`, which is not an operator with a schema; None if there is none."""
    return _REGISTERED.get(type(op)) or _builtin_functions().get(type(op))


@cache
def _builtin_functions() -> Mapping[type[Operation], InterpreterFunction]:
    # Imported here, because these modules import numpy, which plug-ins that import this module may not need.
    from flambeau.runtime.interpreter import arithmetic_functions as arithmetic
    from flambeau.runtime.interpreter import control_flow_functions as control_flow
    from flambeau.runtime.interpreter import tensor_functions as tensors

    return {**arithmetic.FUNCTIONS, **control_flow.FUNCTIONS, **tensors.FUNCTIONS}
