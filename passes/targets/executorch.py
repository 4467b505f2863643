"""The target `executorch`: the kernels of stock ExecuTorch, which take row-major tensors; its callers have channels-last images too.

Beside the kernels' names stand their limits, as the checks of the portable and optimized kernels have them, and what computes the same
where they do not hold.
"""

from __future__ import annotations

from importlib import resources

from xdsl.dialects.builtin import bf16, f16, f32, f64, i32, i64
from xdsl.ir import Attribute

from flambeau.dialects.aten.elementwise.arithmetic import remainder_by_fmod, scaled_first
from flambeau.dialects.aten.layers.convolution import over_planes
from flambeau.dialects.aten.layers.convolution_backward import gradients_by_convolutions
from flambeau.dialects.aten.linear_algebra.fft import real_on_both_sides
from flambeau.dialects.aten.movement.pad import sliced_and_padded
from flambeau.dialects.aten.reductions.softmax import log_softmax_in_steps
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.exec.instructions import ALIASING, COPY, COPY_INDEX, OVERWRITE
from flambeau.dialects.ir.tensor_types import (
    DTYPES,
    element_of,
    is_float8,
    ui8,
    ui16,
    ui32,
    ui64,
)
from flambeau.dialects.quantized_decomposed.in_steps import (
    dequantized_channels,
    dequantized_tokens,
    embedding_of,
    mixed_linear,
    mixed_mm,
    on_singles,
    sum_of_floats,
    with_wide_parameters,
)
from flambeau.dialects.schema.namespace import quantized_decomposed
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Check, Limit, Rule, first_reason
from flambeau.passes.targets.interface import Target

_KERNELS = frozenset(resources.files("flambeau.passes.targets").joinpath("executorch.txt").read_text(encoding="utf-8").split())
_ADDING = frozenset({"aten::max_pool2d_with_indices_backward.grad_input"})
"""Kernels that add to what their out holds, and do not clear it first: no program calls them."""


