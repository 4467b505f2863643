"""The target `executorch`: the kernels of stock ExecuTorch, which take row-major tensors; its callers have channels-last images too.

Beside the kernels' names stand their limits, as the checks of the portable and optimized kernels have them, and what computes the same
where they do not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.layers.convolution import over_planes
from flambeau.dialects.aten.layers.convolution_backward import gradients_by_convolutions
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.linear_algebra.fft import real_on_both_sides
from flambeau.dialects.aten.movement.pad import without_margins
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.exec.instructions import COPY_INDEX, OVERWRITE
from flambeau.dialects.exec.slot_contents import ALIASING
from flambeau.dialects.ir.extents import maximum
from flambeau.dialects.ir.tensor_types import (
    DTYPES,
    ElementType,
    element_of,
    is_empty,
    is_float,
    is_float8,
    shape_of,
    ui8,
    ui16,
    ui32,
    ui64,
)
from flambeau.dialects.schema.families import chosen_element, promote_values
from flambeau.dialects.schema.namespace import OperatorName, aten, quantized_decomposed
from flambeau.passes.analysis.operator_table import Limit, Rule
from flambeau.passes.targets.interface import Allowance, Target

_KERNELS = frozenset(resources.files("flambeau.passes.targets").joinpath("executorch.txt").read_text(encoding="utf-8").split())
_ADDING = frozenset({"aten::max_pool2d_with_indices_backward.grad_input"})
"""Kernels that add to what their out holds, and do not clear it first: no program calls them."""


def _scaled_first(a: SSAValue, b: SSAValue, alpha: float) -> SSAValue:
    element = promote_values(a, b)
    return aten.add.Tensor(a, aten.mul.Scalar(to_element(b, element), bool(alpha) if element == i1 else alpha))


def _log_softmax(x: SSAValue, dim: int, half_to_float: bool) -> SSAValue:
    if is_empty(shape_of(x)):
        return x
    shifted = aten.sub.Tensor(x, aten.amax(x, (dim,), True))
    return aten.sub.Tensor(shifted, aten.log(aten.sum.dim_IntList(aten.exp(shifted), (dim,), True)))


def _sliced_and_padded(x: SSAValue, pad: tuple[int, ...], value: float) -> SSAValue:
    for index in range(0, len(pad), 2):
        dim = len(shape_of(x)) - 1 - index // 2
        x = without_margins(x, dim, *pad[index : index + 2])
    return aten.constant_pad_nd(x, tuple(maximum(number, 0) for number in pad), value)


def _remainder(a: SSAValue, b: SSAValue | float) -> SSAValue:
    """Returns the rest with the sign of the dividend, and the divisor added where the signs differ."""
    if isinstance(b, SSAValue):
        element = promote_values(a, b)
        a, b = to_element(a, element), to_element(b, element)
        rest = aten.fmod.Tensor(a, b)
        differs = aten.logical_and(aten.ne.Scalar(rest, 0), aten.ne.Tensor(aten.lt.Scalar(rest, 0), aten.lt.Scalar(b, 0)))
        return aten.where.self(differs, aten.add.Tensor(rest, b), rest)
    rest = aten.fmod.Scalar(a, b)
    differs = aten.gt.Scalar(rest, 0) if b < 0 else aten.lt.Scalar(rest, 0)
    return aten.where.self(differs, aten.add.Scalar(rest, b), rest)


def _quantized_sum(
    a: SSAValue,
    a_scale: float,
    a_zero: int,
    a_min: int,
    a_max: int,
    b: SSAValue,
    b_scale: float,
    b_zero: int,
    b_min: int,
    b_max: int,
    scale: float,
    zero: int,
    low: int,
    high: int,
) -> SSAValue:
    element = element_of(a)
    left = quantized_decomposed.dequantize_per_tensor(a, a_scale, a_zero, a_min, a_max, element)
    right = quantized_decomposed.dequantize_per_tensor(b, b_scale, b_zero, b_min, b_max, element)
    return quantized_decomposed.quantize_per_tensor(aten.add.Tensor(left, right), scale, zero, low, high, element)


def _mixed_mm(x: SSAValue, weight: SSAValue, scales: SSAValue, _: None) -> SSAValue:
    return aten.mm(x, aten.mul.Tensor(to_element(weight, element_of(x)), aten.unsqueeze(scales, 1)))


def _mixed_linear(x: SSAValue, weight: SSAValue, scales: SSAValue, _: None, dtype: Attribute | None) -> SSAValue:
    result = chosen_element(dtype, element_of(x))
    element = f64 if result == f64 else element_of(x)
    shape = shape_of(weight)
    groups = shape_of(scales)[1] if len(shape_of(scales)) == 2 else 1
    apart = aten.view(to_element(weight, element), (shape[0], groups, shape[1] // groups))
    scaled = aten.mul.Tensor(apart, aten.view(to_element(scales, element), (shape[0], groups, 1)))
    return to_element(aten.mm(to_element(x, element), aten.permute(aten.view(scaled, shape), (1, 0))), result)


def _on_singles(operator: OperatorName) -> Callable[..., Sequence[SSAValue] | None]:
    """Returns the operator on the numbers in float32, where that holds them."""

    def single(x: SSAValue, *others: Any) -> Sequence[SSAValue] | None:
        return None if element_of(x) == f64 else operator.results(to_element(x, f32), *others)

    return single


def _with_wide_parameters(operator: OperatorName, scales_of: tuple[ElementType, ...]) -> Callable[..., SSAValue | None]:
    """Returns the operator with scales in float64 and zero points in int64, unless that changes a result."""

    def wide(x: SSAValue, scales: SSAValue, zero_points: SSAValue, *others: Any) -> SSAValue | None:
        if element_of(scales) not in scales_of or is_float(element_of(zero_points)):
            return None
        x = to_element(x, f32) if element_of(x) == bf16 else x
        return operator(x, to_element(scales, f64), to_element(zero_points, i64), *others)

    return wide


def _dequantized(x: SSAValue, scales: SSAValue, zero_points: SSAValue | None, dtype: Attribute | None) -> SSAValue:
    whole = x if zero_points is None else aten.sub.Tensor(to_element(x, i64), zero_points)
    return to_element(aten.mul.Tensor(whole, scales), chosen_element(dtype, f32))


def _dequantized_channels(
    x: SSAValue, scales: SSAValue, zero_points: SSAValue | None, axis: int, _0: int, _1: int, _2: Attribute, dtype: Attribute | None
) -> SSAValue:
    shape = shape_of(x)
    along = tuple(extent if dim == axis % len(shape) else 1 for dim, extent in enumerate(shape))
    return _dequantized(x, aten.view(scales, along), None if zero_points is None else aten.view(zero_points, along), dtype)


def _dequantized_tokens(
    x: SSAValue, scales: SSAValue, zero_points: SSAValue, _0: int, _1: int, _2: Attribute, dtype: Attribute
) -> SSAValue:
    return _dequantized(x, scales, zero_points, dtype)


def _embedding(of_table: OperatorName) -> Callable[..., SSAValue]:
    def in_two_steps(
        weight: SSAValue,
        scales: SSAValue,
        zero_points: SSAValue | None,
        low: int,
        high: int,
        indices: SSAValue,
        dtype: Attribute | None = None,
    ) -> SSAValue:
        found = of_table(weight, scales, zero_points, low, high, to_element(indices, i64))
        return to_element(found, chosen_element(dtype, element_of(scales)))

    return in_two_steps


_FEW = frozenset({ui16, ui32, ui64}).union(row.element for row in DTYPES if is_float8(row.element))
"""Element types that few kernels take."""
_MOVES = (
    OVERWRITE,
    COPY_INDEX,
    ALIASING,
    "aten::_conj_physical.out",
    "aten::clone.out",
    "aten::embedding.out",
    "aten::empty.out",
    "aten::expand_copy.out",
    "aten::index_put_",
    "aten::index_select.out",
    "aten::native_dropout.out",
    "aten::pixel_shuffle.out",
    "aten::pixel_unshuffle.out",
    "aten::repeat.out",
    "aten::select_copy.int_out",
    "aten::slice_copy.Tensor_out",
    "aten::squeeze_copy.dim_out",
    "aten::squeeze_copy.dims_out",
    "aten::sym_size.int",
    "aten::unsqueeze_copy.out",
    "aten::view_copy.out",
)
"""Kernels that move elements by their bytes, or that read none, in the calls that programs make of them: so it was found for most of them,
in calls of ExecuTorch 1.5.1. No program calls `_conj_physical` for such types, and `COPY_INDEX` and `ALIASING` are parts of its runtime."""
_TAKES_TOO = (
    *(Allowance(kernel, _FEW) for kernel in _MOVES),
    Allowance("aten::copy.out", _FEW, (Limit("src", dtype_of="self"), Limit("src", shape_of="self"))),
    # It reads no element, only writes.
    Allowance("aten::full_like.out", _FEW, (Limit("result", dtypes=tuple(row.element for row in DTYPES if row.element not in _FEW)),)),
    Allowance("aten::index.Tensor_out", _FEW, (Limit("indices", tensors=1), Limit("indices", dtypes=(i64, i32), rank=(1, 1)))),
    Allowance("quantized_decomposed::quantize_per_tensor.out", frozenset({ui16})),
    Allowance("quantized_decomposed::dequantize_per_tensor.out", frozenset({ui16})),
)
_FLOATS = (f32, f64, f16, bf16)
_NOT_BFLOAT16 = Limit("input", dtypes=(f32, f64, f16))
_PARAMETERS = (Limit("scales", dtypes=(f32, f64)), Limit("zero_points", dtypes=(i32, i64)))
_WIDE_PARAMETER = (Limit("scale", dtypes=(f64,)), Limit("zero_point", dtypes=(i64,)))
_WIDE_PARAMETERS = (Limit("scales", dtypes=(f64,)), Limit("zero_points", dtypes=(i64,)))
_ZEROS_IN_RESULT = Limit("weight_zero_points", dtype_of="result")
_CONTRACTS = {
    # Its optimized kernel multiplies the other operand where the first has one element.
    "aten::add.out": Rule((Limit("alpha", only=1),), instead=_scaled_first),
    "aten::_fft_r2c.out": Rule((Limit("onesided", only=True),), instead=real_on_both_sides),
    "aten::_log_softmax.out": Rule((Limit("self", dtypes=(f32, f16, bf16)),), instead=_log_softmax),
    "aten::constant_pad_nd.out": Rule((Limit("pad", least=0),), instead=_sliced_and_padded),
    "aten::convolution.out": Rule((Limit("input", rank=(3, 4)),), instead=over_planes),
    "aten::convolution_backward.out": Rule(
        (Limit("input", rank=(4, 4)), Limit("input", dtypes=(f32, f64, f16)), Limit("transposed", only=False)),
        instead=gradients_by_convolutions,
    ),
    "aten::linear.out": Rule((Limit("input", rank=(2, 16)), Limit("weight", rank=(2, 2)))),
    "aten::logit.out": Rule((Limit("result", dtypes=(f32, f64)),)),
    # They give the sign of the dividend to integers.
    "aten::remainder.Tensor_out": Rule((Limit("result", dtypes=(*_FLOATS, ui8)),), instead=_remainder),
    "aten::remainder.Scalar_out": Rule((Limit("result", dtypes=(*_FLOATS, ui8)),), instead=_remainder),
    "aten::roll.out": Rule((Limit("dims", length=1),)),
    # Its quantized kernels end the process where a tensor has another type than these.
    "quantized_decomposed::choose_qparams.Tensor_out": Rule(
        (Limit("input", dtypes=(f32,)),), instead=_on_singles(quantized_decomposed.choose_qparams.tensor)
    ),
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": Rule(
        (Limit("input", dtypes=(f32,)),), instead=_on_singles(quantized_decomposed.choose_qparams_per_token_asymmetric)
    ),
    "quantized_decomposed::dequantize_per_channel.out": Rule(_PARAMETERS, instead=_dequantized_channels),
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": Rule(
        _WIDE_PARAMETER, instead=_with_wide_parameters(quantized_decomposed.dequantize_per_tensor.tensor, _FLOATS)
    ),
    "quantized_decomposed::dequantize_per_token.out": Rule(_PARAMETERS, instead=_dequantized_tokens),
    "quantized_decomposed::quantize_per_channel.out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETERS), instead=_with_wide_parameters(quantized_decomposed.quantize_per_channel, (f32, f64))
    ),
    "quantized_decomposed::quantize_per_tensor.out": Rule((_NOT_BFLOAT16,), instead=_on_singles(quantized_decomposed.quantize_per_tensor)),
    "quantized_decomposed::quantize_per_tensor.Tensor_out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETER), instead=_with_wide_parameters(quantized_decomposed.quantize_per_tensor.tensor, _FLOATS)
    ),
    "quantized_decomposed::quantize_per_token.out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETERS), instead=_with_wide_parameters(quantized_decomposed.quantize_per_token, (f32, f64))
    ),
    "quantized_decomposed::add.out": Rule((Limit("a", dtypes=(ui8,)), Limit("b", shape_of="a")), instead=_quantized_sum),
    "quantized_decomposed::embedding_2bit.dtype_out": Rule((_ZEROS_IN_RESULT,), instead=_embedding(quantized_decomposed.embedding_2bit)),
    "quantized_decomposed::embedding_4bit.dtype_out": Rule((_ZEROS_IN_RESULT,), instead=_embedding(quantized_decomposed.embedding_4bit)),
    "quantized_decomposed::embedding_byte.dtype_out": Rule(
        (_ZEROS_IN_RESULT, Limit("indices", dtypes=(i64,))), instead=_embedding(quantized_decomposed.embedding_byte)
    ),
    "quantized_decomposed::embedding_byte.out": Rule(
        (Limit("indices", dtypes=(i64,)),), instead=_embedding(quantized_decomposed.embedding_byte)
    ),
    "quantized_decomposed::mixed_linear.out": Rule(
        (Limit("input", dtypes=(f32, f16)), Limit("result", dtypes=(f32, f16))), instead=_mixed_linear
    ),
    "quantized_decomposed::mixed_mm.out": Rule((Limit("input", dtypes=(f32, f16)),), instead=_mixed_mm),
}

TARGET = Target(
    "executorch",
    _KERNELS - _ADDING,
    views=frozenset({"aten::view_as_complex_copy.out"}),
    input_orders=frozenset({CHANNELS_LAST}),
    lacks=_FEW,
    takes_too=_TAKES_TOO,
    contracts=_CONTRACTS,
)
