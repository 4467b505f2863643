"""Powers."""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_functions import power
from flambeau.dialects.aten.library.numerics import cast_operands, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.families import BinaryOp, NumberBinaryOp
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np


@aten("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", core=True)
@aten("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", core=True)
class PowTensorTensorOp(NumberBinaryOp):
    """a to the power of b in the common type; a negative power of an integer is rounded towards 0."""

    on_parts = staticmethod(power)

    @staticmethod
    def numpy(a: Array | float, b: Array | float, /) -> Array:
        a, b = cast_operands(a, b)
        if a.dtype.kind in "iu":
            positive = np.power(a, np.maximum(b, 0))
            unit = np.where((a == -1) & (b % 2 == 1), -1, 1)
            return np.where(b >= 0, positive, np.where(np.abs(a) == 1, unit, 0)).astype(a.dtype)
        # An exponent for each base: numpy takes a root where one exponent serves all.
        shape = np.broadcast_shapes(a.shape, b.shape)
        exponents = np.broadcast_to(np.atleast_1d(widened(b)), shape or (1,)).copy()
        return np.power(widened(a), exponents).astype(a.dtype).reshape(shape)


@aten("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", core=True)
class PowTensorScalarOp(BinaryOp):
    """a to the power of a number; the exponents 0.5 and -0.5 compute roots, except for float16."""

    on_parts = staticmethod(power)

    @staticmethod
    def numpy(a: Array, b: float, /) -> Array:
        base, _ = cast_operands(a, b)
        if abs(b) != 0.5 or base.dtype.name == "float16":
            return PowTensorTensorOp.numpy(a, b)
        root = np.sqrt(widened(base))
        return np.asarray(root if b > 0 else 1 / root).astype(base.dtype)

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        found = NumberBinaryOp.infer(a, b)
        if dtype_of(element_of(found)).category < 2 and isinstance(b, int) and b < 0:
            raise ValueError(f"integers have no power {b} of their own type")
        return found


class FloatPowerOp(BinaryOp):
    """A power in double precision, whatever the operands' types."""

    inplace = ()

    @staticmethod
    def infer(a: Tensor | float, b: Tensor | float, /) -> Tensor:
        return tensor(f64, shape_of(BinaryOp.infer(a, b)))

    @staticmethod
    def numpy(a: Array | float, b: Array | float, /) -> Array:
        return PowTensorTensorOp.numpy(np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64))


@aten("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
class FloatPowerTensorTensorOp(FloatPowerOp):
    """a to the power of b in double precision."""

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /) -> SSAValue:
        return aten.pow.Tensor_Tensor(to_element(a, f64), to_element(b, f64))


@aten("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
class FloatPowerTensorScalarOp(FloatPowerOp):
    """a to the power of a number in double precision."""

    @staticmethod
    def numpy(a: Array | float, b: Array | float, /) -> Array:
        return PowTensorScalarOp.numpy(np.asarray(a).astype(np.float64), float(b))

    @staticmethod
    def decompose(a: SSAValue, b: float, /) -> SSAValue:
        return aten.pow.Tensor_Scalar(to_element(a, f64), float(b))


@aten("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")
class FloatPowerScalarOp(FloatPowerOp):
    """A number to the power of b in double precision."""

    @staticmethod
    def decompose(a: float, b: SSAValue, /) -> SSAValue:
        return aten.pow.Scalar(float(a), to_element(b, f64))
