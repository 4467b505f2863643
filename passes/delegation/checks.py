"""Checks that the tables of several backends make of operations: why one is not taken, None when it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.delegation.normalized import dim_of, pads_of, sizes_before, windows_of


def open_extents(shape: Sequence[int]) -> int:
    """Returns the number of dynamic extents."""
    return sum(not is_known(extent) for extent in shape)


def windows_are_whole(op: SchemaOp) -> str | None:
    """No `ceil_mode`."""
    return "its windows reach beyond the padded image (ceil_mode)" if op.argument("ceil_mode") else None


def divides_by_window(op: SchemaOp) -> str | None:
    """No `divisor_override`, or the number of elements of the window."""
    is_size = op.argument("divisor_override") in (None, prod(windows_of(op).kernel))
    return None if is_size else "its divisor is not the size of its window"


def indices_are_unused(op: SchemaOp) -> str | None:
    """Nothing reads the indices."""
    return "the indices of the largest elements are read" if any(op.results[1].uses) else None


def result_only(op: SchemaOp) -> str | None:
    """Nothing reads the mean and the deviation."""
    return "its mean or its deviation is read" if any(value.uses for value in op.results[1:]) else None


def output_padding_is_small(op: SchemaOp) -> str | None:
    """An output padding that is less than the stride, of transposed convolutions only."""
    windows = windows_of(op)
    more, stride = windows.output_padding, windows.stride
    if not op.argument("transposed"):
        return "an output padding has a meaning for transposed convolutions only" if any(more) else None
    small = all(extra < each for extra, each in zip(more, stride, strict=True))
    return None if small else f"its output padding {list(more)} is not less than its stride {list(stride)}"


def dim_is_known(op: SchemaOp) -> str | None:
    """Along a dimension whose size is known before the run."""
    shape = shape_of(op.operands[0])
    is_whole = is_known(shape[dim_of(op)])
    return None if is_whole else "the size that it divides is known when it runs only"


def growth_is_known(op: SchemaOp) -> str | None:
    """To sizes that are known before the run."""
    grown = [b for a, b in zip(sizes_before(op), shape_of(op.result), strict=True) if not provably_equal(a, b)]
    return "it grows to a size that is known when it runs only" if open_extents(grown) else None


def image_is_known(op: SchemaOp) -> str | None:
    """Height and width are known before the run."""
    return "the size of the image is known when it runs only" if open_extents(shape_of(op.operands[0])[2:]) else None


def parts_have_elements(op: SchemaOp) -> str | None:
    """No empty part."""
    return "a part has no elements" if any(0 in shape_of(part) for part in op.results) else None


def only_grows(op: SchemaOp) -> str | None:
    """No negative pad."""
    return "it cuts off elements (a negative pad)" if min(op.argument("pad"), default=0) < 0 else None


def pads_with_number(op: SchemaOp) -> str | None:
    """No padding with NaN."""
    return "it pads with NaN" if op.argument("value") != op.argument("value") else None


def keeps_elements(op: SchemaOp) -> str | None:
    """Negative pads that leave elements, of sizes that are known before the run."""
    cuts = [min(low, 0) + min(high, 0) for low, high in zip(*pads_of(op), strict=True)]
    shape = shape_of(op.operands[0])
    cut = [size for size, change in zip(shape, cuts, strict=True) if change]
    if open_extents(cut):
        return "it cuts elements off a size that is known when it runs only"
    kept = [size + change for size, change in zip(cut, filter(None, cuts), strict=True)]
    return None if min(kept, default=1) > 0 else f"its negative pads {list(op.argument('pad'))} leave no elements of {list(shape)}"


def limits_in_order(op: SchemaOp) -> str | None:
    """Limits between which there is something."""
    least, most = op.arguments()[1:]
    given = [limit for limit in (least, most) if limit is not None]
    return None if given == sorted(given) and all(limit == limit for limit in given) else f"nothing is within its limits {given}"


def scales_as_sizes(op: SchemaOp) -> str | None:
    """Scale factors that are the quotients of the sizes, if there are any."""
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    factors = op.argument("scale_factors")
    is_aligned = any(argument.name == "align_corners" for argument in op.schema.arguments) and op.argument("align_corners")
    if not factors or is_aligned or all(b == a * factor for a, b, factor in zip(old, new, factors, strict=True)):
        return None
    return f"its scale factors {list(factors)} are not the quotients of its sizes, {list(new)} and {list(old)}"


def has_no_zero_points(op: SchemaOp) -> str | None:
    """Integers of int16 with the zero point 0."""
    found = quantized_operator(op)
    for part in () if found is None else found.parts:
        if isinstance(part, (DequantizePerTensorOp, QuantizePerTensorOp)) and (zero_point := part.argument("zero_point")):
            return f"integers have the zero point {zero_point}, and that of int16 is 0"
    return None
