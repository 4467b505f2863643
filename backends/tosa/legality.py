"""The operators that the backend takes, as data. Source of the limits: the TOSA specification 1.0, at level 8K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f16, i1, i16, i32, i64

from flambeau.backends.tosa.dialect.elements import UNARY
from flambeau.backends.tosa.resized import scales_fit
from flambeau.dialects.ir.tensor_types import element_of, f32, is_float, shape_of
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.lowering.splits import as_slices, splits_integers
from flambeau.passes.delegation.normalized import Windows, dim_of, reduced_dims, windows_of

if TYPE_CHECKING:
    from flambeau.backends.tosa import TosaOptions

MOST_IN_WINDOW = 8192
"""The largest sides and steps of windows, at level 8K."""
MOST_IN_SOFTMAX = 4096
"""The most elements of a softmax between integers: its exponentials have 22 bits, and their sum 31."""
FUNCTIONS = (
    *UNARY,
    "elu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "leaky_relu",
    "silu",
    "sqrt",
    "add.Scalar",
    "sub.Scalar",
    "mul.Scalar",
    "div.Scalar",
    "rsub.Scalar",
)
"""The functions of each element that become a table between integers."""


def windows_inside(shape: Sequence[int], windows: Windows) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the padding (top, bottom, left, right) with which the last windows end with the image, and the rows and columns behind them.

    Args:
        shape: that of the image, [batch, channels, height, width].
        windows: its windows.
    """
    pads, cut = list[int](), list[int]()
    for size, kernel, step, pad, gap in zip(shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation, strict=True):
        rest = (size - 1 + 2 * pad - (kernel - 1) * gap) % step
        pads += (pad, max(pad - rest, 0))
        cut.append(max(rest - pad, 0))
    return tuple(pads), tuple(cut)


def _windows_fit(op: SchemaOp) -> str | None:
    """Windows of up to 8192 elements a side, one of which has elements of the image at each of its ends."""
    windows = windows_of(op)
    if len(windows.kernel) == 1:
        windows = windows.of_images()
    sides = (*windows.kernel, *windows.stride, *windows.dilation)
    if max(sides) > MOST_IN_WINDOW:
        return f"its windows {list(sides)} have more than {MOST_IN_WINDOW} elements a side"
    shape = shape_of(op.operands[0])
    _, cut = windows_inside((*shape[:2], *(1,) * (4 - len(shape)), *shape[2:]), windows)
    return "no element of the image is in its last window" if any(a >= b for a, b in zip(cut, shape[2:], strict=False)) else None


def _undoes_windows(op: SchemaOp) -> str | None:
    """If transposed, less padding than windows have elements."""
    if not op.argument("transposed"):
        return None
    windows = windows_of(op)
    sizes = [(kernel - 1) * gap + 1 for kernel, gap in zip(windows.kernel, windows.dilation, strict=True)]
    wide = any(pad >= size for pad, size in zip(windows.padding, sizes, strict=True))
    return f"its padding {list(windows.padding)} is not less than its windows {sizes}" if wide else None


def _counts_no_padding(op: SchemaOp) -> str | None:
    """No padding that counts."""
    return "its means count the padding" if any(op.argument("padding")) and op.argument("count_include_pad") else None


def _is_padded_average(op: SchemaOp) -> bool:
    return op.schema.base == "avg_pool2d" and any(windows_of(op).padding)


def _rounds_once(op: SchemaOp) -> str | None:
    """Between integers, padding only where the scale and the zero point stay."""
    found = quantized_operator(op)
    if found is None or not _is_padded_average(op):
        return None
    source = found.floats[0].owner
    assert isinstance(source, SchemaOp)
    names = ("scale", "zero_point")
    same = isinstance(source, DequantizePerTensorOp) and all(source.argument(name) == found.quantize.argument(name) for name in names)
    return None if same else "its padded windows have different divisors, and a mean would be rounded before it gets another scale"


def _is_undilated(op: SchemaOp) -> str | None:
    """No dilation."""
    return "its windows have gaps (dilation)" if any(gap != 1 for gap in op.argument("dilation")) else None


def is_of_pixels(op: SchemaOp) -> bool:
    """Returns whether a mean is one of images over height and width, of as many elements as a window has."""
    sides = shape_of(op.operands[0])[2:]
    return len(sides) == 2 and reduced_dims(op) == [2, 3] and max(sides) <= MOST_IN_WINDOW and prod(sides) < 2**24


