"""The operators that the backend takes, as data. Source of the limits: the kernels of LiteRT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i8, i32, i64

from flambeau.backends.litert.dialect.images import padding_word
from flambeau.backends.litert.dialect.operators import HIGH, LOW
from flambeau.dialects.ir.tensor_types import f32, shape_of
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.normalized import dim_of, reduced_dims, windows_of

if TYPE_CHECKING:
    from flambeau.backends.litert import LiteRtOptions

MOST_DIMENSIONS = 6
"""The most dimensions of tensors."""


def _is_dense_or_of_each_channel(op: SchemaOp) -> str | None:
    """Without groups, or with one for each channel."""
    groups, channels = op.argument("groups"), shape_of(op.operands[0])[1]
    if op.argument("transposed"):
        return "it is transposed"
    return None if groups in (1, channels) else f"it has {groups} groups of {channels} channels"


def _counts_no_padding(op: SchemaOp) -> str | None:
    """No padding that counts, and no other padding than the format has a word for."""
    windows = windows_of(op)
    if not any(windows.padding):
        return None
    if op.argument("count_include_pad"):
        return "its means count the padding"
    word = padding_word(shape_of(op.operands[0])[2:], windows.kernel, windows.stride, windows.dilation, windows.padding)
    return f"its padding {list(windows.padding)} is not SAME" if word is None else None


def _is_of_pixels(op: SchemaOp) -> str | None:
    """Over height and width of images."""
    is_image = len(shape_of(op.operands[0])) == 4 and reduced_dims(op) == [2, 3]
    return None if is_image else "it is not over height and width of images"


def _is_of_rows(op: SchemaOp) -> str | None:
    """Along the last dimension."""
    return None if dim_of(op) == len(shape_of(op.operands[0])) - 1 else "it is not along the last dimension"


def _is_of_each(op: SchemaOp) -> str | None:
    """In steps of one."""
    return None if op.argument("step") == 1 else f"it takes every {op.argument('step')}th entry"


FIXED = {"_softmax": (1 / 256, -128), "sigmoid": (1 / 256, -128), "tanh": (1 / 128, 0)}
"""The scale and the zero point of functions whose results have one between integers."""
_COARSEST = 2
"""Results are rounded to one scale before they get another. If that is less than twice as fine, they are within a step."""


def _is_fine_enough(op: SchemaOp) -> str | None:
    """A scale that is more than half of the operand's, or of the fixed one."""
    found = quantized_operator(op)
    if found is None:
        return None
    to, source = found.quantize.argument("scale"), found.floats[0].owner
    if op.schema.base in FIXED:
        given, _ = FIXED[op.schema.base]
    else:
        given = source.argument("scale") if isinstance(source, DequantizePerTensorOp) else 0
    return None if given < _COARSEST * to else f"it gives numbers in steps of {given:.4g}, and they become those in steps of {to:.4g}"


def _has_small_zero_point(op: SchemaOp) -> str | None:
    """A zero point that is an int8."""
    number = op.argument("zero_point")
    return None if LOW <= number <= HIGH else f"its zero point is {number}, and int8 is from {LOW} to {HIGH}"


_IMAGE = Limit("self", rank=(4, 4))
_SAME_TYPE = Limit("dtype", only=None)
_LAYER = ("weight", "bias")
_BOTH = {
    **dict.fromkeys(("relu", "mul.Tensor", "view_copy", "permute_copy", "cat"), Rule()),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    **dict.fromkeys(("add.Tensor", "sub.Tensor"), Rule((Limit("alpha", only=1),))),
    "slice_copy.Tensor": Rule(checks=(_is_of_each,)),
    "constant_pad_nd": Rule(checks=(checks.pads_with_number, checks.keeps_elements)),
    "convolution": Rule((Limit("input", rank=(4, 4)),), _LAYER, dequantized=("weight",), checks=(_is_dense_or_of_each_channel,)),
    "linear": Rule((Limit("weight", rank=(2, 2)),), _LAYER, dequantized=("weight",)),
    "max_pool2d_with_indices": Rule((_IMAGE, Limit("dilation", only=(1, 1))), checks=(checks.indices_are_unused, checks.windows_are_whole)),
    "avg_pool2d": Rule((_IMAGE,), checks=(checks.windows_are_whole, checks.divides_by_window, _counts_no_padding)),
    "mean.dim": Rule((_SAME_TYPE,), checks=(_is_of_pixels,)),
    "_softmax": Rule((Limit("half_to_float", only=False),), checks=(_is_of_rows,)),
    **dict.fromkeys(("sigmoid", "tanh"), Rule()),
}
_TENSORS = Limit(dtypes=(f32,), rank=(1, MOST_DIMENSIONS), static=True, row_major=True, filled=True)
_ROUNDED = frozenset(("avg_pool2d", "mean.dim", "_softmax", "sigmoid", "tanh"))
"""The operators between integers whose results are rounded to a scale that may not be that of the program."""
INTEGERS = {
    **{name: replace(rule, checks=(*rule.checks, _is_fine_enough)) if name in _ROUNDED else rule for name, rule in _BOTH.items()},
    "quantized_decomposed.quantize_per_tensor": Rule(),
}
"""The operators between integers."""
_FLOATS = {**_BOTH, **dict.fromkeys(("maximum", "minimum"), Rule())}
_BORDERS = {
    "quantized_decomposed.quantize_per_tensor": Rule((Limit("result", dtypes=(i8,)),)),
    "quantized_decomposed.dequantize_per_tensor": Rule((Limit("input", dtypes=(i8,)),), checks=(_has_small_zero_point,)),
    "quantized_decomposed.dequantize_per_channel": Rule(
        (Limit("input", dtypes=(i8,)), Limit("zero_points", dtypes=(i8, i32, i64, f32))), constants=("input", "scales", "zero_points")
    ),
}
"""What stands between integers and floats."""
_MOVED = frozenset(("avg_pool2d", "max_pool2d_with_indices", "mean", "view_copy", "permute_copy", "slice_copy", "constant_pad_nd"))
_NUMBERS = NumberFormat(fixed=FIXED, keeps_scale=lambda op: op.schema.base in _MOVED)


def table(options: LiteRtOptions) -> OperatorTable:
    """Returns what the backend takes in a precision."""
    if options.precision == "int8":
        return OperatorTable({}, _TENSORS, integers=INTEGERS, numbers=_NUMBERS)
    if options.precision == "float32":
        return OperatorTable(_FLOATS, _TENSORS)
    return OperatorTable({**_FLOATS, **_BORDERS}, _TENSORS, integers=INTEGERS, numbers=_NUMBERS)
