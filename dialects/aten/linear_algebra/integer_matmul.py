"""Matrix products of 8-bit integers."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.linear_algebra.matmul import require_inner, require_rank
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, tensor, ui8
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("_int_mm(Tensor self, Tensor mat2) -> Tensor")
class IntMmOp(SchemaOp):
    """The product of two matrices of 8-bit integers, in int32."""

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        if element_of(a) not in (i8, ui8) or element_of(b) != i8:
            given = " and ".join(dtype_of(element_of(item)).torch for item in (a, b))
            raise TypeError(f"the operands must be of int8 or uint8, and of int8, got {given}")
        left, right = require_rank(a, 2, "self"), require_rank(b, 2, "mat2")
        require_inner(left, right, left[1], right[0])
        return tensor(i32, (left[0], right[1]))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.matmul(a.astype(np.int32), b.astype(np.int32))

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.mm(*(aten._to_copy(item, i32) for item in (a, b)))
