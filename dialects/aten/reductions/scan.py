"""Running results along a dimension."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import f64, i1
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.reductions.sort import shifted
from flambeau.dialects.ir.extents import largest
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_empty, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import chosen_element, sum_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

INT32_MAX = 2**31 - 1
"""The largest extent of a tensor."""


def strides(count: int) -> Iterator[int]:
    """Returns the powers of two below the longest that a line may be."""
    longest = largest(count)
    return (1 << power for power in range((longest - 1 if longest is not None else INT32_MAX).bit_length()))


class ScanOp(SchemaOp):
    """Running sums and products; integers and bools accumulate as int64."""

    @staticmethod
    def infer(x: Tensor, /, dim: int, dtype: Attribute | None = None) -> Tensor:
        normalize_dim(dim, len(shape_of(x)))
        if dtype is not None and chosen_element(dtype, i1) == i1:
            raise TypeError("a running sum or product is not defined for bool tensors; choose another dtype")
        return tensor(chosen_element(dtype, sum_element(element_of(x))), shape_of(x))


@aten("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", core=True)
class CumsumOp(ScanOp, PartwiseOp):
    """The sum of the elements up to and including each element along `dim`."""

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, sum_element(element_of_array(x))))
        return np.cumsum(widened(x), axis=dim).astype(x.dtype) if x.ndim else x


@aten("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", keep=True)
class CumprodOp(ScanOp):
    """The product of the elements up to and including each element along `dim`."""

    @staticmethod
    def numpy(x: Array, /, dim: int, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, sum_element(element_of_array(x))))
        wide = x.astype(np.float64) if dtype_of(element_of_array(x)).category == 2 else x
        return np.cumprod(wide, axis=dim).astype(x.dtype) if x.ndim else x

    @staticmethod
    def decompose(x: SSAValue, /, dim: int, dtype: Attribute | None) -> SSAValue:
        element = chosen_element(dtype, sum_element(element_of(x)))
        shape, x = shape_of(x), to_element(x, element)
        if not shape or is_empty(shape):
            return x
        axis = normalize_dim(dim, len(shape))
        # PyTorch multiplies in float64: a product in between may be larger than the others.
        total = aten.transpose.int(to_element(x, f64) if dtype_of(element).category == 2 else x, axis, -1)
        for stride in strides(shape[axis]):
            total = aten.mul.Tensor(total, shifted(total, stride, 1))
        return to_element(aten.transpose.int(total, axis, -1), element)
