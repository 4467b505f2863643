"""torchao's specifications of quantized numbers, from those of a backend's table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torchao.quantization.pt2e import observer
from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec, QuantizationSpec
from xdsl.dialects.builtin import i8

from flambeau.dialects.ir.tensor_types import ElementType
from flambeau.frontends.quantization_choices import RecipeError
from flambeau.frontends.torch_export.values import element_type
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import OperatorTable

_observers: Any = observer
_DTYPES = {element_type(dtype): dtype for dtype in (torch.int8, torch.uint8, torch.int16, torch.uint16)}
_LEAST_RANGE = 2**-8
"""The range of activations that gives their least scale: with smaller ones, biases in steps of the products would not fit int32."""
_LEAST_WEIGHT_SCALE = 2**-20
"""Weights of 0.03, as those of wide layers, have scales below the 2 ** -12 that PyTorch's quantizers take."""


@dataclass(frozen=True)
class NumberSpecs:
    """The specifications of activations and weights."""

    activation: QuantizationSpec
    activation_of_a_run: QuantizationSpec
    """An activation whose range is found in each run."""
    weight: QuantizationSpec
    """A weight whose outputs are along the first dimension."""

    @staticmethod
    def of(table: OperatorTable | None, numbers: NumberFormat | None = None) -> NumberSpecs:
        """Returns the specifications for the backend with this table; without one, for kernels that take `numbers`, or for Flambeau's."""
        numbers = table.numbers if table is not None else numbers or NumberFormat()
        activation, weight = (i8, i8) if table is None else (table.activations[0], table.weights[0])
        per_output = numbers.scale_per_output
        weights = _observers.PerChannelMinMaxObserver if per_output else _observers.MinMaxObserver
        return NumberSpecs(
            _activation(activation, numbers.symmetric, _observers.HistogramObserver),
            _activation(activation, numbers.symmetric, _observers.PlaceholderObserver, is_dynamic=True),
            QuantizationSpec(
                _dtype(weight),
                weights.with_args(eps=_LEAST_WEIGHT_SCALE),
                quant_min=-numbers.weight_limit,
                quant_max=numbers.weight_limit,
                qscheme=torch.per_channel_symmetric if per_output else torch.per_tensor_symmetric,
                ch_axis=0 if per_output else None,
            ),
        )

    def weight_along(self, axis: int) -> QuantizationSpec:
        """Returns the specification of a weight whose outputs are along `axis`."""
        return self.weight if self.weight.ch_axis is None else replace(self.weight, ch_axis=axis)

    def fixed(self, scale: float, zero_point: int) -> FixedQParamsQuantizationSpec:
        """Returns the specification of an activation whose scale and zero point are known."""
        kind = self.activation
        return FixedQParamsQuantizationSpec(kind.dtype, scale, zero_point, kind.quant_min, kind.quant_max, torch.per_tensor_affine)


def _activation(element: ElementType, symmetric: bool, kind: Any, *, is_dynamic: bool = False) -> QuantizationSpec:
    dtype = _dtype(element)
    limits, least = torch.iinfo(dtype), _least_scale(dtype)
    scheme = torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine
    return QuantizationSpec(dtype, kind.with_args(eps=least), limits.min, limits.max, scheme, is_dynamic=is_dynamic)


def _least_scale(dtype: torch.dtype) -> float:
    return _LEAST_RANGE / 2 ** torch.iinfo(dtype).bits


def _dtype(element: ElementType) -> torch.dtype:
    if element not in _DTYPES:
        raise RecipeError(f"the backend's numbers are of {element}, and a program is quantized to {', '.join(map(str, _DTYPES))}")
    return _DTYPES[element]
