"""Backends of vendors whose tools read ONNX models: a table of limits over that of the family."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32, i8

from flambeau.backends.onnxruntime.legality import IN_PARTS, OPERATORS, QUANTIZED
from flambeau.dialects.ir.tensor_types import ElementType
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Check, Limit, OperatorTable, Rule

_STORED: frozenset[ElementType] = frozenset(QUANTIZED)
_LAYER = ("weight", "bias")
_KEEPING = (
    "amax amin avg_pool2d constant_pad_nd expand_copy max_pool2d_with_indices permute_copy pixel_shuffle select_copy slice_copy "
    "squeeze_copy unsqueeze_copy upsample_bilinear2d upsample_nearest2d view_copy"
).split()


def _keeps_scale(op: SchemaOp) -> bool:
    """Returns whether the result of an operator has the scale and the zero point of its operand."""
    return op.schema.base in _KEEPING


def narrowed(names: Collection[str], checks: Mapping[str, Sequence[Check]], most_dimensions: int, element: ElementType) -> OperatorTable:
    """Returns what ONNX has of some operators: in floats of a type, or between integers of one, beside weights of int8.

    Args:
        names: the operators of the vendor's tool.
        checks: the vendor's limits, by operators.
        most_dimensions: of tensors, whose sizes are static.
        element: that of the activations.
    """
    rules = {name: replace(OPERATORS[name], checks=(*OPERATORS[name].checks, *checks.get(name, ()))) for name in names}
    rules |= {name: replace(rules[name], constants=_LAYER, dequantized=_LAYER[:1]) for name in ("convolution", "linear") if name in rules}
    parts = {name: rule for name, rule in IN_PARTS.items() if name not in rules}
    is_float = element not in _STORED
    tensors = Limit(dtypes=(element if is_float else f32,), rank=(1, most_dimensions), static=True, row_major=True, filled=True)
    if is_float:
        return OperatorTable(rules, tensors, in_parts=parts)
    changes = {"quantized_decomposed.quantize_per_tensor": Rule()}
    return OperatorTable(
        {}, tensors, integers=rules | changes, activations=(element,), weights=(i8,), numbers=NumberFormat(keeps_scale=_keeps_scale)
    )
