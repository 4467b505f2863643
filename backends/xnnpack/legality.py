"""The operators that XNNPACK takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, f64, i8, i32, i64

from flambeau.backends.xnnpack.dialect.elementwise import BINARY, UNARY
from flambeau.backends.xnnpack.dialect.nodes import MOST_DIMENSIONS
from flambeau.backends.xnnpack.dynamic import DYNAMIC, quantizes_layers, together_with_layers
from flambeau.dialects.ir.tensor_types import ElementType, element_of, f32, normalize_dim, numpy_dtype, shape_of
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.normalized import reduced_dims, windows_of
from flambeau.passes.delegation.open_sizes import numbers_are_known, sizes_fit
from flambeau.support.lazy import np


def _windows_overlap(op: SchemaOp) -> str | None:
    """Strides no larger than the window."""
    windows = windows_of(op)
    overlap = all(step <= size for step, size in zip(windows.stride, windows.kernel, strict=True))
    return None if overlap else f"its stride {list(windows.stride)} is larger than its window {list(windows.kernel)}"


def _mean_of_inside(op: SchemaOp) -> str | None:
    """No padding that counts, and no divisor but the size of the window."""
    if any(op.argument("padding")) and op.argument("count_include_pad"):
        return "its mean counts the padding (count_include_pad)"
    return checks.divides_by_window(op)


def _one_open(op: SchemaOp) -> str | None:
    """At most one size that only the run knows."""
    shapes = [shape_of(value) for value in (*op.operands, *op.results[:1])]
    return "the run decides more than one of its sizes" if max(map(checks.open_extents, shapes)) > 1 else None


def _line_is_reshaped(op: SchemaOp) -> str | None:
    """Of a line, at most one size that only the run knows."""
    return _one_open(op) if len(shape_of(op.result)) == 3 else None


def _rows_are_known(op: SchemaOp) -> str | None:
    """Over dimensions of known sizes but for means of images; if it reshapes, at most one other size that only the run knows."""
    shape, dims = shape_of(op.operands[0]), reduced_dims(op)
    is_image, stays = dims == [2, 3] and len(shape) == 4, len(shape_of(op.result)) == len(shape)
    if checks.open_extents([shape[dim] for dim in dims]) and not (is_image and op.schema.base == "mean"):
        return "the number of elements that it reduces is known when it runs only"
    return None if stays and (is_image or dims == [len(shape) - 1]) else _one_open(op)


def _transposed_is_single(op: SchemaOp) -> str | None:
    """A transposed convolution of float32."""
    return "it is transposed and of f16" if op.argument("transposed") and element_of(op.result) == f16 else None


def _all_integers(op: SchemaOp) -> str | None:
    """A normal positive scale, and all integers of 8 bits."""
    scale, _, low, high = op.arguments()[1:5]
    if not 2.0**-126 <= scale < 2.0**127:
        return f"its scale {scale} is no normal positive number of float32"
    whole = (low, high) == (-128, 127) or isinstance(op, DequantizePerTensorOp)
    return None if whole else f"it gives integers from {low} to {high} only, not all of 8 bits"


def _one_meaning(op: SchemaOp) -> str | None:
    """Integers that stand for the same wherever they are quantized or dequantized."""
    x = op.operands[0]
    others: list[SchemaOp] = [use.operation for use in x.uses if isinstance(use.operation, DequantizePerTensorOp)]
    others += [x.owner] if isinstance(x.owner, QuantizePerTensorOp) else []
    same = is_constant(x) or all(other.arguments()[1:3] == op.arguments()[1:3] for other in others)
    return None if same else "its integers stand for other numbers elsewhere"


def _norm_is_of_rows(op: SchemaOp) -> str | None:
    """Over the last dimension; over more of them, at most one size that only the run knows."""
    return None if len(op.argument("normalized_shape")) == 1 and len(shape_of(op.operands[0])) > 1 else _one_open(op)


def _neighbours(op: SchemaOp) -> str | None:
    """Dimensions that are next to each other."""
    dims = reduced_dims(op)
    return None if dims == [*range(dims[0], dims[-1] + 1)] else f"the dimensions that it reduces, {dims}, are not next to each other"


def _masks_scores(op: SchemaOp) -> str | None:
    """A constant mask of scores for a softmax: elsewhere, what is hidden may be NaN, which a minimum does not hide."""
    if not any(is_constant(value) for value in op.operands[1:]):
        return "neither of what it chooses from is a constant"
    is_mask = all(use.operation.name == "edge._softmax" for use in op.results[0].uses)
    return None if is_mask else "it does not hide scores from a softmax"


def _equal_windows(op: SchemaOp) -> str | None:
    """Windows of one size: the result's height and width divide the image's, which are known unless there is one window."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if new == (1, 1):
        return None
    if (reason := checks.image_is_known(op)) is not None:
        return reason
    return f"{list(old)} does not divide into {list(new)} equal windows" if any(a % b for a, b in zip(old, new, strict=True)) else None


