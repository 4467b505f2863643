"""The operators that the backend takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from math import isclose
from typing import Any

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml.dialect.elementwise import BINARY, UNARY
from flambeau.backends.coreml.dialect.logic import COMPARISONS, LOGICAL
from flambeau.backends.coreml.dialect.operators import MOST_DIMENSIONS
from flambeau.dialects.ir.tensor_types import ElementType, element_of, f32, i1, i32, i64, shape_of, ui8
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.normalized import windows_of


def _has_dimensions(op: SchemaOp) -> str | None:
    """Tensors with a dimension, but for constants: Core ML's inputs and outputs have one."""
    values = [value for value in (*op.operands, *op.results) if not is_constant(value)]
    return "a tensor has no dimension, and those of Core ML have one" if any(not shape_of(value) for value in values) else None


def _is_undilated(op: SchemaOp) -> str | None:
    """No dilation."""
    return "its windows have gaps (dilation)" if any(gap != 1 for gap in op.argument("dilation")) else None


def _cuts_what_it_pads(op: SchemaOp) -> str | None:
    """An output padding up to the padding, which it takes away from."""
    windows = windows_of(op)
    fits = not op.argument("transposed") or all(more <= pad for more, pad in zip(windows.output_padding, windows.padding, strict=True))
    return None if fits else f"its output padding {list(windows.output_padding)} is more than its padding {list(windows.padding)}"


def _divides_the_image(op: SchemaOp) -> str | None:
    """Windows of one size: the image is a multiple of the result, or the result of 1."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    fits = all(size % count == 0 for size, count in zip(old, new, strict=True))
    return None if fits else f"the image {list(old)} is no multiple of {list(new)}"


def _grows_by_whole_factors(op: SchemaOp) -> str | None:
    """To a multiple of the image."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    fits = all(after % before == 0 for before, after in zip(old, new, strict=True))
    return None if fits else f"the image {list(new)} is no multiple of {list(old)}"


def _is_whole(op: SchemaOp) -> str | None:
    """Of values for each entry that the indices name."""
    given = op.argument("indices")
    (dim,) = (dim for dim, value in enumerate(given) if value is not None)
    shape = shape_of(op.operands[0])
    wanted = (*shape[:dim], *shape_of(given[dim]), *shape[dim + 1 :])
    found = shape_of(op.argument("values"))
    return None if found == wanted else f"its values {list(found)} are not {list(wanted)}"


def _is_plain(op: SchemaOp) -> str | None:
    """No mask but a causal one, the usual scale, and equal batches; others are taken in parts."""
    query, key, value = map(shape_of, op.operands[:3])
    scale = op.argument("scale")
    if op.argument("attn_mask") is not None:
        return "it has a mask: where it hides all keys, the result of MIL is not zeros"
    if scale is not None and not isclose(scale, query[-1] ** -0.5, rel_tol=1e-6):
        return f"its scale is {scale}, and that of MIL {query[-1] ** -0.5}"
    same = query[:-2] == key[:-2] == value[:-2]
    return None if same else f"its batches {list(query[:-2])}, {list(key[:-2])} and {list(value[:-2])} are not equal"


def _readers(op: SchemaOp) -> Iterable[Operation]:
    """Returns what reads a weight: alone, it would be a model without inputs."""
    return [use.operation for use in op.result.uses]


def _keeps_its_integers(op: SchemaOp) -> str | None:
    """No integers of floats."""
    narrows = element_of(op.operands[0]) == f32 and element_of(op.result) in (i32, i64)
    return "it makes integers of floats, which may not be of 32 bits" if narrows else None


def _has_32_bits(op: SchemaOp) -> str | None:
    """Numbers of 32 bits beside integers."""
    number = op.argument("other")
    is_float = element_of(op.operands[0]) == f32
    fits = is_float or (isinstance(number, int) and -(1 << 31) <= number < 1 << 31)
    return None if fits else f"it compares integers with {number}, which is no integer of 32 bits"


def _names_the_first(op: SchemaOp) -> str | None:
    """Integers as indices of the first dimensions."""
    whole = all(value is not None and element_of(value) in (i32, i64) for value in op.argument("indices"))
    return None if whole else "its indices are not integers of the first dimensions"


_PLAIN = Rule()
_NUMBERS = (f32, i32, i64)
_MOVED = (*_NUMBERS, i1)


def _of(dtypes: tuple[ElementType, ...], *names: str, **more: Any) -> Rule:
    """Returns a rule of which these arguments, and the result, have other elements than float32."""
    return Rule(tuple(Limit(name, dtypes=dtypes) for name in (*names, "result")), **more)


_COMPARED = Limit("result", dtypes=(i1,))
_RESULT = Limit("result", dtypes=(f32,))
_INDICES = Limit("indices", dtypes=(i32, i64), rank=(1, MOST_DIMENSIONS - 1))
_UNSCALED = Rule((Limit("alpha", only=1),))
_IMAGE = Limit("self", rank=(4, 4))
_RESIZED = Limit("input", rank=(4, 4))
_NOT_HALF = Rule((Limit("half_to_float", only=False),))

