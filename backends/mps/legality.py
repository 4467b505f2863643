"""The operators that the backend takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from flambeau.backends.mps.dialect.functions import BINARY, UNARY
from flambeau.dialects.ir.tensor_types import f32, i1, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions

MOST_DIMENSIONS = 5
"""The most dimensions that are tried: the format has no limit."""


def _has_dimensions(op: SchemaOp) -> str | None:
    """Tensors with a dimension, but for constants."""
    flat = any(not shape_of(value) for value in (*op.operands, *op.results) if not is_constant(value))
    return "a tensor has no dimension, and the runtime makes a line of it" if flat else None


def _is_direct(op: SchemaOp) -> str | None:
    """Not transposed: the format has no such convolution."""
    return "it is transposed, and the format has no such convolution" if op.argument("transposed") else None


def _divides(op: SchemaOp) -> str | None:
    """To one size in each direction that the image is a multiple of."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    return None if all(a % b == 0 for a, b in zip(old, new, strict=True)) else f"{list(old)} are no multiples of {list(new)}"


_PLAIN = Rule()
_OF_IMAGES = Limit("self", rank=(4, 4))
_WINDOWS = (checks.windows_are_whole,)

OPERATORS: dict[str, Rule] = {
    # functions
    **{name: _PLAIN for name in (*UNARY, *BINARY, "leaky_relu", "silu", "hardsigmoid", "hardswish", "pow.Tensor_Scalar")},
    **{f"{name}.{kind}": _PLAIN for name in ("mul", "div") for kind in ("Tensor", "Scalar")},
    **{f"{name}.{kind}": _PLAIN for name in ("add", "sub") for kind in ("Tensor", "Scalar")},
    # The runtime of ExecuTorch computes another function for `tanh`.
    "gelu": Rule((Limit("approximate", only="none"),)),
    "clamp": Rule(checks=(checks.limits_in_order,)),
    "hardtanh": Rule(checks=(checks.limits_in_order,)),
    "where.self": Rule((Limit("condition", dtypes=(i1,)),), ("condition",)),
    # rows
    "_softmax": Rule((Limit("half_to_float", only=False),)),
    "_log_softmax": Rule((Limit("half_to_float", only=False),)),
    "mean.dim": _PLAIN,
    "sum.dim_IntList": _PLAIN,
    "native_layer_norm": Rule(checks=(checks.result_only,)),
    "native_group_norm": Rule(checks=(checks.result_only,)),
    # layers
    "linear": Rule((Limit("weight", rank=(2, 2)),)),
    "addmm": _PLAIN,
    "mm": _PLAIN,
    "bmm": _PLAIN,
    "convolution": Rule((Limit("input", rank=(3, 4)),), checks=(checks.output_padding_is_small, _is_direct)),
    "max_pool2d_with_indices": Rule((_OF_IMAGES,), checks=(*_WINDOWS, checks.indices_are_unused)),
    "avg_pool2d": Rule((_OF_IMAGES,), checks=(*_WINDOWS, checks.divides_by_window)),
    "_adaptive_avg_pool2d": Rule((_OF_IMAGES,), checks=(_divides,)),
    # moves
    **{name: _PLAIN for name in ("view_copy", "permute_copy", "expand_copy", "cat", "stack", "select_copy.int", "slice_copy.Tensor")},
    **{name: _PLAIN for name in ("unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims")},
    "split_with_sizes_copy": Rule(checks=(checks.parts_have_elements,)),
    "constant_pad_nd": Rule(checks=(checks.only_grows,)),
    "pixel_shuffle": Rule((Limit("self", rank=(3, MOST_DIMENSIONS)),)),
}
"""What the backend takes, by the names of the operators of the edge level."""

_TENSORS = Limit(dtypes=(f32,), rank=(0, MOST_DIMENSIONS), static=True, row_major=True, filled=True)
_TABLE = OperatorTable(OPERATORS, _TENSORS, checks=(_has_dimensions,), in_parts=COMPOSITES)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that the backend takes, for any options. All constants go into the payload."""
    return _TABLE