def _last_dimension(op: SchemaOp) -> str | None:
    """Along the last dimension."""
    rank = len(shape_of(op.operands[0]))
    return None if normalize_dim(op.argument("dim"), rank) == rank - 1 else "it is along another dimension than the last"


def _small_power(op: SchemaOp) -> str | None:
    """An exponent of 2 or 3."""
    return None if op.argument("exponent") in (2, 3) else "only squares and cubes are computed"


def _bias_is_row(op: SchemaOp) -> str | None:
    """One number per output is added."""
    return None if shape_of(op.argument("self")) == shape_of(op.argument("mat2"))[1:] else "what is added is not one number per output"


def _number_fits(op: SchemaOp) -> str | None:
    """A number near to one of its element type."""
    number = np.asarray(abs(op.argument("other")), np.float64)
    with np.errstate(over="ignore"):
        rounded = number.astype(numpy_dtype(element_of(op.result))).astype(np.float64)
    return None if np.isclose(rounded, number, rtol=1e-3, atol=0) else f"its number {op.argument('other')} is none of its element type"


def _channels_are_second(op: SchemaOp) -> str | None:
    """One weight, or an input of 2 to 4 dimensions, of which a line has at most one size that only the run knows."""
    if shape_of(op.argument("weight")) in ((), (1,)):
        return None
    rank = len(shape_of(op.result))
    return _one_open(op) if rank == 3 else None if rank in (2, 4) else f"its input has {rank} dimensions and channels"


_IMAGE = Limit("input", rank=(4, 4))
_SELF_IMAGE = Limit("self", rank=(4, 4))
_PLAIN = Rule()
_UNSCALED = (Limit("alpha", only=1),)
_FLOAT32 = Limit(dtypes=(f32,))


def _dynamic(kind: type[SchemaOp], element: ElementType, results: tuple[ElementType, ...]) -> Rule:
    """Returns the rule of an operator that quantizes the inputs of layers."""
    names = [argument.name for argument in kind.schema.arguments if argument.name.startswith(("scale", "zero_point"))]
    parameters = (Limit(name, dtypes=(f64 if name.startswith("scale") else i64,)) for name in names)
    limits = (Limit("input", dtypes=(element,)), *parameters, Limit("result", dtypes=results))
    return Rule(limits, checks=(quantizes_layers,), together=together_with_layers)


