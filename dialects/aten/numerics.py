"""numpy with PyTorch's type promotion, for the meanings of rows."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32

from flambeau.dialects.lazy import Array, np
from flambeau.dialects.types import dtype_of, from_numpy_name, numpy_dtype, promote_operands, tensor


def element_of_array(x: Array) -> Any:
    """The element type of an array. Raises TypeError for arrays that no tensor can hold."""
    row = from_numpy_name(x.dtype.name)
    if row is None:
        raise TypeError(f"arrays of {x.dtype.name} are not tensors of a program")
    return row.element


def cast_operands(*operands: Any) -> tuple[Any, ...]:
    """The operands (arrays, or Python numbers) in the type that `torch.result_type` gives them."""
    kinds = [
        operand if isinstance(operand, bool | int | float) else tensor(element_of_array(operand), operand.shape) for operand in operands
    ]
    dtype = numpy_dtype(promote_operands(*kinds))
    return tuple(np.asarray(operand).astype(dtype, copy=False) for operand in operands)


def to_float(x: Array) -> Array:
    """Integers and bools as the default float; floats as they are."""
    return x if dtype_of(element_of_array(x)).category == 2 else x.astype(numpy_dtype(f32))
