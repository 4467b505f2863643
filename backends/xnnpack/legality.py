"""The operators that XNNPACK takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from flambeau.backends.xnnpack.dialect.nodes import MOST_DIMENSIONS
from flambeau.dialects.ir.tensor_types import f32, normalize_dim, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import BackendOptions


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[-1]


def _output_padding(op: SchemaOp) -> str | None:
    more, step = _pair(op.argument("output_padding")), _pair(op.argument("stride"))
    if not op.argument("transposed"):
        return "an output padding has a meaning for transposed convolutions only" if any(more) else None
    return f"its output padding {list(more)} is not less than its stride {list(step)}" if more[0] >= step[0] or more[1] >= step[1] else None


def _windows_overlap(op: SchemaOp) -> str | None:
    kernel = _pair(op.argument("kernel_size"))
    step = _pair(op.argument("stride") or kernel)
    return f"its stride {list(step)} is larger than its window {list(kernel)}" if step[0] > kernel[0] or step[1] > kernel[1] else None


def _is_whole(op: SchemaOp) -> str | None:
    return "its windows reach beyond the padded image (ceil_mode)" if op.argument("ceil_mode") else None


def _indices_are_unused(op: SchemaOp) -> str | None:
    return "the indices of the largest elements are read" if any(op.results[1].uses) else None


def _mean_of_inside(op: SchemaOp) -> str | None:
    if any(op.argument("padding")) and op.argument("count_include_pad"):
        return "its mean counts the padding (count_include_pad)"
    divisor, kernel = op.argument("divisor_override"), _pair(op.argument("kernel_size"))
    return "its divisor is not the size of its window" if divisor not in (None, kernel[0] * kernel[1]) else None


def _mean_of_image(op: SchemaOp) -> str | None:
    dims = {normalize_dim(dim, len(shape_of(op.operands[0]))) for dim in op.argument("dim") or ()}
    return None if dims == {2, 3} else "it is not the mean over height and width"


def _equal_windows(op: SchemaOp) -> str | None:
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    return f"{list(old)} does not divide into {list(new)} equal windows" if any(a % b for a, b in zip(old, new, strict=True)) else None


def _last_dimension(op: SchemaOp) -> str | None:
    rank = len(shape_of(op.operands[0]))
    return None if normalize_dim(op.argument("dim"), rank) == rank - 1 else "it is along another dimension than the last"


def _grows(op: SchemaOp) -> str | None:
    return "it cuts off elements (a negative pad)" if min(op.argument("pad"), default=0) < 0 else None


def _halves(op: SchemaOp) -> str | None:
    return None if op.argument("exponent") == 2 else "only squares are computed"


def _bias_is_row(op: SchemaOp) -> str | None:
    return None if shape_of(op.argument("self")) == shape_of(op.argument("mat2"))[1:] else "what is added is not one number per output"


def _limits_in_order(op: SchemaOp) -> str | None:
    least, most = op.arguments()[1:]
    given = [limit for limit in (least, most) if limit is not None]
    return None if given == sorted(given) and all(limit == limit for limit in given) else f"nothing is within its limits {given}"


def _scales_as_sizes(op: SchemaOp) -> str | None:
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    factors = op.argument("scale_factors")
    if not factors or op.argument("align_corners") or all(b == a * factor for a, b, factor in zip(old, new, factors, strict=True)):
        return None
    return f"its scale factors {list(factors)} are not the quotients of its sizes, {list(new)} and {list(old)}"


_IMAGE = Limit("input", rank=(4, 4))
_SELF_IMAGE = Limit("self", rank=(4, 4))
_PLAIN = Rule()
_UNSCALED = Rule((Limit("alpha", only=1),))

OPERATORS: dict[str, Rule] = {
    # elementwise
    **dict.fromkeys(("abs", "ceil", "cos", "exp", "floor", "leaky_relu", "log", "neg"), _PLAIN),
    **dict.fromkeys(("relu", "rsqrt", "sigmoid", "sin", "sqrt", "tanh", "maximum", "minimum"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"), _PLAIN),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(_limits_in_order,))),
    "hardswish": Rule(whole=True),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
    "gelu": Rule((Limit("approximate", only="none"),)),
    "pow.Tensor_Scalar": Rule(checks=(_halves,)),
    "_softmax": Rule((Limit("half_to_float", only=False),), checks=(_last_dimension,)),
    # products
    "convolution": Rule((Limit("input", rank=(3, 4)),), ("weight", "bias"), (_output_padding,)),
    "linear": Rule((Limit("weight", rank=(2, 2)),), ("weight", "bias"), whole=True),
    "addmm": Rule((Limit("alpha", only=1), Limit("beta", only=1)), ("self", "mat2"), (_bias_is_row,)),
    "mm": Rule(constants=("mat2",)),
    "bmm": _PLAIN,
    # pools
    "max_pool2d_with_indices": Rule((_SELF_IMAGE,), checks=(_is_whole, _windows_overlap, _indices_are_unused)),
    "avg_pool2d": Rule((_SELF_IMAGE,), checks=(_is_whole, _windows_overlap, _mean_of_inside)),
    "_adaptive_avg_pool2d": Rule((_SELF_IMAGE,), checks=(_equal_windows,)),
    "mean.dim": Rule((_SELF_IMAGE,), checks=(_mean_of_image,)),
    # movement
    **dict.fromkeys(("view_copy", "permute_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims"), _PLAIN),
    "select_copy.int": _PLAIN,
    "constant_pad_nd": Rule(checks=(_grows,)),
    "cat": _PLAIN,
    "slice_copy.Tensor": Rule((Limit("step", only=1),)),
    "upsample_bilinear2d.vec": Rule((_IMAGE,), checks=(_scales_as_sizes,)),
}
"""What XNNPACK takes, by the names of the operators of the edge level."""


_TENSORS = Limit(dtypes=(f32,), rank=(1, MOST_DIMENSIONS), static=True, row_major=True, filled=True)
_TABLE = OperatorTable(OPERATORS, _TENSORS)


def table(options: BackendOptions) -> OperatorTable:
    """What XNNPACK takes: no option changes it. All constants go into the payload."""
    return _TABLE
