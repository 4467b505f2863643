"""The operators that OpenVINO takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import i8
from xdsl.ir import Block, Operation

from flambeau.backends.openvino.dialect.elementwise import BINARY, UNARY
from flambeau.dialects.ir.extents import exceeds, is_known
from flambeau.dialects.ir.tensor_types import f32, i1, i32, i64, normalize_dim, shape_of, ui8
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant, is_dequantized_constant
from flambeau.passes.analysis.quantized_types import DEQUANTIZE
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.reshapes import one_follows
from flambeau.passes.delegation.open_sizes import numbers_are_known, sizes_fit


def _is_undilated(op: SchemaOp) -> str | None:
    """No dilation."""
    return "its windows have gaps (dilation)" if any(gap != 1 for gap in op.argument("dilation")) else None


def _index_is_inside(op: SchemaOp) -> str | None:
    """An index that the dimension has in every run: OpenVINO refuses none."""
    shape, index = shape_of(op.operands[0]), op.argument("index")
    extent = shape[normalize_dim(op.argument("dim"), len(shape))]
    return None if exceeds(extent, index if index >= 0 else -index - 1) else f"whether it has an entry {index} is known when it runs only"


def _scale_is_known(op: SchemaOp) -> str | None:
    """A scale, or vectors of a size that is known before the run."""
    is_known_one = op.argument("scale") is not None or is_known(shape_of(op.operands[0])[-1])
    return None if is_known_one else "the size of its vectors, from which its scale follows, is known when it runs only"


def _has_one_rank(op: SchemaOp) -> str | None:
    """Query, key and value of as many dimensions."""
    ranks = [len(shape_of(value)) for value in op.operands[:3]]
    return None if len(set(ranks)) == 1 else f"its query, key and value have {ranks} dimensions, not as many each"


def _is_unmasked(op: SchemaOp) -> str | None:
    """No mask but a causal one: where all is hidden, PyTorch gives zeros, and OpenVINO something else."""
    return "a row of its mask may hide everything" if op.argument("attn_mask") is not None else None


def _scale_is_normal(op: SchemaOp) -> str | None:
    """A scale that is a normal positive number of float32."""
    scale = op.argument("scale")
    return None if 2.0**-126 <= scale < 2.0**120 else f"its scale {scale} is no normal positive number of float32"


def _is_among_floats(op: SchemaOp) -> str | None:
    """No quantized numbers before or behind it, of which OpenVINO 2026.4 finds other extremes."""
    before = _leads_to(op, lambda item: [value.owner for value in item.operands], DEQUANTIZE)
    behind = _leads_to(op, lambda item: [use.operation for result in item.results for use in result.uses], (QuantizePerTensorOp,))
    return "it is next to quantized numbers" if before or behind else None


def _leads_to(op: Operation, next_ones: Callable[[Operation], Iterable[Operation | Block]], kinds: tuple[type[Operation], ...]) -> bool:
    """Returns whether some of what is next to an operation is of these kinds, or leads there through operators of one tensor."""
    waiting, seen = [op], {op}
    while waiting:
        for item in next_ones(waiting.pop()):
            if isinstance(item, kinds):
                return True
            if isinstance(item, SchemaOp) and len(item.operands) == 1 and item not in seen:
                seen.add(item)
                waiting.append(item)
    return False


def _multiplies_inputs(op: SchemaOp) -> str | None:
    """A product of something else than constants: OpenVINO 2026.4 adds in the memory of theirs, from call to call."""
    factors = op.operands[-2:] if op.schema.base == "addmm" else op.operands[:2]
    are_constants = all(is_constant(value) or is_dequantized_constant(value) for value in factors)
    return "it multiplies constants" if are_constants else None


_PLAIN = Rule()
_UNSCALED = Rule((Limit("alpha", only=1),))
_IMAGE = Limit("input", rank=(4, 4))
_CHANNELS = (Limit("input", dtypes=(i8, ui8)), Limit("zero_points", dtypes=(i32, i64)), Limit("result", dtypes=(f32,)))
_SELF_IMAGE = Limit("self", rank=(4, 4))

OPERATORS: dict[str, Rule] = {
    # elementwise
    **dict.fromkeys((*UNARY, *BINARY, "reciprocal", "rsqrt", "gelu", "pow.Tensor_Scalar"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"), _PLAIN),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    "leaky_relu": Rule((Limit("self", rank=(1, 6)),)),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
    "where.self": Rule((Limit("condition", dtypes=(i1,)),)),
    "_softmax": Rule((Limit("half_to_float", only=False),)),
    # quantized numbers
    "quantized_decomposed.quantize_per_tensor": Rule((Limit("result", dtypes=(i8, ui8)),), checks=(_scale_is_normal,)),
    "quantized_decomposed.dequantize_per_tensor": Rule((Limit("input", dtypes=(i8, ui8)),), checks=(_scale_is_normal,)),
    "quantized_decomposed.dequantize_per_channel": Rule(_CHANNELS, ("scales", "zero_points")),
    "quantized_decomposed.dequantize_per_channel_group": Rule(_CHANNELS, ("input", "scales", "zero_points")),
    # products
    "convolution": Rule(
        (Limit("input", rank=(3, 5)),), ("weight", "bias"), checks=(checks.output_padding_is_small,), dequantized=("weight",)
    ),
    "linear": Rule((Limit("input", rank=(2, 6)), Limit("weight", rank=(2, 2))), checks=(_multiplies_inputs,)),
    "addmm": Rule((Limit("alpha", only=1), Limit("beta", only=1)), checks=(_multiplies_inputs,)),
    **dict.fromkeys(("mm", "bmm"), _PLAIN),
    "scaled_dot_product_attention": Rule(
        (Limit("query", rank=(3, 6)), Limit("dropout_p", only=0), Limit("enable_gqa", only=False)),
        checks=(_has_one_rank, _is_unmasked, _scale_is_known),
    ),
    # pools
    "max_pool2d_with_indices": Rule((_SELF_IMAGE,), checks=(checks.windows_are_whole, _is_undilated, checks.indices_are_unused)),
    "avg_pool2d": Rule((_SELF_IMAGE,), checks=(checks.windows_are_whole, checks.divides_by_window)),
    "_adaptive_avg_pool2d": Rule((_SELF_IMAGE,)),
    # reductions
    **dict.fromkeys(("amax", "amin"), Rule(checks=(_is_among_floats,))),
    **dict.fromkeys(("mean.dim", "sum.dim_IntList"), _PLAIN),
    "native_layer_norm": Rule(checks=(checks.result_only,)),
    # movement
    **dict.fromkeys(("permute_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "cat", "stack"), _PLAIN),
    "select_copy.int": Rule(checks=(_index_is_inside,)),
    "view_copy": Rule(checks=(one_follows,)),
    "split_with_sizes_copy": Rule(checks=(checks.dim_is_known, checks.parts_have_elements)),
    "slice_copy.Tensor": Rule(checks=(checks.dim_is_known,)),
    "expand_copy": Rule(checks=(checks.growth_is_known,)),
    "constant_pad_nd": Rule(checks=(checks.only_grows,)),
    "pixel_shuffle": Rule((_SELF_IMAGE,)),
    "upsample_bilinear2d.vec": Rule((_IMAGE,), checks=(checks.image_is_known, checks.scales_as_sizes)),
    "upsample_nearest2d.vec": Rule((_IMAGE,), checks=(checks.image_is_known, checks.scales_as_sizes)),
}
"""What OpenVINO takes, by the names of the operators of the edge level."""

_TABLE = OperatorTable(
    OPERATORS,
    Limit(dtypes=(f32,), rank=(0, 6), row_major=True, filled=True, bounded=True),
    checks=(numbers_are_known, sizes_fit),
    in_parts={**COMPOSITES, "masked_fill.Scalar": Rule((Limit("mask", dtypes=(i1,)),)), "tril": _PLAIN},
)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that OpenVINO takes, for any options. All constants go into the payload."""
    return _TABLE
