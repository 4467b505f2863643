"""The operators that the backend takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import f16, f32, i1, i8, i16, i32, i64

from flambeau.backends.onnxruntime import OnnxRuntimeOptions
from flambeau.backends.onnxruntime.dialect.elements import UNARY
from flambeau.backends.onnxruntime.dialect.movement import SliceOp
from flambeau.backends.onnxruntime.places import open_slice, replaced_shape
from flambeau.dialects.ir.extents import exceeds, is_known, provably_equal
from flambeau.dialects.ir.tensor_types import ElementType, element_of, is_float, is_static, normalize_dim, shape_of, tensor, ui8, ui16
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.reshapes import one_follows
from flambeau.passes.delegation.normalized import dim_of
from flambeau.passes.delegation.open_sizes import numbers_are_known, sizes_fit

FLOATS: tuple[ElementType, ...] = (f32, f16)
INTEGERS: tuple[ElementType, ...] = (i64, i32)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, i1, i8, ui8)
"""The element types of tensors that are moved."""
QUANTIZED: tuple[ElementType, ...] = (i8, ui8, i16, ui16)


def index_is_inside(op: SchemaOp) -> str | None:
    """An index that the dimension has in every run."""
    shape, index = shape_of(op.operands[0]), op.argument("index")
    extent = shape[normalize_dim(op.argument("dim"), len(shape))]
    return None if exceeds(extent, index if index >= 0 else -index - 1) else f"whether it has an entry {index} is known when it runs only"


def _has_whole_windows(op: SchemaOp) -> str | None:
    """To one pixel, or to sizes that divide those of the image."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if new == (1, 1) or all(is_known(a) and a % b == 0 for a, b in zip(old, new, strict=True)):
        return None
    return f"its windows of {list(new)} in images of {list(old)} are not of one size"


def _divides_by_number(op: SchemaOp) -> str | None:
    """Of integers by a number other than 0, rounded towards it; or of floats that are not rounded."""
    other, mode = op.argument("other"), op.argument("rounding_mode")
    if is_float(element_of(op.operands[0])):
        return None if mode is None else "it rounds a quotient of floats"
    return None if mode == "trunc" and other else f"it divides integers by {other} with the rounding mode {mode!r}"


def _is_of_number(op: SchemaOp) -> str | None:
    """By a number other than 0."""
    return None if op.argument("other") else "it divides by 0"


def _weight_is_whole(op: SchemaOp) -> str | None:
    """A slope for all elements, or for each channel."""
    x, slopes = shape_of(op.operands[0]), shape_of(op.operands[1])
    return None if slopes in ((), (1,)) or len(x) > 1 else f"its {list(slopes)} slopes are of a line"


def _scale_is_normal(op: SchemaOp) -> str | None:
    """A scale that is a normal positive number of float32."""
    scale = op.argument("scale")
    return None if 2.0**-126 <= scale < 2.0**120 else f"its scale {scale} is no normal positive number of float32"


def _grows_as_known(op: SchemaOp) -> str | None:
    """By copies along dimensions that it has."""
    return None if len(op.argument("repeats")) >= len(shape_of(op.operands[0])) else "it repeats fewer dimensions than there are"


def _reads_places(op: SchemaOp) -> str | None:
    """By one tensor of indices, or by several of known sizes for the first dimensions."""
    indices = op.argument("indices")
    present = [index for index in indices if index is not None]
    if len(present) == 1:
        return None
    if None in indices[: len(present)]:
        return f"it has {len(present)} tensors of indices that are not for its first dimensions"
    return None if is_static(*present) else "the sizes of its several tensors of indices are known when it runs only"


def _puts_places(op: SchemaOp) -> str | None:
    """By one line of indices, or by several tensors of them for the first dimensions; of known sizes."""
    indices = op.argument("indices")
    first = next((dim for dim, index in enumerate(indices) if index is not None), 0)
    if first == 0:
        return _reads_places(op) or (None if is_static(*op.operands) else "its sizes are known when it runs only")
    if len(indices) > first + 1 or len(shape_of(indices[first])) != 1:
        return f"it has indices of {len(shape_of(indices[first]))} dimensions behind {first} others, or several"
    wanted = replaced_shape(op)
    is_open = any(not is_known(size) for dim, size in enumerate(wanted) if dim != first) or not all(
        map(provably_equal, shape_of(op.argument("values")), wanted)
    )
    return "its sizes are known when it runs only" if is_open and not is_static(*op.operands) else None


