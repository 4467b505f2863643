"""Products of matrices."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Attribute

from flambeau.backends.tosa.dialect.operators import FACTORS, TosaOp, as_sums, factor, tosa, wide
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


def product_type(element: Attribute) -> ElementType:
    """Returns the type of sums of products of matrices: that of other sums, but float32 of float16."""
    return f32 if element == f16 else wide(element)


@tosa("matmul(Tensor A, Tensor B, int A_zp=0, int B_zp=0) -> Tensor")
class MatmulOp(TosaOp):
    """The product of the matrices of each batch entry, [batch, rows, inner] and [batch, inner, columns].

    The products of int8 are in int32, those of int16 in int48, those of float16 in float32.
    """

    takes = FACTORS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        first, second = shape_of(a), shape_of(b)
        if len(first) != 3 or len(second) != 3 or (first[0], first[2]) != tuple(second[:2]) or element_of(a) != element_of(b):
            raise ValueError(f"{a} and {b} are no matrices of one type whose batches and inner dimensions are equal")
        return tensor(product_type(element_of(a)), (*first[:2], second[2]))

    @staticmethod
    def numpy(a: Array, b: Array, /, A_zp: int, B_zp: int) -> Array:
        found = np.matmul(factor(a, A_zp), factor(b, B_zp))
        return found if a.dtype.kind == "f" else as_sums(found, a)
