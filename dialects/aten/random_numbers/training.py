"""Operators that are random only in training: dropout of channels, alpha dropout, and activations with random slopes."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.activation import LeakyReluOp
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.philox import stream
from flambeau.dialects.aten.random_numbers.random import NativeDropoutOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of
from flambeau.dialects.schema.families import FloatOnlyUnaryOp, in_element, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

_LOWEST = -1.7580993408473766
"""What SELU gives far below 0."""


class ChannelDropoutOp(SchemaOp):
    """Dropout operators that draw a number per element, or per channel, which is a plane of the tensor."""

    inplace = (0,)
    random = True
    by_channel = False
    keeps_moments = False
    """Whether dropped elements become SELU's lowest value, and the result keeps the mean and the variance of the tensor."""

    def draws(self) -> bool:
        """Returns whether it trains, and both dropping and keeping may happen."""
        return bool(self.argument("train")) and 0 < self.argument("p") < 1

    @classmethod
    def infer(cls, x: Tensor, /, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise ValueError(f"p must be a probability, got {p}")
        if train and 0 < p < 1 and cls.by_channel and len(shape_of(x)) < 2:
            raise ValueError(f"channels are dimension 1 of a tensor, which has the shape {list(shape_of(x))}")
        return NativeDropoutOp.infer(x, p, train and 0 < p < 1)[0]

    @classmethod
    def _numbers(cls, shape: tuple[int, ...], p: float) -> tuple[tuple[int, ...], float, float, float]:
        """Returns the shape of the random numbers, the factor of kept elements, and the addends of kept and of dropped elements."""
        drawn = (*shape[:2], *(1,) * (len(shape) - 2)) if cls.by_channel else shape
        if not cls.keeps_moments:
            return drawn, 1 / (1 - p), 0.0, 0.0
        scale = 1 / math.sqrt((_LOWEST * _LOWEST * p + 1) * (1 - p))
        return drawn, scale, -_LOWEST * scale * p, _LOWEST * scale * (1 - p)

    @classmethod
    def numpy(cls, x: Array, /, p: float, train: bool) -> Array:
        if not train or p == 0:
            return x
        if p == 1:
            return x * np.zeros((), x.dtype)
        drawn, scale, of_kept, of_dropped = cls._numbers(x.shape, p)
        kept = stream().uniform(drawn, f32) >= p
        scaled = widened(x) * kept * widened(x).dtype.type(scale)
        shift = np.where(kept, of_kept, of_dropped).astype(scaled.dtype)
        return cast_to(scaled + shift if cls.keeps_moments else scaled, element_of_array(x))

    @classmethod
    def decompose(cls, x: SSAValue, /, p: float, train: bool) -> SSAValue:
        if not train or p == 0:
            return x
        if p == 1:
            return aten.mul.Scalar(x, in_element(0, element_of(x)))
        element = element_of(x)
        drawn, scale, of_kept, of_dropped = cls._numbers(shape_of(x), p)
        kept = to_element(aten.ge.Scalar(aten.rand(drawn), p), wide_element(element))
        scaled = aten.mul.Scalar(aten.mul.Tensor(to_element(x, wide_element(element)), kept), scale)
        if cls.keeps_moments:
            scaled = aten.add.Tensor(scaled, aten.add.Scalar(aten.mul.Scalar(kept, of_kept - of_dropped), of_dropped))
        return to_element(scaled, element)


@aten("feature_dropout(Tensor input, float p, bool train) -> Tensor")
class FeatureDropoutOp(ChannelDropoutOp):
    """In training, x with each channel set to 0 with probability p, else divided by 1 - p; otherwise x unchanged."""

    random = True
    by_channel = True


@aten("alpha_dropout(Tensor input, float p, bool train) -> Tensor")
class AlphaDropoutOp(ChannelDropoutOp):
    """In training, x with elements set to SELU's lowest value with probability p, scaled to keep mean and variance; otherwise x."""

    random = True
    keeps_moments = True


@aten("feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")
class FeatureAlphaDropoutOp(ChannelDropoutOp):
    """`alpha_dropout` of whole channels."""

    random = True
    by_channel = True
    keeps_moments = True


@aten("rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor")
class RreluOp(FloatOnlyUnaryOp):
    """x if x > 0, else x times a slope: the middle of [lower, upper], or in training a random number from it per element."""

    elementwise = False
    random = True

    def draws(self) -> bool:
        """Returns whether it trains."""
        return bool(self.argument("training"))

    @staticmethod
    def infer(x: Tensor, /, lower: float = 0, upper: float = 0) -> Tensor:
        if not -math.inf < lower <= upper < math.inf:
            raise ValueError(f"lower and upper must be finite and in this order, got {lower} and {upper}")
        return FloatOnlyUnaryOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, lower: float, upper: float, training: bool) -> Array:
        if not training:
            return LeakyReluOp.numpy(x, (lower + upper) / 2)
        wide: Any = widened(x)
        slopes = stream().uniform(x.shape, wide_element(element_of_array(x))).astype(wide.dtype)
        slopes = slopes * wide.dtype.type(upper - lower) + wide.dtype.type(lower)
        return cast_to(np.where(wide <= 0, wide * slopes, wide), element_of_array(x))

    @staticmethod
    def decompose(x: SSAValue, /, lower: float, upper: float, training: bool) -> SSAValue:
        if not training:
            return aten.leaky_relu(x, (lower + upper) / 2)
        wide = to_element(x, wide_element(element_of(x)))
        slopes = aten.add.Scalar(aten.mul.Scalar(aten.rand(shape_of(x), element_of(wide)), upper - lower), lower)
        found = aten.where.self(aten.le.Scalar(wide, 0), aten.mul.Tensor(wide, slopes), wide)
        return to_element(found, element_of(x))
