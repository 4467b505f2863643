"""The operators that the backend takes, as data. Source of the limits: the kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from flambeau.backends.litert.dialect.choices import COMPARISONS
from flambeau.backends.litert.dialect.functions import UNARY
from flambeau.backends.litert.dialect.images import padding_word
from flambeau.backends.litert.dialect.resizing import FINE
from flambeau.dialects.ir.extents import largest
from flambeau.dialects.ir.tensor_types import ElementType, element_of, f32, is_static, shape_of
from flambeau.dialects.quantized_decomposed.quantize import RANGES, DequantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.lowering.lines import MOST_AWAY
from flambeau.passes.delegation.lowering.splits import as_slices, splits_integers
from flambeau.passes.delegation.normalized import dim_of, reduced_dims, windows_of
from flambeau.passes.delegation.open_sizes import numbers_are_known, only_first_is_open, sizes_fit
from flambeau.support.lazy import np

if TYPE_CHECKING:
    from flambeau.backends.litert import LiteRtOptions

MOST_DIMENSIONS = 6
"""The most dimensions of tensors."""


def is_of_pixels(op: SchemaOp) -> bool:
    """Returns whether a reduction is one of images over height and width."""
    return len(shape_of(op.operands[0])) == 4 and reduced_dims(op) == [2, 3]


def _has_size(op: SchemaOp) -> str | None:
    """Transposed convolutions of static sizes."""
    is_known = not op.argument("transposed") or is_static(op.result)
    return None if is_known else "the number of images is known when it runs only, and LiteRT's operator has it in a constant"


def _counts_no_padding(op: SchemaOp) -> str | None:
    """No padding that counts, and no other padding than the format has a word for."""
    windows = windows_of(op)
    if not any(windows.padding):
        return None
    if op.argument("count_include_pad"):
        return "its means count the padding"
    word = padding_word(shape_of(op.operands[0])[2:], windows.kernel, windows.stride, windows.dilation, windows.padding)
    return f"its padding {list(windows.padding)} is not SAME" if word is None else None


def _is_plain(op: SchemaOp) -> str | None:
    """Without factors."""
    factors = {name: op.argument(name) for name in ("alpha", "scale", "input_scale")}
    return None if all(factor == 1 for factor in factors.values()) else f"it has the factors {factors}"


def _is_finite(op: SchemaOp) -> str | None:
    """Of a finite number, whose reciprocal is finite if it divides."""
    number = np.float32(op.argument("other"))
    with np.errstate(divide="ignore"):
        is_finite = np.isfinite(1 / number if op.schema.base == "div" else number)
    return None if is_finite else f"its number is {op.argument('other')}"


def _fits_hard_swish(op: SchemaOp) -> str | None:
    """A scale that is more than 1/128 of the operand's."""
    found = quantized_operator(op)
    source = None if found is None else found.floats[0].owner
    if found is None or not isinstance(source, DequantizePerTensorOp):
        return None
    given, to = source.argument("scale"), found.quantize.argument("scale")
    return None if given < 127 * to else f"its result is in steps of {to:.4g}, and LiteRT's kernel has no finer ones than {given / 127:.4g}"


def _has_slopes(op: SchemaOp) -> str | None:
    """Slopes of channels, or one."""
    x, slopes = (shape_of(value) for value in op.operands)
    return (
        None
        if slopes == (1,) or (len(slopes) == 1 and slopes[0] == x[1 if len(x) > 1 else 0])
        else f"its slopes have the shape {list(slopes)}"
    )


def _is_interpolated_exactly(op: SchemaOp) -> str | None:
    """Sizes whose quotients are whole numbers of 1024ths."""
    if quantized_operator(op) is None:
        return None
    for old, new in zip(shape_of(op.operands[0])[2:], shape_of(op.result)[2:], strict=True):
        if op.argument("align_corners") and new > 1:
            old, new = old - 1, new - 1
        if FINE * old % new:
            return f"the quotient of its sizes, {old} and {new}, is no whole number of 1024ths, as LiteRT has them between integers"
    return None


def _cuts_off_reflections(op: SchemaOp) -> str | None:
    """No negative padding."""
    return None if min(op.argument("padding")) >= 0 else f"its padding {list(op.argument('padding'))} is negative"


