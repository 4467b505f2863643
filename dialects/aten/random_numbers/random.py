"""Operators that draw random tensors. PyTorch promises no sequence; these rows use the program's stream, as the C runtime does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.creation import FilledOp, LikeOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.philox import stream
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, is_complex, part_of, shape_of, tensor
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.families import chosen_element, operand_shape, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

HALF = math.sqrt(0.5)
"""What halves a variance."""


def in_pairs(parts: Array) -> Array:
    """Returns complex numbers of parts that lie beside each other along the last dimension."""
    return np.ascontiguousarray(parts).view(f"c{2 * parts.itemsize}")[..., 0]


def halves(pairs: SSAValue) -> Parts:
    """Returns complex numbers whose parts were drawn one after the other."""
    return Parts(*(aten.select.int(pairs, -1, part) for part in range(2)))


class DrawnOp(FilledOp):
    """Random tensors of floats, drawn in row-major order."""

    stores = False
    random = True

    @staticmethod
    def infer(size: Sequence[int], dtype: Attribute | None = None) -> Tensor:
        found = FilledOp.infer(size, dtype)
        require_category("drawing numbers", found, at_least=2)
        return found


@aten(
    "rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True
)
class RandOp(DrawnOp):
    """Uniformly distributed numbers in [0, 1)."""

    random = True

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None) -> Array:
        element = element_of(FilledOp.infer(size, dtype))
        if is_complex(element):
            return in_pairs(RandOp.numpy((*size, 2), part_of(element)))
        return cast_to(stream().uniform(size, element), element)

    @staticmethod
    def on_parts(size: Sequence[int], dtype: Attribute) -> Parts:
        return halves(aten.rand((*size, 2), part_of(dtype)))


@aten(
    "randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True
)
class RandnOp(DrawnOp):
    """Normally distributed numbers of mean 0 and variance 1; each part of a complex number has variance 1/2."""

    random = True

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None) -> Array:
        element = element_of(FilledOp.infer(size, dtype))
        if is_complex(element):
            return in_pairs(RandnOp.numpy((*size, 2), part_of(element)) * HALF)
        return cast_to(stream().normal(size, element), element)

    @staticmethod
    def on_parts(size: Sequence[int], dtype: Attribute) -> Parts:
        return halves(aten.mul.Scalar(aten.randn((*size, 2), part_of(dtype)), HALF))


@aten(
    "rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class RandLikeOp(LikeOp):
    """Uniformly distributed numbers in [0, 1), with the shape of the operand."""

    stores = False
    random = True

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute | None = None) -> Tensor:
        return DrawnOp.infer(shape_of(x), chosen_element(dtype, element_of(x)))

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return RandOp.numpy(x.shape, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return aten.rand(shape_of(x), chosen_element(dtype, element_of(x)))


@aten(
    "randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class RandnLikeOp(LikeOp):
    """Normally distributed numbers of mean 0 and variance 1, with the shape of the operand."""

    stores = False
    random = True

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute | None = None) -> Tensor:
        return DrawnOp.infer(shape_of(x), chosen_element(dtype, element_of(x)))

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return RandnOp.numpy(x.shape, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, dtype: Attribute | None) -> SSAValue:
        return aten.randn(shape_of(x), chosen_element(dtype, element_of(x)))


@aten("randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True)
class RandpermOp(SchemaOp):
    """The numbers from 0 to n - 1 in a random order."""

    random = True

    @staticmethod
    def infer(n: int, dtype: Attribute | int | None = None) -> Tensor:
        return tensor(chosen_element(dtype, i64), (n,))

    @staticmethod
    def numpy(n: int, dtype: Attribute | int | None) -> Array:
        return cast_to(np.argsort(stream().uniform((n,), f64), kind="stable"), chosen_element(dtype, i64))

    @staticmethod
    def decompose(n: int, dtype: Attribute | int | None) -> SSAValue:
        return to_element(aten.sort.results(aten.rand((n,), f64))[1], chosen_element(dtype, i64))


@aten("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", core=True)
class NativeDropoutOp(SchemaOp):
    """x with each element set to 0 with probability p, else divided by 1 - p; then the kept elements as bool. `train = false` keeps all."""

    random = True

    @staticmethod
    def infer(x: Tensor, /, p: float, train: bool | None = None) -> tuple[Tensor, Tensor]:
        if train is not False and not 0 <= p <= 1:
            raise ValueError(f"p must be a probability, got {p}")
        if train is not False and dtype_of(element_of(x)).category < 2:
            raise TypeError(f"dropout is not defined for {dtype_of(element_of(x)).torch} tensors")
        return tensor(element_of(x), shape_of(x)), tensor(i1, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, p: float, train: bool | None) -> tuple[Array, Array]:
        if train is False or p == 0:
            return x, np.ones(x.shape, bool)
        shape: tuple[int, ...] = x.shape
        kept = stream().uniform(shape, f32) >= p
        scale = 0.0 if p == 1 else 1 / (1 - p)
        return cast_to(x * kept * scale, element_of_array(x)), kept

    def draws(self) -> bool:
        """Returns whether it trains, and both dropping and keeping may happen."""
        return self.argument("train") is not False and 0 < self.argument("p") < 1

    def whole(self) -> bool:
        """Returns whether nothing is dropped: kernels draw no random numbers."""
        return self.argument("train") is False or self.argument("p") == 0

    @staticmethod
    def decompose(x: SSAValue, /, p: float, train: bool | None) -> tuple[SSAValue, SSAValue]:
        if train is False or p == 0:
            return aten.clone(x), aten.full(shape_of(x), True, i1)
        kept = aten.full(shape_of(x), False, i1) if p == 1 else aten.ge.Scalar(aten.rand(shape_of(x)), p)
        scaled = aten.mul.Scalar(aten.mul.Tensor(x, kept), 0.0 if p == 1 else 1 / (1 - p))
        return scaled, kept


@aten("dropout(Tensor input, float p, bool train) -> Tensor")
class DropoutOp(SchemaOp):
    """In training, x with each element set to 0 with probability p, else divided by 1 - p; otherwise x unchanged."""

    inplace = (0,)
    random = True

    def draws(self) -> bool:
        """Returns whether it trains, and both dropping and keeping may happen."""
        return bool(self.argument("train")) and 0 < self.argument("p") < 1

    @staticmethod
    def infer(x: Tensor, /, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise ValueError(f"p must be a probability, got {p}")
        return NativeDropoutOp.infer(x, p, train and 0 < p < 1)[0]

    @staticmethod
    def numpy(x: Array, /, p: float, train: bool) -> Array:
        return NativeDropoutOp.numpy(x, p, train)[0]

    @staticmethod
    def decompose(x: SSAValue, /, p: float, train: bool) -> SSAValue:
        if not train or p == 0:
            return x
        return aten.native_dropout.results(x, p, True)[0] if p < 1 else aten.mul.Tensor(x, aten.full((), 0, element_of(x)))


def drawn_integers(low: int, high: int, size: Sequence[int], element: Attribute) -> SSAValue:
    """Integers in [low, high) from numbers in [0, 1); single precision tells 2**24 of them apart."""
    drawn = aten.floor(aten.mul.Scalar(aten.rand(size), float(high - low)))
    return to_element(aten.add.Scalar(drawn, float(low)) if low else drawn, element)


class IntegersOp(SchemaOp):
    """Integers in [low, high), all equally likely."""

    random = True

    @staticmethod
    def infer(low: int, high: int, size: Sequence[int], dtype: Attribute | int | None = None) -> Tensor:
        if not 0 < high - low <= 1 << 24:
            raise ValueError(f"the range from {low} to {high} must hold 1 to 2**24 integers")
        return tensor(chosen_element(dtype, i64), size)

    @staticmethod
    def numpy(low: int, high: int, size: Sequence[int], dtype: Attribute | int | None) -> Array:
        drawn = stream().uniform(size, f32).astype(np.float32) * np.float32(high - low)
        return cast_to(np.floor(drawn) + np.float32(low), chosen_element(dtype, i64))

    @staticmethod
    def decompose(low: int, high: int, size: Sequence[int], dtype: Attribute | int | None) -> SSAValue:
        return drawn_integers(low, high, size, chosen_element(dtype, i64))


@aten(
    "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
class RandintLowOp(IntegersOp):
    """Integers in [low, high), all equally likely."""

    random = True


@aten(
    "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
class RandintOp(SchemaOp):
    """Integers in [0, high), all equally likely."""

    random = True

    @staticmethod
    def infer(high: int, size: Sequence[int], dtype: Attribute | int | None = None) -> Tensor:
        return IntegersOp.infer(0, high, size, dtype)

    @staticmethod
    def numpy(high: int, size: Sequence[int], dtype: Attribute | int | None) -> Array:
        return IntegersOp.numpy(0, high, size, dtype)

    @staticmethod
    def decompose(high: int, size: Sequence[int], dtype: Attribute | int | None) -> SSAValue:
        return drawn_integers(0, high, size, chosen_element(dtype, i64))


@aten(
    "randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
)
@aten(
    "randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class RandintLikeOp(SchemaOp):
    """Uniformly distributed integers in [0, high) or [low, high), with the shape of the operand."""

    random = True

    @staticmethod
    def infer(x: Tensor, /, high: int, low: int = 0, dtype: Attribute | None = None) -> Tensor:
        return IntegersOp.infer(low, high, shape_of(x), chosen_element(dtype, element_of(x)))

    @staticmethod
    def numpy(x: Array, /, high: int, low: int = 0, dtype: Attribute | None = None) -> Array:
        return IntegersOp.numpy(low, high, x.shape, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, /, high: int, low: int = 0, dtype: Attribute | None = None) -> SSAValue:
        return drawn_integers(low, high, shape_of(x), chosen_element(dtype, element_of(x)))


@aten("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor")
@aten("normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor")
@aten("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor")
class NormalFloatTensorOp(SchemaOp):
    """Normally distributed numbers; the mean, the standard deviation or both are tensors with a value per element."""

    random = True

    @staticmethod
    def infer(mean: Tensor | float, std: Tensor | float) -> Tensor:
        first = std if isinstance(mean, float | int) else mean
        assert not isinstance(first, float | int)
        return DrawnOp.infer(broadcast(operand_shape(mean), operand_shape(std)), element_of(first))

    @staticmethod
    def numpy(mean: Any, std: Any) -> Array:
        element = element_of_array(std if isinstance(mean, float | int) else mean)
        return cast_to(mean + std * stream().normal(np.broadcast_shapes(np.shape(mean), np.shape(std)), element), element)

    @staticmethod
    def decompose(mean: SSAValue | float, std: SSAValue | float) -> SSAValue:
        first = mean if isinstance(mean, SSAValue) else std
        assert isinstance(first, SSAValue)
        shapes = [shape_of(part) if isinstance(part, SSAValue) else () for part in (mean, std)]
        drawn = aten.randn(broadcast(*shapes), element_of(first))
        scaled = aten.mul.Tensor(drawn, std) if isinstance(std, SSAValue) else aten.mul.Scalar(drawn, std)
        return to_element(aten.add.Tensor(scaled, mean) if isinstance(mean, SSAValue) else aten.add.Scalar(scaled, mean), element_of(first))
