"""The operators that the backend takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f16, f32, i8, i32, i64

from flambeau.backends.vulkan import VulkanOptions
from flambeau.backends.vulkan.dialect.elementwise import BINARY, UNARY
from flambeau.backends.vulkan.dialect.kernels import GROUP, MOST_BYTES, MOST_DIMENSIONS, MOST_GROUPS
from flambeau.backends.vulkan.dialect.products import TILE
from flambeau.backends.vulkan.rounds import ends_soon
from flambeau.dialects.ir.tensor_types import element_of, nbytes, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions


def _fits_a_binding(op: SchemaOp) -> str | None:
    """Tensors of 128 MiB at most, which every device can bind."""
    most = max((nbytes(value) for value in (*op.operands, *op.results)), default=0)
    return None if most <= MOST_BYTES else f"a tensor has {most} bytes, and every device binds {MOST_BYTES} only"


def _has_one_type(op: SchemaOp) -> str | None:
    """Tensors of float32 only, or of float16 only; weights may be of int8."""
    kinds = {element_of(value) for value in (*op.operands, *op.results) if element_of(value) in (f32, f16)}
    return "its tensors are of float32 and of float16" if len(kinds) > 1 else None


def _fits_a_grid(op: SchemaOp) -> str | None:
    """Rows, columns, channels and images that every device counts: 65535 times what a workgroup computes."""
    shape = shape_of(op.result)
    if op.schema.base == "convolution":
        counts = (shape[0], -(-prod(shape[2:]) // GROUP), shape[1] + op.argument("groups"))
    elif op.schema.base == "bmm":
        counts = (shape[0], -(-max(shape[1:]) // TILE))
    else:
        counts = (-(-prod(shape[:-1]) // TILE), -(-shape[-1] // TILE))
    return None if max(counts) <= MOST_GROUPS else f"its result {list(shape)} takes more than {MOST_GROUPS} workgroups in a direction"


def _divides_the_image(op: SchemaOp) -> str | None:
    """Windows of one size: the image is a multiple of the result, or the result of 1."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    fits = all(size % count == 0 for size, count in zip(old, new, strict=True))
    return None if fits else f"the image {list(old)} is no multiple of {list(new)}"


def _has_a_power(op: SchemaOp) -> str | None:
    """The exponents 0.5, 1, 2, 3 and 4."""
    exponent = op.argument("exponent")
    return None if exponent in POWERS else f"its exponent is {exponent}, and those taken are {', '.join(map(str, POWERS))}"


POWERS = (0.5, 1, 2, 3, 4)
_PLAIN = Rule()
_UNSCALED = Rule((Limit("alpha", only=1),))
_IMAGE = Limit("self", rank=(4, 4))
_NOT_HALF = Rule((Limit("half_to_float", only=False), Limit("self", rank=(1, MOST_DIMENSIONS))), checks=(ends_soon,))

OPERATORS: dict[str, Rule] = {
    # elementwise
    **dict.fromkeys((*UNARY, *BINARY, "gelu", "leaky_relu"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"), _PLAIN),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    "pow.Tensor_Scalar": Rule(checks=(_has_a_power,)),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
    # products
    "quantized_decomposed.dequantize_per_channel": Rule(
        (
            Limit("input", dtypes=(i8,)),
            Limit("scales", dtypes=(f32,)),
            Limit("zero_points", dtypes=(i8, i32, i64, f32)),
            Limit("result", dtypes=(f32,)),
        ),
        constants=("input", "scales", "zero_points"),
    ),
    "convolution": Rule((Limit("input", rank=(3, 4)),), checks=(checks.output_padding_is_small, _fits_a_grid, ends_soon)),
    "linear": Rule(
        (Limit("input", rank=(1, MOST_DIMENSIONS)), Limit("weight", rank=(2, 2)), Limit("bias", rank=(0, 1))),
        checks=(_fits_a_grid, ends_soon),
    ),
    "addmm": Rule((Limit("alpha", only=1), Limit("beta", only=1)), checks=(_fits_a_grid, ends_soon)),
    **dict.fromkeys(("mm", "bmm"), Rule(checks=(_fits_a_grid, ends_soon))),
    # pools
    "max_pool2d_with_indices": Rule((_IMAGE,), checks=(checks.windows_are_whole, checks.indices_are_unused, ends_soon)),
    "avg_pool2d": Rule((_IMAGE,), checks=(checks.windows_are_whole, checks.divides_by_window, ends_soon)),
    "_adaptive_avg_pool2d": Rule((_IMAGE,), checks=(_divides_the_image, ends_soon)),
    # rows
    **dict.fromkeys(("amax", "amin", "mean.dim", "sum.dim_IntList"), Rule(checks=(ends_soon,))),
    **dict.fromkeys(("_softmax", "_log_softmax"), _NOT_HALF),
    "native_layer_norm": Rule(checks=(checks.result_only, ends_soon)),
    "native_group_norm": Rule(checks=(checks.result_only, ends_soon)),
    # movement
    **dict.fromkeys(("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "permute_copy"), _PLAIN),
    **dict.fromkeys(("cat", "stack", "expand_copy", "slice_copy.Tensor", "select_copy.int"), _PLAIN),
    "split_with_sizes_copy": Rule(checks=(checks.parts_have_elements,)),
    "constant_pad_nd": Rule(checks=(checks.only_grows,)),
    "pixel_shuffle": Rule((_IMAGE,)),
    **dict.fromkeys(
        ("upsample_nearest2d.vec", "upsample_bilinear2d.vec"), Rule((Limit("input", rank=(4, 4)),), checks=(checks.scales_as_sizes,))
    ),
}
"""What the backend takes, by the names of the operators of the edge level."""

_TABLES = {
    precision: OperatorTable(
        OPERATORS,
        Limit(dtypes=dtypes, rank=(0, MOST_DIMENSIONS), static=True, row_major=True, filled=True),
        checks=(_fits_a_binding, _has_one_type),
        in_parts=COMPOSITES,
    )
    for precision, dtypes in (("f32", (f32,)), ("f16", (f32, f16)))
}


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that the backend takes: of float16 too with `precision=f16`. Constants go into the payload."""
    assert isinstance(options, VulkanOptions)
    return _TABLES[options.precision]