def _sees_all_keys(op: SchemaOp) -> str | None:
    """Without a mask."""
    return "it has a mask" if op.argument("attn_mask") is not None or op.argument("is_causal") else None


def _converts(op: SchemaOp) -> str | None:
    """To or from floats."""
    return None if f32 in (element_of(op.operands[0]), element_of(op.result)) else "it converts integers to integers"


FIXED: Mapping[Attribute, Mapping[str, tuple[float, int]]] = {
    i8: {"_softmax": (1 / 256, -128), "sigmoid": (1 / 256, -128), "tanh": (1 / 128, 0)},
    i16: dict.fromkeys(("_softmax", "sigmoid", "tanh"), (1 / 32768, 0)),
}
"""The scale and the zero point of functions whose results have one between integers, by the type of these."""
_MOST_SCALE = 4
_WRONG_POWER = 2
"""The most steps of the result by which an exponential in a softmax of int16 is wrong: its table has exp(-10) for all numbers below."""
_GATES = ("silu", "hardsigmoid")
"""The functions that are products with a gate."""
_COARSEST = 2
"""Results are rounded to one scale before they get another. If that is less than twice as fine, they are within a step."""


def _is_fine_enough(op: SchemaOp) -> str | None:
    """A scale that is more than half of the operand's, of the fixed one, or of that of a gate times what it is of."""
    found = quantized_operator(op)
    if found is None or (op.schema.base == "mean" and not is_of_pixels(op)):
        return None
    to, element = found.quantize.argument("scale"), element_of(found.quantize.result)
    fixed, source = FIXED.get(element, FIXED[i8]), found.floats[0].owner
    given, zero_point = (source.argument("scale"), source.argument("zero_point")) if isinstance(source, DequantizePerTensorOp) else (0, 0)
    if op.schema.base in _GATES:
        reach = given * max(abs(number - zero_point) for number in RANGES[element])
        given = fixed["sigmoid"][0] * (reach if op.schema.base == "silu" else 1)
    elif op.schema.base in fixed:
        given, _ = fixed[op.schema.base]
    return None if given < _COARSEST * to else f"it gives numbers in steps of {given:.4g}, and they become those in steps of {to:.4g}"


def _has_small_zero_point(op: SchemaOp) -> str | None:
    """A zero point that is an int8."""
    number, (low, high) = op.argument("zero_point"), RANGES[element_of(op.operands[0])]
    return None if low <= number <= high else f"its zero point is {number}, and int8 is from {low} to {high}"


def _has_moderate_scale(op: SchemaOp) -> str | None:
    """Of integers in steps of less than 4."""
    found = quantized_operator(op)
    source = None if found is None else found.floats[0].owner
    scale = source.argument("scale") if isinstance(source, DequantizePerTensorOp) else 0
    return None if scale < _MOST_SCALE else f"its integers are in steps of {scale:.4g}, which its tables do not take"


def _has_short_rows(op: SchemaOp) -> str | None:
    """Of rows with at most 65 entries between integers."""
    if quantized_operator(op) is None:
        return None
    count, most = largest(shape_of(op.operands[0])[dim_of(op)]), MOST_AWAY // _WRONG_POWER + 1
    if count is not None and count <= most:
        return None
    return f"its rows have {count or 'any number of'} entries, and those of at most {most} are taken"