def _exponentials_have_a_sum(op: SchemaOp) -> str | None:
    """Between integers, of up to 4096 elements."""
    count = shape_of(op.operands[0])[dim_of(op)]
    return (
        f"it is of {count} elements, and the sums of more than {MOST_IN_SOFTMAX} are not exact enough" if count > MOST_IN_SOFTMAX else None
    )


def _sees_all_keys(op: SchemaOp) -> str | None:
    """Without a mask."""
    return "it has a mask" if op.argument("attn_mask") is not None or op.argument("is_causal") else None


def _power_is_defined(op: SchemaOp) -> str | None:
    """To the powers from -4 to 4, and 0.5; to others from 0 on of what is not negative."""
    source, exponent = op.operands[0].owner, op.argument("exponent")
    is_product = abs(exponent) in (0.5, 1, 2, 3, 4)
    has_no_sign = isinstance(source, SchemaOp) and source.schema.base in ("abs", "exp", "relu", "sigmoid")
    return None if is_product or (has_no_sign and exponent > 0) else f"what it raises to the power {exponent} may be negative"


def _indices_are_short(op: SchemaOp) -> str | None:
    """Indices of int32, or constants."""
    indices = op.operands[1]
    return None if element_of(indices) == i32 or is_constant(indices) else "its indices are of int64, and no constants"


def _has_a_float(op: SchemaOp) -> str | None:
    """To or from floats."""
    return None if is_float(element_of(op.operands[0])) or is_float(element_of(op.result)) else "it converts integers to integers"


