"""What operations without a schema mean to the interpreter: functions that plug-ins register, and some of xDSL's `arith`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation

from flambeau.dialects.lazy import Array, np
from flambeau.dialects.registration import RegistrationError, note_registration, origin
from flambeau.dialects.row import SchemaOp
from flambeau.dialects.types import Tensor, numpy_dtype

InterpreterFunction = Callable[[Operation, Sequence[Array]], Sequence[Array]]
"""From an operation and the arrays of its operands to the arrays of its results; a number is an array without dimensions."""

_REGISTERED: dict[type[Operation], InterpreterFunction] = {}


def register_interpreter_function(kind: type[Operation], function: InterpreterFunction) -> None:
    """Makes the operations of a class run. Raises RegistrationError when they have a meaning already."""
    if _REGISTERED.get(kind) is function:
        return
    if kind in _REGISTERED or kind in _builtin_functions() or issubclass(kind, SchemaOp):
        why = "its row says what it means" if issubclass(kind, SchemaOp) else "it has a meaning already"
        raise RegistrationError(f"{origin()} declares what {kind.name!r} means to the interpreter, but {why}")
    _REGISTERED[kind] = function
    note_registration(f"interpreter function {kind.name!r}", lambda: _REGISTERED.pop(kind, None) and None)


OpT = TypeVar("OpT", bound=Operation)


def interprets(kind: type[OpT]) -> Callable[[Callable[[OpT, Sequence[Array]], Sequence[Array]]], InterpreterFunction]:
    """Declares the function below as what the operations of a class mean, as `register_interpreter_function` does."""

    def declare(function: Callable[[OpT, Sequence[Array]], Sequence[Array]]) -> InterpreterFunction:
        registered = cast(InterpreterFunction, function)
        register_interpreter_function(kind, registered)
        return registered

    return declare


def interpreter_function(op: Operation) -> InterpreterFunction | None:
    """What runs `op`, which is no operator with a schema."""
    return _REGISTERED.get(type(op)) or _builtin_functions().get(type(op))


def array_kind(kind: Attribute) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Shape and dtype of the arrays of a type: a tensor's, or a number's. Raises TypeError for other types."""
    if isinstance(kind, TensorType):
        found = cast(Tensor, kind)
        return found.get_shape(), numpy_dtype(found.element_type)
    return (), np.dtype(np.int64) if isinstance(kind, IndexType) else numpy_dtype(kind)


def _constant(op: Operation, _: Sequence[Array]) -> Sequence[Array]:
    assert isinstance(op, arith.ConstantOp)
    shape, dtype = array_kind(op.result.type)
    match op.value:
        case DenseIntOrFPElementsAttr():
            values = np.array(list(op.value.get_values()), dtype)
            return [np.broadcast_to(values.reshape(()) if values.size == 1 else values.reshape(shape), shape)]
        case IntegerAttr() | FloatAttr():
            return [np.array(cast("IntegerAttr[Any] | FloatAttr[Any]", op.value).value.data, dtype)]
        case _:
            raise ValueError(f"arith.constant with the value {op.value} has no meaning to the interpreter")


@cache
def _builtin_functions() -> dict[type[Operation], InterpreterFunction]:
    functions: dict[type[Operation], InterpreterFunction] = {arith.ConstantOp: _constant}
    binary: dict[type[Operation], Callable[..., Any]] = {
        arith.AddfOp: np.add,
        arith.SubfOp: np.subtract,
        arith.MulfOp: np.multiply,
        arith.DivfOp: np.divide,
        arith.MaximumfOp: np.maximum,
        arith.MinimumfOp: np.minimum,
        arith.AddiOp: np.add,
        arith.SubiOp: np.subtract,
        arith.MuliOp: np.multiply,
    }
    for kind, function in binary.items():
        functions[kind] = _elementwise(function)
    functions[arith.NegfOp] = _elementwise(np.negative)
    return functions


def _elementwise(function: Callable[..., Any]) -> InterpreterFunction:
    def run(op: Operation, values: Sequence[Array]) -> Sequence[Array]:
        with np.errstate(all="ignore"):  # infinities and NaN are results like others
            return [np.asarray(function(*values), array_kind(op.results[0].type)[1])]

    return run