_IMAGE = Limit("self", rank=(4, 4))
_INPUT = Limit("input", rank=(4, 4))
_SAME_TYPE = Limit("dtype", only=None)
_LAYER = ("weight", "bias")
_PLACES = (i32, i64)
_UNREAD = Rule(checks=(checks.indices_are_unused,))
_REFLECTED = Rule(checks=(_cuts_off_reflections,))
_BOTH = {
    **dict.fromkeys(("relu", "mul.Tensor", "view_copy", "permute_copy", "cat", "abs", "exp", "gelu", "leaky_relu"), Rule()),
    **dict.fromkeys(("hardsigmoid", "neg", "silu"), Rule()),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    **dict.fromkeys(("add.Tensor", "sub.Tensor"), Rule((Limit("alpha", only=1),))),
    **dict.fromkeys(("add.Scalar", "sub.Scalar", "rsub.Scalar"), Rule((Limit("alpha", only=1),), checks=(_is_finite,))),
    **dict.fromkeys(("mul.Scalar", "div.Scalar"), Rule(checks=(_is_finite,))),
    "elu": Rule(checks=(_is_plain,)),
    "hardswish": Rule(),
    "prelu": Rule(checks=(_has_slopes,)),
    **dict.fromkeys(("slice_copy.Tensor", "select_copy.int"), Rule(checks=(checks.dim_is_known,))),
    **dict.fromkeys(("unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "clone", "repeat", "stack"), Rule()),
    "expand_copy": Rule(checks=(checks.growth_is_known,)),
    "flip": Rule((Limit("self", rank=(1, MOST_DIMENSIONS)),)),
    "constant_pad_nd": Rule((Limit("self", rank=(1, 5)),), checks=(checks.pads_with_number, checks.keeps_elements)),
    "reflection_pad1d": _REFLECTED,
    "reflection_pad2d": _REFLECTED,
    "pixel_shuffle": Rule((_IMAGE,)),
    "pixel_unshuffle": Rule((_IMAGE,)),
    "index_select": Rule((Limit("index", dtypes=_PLACES),)),
    "embedding": Rule((Limit("indices", dtypes=_PLACES),)),
    "where.self": Rule((Limit("condition", dtypes=(i1,)),)),
    "upsample_nearest2d.vec": Rule((_INPUT,), checks=(checks.scales_as_sizes,)),
    "upsample_bilinear2d.vec": Rule((_INPUT,), checks=(checks.scales_as_sizes,)),
    "convolution": Rule((Limit("input", rank=(3, 4)),), _LAYER, (), (checks.output_padding_is_small, _has_size), dequantized=("weight",)),
    "linear": Rule((Limit("weight", rank=(2, 2)),), _LAYER, dequantized=("weight",)),
    "mm": Rule(),
    "bmm": Rule(),
    "max_pool2d_with_indices": Rule((_IMAGE, Limit("dilation", only=(1, 1))), checks=(checks.indices_are_unused, checks.windows_are_whole)),
    "avg_pool2d": Rule((_IMAGE,), checks=(checks.windows_are_whole, checks.divides_by_window, _counts_no_padding)),
    "mean.dim": Rule((_SAME_TYPE,)),
    "amax": Rule(),
    "amin": Rule(),
    "max.dim": _UNREAD,
    "min.dim": _UNREAD,
    "_softmax": Rule((Limit("half_to_float", only=False),)),
    **dict.fromkeys(("sigmoid", "tanh"), Rule()),
}
_TENSORS = Limit(dtypes=(f32,), rank=(1, MOST_DIMENSIONS), bounded=True, row_major=True, filled=True)
_OPEN = (only_first_is_open, numbers_are_known, sizes_fit)
"""Checks of sizes that only the run knows, which are those of batches."""
_OF_INTEGERS = {
    **dict.fromkeys(("avg_pool2d", "mean.dim", "_softmax", "sigmoid", "tanh", *_GATES), (_is_fine_enough,)),
    "hardswish": (_fits_hard_swish,),
    "upsample_bilinear2d.vec": (_is_interpolated_exactly, _is_fine_enough),
}
"""Checks of operators between integers: what fails them may be computed in floats."""
_INTEGERS = {
    **{name: replace(rule, checks=(*rule.checks, *_OF_INTEGERS[name])) if name in _OF_INTEGERS else rule for name, rule in _BOTH.items()},
    "quantized_decomposed.quantize_per_tensor": Rule(),
}
"""The operators between integers."""
_OF_BYTES = "elu hardswish prelu pixel_shuffle pixel_unshuffle".split()
"""The operators without a kernel for int16."""
_MODERATE = {name: (_has_moderate_scale,) for name in (*FIXED[i16], "silu")} | {"_softmax": (_has_moderate_scale, _has_short_rows)}
_OF_INT16 = {
    name: replace(rule, checks=(*rule.checks, *_MODERATE.get(name, ()))) for name, rule in _INTEGERS.items() if name not in _OF_BYTES
}
_COMPARISON = Rule((Limit("result", dtypes=(i1,)),))
_LOGIC = Rule(tuple(Limit(name, dtypes=(i1,)) for name in ("self", "other", "result")))
_CONVERTED = (f32, i1, i32, i64)
_NORM = Rule(checks=(checks.result_only,))
_FLOATS = {
    **_BOTH,
    **dict.fromkeys(
        (*UNARY, "maximum", "minimum", "div.Tensor", "pow.Tensor_Tensor", "pow.Tensor_Scalar", "hardsigmoid", "cumsum"), Rule()
    ),
    "addmm": Rule((Limit("beta", only=1), Limit("alpha", only=1))),
    **dict.fromkeys(("layer_norm", "rms_norm"), Rule()),
    **dict.fromkeys(("native_layer_norm", "native_group_norm"), _NORM),
    "_native_batch_norm_legit_no_training": Rule(constants=("weight", "bias", "running_mean", "running_var"), checks=(checks.result_only,)),
    "_log_softmax": Rule((Limit("half_to_float", only=False),)),
    "sum.dim_IntList": Rule((_SAME_TYPE,)),
    "prod.dim_int": Rule((_SAME_TYPE,)),
    **dict.fromkeys(("argmax", "argmin"), Rule((Limit("result", dtypes=(i64,)),))),
    "split_with_sizes_copy": Rule(checks=(checks.dim_is_known, checks.parts_have_elements)),
    **dict.fromkeys([f"{name}.{kind}" for name in COMPARISONS for kind in ("Tensor", "Scalar")], _COMPARISON),
    **dict.fromkeys([f"logical_{name}" for name in ("and", "or", "xor", "not")], _LOGIC),
    **dict.fromkeys(("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bitwise_not"), _LOGIC),
    "_to_copy": Rule((Limit("self", dtypes=_CONVERTED), Limit("result", dtypes=_CONVERTED)), checks=(_converts,)),
}


def _borders(element: ElementType) -> Mapping[str, Rule]:
    """Returns what stands between integers of a type, and weights, and floats."""
    weights = Limit("input", dtypes=(i8,)), Limit("zero_points", dtypes=(i8, i32, i64, f32))
    kinds = tuple(dict.fromkeys((element, i8)))
    return {
        "quantized_decomposed.quantize_per_tensor": Rule((Limit("result", dtypes=(element,)),)),
        "quantized_decomposed.dequantize_per_tensor": Rule((Limit("input", dtypes=kinds),), checks=(_has_small_zero_point,)),
        "quantized_decomposed.dequantize_per_channel": Rule(weights, constants=("input", "scales", "zero_points")),
    }


_KEEPING = (
    "avg_pool2d max_pool2d_with_indices upsample_nearest2d upsample_bilinear2d pixel_shuffle pixel_unshuffle amax amin "
    "index_select embedding view_copy permute_copy slice_copy select_copy unsqueeze_copy squeeze_copy expand_copy clone "
    "repeat flip constant_pad_nd reflection_pad1d reflection_pad2d"
).split()


def _keeps_scale(op: SchemaOp) -> bool:
    """Returns whether integers keep their type in an operator, or are rounded to it before they get another."""
    return op.schema.base in _KEEPING or op.schema.name in ("max.dim", "min.dim") or (op.schema.base == "mean" and is_of_pixels(op))


_BETWEEN = {"split_with_sizes_copy": Rule(checks=(splits_integers,), instead=as_slices)}
_ATTENTION = {"scaled_dot_product_attention": Rule(checks=(_sees_all_keys,))}


def table(options: LiteRtOptions) -> OperatorTable:
    """Returns what the backend takes in a precision."""
    if options.precision == "float32":
        return OperatorTable(_FLOATS, _TENSORS, checks=_OPEN, in_parts=_ATTENTION)
    element, integers, checked = (i8, _INTEGERS, ()) if options.activations == "int8" else (i16, _OF_INT16, (checks.has_no_zero_points,))
    rules, parts = ({}, _BETWEEN) if options.precision == "int8" else ({**_FLOATS, **_borders(element)}, _ATTENTION)
    return OperatorTable(
        rules,
        _TENSORS,
        checks=(*_OPEN, *checked),
        in_parts=parts,
        integers=integers,
        activations=(element,),
        numbers=NumberFormat(symmetric=element == i16, fixed=FIXED[element], keeps_scale=_keeps_scale),
    )