_IMAGE = Limit("self", rank=(4, 4))
_INPUT = Limit("input", rank=(4, 4))
_POOL = (checks.windows_are_whole, _windows_fit)
_SAME_TYPE = Limit("dtype", only=None)
_LAYER = ("weight", "bias")
_HAS_DIMENSIONS = Limit("self", rank=(1, 6))
_SOFTMAX = Rule((_HAS_DIMENSIONS, Limit("half_to_float", only=False)))
_NORMS = {
    "layer_norm": Rule(),
    "native_layer_norm": Rule(checks=(checks.result_only,)),
    "native_group_norm": Rule(checks=(checks.result_only,)),
    "rms_norm": Rule(),
}
_BOTH = {
    "relu": Rule(),
    "clamp": Rule(checks=(checks.limits_in_order,)),
    "hardtanh": Rule(checks=(checks.limits_in_order,)),
    "add.Tensor": Rule((Limit("alpha", only=1),)),
    "sub.Tensor": Rule((Limit("alpha", only=1),)),
    "mul.Tensor": Rule(),
    "view_copy": Rule(),
    "permute_copy": Rule(),
    "cat": Rule(),
    "convolution": Rule(
        (Limit("input", rank=(3, 4)),),
        _LAYER,
        dequantized=("weight",),
        checks=(checks.output_padding_is_small, _undoes_windows, _windows_fit),
    ),
    "linear": Rule((Limit("weight", rank=(2, 2)),), _LAYER, dequantized=("weight",)),
    "max_pool2d_with_indices": Rule((_IMAGE,), checks=(checks.indices_are_unused, _is_undilated, *_POOL)),
    "avg_pool2d": Rule((_IMAGE,), checks=(_counts_no_padding, checks.divides_by_window, *_POOL, _rounds_once)),
    "mm": Rule(),
    "bmm": Rule(),
    "addmm": Rule((Limit("beta", only=1), Limit("alpha", only=1))),
    **_NORMS,
    "_softmax": _SOFTMAX,
    "_log_softmax": _SOFTMAX,
    "mean.dim": Rule((_SAME_TYPE,)),
    "sum.dim_IntList": Rule((_SAME_TYPE,)),
    "amax": Rule(),
    "amin": Rule(),
    "max.dim": Rule(checks=(checks.indices_are_unused,)),
    "min.dim": Rule(checks=(checks.indices_are_unused,)),
}
_MOVES = {
    **dict.fromkeys(("slice_copy.Tensor", "select_copy.int", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "clone"), Rule()),
    **dict.fromkeys(("expand_copy", "repeat", "stack", "pixel_shuffle", "pixel_unshuffle"), Rule()),
    "flip": Rule((_HAS_DIMENSIONS,)),
    "constant_pad_nd": Rule(checks=(checks.pads_with_number, checks.keeps_elements)),
}
_GATHERS = {
    "index_select": Rule(
        (
            _HAS_DIMENSIONS,
            Limit("index", dtypes=(i32, i64)),
        ),
        checks=(_indices_are_short,),
    ),
    "embedding": Rule((Limit("indices", dtypes=(i32, i64)),), checks=(_indices_are_short,)),
}
_RESIZED = {
    "upsample_nearest2d.vec": Rule((_INPUT,), checks=(scales_fit,)),
    "upsample_bilinear2d.vec": Rule((_INPUT,), checks=(checks.scales_as_sizes, scales_fit)),
}
_TENSORS = Limit(dtypes=(f32,), rank=(1, 6), static=True, row_major=True, filled=True)
_INTEGERS = {
    **_BOTH,
    **_MOVES,
    **_RESIZED,
    **dict.fromkeys(FUNCTIONS, Rule()),
    **dict.fromkeys(("_softmax", "_log_softmax"), replace(_SOFTMAX, checks=(_exponentials_have_a_sum,))),
    **{name: replace(rule, constants=("weight", *(("bias",) if name != "rms_norm" else ()))) for name, rule in _NORMS.items()},
    **_GATHERS,
    "addmm": replace(_BOTH["addmm"], constants=("self",)),
    "quantized_decomposed.quantize_per_tensor": Rule(),
}
_OF_BYTES = ("_softmax", "_log_softmax", *_NORMS)
"""The operators between integers that are made of numbers and tables for int8."""
_COMPARISON = Rule((Limit("result", dtypes=(i1,)),))
_LOGIC = Rule(tuple(Limit(name, dtypes=(i1,)) for name in ("self", "other", "result")))
_FLOATS = {
    **_BOTH,
    **_MOVES,
    **_RESIZED,
    **dict.fromkeys((*UNARY, "maximum", "minimum"), Rule()),
    **dict.fromkeys(FUNCTIONS, Rule()),
    **dict.fromkeys(("add.Scalar", "sub.Scalar", "rsub.Scalar"), Rule((Limit("alpha", only=1),))),
    **dict.fromkeys(("mul.Scalar", "div.Scalar", "div.Tensor"), Rule()),
    "pow.Tensor_Scalar": Rule(checks=(_power_is_defined,)),
    "_native_batch_norm_legit_no_training": Rule(constants=("weight", "bias", "running_mean", "running_var"), checks=(checks.result_only,)),
    **dict.fromkeys([f"{name}.{kind}" for name in ("eq", "ne", "gt", "ge", "lt", "le") for kind in ("Tensor", "Scalar")], _COMPARISON),
    **dict.fromkeys([f"logical_{name}" for name in ("and", "or", "xor", "not")], _LOGIC),
    **dict.fromkeys(("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bitwise_not"), _LOGIC),
    "where.self": Rule((Limit("condition", dtypes=(i1,)),)),
    "_to_copy": Rule((Limit("self", dtypes=(f32, f16, i1, i32)), Limit("result", dtypes=(f32, f16, i1, i32))), checks=(_has_a_float,)),
    "split_with_sizes_copy": Rule(checks=(checks.parts_have_elements,)),
    **_GATHERS,
    "prod.dim_int": Rule((_SAME_TYPE,)),
}
_NUMBERS = NumberFormat(keeps_scale=_is_padded_average)


def table(options: TosaOptions) -> OperatorTable:
    """Returns what the backend takes in a profile."""
    in_parts = {"scaled_dot_product_attention": Rule(checks=(_sees_all_keys,))}
    if options.profile == "fp":
        return OperatorTable(_FLOATS, replace(_TENSORS, dtypes=(f32, f16), rank=(0, 6)), in_parts=in_parts)
    between = {"split_with_sizes_copy": Rule(checks=(splits_integers,), instead=as_slices)}
    rules, parts = ({}, between) if options.profile == "int" else (_FLOATS, in_parts)
    if options.activations == "int8":
        return OperatorTable(rules, _TENSORS, in_parts=parts, integers=_INTEGERS, numbers=_NUMBERS)
    integers = {name: rule for name, rule in _INTEGERS.items() if name not in _OF_BYTES}
    return OperatorTable(
        rules,
        _TENSORS,
        in_parts=parts,
        integers=integers,
        activations=(i16,),
        numbers=replace(_NUMBERS, symmetric=True),
        checks=(checks.has_no_zero_points,),
    )
