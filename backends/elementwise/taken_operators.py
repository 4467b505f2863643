"""Which operators the backend takes, and why not the others."""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr, f32
from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.backends.elementwise.payload import OPERATIONS
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_static, numel, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp

MOST_OPERATIONS = 60
"""With at most two operands each, this many need fewer arguments and registers than a payload can number."""

_OVERLOADS = {f"{name}.{overload}": name for name in ("add", "sub", "mul", "div") for overload in ("Tensor", "Scalar")} | {
    name: name for name in OPERATIONS
}


def operation_of(op: SchemaOp) -> str | None:
    """The operation of a payload that does what an operator does, its arguments aside."""
    found = _OVERLOADS.get(op.schema.name)
    return found if found in OPERATIONS else None


def refuse(op: Operation) -> str | None:
    """Why the backend does not take an operator with one result; None when it takes it."""
    if not isinstance(op, SchemaOp):
        return "it is not an operator"
    operation = operation_of(op)
    if operation is None:
        return "it is not among the elementwise operators of this backend"
    result = tensor_type(op.result)
    reason = refuse_type(result)
    if reason is not None:
        return reason
    arguments = op.arguments()
    arity = OPERATIONS[operation].arity
    if (alpha := next((extra for extra in arguments[arity:] if extra != 1), None)) is not None:
        return f"alpha is {alpha}, not 1"
    for value in op.operands:
        if value.type != result and not absorbs(op, value):
            return "an operand is broadcast or of another type"
    return None


def refuse_type(kind: Tensor) -> str | None:
    """Why the backend does not compute tensors of a type; None when it does."""
    if element_of(kind) != f32:
        return f"it computes {element_of(kind)}, not f32"
    if not is_static(kind) or not isinstance(kind.encoding, NoneAttr):
        return "its shape is not static or its memory is not row-major"
    return None


def absorbs(op: Operation, value: SSAValue) -> bool:
    """Whether an operand is one constant float32 for all elements: it becomes part of the payload."""
    return (
        isinstance(value, OpResult)
        and isinstance(value.op, GlobalLoadConstantOp)
        and element_of(value) == f32
        and value.type != op.results[0].type
        and numel(value) == 1
    )