OPERATORS: dict[str, Rule] = {
    # elementwise
    **dict.fromkeys((*UNARY, *BINARY, "leaky_relu", "reciprocal", "relu"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "div.Tensor"), _PLAIN),
    **dict.fromkeys(("mul.Scalar", "div.Scalar"), Rule(checks=(_number_fits,))),
    **dict.fromkeys(("add.Tensor", "sub.Tensor"), Rule(_UNSCALED)),
    **dict.fromkeys(("add.Scalar", "sub.Scalar"), Rule(_UNSCALED, checks=(_number_fits,))),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    "_to_copy": _PLAIN,
    "prelu": Rule(constants=("weight",), checks=(_channels_are_second,)),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
    "gelu": Rule((Limit("approximate", only="none"),)),
    "pow.Tensor_Scalar": Rule(checks=(_small_power,)),
    "where.self": Rule((), ("condition",), ("condition", "self", "other"), (_masks_scores,)),
    "_softmax": Rule((Limit("half_to_float", only=False),), checks=(_last_dimension,)),
    # quantized numbers
    "quantized_decomposed.quantize_per_tensor": Rule(
        (Limit("input", dtypes=(f32,)), Limit("result", dtypes=(i8,))),
        checks=(_all_integers,),
    ),
    "quantized_decomposed.dequantize_per_tensor": Rule(
        (Limit("input", dtypes=(i8,)), Limit("result", dtypes=(f32,))),
        checks=(_all_integers, _one_meaning),
    ),
    **dict.fromkeys(
        ("quantized_decomposed.dequantize_per_channel", "quantized_decomposed.dequantize_per_channel_group"),
        Rule(
            (
                Limit("input", dtypes=(i8,)),
                Limit("scales", dtypes=(f32,)),
                Limit("zero_points", dtypes=(i32, i64)),
                Limit("result", dtypes=(f32,)),
            ),
            ("input", "scales", "zero_points"),
        ),
    ),
    **{kind.name: _dynamic(kind, *elements) for kind, elements in DYNAMIC.items()},
    # products
    "convolution": Rule(
        (Limit("input", rank=(3, 4)),),
        ("weight", "bias"),
        checks=(checks.output_padding_is_small, _line_is_reshaped, _transposed_is_single),
        dequantized=("weight",),
    ),
    "linear": Rule((Limit("weight", rank=(2, 2)),), ("weight", "bias"), dequantized=("weight",)),
    "addmm": Rule((Limit("alpha", only=1), Limit("beta", only=1)), ("self", "mat2"), checks=(_bias_is_row,)),
    "mm": Rule(constants=("mat2",)),
    "bmm": _PLAIN,
    # pools
    "max_pool2d_with_indices": Rule((_SELF_IMAGE,), checks=(checks.windows_are_whole, _windows_overlap, checks.indices_are_unused)),
    "avg_pool2d": Rule((_SELF_IMAGE,), checks=(checks.windows_are_whole, _windows_overlap, _mean_of_inside)),
    "_adaptive_avg_pool2d": Rule((_SELF_IMAGE,), checks=(_equal_windows,)),
    # reductions
    **dict.fromkeys(("mean.dim", "sum.dim_IntList"), Rule((Limit("result", dtype_of="self"),), checks=(_neighbours, _rows_are_known))),
    "native_layer_norm": Rule((_FLOAT32,), checks=(checks.result_only, _norm_is_of_rows)),
    # movement
    "permute_copy": _PLAIN,
    **dict.fromkeys(
        ("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "stack", "pixel_shuffle"), Rule(checks=(_one_open,))
    ),
    "select_copy.int": Rule(checks=(checks.dim_is_known, _one_open)),
    "split_with_sizes_copy": Rule(checks=(checks.dim_is_known, checks.parts_have_elements)),
    "expand_copy": Rule(checks=(checks.growth_is_known,)),
    "constant_pad_nd": Rule(checks=(checks.only_grows,)),
    "cat": _PLAIN,
    "slice_copy.Tensor": Rule((Limit("step", only=1),), checks=(checks.dim_is_known,)),
    "upsample_bilinear2d.vec": Rule((_IMAGE,), checks=(checks.image_is_known, checks.scales_as_sizes)),
}
"""What XNNPACK takes, by the names of the operators of the edge level."""

_TABLE = OperatorTable(
    OPERATORS,
    Limit(dtypes=(f32, f16), rank=(1, MOST_DIMENSIONS), row_major=True, filled=True, bounded=True),
    checks=(numbers_are_known, sizes_fit),
    in_parts={**COMPOSITES, **dict.fromkeys(("hardsigmoid", "silu"), _PLAIN)},
)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that XNNPACK takes, for any options. All constants go into the payload."""
    return _TABLE
