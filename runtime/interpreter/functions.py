"""What operations without a schema mean to the interpreter: functions of plug-ins, and those of xDSL's dialects that have one here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Block, Operation, Region

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.ir.tensor_types import Tensor, numpy_dtype
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np
from flambeau.support.tables import RegistrationError, note_registration, origin


class InterpreterError(ValueError):
    """A module that cannot run, or inputs that do not fit it. One line, for people; `op` is the operation that cannot, if it is one."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op

    @property
    def diagnostic(self) -> Diagnostic:
        """The error, without its position in the text."""
        return Diagnostic("error", str(self), op=self.op)


class UnsupportedError(InterpreterError):
    """The interpreter does not know what something means, which says nothing against the module."""


class Jump(NamedTuple):
    """What a branch gives: the block to go on with, and what its arguments become."""

    block: Block
    arguments: Sequence[Array]


RunRegion: TypeAlias = Callable[[Region, Sequence[Array]], Sequence[Array]]
"""Runs a region from its first block, whose arguments it is given; gives the operands of the terminator that it ends with."""

InterpreterFunction: TypeAlias = Callable[..., "Sequence[Array] | Jump"]
"""From an operation and the arrays of its operands to the arrays of its results; a number is an array without dimensions.

The function of an operation that has regions or successors also gets a `RunRegion`, and that of a branch gives a `Jump`. Terminators that
only hand their operands to the operation around them need no function.
"""

_REGISTERED: dict[type[Operation], InterpreterFunction] = {}


def register_interpreter_function(kind: type[Operation], function: InterpreterFunction) -> None:
    """Makes the operations of a class run. Raises RegistrationError when they have a meaning already."""
    if _REGISTERED.get(kind) is function:
        return
    # That module needs this one.
    from flambeau.runtime.interpreter.functional import OWN

    if kind in _REGISTERED or kind in _builtin_functions() or issubclass(kind, (SchemaOp, *OWN)):
        why = "its row says what it means" if issubclass(kind, SchemaOp) else "it has a meaning already"
        raise RegistrationError(f"{origin()} declares what {kind.name!r} means to the interpreter, but {why}")
    _REGISTERED[kind] = function
    note_registration(f"interpreter function {kind.name!r}", lambda: _REGISTERED.pop(kind, None) and None)


FunctionT = TypeVar("FunctionT", bound=InterpreterFunction)


def interprets(kind: type[Operation]) -> Callable[[FunctionT], FunctionT]:
    """Declares the function below as what the operations of a class mean, as `register_interpreter_function` does."""
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
        raise RegistrationError("@interprets is given a class of operations: write @interprets(MyOp)")

    def declare(function: FunctionT) -> FunctionT:
        register_interpreter_function(kind, function)
        return function

    return declare


def interpreter_function(op: Operation) -> InterpreterFunction | None:
    """What runs `op`, which is no operator with a schema."""
    return _REGISTERED.get(type(op)) or _builtin_functions().get(type(op))


@cache
def _builtin_functions() -> Mapping[type[Operation], InterpreterFunction]:
    # These name numpy's functions, and this module is imported by plug-ins that need none.
    from flambeau.runtime.interpreter import arithmetic_functions as arithmetic
    from flambeau.runtime.interpreter import control_flow_functions as control_flow
    from flambeau.runtime.interpreter import tensor_functions as tensors

    return {**arithmetic.FUNCTIONS, **control_flow.FUNCTIONS, **tensors.FUNCTIONS}


Kind: TypeAlias = "tuple[tuple[int, ...], np.dtype[np.generic]]"
"""Shape and dtype; an extent below 0 is any."""


def array_kind(kind: Attribute) -> Kind:
    """Shape and dtype of the arrays of a type: a tensor's, or a number's. Raises TypeError for other types."""
    if isinstance(kind, TensorType):
        found = cast(Tensor, kind)
        return found.get_shape(), _dtype(found.element_type)
    return (), _dtype(kind)


def _dtype(element: Attribute) -> np.dtype[np.generic]:
    return np.dtype(np.int64) if isinstance(element, IndexType) else numpy_dtype(element)


def array_kinds(op: Operation, types: Sequence[Attribute]) -> list[Kind]:
    """The kinds of the arrays that `op` makes or takes. Raises InterpreterError for types that no array has."""
    try:
        return [array_kind(kind) for kind in types]
    except TypeError as error:
        raise UnsupportedError(f"{op_name(op)} has no meaning to the interpreter: {error}", op) from error


def check_arrays(op: Operation, arrays: Sequence[Array], kinds: Sequence[Kind]) -> None:
    """Whether arrays are what the types of `op` say. Raises InterpreterError."""
    for array, (shape, dtype) in zip(arrays, kinds, strict=True):
        found = array.shape
        if array.dtype == dtype and (
            found == shape or (len(found) == len(shape) and all(a == b for a, b in zip(found, shape, strict=True) if b >= 0))
        ):
            continue
        raise InterpreterError(f"{op_name(op)} gave {_described((found, array.dtype))}, but its type says {_described((shape, dtype))}", op)


def _described(kind: tuple[Sequence[int], np.dtype[Any]]) -> str:
    return f"{kind[1]} [{', '.join('?' if extent < 0 else str(extent) for extent in kind[0])}]"


def op_name(op: Operation) -> str:
    """The name that stands in the text."""
    from xdsl.dialects.builtin import UnregisteredOp

    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
