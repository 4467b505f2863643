"""Random content. PyTorch promises no sequence of numbers, and these rows promise shapes, types and distributions only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.creation import FilledOp, LikeOp
from flambeau.dialects.aten.families import chosen_element
from flambeau.dialects.aten.numerics import cast_to, element_of_array
from flambeau.dialects.lazy import Array, np
from flambeau.dialects.row import SchemaOp, aten
from flambeau.dialects.types import Tensor, element_of, shape_of, tensor


@aten(
    "rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True
)
class RandOp(FilledOp):
    """Numbers from 0 up to but without 1, all equally likely."""

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None, *_: Any) -> Array:
        return cast_to(np.random.default_rng().random(size), element_of(FilledOp.infer(size, dtype)))


@aten(
    "randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True
)
class RandnOp(FilledOp):
    """Normally distributed numbers of mean 0 and variance 1."""

    @staticmethod
    def numpy(size: Sequence[int], dtype: Attribute | None, *_: Any) -> Array:
        return cast_to(np.random.default_rng().standard_normal(size), element_of(FilledOp.infer(size, dtype)))


@aten(
    "rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class RandLikeOp(LikeOp):
    """Numbers from 0 up to but without 1 with another tensor's shape."""

    @staticmethod
    def numpy(x: Array, dtype: Attribute | None, *_: Any) -> Array:
        return RandOp.numpy(x.shape, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, dtype: Attribute | None, *_: Any) -> SSAValue:
        return RandOp(shape_of(x), chosen_element(dtype, element_of(x))).result


@aten(
    "randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor"
)
class RandnLikeOp(LikeOp):
    """Normally distributed numbers with another tensor's shape."""

    @staticmethod
    def numpy(x: Array, dtype: Attribute | None, *_: Any) -> Array:
        return RandnOp.numpy(x.shape, chosen_element(dtype, element_of_array(x)))

    @staticmethod
    def decompose(x: SSAValue, dtype: Attribute | None, *_: Any) -> SSAValue:
        return RandnOp(shape_of(x), chosen_element(dtype, element_of(x))).result


@aten("randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", core=True)
class RandpermOp(SchemaOp):
    """The numbers from 0 to n - 1 in a random order."""

    @staticmethod
    def infer(n: int, dtype: Attribute | int | None = None, *_: Any) -> Tensor:
        return tensor(chosen_element(dtype, i64), (n,))

    @staticmethod
    def numpy(n: int, dtype: Attribute | int | None, *_: Any) -> Array:
        return cast_to(np.random.default_rng().permutation(n), chosen_element(dtype, i64))


@aten("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", core=True)
class NativeDropoutOp(SchemaOp):
    """Each element is dropped with probability p and the others grow by 1 / (1 - p); and which were not. `train = false` drops none."""

    @staticmethod
    def infer(x: Tensor, p: float, *_: Any) -> tuple[Tensor, Tensor]:
        if not 0 <= p <= 1:
            raise ValueError(f"p must be a probability, got {p}")
        return tensor(element_of(x), shape_of(x)), tensor(i1, shape_of(x))

    @staticmethod
    def numpy(x: Array, p: float, train: bool | None) -> tuple[Array, Array]:
        if train is False or p == 0:
            return x, np.ones(x.shape, bool)
        shape: tuple[int, ...] = x.shape
        kept = np.random.default_rng().random(shape) >= p
        scale = 0.0 if p == 1 else 1 / (1 - p)
        return cast_to(x * kept * scale, element_of_array(x)), kept


class DropoutFamilyOp(SchemaOp):
    """A dropout, which does nothing unless it trains."""

    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, p: float, *_: Any) -> Tensor:
        return NativeDropoutOp.infer(x, p)[0]

    @staticmethod
    def numpy(x: Array, p: float, train: bool) -> Array:
        return NativeDropoutOp.numpy(x, p, train)[0]

    @staticmethod
    def decompose(x: SSAValue, p: float, train: bool) -> SSAValue:
        return NativeDropoutOp(x, p, True).results[0] if train and p > 0 else x


@aten("dropout(Tensor input, float p, bool train) -> Tensor")
class DropoutOp(DropoutFamilyOp):
    """Each element is dropped with probability p when training; else the tensor itself."""