def _puts_neighbours(op: SchemaOp) -> str | None:
    """Of neighbours, in places that are known."""
    size = shape_of(op.operands[0])[normalize_dim(op.argument("dim"), len(shape_of(op.operands[0])))]
    is_slice = op.schema.base == "slice_scatter"
    count = shape_of(op.operands[1])[normalize_dim(op.argument("dim"), len(shape_of(op.operands[0])))] if is_slice else 1
    if is_slice and op.argument("step") != 1:
        return f"it leaves gaps (a step of {op.argument('step')})"
    return None if is_known(size) and is_known(count) and count else "what it replaces is nothing, or known when it runs only"


def _is_plain_softplus(op: SchemaOp) -> str | None:
    """With beta 1 and a threshold that float32 does not see."""
    beta, threshold = op.argument("beta"), op.argument("threshold")
    return None if beta == 1 and threshold >= 15 else f"its beta is {beta}, its threshold {threshold}"


def _is_of_its_sizes(op: SchemaOp) -> str | None:
    """Of as many images and channels as its input has."""
    given = tuple(op.argument(name) for name in ("N", "C"))
    shape = shape_of(op.operands[0])[:2]
    return (
        None if all(map(provably_equal, given, shape)) else f"it is of {list(given)} images and channels, and its input has {list(shape)}"
    )


def _channels_are_known(op: SchemaOp) -> str | None:
    """Of as many channels as are known before the run."""
    sizes = (shape_of(op.operands[0])[1], *(size for value in op.operands[1:] for size in shape_of(value)))
    return None if all(map(is_known, sizes)) else "the number of its channels is known when it runs only"


def _pads_outside(op: SchemaOp) -> str | None:
    """No negative pad."""
    return "it cuts off elements (a negative pad)" if min(op.argument("padding")) < 0 else None


def _attends_as_known(op: SchemaOp) -> str | None:
    """Of queries, keys and values of as many dimensions; of a known scale; causal of sizes, and in groups of heads, that are known."""
    query, key, value = (shape_of(operand) for operand in op.operands[:3])
    if not len(query) == len(key) == len(value):
        return f"its operands have {len(query)}, {len(key)} and {len(value)} dimensions"
    if op.argument("scale") is None and not is_known(query[-1]):
        return f"its scale, one over the root of {query[-1]}, is known when it runs only"
    if op.argument("is_causal") and not all(map(is_known, (query[-2], key[-2]))):
        return f"whether one of {query[-2]} queries sees one of {key[-2]} keys is known when it runs only"
    if op.argument("enable_gqa") and not all(map(is_known, (query[-3], key[-3]))):
        return "the number of its heads is known when it runs only"
    return None


def _slices_as_known(op: SchemaOp) -> str | None:
    """Along a dimension whose size is known before the run, or in steps between places that ONNX counts as PyTorch does."""
    x, dim, reason = op.operands[0], dim_of(op), checks.dim_is_known(op)
    if reason is None:
        return None
    try:
        found = SliceOp.infer(tensor(element_of(x), shape_of(x)), *open_slice(op))
    except ValueError:
        return reason
    return None if provably_equal(shape_of(found)[dim], shape_of(op.result)[dim]) else reason


def _counts_as_known(op: SchemaOp) -> str | None:
    """Of int64, from a known number in known steps."""
    numbers = [op.argument(name) for name in ("start", "step")]
    is_whole = all(is_known(number) and isinstance(number, int) for number in numbers) and isinstance(op.argument("end"), int)
    return None if is_whole else f"it counts from {numbers[0]} in steps of {numbers[1]}"


def _numbers_are_known(op: SchemaOp) -> str | None:
    """No number in it that only the run knows, but for those of a shape, and where a file counts to."""
    return None if op.schema.base == "arange" else numbers_are_known(op)


def _has_rows(op: SchemaOp) -> str | None:
    """Of a tensor with dimensions."""
    return None if shape_of(op.operands[0]) else "it is of a number"


_OF_FLOATS = Limit(dtypes=FLOATS)
_OF_NUMBERS = Limit(dtypes=NUMBERS)
_TRUTHS = Limit("result", dtypes=(i1,))
_PLAIN = Rule((_OF_FLOATS,))
_NUMBERS = Rule((_OF_NUMBERS,))
_MOVES = Rule()
_UNSCALED = Rule((_OF_NUMBERS, Limit("alpha", only=1)))
_COMPARISON = Rule((Limit("self", dtypes=NUMBERS), Limit("other", dtypes=NUMBERS), _TRUTHS))
_EQUALITY = Rule((Limit("self", dtypes=(*NUMBERS, i1)), Limit("other", dtypes=(*NUMBERS, i1)), _TRUTHS))
_LOGIC = Rule((Limit(dtypes=(i1,)),))
_BITS = Rule((Limit(dtypes=(i1, *INTEGERS)),))
_SELF_IMAGE = Limit("self", rank=(4, 4))
_PLACES = Limit("index", dtypes=INTEGERS)
_RESIZED = Rule((_OF_FLOATS, Limit("input", rank=(4, 4), static=True)), checks=(checks.scales_as_sizes,))
_CHANNELS = (Limit("input", dtypes=(i8, ui8)), Limit("zero_points", dtypes=(i8, i32, i64, f32)), Limit("scales", dtypes=(f32,)))
_KNOWN = tuple(Limit(name, static=True) for name in ("weight", "bias"))
_OF_ONE_TYPE = tuple(Limit(name, dtype_of="input") for name in ("weight", "bias"))
_LIKE_INPUT = tuple(Limit(name, dtype_of="input") for name in ("running_mean", "running_var"))
_OF_INTEGERS = ("abs", "neg")