_PER_CHANNEL = "quantized_decomposed.dequantize_per_channel"
_PER_TENSOR = "quantized_decomposed.dequantize_per_tensor"
_PER_GROUP = "quantized_decomposed.dequantize_per_channel_group"
_STORED = (Limit("input", dtypes=(i8, ui8)), Limit("scales", dtypes=(f32,)), Limit("zero_points", dtypes=(i32, i64)), _RESULT)
_ATTENTION = "scaled_dot_product_attention"
_SINCE = {_PER_TENSOR: 16, _PER_CHANNEL: 16, _PER_GROUP: 18, _ATTENTION: 18}
"""The first iOS that has weights of integers, with scales of channels, of blocks, and attention whole."""

OPERATORS: dict[str, Rule] = {
    # weights of integers
    _PER_TENSOR: Rule((Limit("input", dtypes=(i8, ui8)), _RESULT), ("input",), together=_readers),
    _PER_CHANNEL: Rule(_STORED, ("input", "scales", "zero_points"), together=_readers),
    _PER_GROUP: Rule(_STORED, ("input", "scales", "zero_points"), together=_readers),
    # elementwise
    **dict.fromkeys((*UNARY, *BINARY, "gelu", "hardsigmoid", "hardswish", "leaky_relu", "log", "neg", "reciprocal", "rsqrt"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar", "pow.Tensor_Scalar"), _PLAIN),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
    "where.self": Rule((Limit("condition", dtypes=(i1,)), *(Limit(name, dtypes=_NUMBERS) for name in ("self", "other", "result")))),
    # comparisons, and conversions
    **dict.fromkeys(
        (f"{name}.Tensor" for name in COMPARISONS), Rule((Limit("self", dtypes=_NUMBERS), Limit("other", dtypes=_NUMBERS), _COMPARED))
    ),
    **dict.fromkeys((f"{name}.Scalar" for name in COMPARISONS), Rule((Limit("self", dtypes=_NUMBERS), _COMPARED), checks=(_has_32_bits,))),
    **dict.fromkeys((f"logical_{name}" for name in LOGICAL), _of((i1,), "self", "other")),
    **dict.fromkeys((f"bitwise_{name}.Tensor" for name in LOGICAL), _of((i1,), "self", "other")),
    **dict.fromkeys(("logical_not", "bitwise_not", "any.dim", "any.dims"), _of((i1,), "self")),
    "_to_copy": _of(_MOVED, "self", checks=(_keeps_its_integers,)),
    # products
    "convolution": Rule(
        (Limit("input", rank=(3, 5)),),
        ("weight", "bias"),
        checks=(checks.output_padding_is_small, _cuts_what_it_pads),
        dequantized=("weight",),
    ),
    "linear": Rule((Limit("weight", rank=(2, 2)),)),
    "addmm": Rule((Limit("alpha", only=1), Limit("beta", only=1))),
    **dict.fromkeys(("mm", "bmm"), _PLAIN),
    _ATTENTION: Rule((Limit("query", rank=(3, MOST_DIMENSIONS)),), checks=(_is_plain,)),
    # pools
    "max_pool2d_with_indices": Rule((_IMAGE,), checks=(checks.windows_are_whole, _is_undilated, checks.indices_are_unused)),
    "avg_pool2d": Rule((_IMAGE,), checks=(checks.windows_are_whole, checks.divides_by_window)),
    "_adaptive_avg_pool2d": Rule((_IMAGE,), checks=(_divides_the_image,)),
    # reductions and norms
    **dict.fromkeys(("amax", "amin", "mean.dim", "sum.dim_IntList"), _PLAIN),
    **dict.fromkeys(("_softmax", "_log_softmax"), _NOT_HALF),
    **dict.fromkeys(("native_layer_norm", "native_group_norm"), Rule(constants=("weight", "bias"), checks=(checks.result_only,))),
    # movement
    **dict.fromkeys(("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "permute_copy"), _of(_MOVED, "self")),
    **dict.fromkeys(("expand_copy", "slice_copy.Tensor", "select_copy.int"), _of(_MOVED, "self")),
    **dict.fromkeys(("cat", "stack"), _of(_NUMBERS, "tensors")),
    "index.Tensor": Rule((*_of(_MOVED, "self").limits, Limit("indices", dtypes=(i32, i64))), ("indices",), checks=(_names_the_first,)),
    "embedding": Rule((_INDICES,), ("weight",)),
    "index_put": Rule((Limit("indices", dtypes=(i32, i64), rank=(1, 1), tensors=1), Limit("accumulate", only=False)), checks=(_is_whole,)),
    "split_with_sizes_copy": _of(_MOVED, "self", checks=(checks.parts_have_elements,)),
    "constant_pad_nd": Rule(checks=(checks.only_grows,)),
    "pixel_shuffle": Rule((_IMAGE,)),
    **dict.fromkeys(
        ("upsample_nearest2d.vec", "upsample_bilinear2d.vec"), Rule((_RESIZED,), checks=(checks.scales_as_sizes, _grows_by_whole_factors))
    ),
}
"""What the backend takes, by the names of the operators of the edge level."""

_TABLE = OperatorTable(
    OPERATORS,
    Limit(dtypes=(f32,), rank=(0, MOST_DIMENSIONS), static=True, row_major=True, filled=True),
    checks=(_has_dimensions,),
    in_parts=COMPOSITES,
)


def table(options: CoreMlOptions) -> OperatorTable:
    """Returns the table of the operators that the target has. All constants go into the payload."""
    return _of_target(options.set_of_operators)


@cache
def _of_target(ios: int) -> OperatorTable:
    return replace(_TABLE, rules={name: rule for name, rule in OPERATORS.items() if _SINCE.get(name, ios) <= ios})
