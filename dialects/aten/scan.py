"""Running results along a dimension."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from flambeau.dialects.aten.numerics import cast_to, element_of_array, widened
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import chosen_element, sum_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", core=True)
class CumsumOp(SchemaOp):
    """The sum of the elements up to each one along `dim`."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, dtype: Attribute | None = None) -> Tensor:
        normalize_dim(dim, len(shape_of(x)))
        if dtype is not None and chosen_element(dtype, i1) == i1:
            raise TypeError("a sum is not defined for bool tensors; choose another dtype")
        return tensor(chosen_element(dtype, sum_element(element_of(x))), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, sum_element(element_of_array(x))))
        return np.cumsum(widened(x), axis=dim).astype(x.dtype) if x.ndim else x