OPERATORS: dict[str, Rule] = {
    # elements
    **{name: _NUMBERS if name in _OF_INTEGERS else _PLAIN for name in UNARY if not name.startswith(("logical", "bitwise"))},
    **dict.fromkeys(("rsqrt", "gelu", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "leaky_relu", "silu", "hardsigmoid"), _PLAIN),
    "sign": _NUMBERS,
    "softplus": Rule((_OF_FLOATS,), checks=(_is_plain_softplus,)),
    "elu": Rule((_OF_FLOATS, Limit("scale", only=1), Limit("input_scale", only=1))),
    "prelu": Rule((_OF_FLOATS,), checks=(_weight_is_whole,)),
    **dict.fromkeys(("maximum", "minimum", "mul.Tensor", "mul.Scalar"), _NUMBERS),
    **dict.fromkeys(("div.Tensor", "div.Scalar"), _PLAIN),
    "div.Scalar_mode": Rule((_OF_NUMBERS,), checks=(_divides_by_number,)),
    "remainder.Scalar": Rule((Limit(dtypes=INTEGERS),), checks=(_is_of_number,)),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule((_OF_NUMBERS,), checks=(checks.limits_in_order,))),
    **{f"{name}.{kind}": _COMPARISON for name in ("gt", "ge", "lt", "le") for kind in ("Tensor", "Scalar")},
    **{f"{name}.{kind}": _EQUALITY for name in ("eq", "ne") for kind in ("Tensor", "Scalar")},
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), _LOGIC),
    **dict.fromkeys(("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bitwise_not"), _BITS),
    **dict.fromkeys(("isnan", "isinf"), Rule((Limit("self", dtypes=FLOATS), _TRUTHS))),
    "where.self": Rule((Limit("condition", dtypes=(i1,)), *(Limit(name, dtypes=NUMBERS) for name in ("self", "other", "result")))),
    "_to_copy": _MOVES,
    "clone": _MOVES,
    **dict.fromkeys(("scalar_tensor", "full"), Rule((Limit("result", dtypes=ALL, static=True),))),
    "cumsum": Rule((Limit("self", dtypes=(*NUMBERS, i1)), Limit("result", dtypes=NUMBERS)), checks=(_has_rows,)),
    # quantized numbers
    "quantized_decomposed.quantize_per_tensor": Rule(
        (Limit("input", dtypes=(f32,)), Limit("result", dtypes=QUANTIZED)), checks=(_scale_is_normal,)
    ),
    "quantized_decomposed.dequantize_per_tensor": Rule(
        (Limit("input", dtypes=QUANTIZED), Limit("result", dtypes=(f32,))), checks=(_scale_is_normal,)
    ),
    "quantized_decomposed.dequantize_per_channel": Rule((*_CHANNELS, Limit("result", dtypes=(f32,))), ("scales", "zero_points")),
    "quantized_decomposed.dequantize_per_channel_group": Rule(
        (*_CHANNELS[:2], Limit("scales", dtypes=FLOATS), Limit("result", dtypes=FLOATS)), ("scales", "zero_points")
    ),
    # products
    "convolution": Rule((_OF_FLOATS, Limit("input", rank=(3, 5)), *_KNOWN), checks=(checks.output_padding_is_small,)),
    "linear": Rule((_OF_FLOATS, Limit("input", rank=(2, 6)), Limit("weight", rank=(2, 2)))),
    "addmm": Rule((_OF_FLOATS, Limit("alpha", only=1), Limit("beta", only=1))),
    **dict.fromkeys(("mm", "bmm"), _NUMBERS),
    "scaled_dot_product_attention": Rule(
        (*(Limit(name, dtypes=FLOATS, rank=(2, 6)) for name in ("query", "key", "value")), Limit("attn_mask", dtypes=(*FLOATS, i1))),
        checks=(_attends_as_known,),
    ),
    # windows
    "max_pool2d_with_indices": Rule(
        (_SELF_IMAGE, Limit("self", dtypes=FLOATS)), checks=(checks.windows_are_whole, checks.indices_are_unused)
    ),
    "avg_pool2d": Rule((_OF_FLOATS, _SELF_IMAGE), checks=(checks.windows_are_whole, checks.divides_by_window)),
    "_adaptive_avg_pool2d": Rule((_OF_FLOATS, _SELF_IMAGE), checks=(_has_whole_windows,)),
    **dict.fromkeys(("upsample_bilinear2d.vec", "upsample_nearest2d.vec"), _RESIZED),
    # reductions
    **dict.fromkeys(("amax", "amin"), _NUMBERS),
    **dict.fromkeys(("sum.dim_IntList", "prod.dim_int"), Rule((Limit("self", dtypes=(*NUMBERS, i1)), Limit("result", dtypes=NUMBERS)))),
    "mean.dim": _PLAIN,
    **dict.fromkeys(("any", "any.dim", "any.dims"), Rule((Limit("self", dtypes=(*NUMBERS, i1)), _TRUTHS))),
    **dict.fromkeys(("argmax", "argmin"), Rule((Limit("self", dtypes=FLOATS), Limit("result", dtypes=(i64,))), checks=(_has_rows,))),
    **dict.fromkeys(("_softmax", "_log_softmax"), Rule((_OF_FLOATS, Limit("half_to_float", only=False)), checks=(_has_rows,))),
    "layer_norm": Rule((_OF_FLOATS, *_OF_ONE_TYPE)),
    "native_layer_norm": Rule((_OF_FLOATS, *_OF_ONE_TYPE), checks=(checks.result_only,)),
    "native_group_norm": Rule(
        (_OF_FLOATS, Limit("input", rank=(3, 5)), *_OF_ONE_TYPE), checks=(checks.result_only, _channels_are_known, _is_of_its_sizes)
    ),
    "_native_batch_norm_legit_no_training": Rule(
        (Limit("input", rank=(2, 5), dtypes=FLOATS), *_OF_ONE_TYPE, *_LIKE_INPUT), checks=(checks.result_only, _channels_are_known)
    ),
    # movement
    **dict.fromkeys(("permute_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "cat", "stack"), _MOVES),
    "select_copy.int": Rule(checks=(index_is_inside,)),
    "view_copy": Rule(checks=(one_follows,)),
    "split_with_sizes_copy": Rule(checks=(checks.dim_is_known, checks.parts_have_elements)),
    "slice_copy.Tensor": Rule(checks=(_slices_as_known,)),
    "expand_copy": Rule(checks=(checks.growth_is_known,)),
    "repeat": Rule(checks=(_grows_as_known,)),
    "flip": Rule((Limit("self", static=True, rank=(1, 6)),)),
    "constant_pad_nd": Rule((_OF_NUMBERS,), checks=(checks.pads_with_number, checks.keeps_elements)),
    **dict.fromkeys(
        ("reflection_pad1d", "reflection_pad2d", "replication_pad2d"), Rule((_OF_FLOATS, Limit(static=True)), checks=(_pads_outside,))
    ),
    "pixel_shuffle": Rule((_OF_FLOATS, _SELF_IMAGE)),
    "embedding": Rule((Limit("indices", dtypes=INTEGERS),)),
    "index_select": Rule((_PLACES,), checks=(_has_rows,)),
    "index.Tensor": Rule((Limit("indices", dtypes=INTEGERS),), checks=(_reads_places,)),
    "index_put": Rule((Limit("indices", dtypes=INTEGERS), Limit("values", dtypes=NUMBERS)), checks=(_puts_places,)),
    **dict.fromkeys(("slice_scatter", "select_scatter"), Rule(checks=(_puts_neighbours,))),
    "gather": Rule((_PLACES, Limit(static=True)), checks=(_has_rows,)),
}
"""What ONNX Runtime takes, by the names of the operators of the edge level."""

IN_PARTS: dict[str, Rule] = {
    **COMPOSITES,
    "masked_fill.Scalar": Rule((Limit("mask", dtypes=(i1,)),)),
    "tril": _PLAIN,
}
_TABLE = OperatorTable(
    OPERATORS,
    Limit(dtypes=ALL, rank=(0, 8), row_major=True, filled=True, bounded=True),
    checks=(_numbers_are_known, sizes_fit),
    in_parts={name: rule for name, rule in IN_PARTS.items() if name not in OPERATORS},
)


IN_FILES: dict[str, Rule] = {"arange.start_step": Rule((Limit("result", dtypes=(i64,)),), checks=(_counts_as_known,))}
"""What a file has beside these: it may need sizes of its inputs, where a delegate sees its operands only."""
_FILES = replace(_TABLE, rules={**OPERATORS, **IN_FILES}, knows_sizes=True)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that ONNX Runtime takes, in a delegate or in a file. All constants go into it."""
    return _FILES if isinstance(options, OnnxRuntimeOptions) and options.sizes else _TABLE
