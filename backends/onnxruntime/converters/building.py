"""What converters share: the table of them, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.onnxruntime.dialect.elements import CastOp
from flambeau.backends.onnxruntime.dialect.movement import ReshapeOp, TransposeOp
from flambeau.backends.onnxruntime.dialect.quantization import DequantizeLinearOp
from flambeau.dialects.ir.tensor_types import element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("onnxruntime")
"""The converters, one for each operator of the legality table."""


def constant(constants: ModuleConstants, name: str, array: Any, element: Attribute) -> SSAValue:
    """Returns a constant of an element type."""
    stored: Array = np.asarray(array, numpy_dtype(element), order="C")
    return constants.add(name, stored, tensor(element, stored.shape)).result


def number_like(constants: ModuleConstants, value: SSAValue, number: float) -> SSAValue:
    """Returns a number as a constant, of the element type of a value."""
    return constant(constants, "number", number, element_of(value))


def places(constants: ModuleConstants, numbers: int | Sequence[int]) -> SSAValue:
    """Returns indices as a constant."""
    return constant(constants, "places", numbers, i64)


def other_of(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Returns the number of an operator of a tensor and a number."""
    return number_like(constants, op.operands[0], op.argument("other"))


def in_type(value: SSAValue, element: Attribute) -> SSAValue:
    """Returns a value in an element type."""
    return value if element_of(value) == element else CastOp(value, to=element).result


def transposed(weight: SSAValue, constants: ModuleConstants) -> SSAValue:
    """Returns a matrix with its dimensions in the other order. Constants are stored so, also those that are dequantized."""
    if (array := constants.array(weight)) is not None:
        return constant(constants, f"{constants.name(weight)}.T", array.T, element_of(weight))
    source = weight.owner
    if isinstance(source, DequantizeLinearOp) and constants.is_constant(source.operands[0]):
        x, *parameters = source.operands
        axis, block_size = 1 - source.argument("axis") % 2, source.argument("block_size")
        parameters = [transposed(item, constants) for item in parameters] if block_size else parameters
        return DequantizeLinearOp(transposed(x, constants), *parameters, axis=axis, block_size=block_size).result
    return TransposeOp(weight, perm=(1, 0)).result


def reshaped(value: SSAValue, constants: ModuleConstants, shape: Sequence[int]) -> SSAValue:
    """Returns a constant in another shape; a value that is none by a reshape."""
    array = constants.array(value)
    if array is None:
        return ReshapeOp(value, tuple(shape)).result
    return constant(constants, f"{constants.name(value)}.reshaped", array.reshape(tuple(shape)), element_of(value))


def rank_of(value: SSAValue) -> int:
    """Returns the number of dimensions."""
    return len(shape_of(value))
