"""Products of two vectors."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import conjugate, imaginary
from flambeau.dialects.aten.linear_algebra.matmul import MatmulOp, common_element, matmul_shape, multiply, require_rank
from flambeau.dialects.ir.tensor_types import Tensor, tensor
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import NUMBERS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("dot(Tensor self, Tensor tensor) -> Tensor")
class DotOp(SchemaOp):
    """The sum of the products of two vectors' elements."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /) -> Tensor:
        left, right = require_rank(a, 1, "self"), require_rank(b, 1, "tensor")
        return tensor(common_element(a, b), matmul_shape(left, right))

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.asarray(multiply(a, b))

    decompose = staticmethod(MatmulOp.decompose)


@aten("vdot(Tensor self, Tensor other) -> Tensor")
class VdotOp(DotOp):
    """The sum of the products of one vector's conjugated elements with the elements of another vector."""

    @staticmethod
    def numpy(a: Array, b: Array, /) -> Array:
        return np.asarray(multiply(np.conj(a) if a.dtype.kind == "c" else a, b))

    @staticmethod
    def on_parts(a: Parts, b: Parts, /) -> SSAValue:
        whole = [aten.complex(x.real, imaginary(x)) for x in (conjugate(a), b)]
        return aten.dot(*whole)