_FEW = frozenset({ui16, ui32, ui64}).union(row.element for row in DTYPES if is_float8(row.element))
"""Element types that few kernels take."""
_MOVES = (
    OVERWRITE,
    COPY_INDEX,
    ALIASING,
    "aten::_conj_physical.out",
    COPY,
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
_NONE: frozenset[Attribute] = frozenset()


def _of_few(*limits: Limit) -> Check:
    """Returns the check of limits of calls that have a tensor of one of the few types."""

    def check(op: SchemaOp) -> str | None:
        elements = [element_of(value) for value in (*op.operands, *op.results)]
        element = next((element for element in elements if element in _FEW), None)
        reason = None if element is None else first_reason(limits, op)
        return None if reason is None else f"{reason} where a tensor is of {element}"

    return check


_FLOATS = (f32, f64, f16, bf16)
_NOT_BFLOAT16 = Limit("input", dtypes=(f32, f64, f16))
_PARAMETERS = (Limit("scales", dtypes=(f32, f64)), Limit("zero_points", dtypes=(i32, i64)))
_WIDE_PARAMETER = (Limit("scale", dtypes=(f64,)), Limit("zero_point", dtypes=(i64,)))
_WIDE_PARAMETERS = (Limit("scales", dtypes=(f64,)), Limit("zero_points", dtypes=(i64,)))
_ZEROS_IN_RESULT = Limit("weight_zero_points", dtype_of="result")
_CONTRACTS = {
    **dict.fromkeys(_MOVES, Rule(lacks=_NONE)),
    "aten::copy.out": Rule(checks=(_of_few(Limit("src", dtype_of="self"), Limit("src", shape_of="self")),), lacks=_NONE),
    # `full_like` writes elements of the result's type and reads none, so only the result's type is limited.
    "aten::full_like.out": Rule(
        checks=(_of_few(Limit("result", dtypes=tuple(row.element for row in DTYPES if row.element not in _FEW))),), lacks=_NONE
    ),
    "aten::index.Tensor_out": Rule(
        checks=(_of_few(Limit("indices", tensors=1), Limit("indices", dtypes=(i64, i32), rank=(1, 1))),), lacks=_NONE
    ),
    # The optimized kernel applies alpha to the wrong operand if the first operand has one element (findings/executorch_alpha_of_add.sh).
    "aten::add.out": Rule((Limit("alpha", only=1),), instead=scaled_first),
    "aten::_fft_r2c.out": Rule((Limit("onesided", only=True),), instead=real_on_both_sides),
    "aten::_log_softmax.out": Rule((Limit("self", dtypes=(f32, f16, bf16)),), instead=log_softmax_in_steps),
    "aten::constant_pad_nd.out": Rule((Limit("pad", least=0),), instead=sliced_and_padded),
    "aten::convolution.out": Rule((Limit("input", rank=(3, 4)),), instead=over_planes),
    "aten::convolution_backward.out": Rule(
        (Limit("input", rank=(4, 4)), Limit("input", dtypes=(f32, f64, f16)), Limit("transposed", only=False)),
        instead=gradients_by_convolutions,
    ),
    "aten::linear.out": Rule((Limit("input", rank=(2, 16)), Limit("weight", rank=(2, 2)))),
    "aten::logit.out": Rule((Limit("result", dtypes=(f32, f64)),)),
    # For integers, these kernels give the remainder the sign of the dividend.
    "aten::remainder.Tensor_out": Rule((Limit("result", dtypes=(*_FLOATS, ui8)),), instead=remainder_by_fmod),
    "aten::remainder.Scalar_out": Rule((Limit("result", dtypes=(*_FLOATS, ui8)),), instead=remainder_by_fmod),
    "aten::roll.out": Rule((Limit("dims", length=1),)),
    # The quantized kernels end the process if a tensor has a type other than these.
    "quantized_decomposed::choose_qparams.Tensor_out": Rule(
        (Limit("input", dtypes=(f32,)),), instead=on_singles(quantized_decomposed.choose_qparams.tensor)
    ),
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": Rule(
        (Limit("input", dtypes=(f32,)),), instead=on_singles(quantized_decomposed.choose_qparams_per_token_asymmetric)
    ),
    "quantized_decomposed::dequantize_per_channel.out": Rule(_PARAMETERS, instead=dequantized_channels),
    "quantized_decomposed::dequantize_per_tensor.out": Rule(lacks=_FEW - {ui16}),
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": Rule(
        _WIDE_PARAMETER, instead=with_wide_parameters(quantized_decomposed.dequantize_per_tensor.tensor, _FLOATS)
    ),
    "quantized_decomposed::dequantize_per_token.out": Rule(_PARAMETERS, instead=dequantized_tokens),
    "quantized_decomposed::quantize_per_channel.out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETERS), instead=with_wide_parameters(quantized_decomposed.quantize_per_channel, (f32, f64))
    ),
    "quantized_decomposed::quantize_per_tensor.out": Rule(
        (_NOT_BFLOAT16,), instead=on_singles(quantized_decomposed.quantize_per_tensor), lacks=_FEW - {ui16}
    ),
    "quantized_decomposed::quantize_per_tensor.Tensor_out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETER), instead=with_wide_parameters(quantized_decomposed.quantize_per_tensor.tensor, _FLOATS)
    ),
    "quantized_decomposed::quantize_per_token.out": Rule(
        (_NOT_BFLOAT16, *_WIDE_PARAMETERS), instead=with_wide_parameters(quantized_decomposed.quantize_per_token, (f32, f64))
    ),
    "quantized_decomposed::add.out": Rule((Limit("a", dtypes=(ui8,)), Limit("b", shape_of="a")), instead=sum_of_floats),
    "quantized_decomposed::embedding_2bit.dtype_out": Rule((_ZEROS_IN_RESULT,), instead=embedding_of(quantized_decomposed.embedding_2bit)),
    "quantized_decomposed::embedding_4bit.dtype_out": Rule((_ZEROS_IN_RESULT,), instead=embedding_of(quantized_decomposed.embedding_4bit)),
    "quantized_decomposed::embedding_byte.dtype_out": Rule(
        (_ZEROS_IN_RESULT, Limit("indices", dtypes=(i64,))), instead=embedding_of(quantized_decomposed.embedding_byte)
    ),
    "quantized_decomposed::embedding_byte.out": Rule(
        (Limit("indices", dtypes=(i64,)),), instead=embedding_of(quantized_decomposed.embedding_byte)
    ),
    "quantized_decomposed::mixed_linear.out": Rule(
        (Limit("input", dtypes=(f32, f16)), Limit("result", dtypes=(f32, f16))), instead=mixed_linear
    ),
    "quantized_decomposed::mixed_mm.out": Rule((Limit("input", dtypes=(f32, f16)),), instead=mixed_mm),
}

TARGET = Target(
    "executorch",
    _KERNELS - _ADDING,
    views=frozenset({"aten::view_as_complex_copy.out"}),
    input_orders=frozenset({CHANNELS_LAST}),
    lacks=_FEW,
    contracts=_CONTRACTS,
    choose="programs for any ExecuTorch: the operators of stock ExecuTorch 1.5.1: portable, optimized, quantized",
    runs_on="ExecuTorch, Flambeau's runtime",
)
