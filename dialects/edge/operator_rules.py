"""The checks of the edge level beyond Core ATen.

Operands have one type if the operator computes in one, operands and result of an elementwise operator have one layout, and every dynamic
dimension has a bound.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.edge.layout import equal_memory, upper_bounds
from flambeau.dialects.ir.tensor_types import ElementType, element_of, promote_operands, same_shape, shape_of, tensor_type
from flambeau.dialects.schema.row import SchemaOp


def compute_element(op: SchemaOp) -> ElementType | None:
    """Returns the element type that an operator's promoted operands must have; None where the row does not promote."""
    match op.computes_in:
        case "result":
            return element_of(op.result_types[0])
        case "promoted":
            first, second, *_ = op.bind([tensor_type(value) for value in op.operands], op.properties)
            return promote_operands(first, second)
        case None:
            return None


def promoted_operands(op: SchemaOp) -> tuple[SSAValue, ...]:
    """Returns the operands that must have the type `compute_element`."""
    return tuple(op.operands)[op.promotes_from :]


def check_contract(op: SchemaOp) -> None:
    """Checks an operator of the edge level. Raises VerifyException."""
    for value in (*op.operands, *op.results):
        try:
            upper_bounds(value)
        except TypeError as error:
            raise VerifyException(f"{op.name}: {error}") from error
    element = compute_element(op)
    found = {element_of(operand) for operand in promoted_operands(op)}
    if element is not None and found - {element}:
        names = " and ".join(sorted(str(item) for item in found))
        raise VerifyException(f"{op.name}: operands of {names} must be of the type it computes in, {element}: cast them")
    if op.elementwise and len(op.results) == 1:
        _check_layout(op)


def _check_layout(op: SchemaOp) -> None:
    result = op.results[0]
    for operand in op.operands:
        if same_shape(shape_of(operand), shape_of(result)) and not equal_memory(operand, result):
            raise VerifyException(f"{op.name}: its operands and results are laid out differently")
