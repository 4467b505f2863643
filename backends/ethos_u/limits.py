"""Limits of the accelerators on operators of TOSA, as data, in Arm's words.

Source: the report `vela --supported-ops-report` of Vela 5.2, and its answers where it takes more than the report says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i8, i16, i32

from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

Limit = Callable[[SchemaOp], str | None]
"""Why an accelerator does not take an operation; None when it does."""

MOST_STEPS = 3
MOST_PADDED_MEAN = 8
MOST_POSITIONS = 1 << 16
MOST_WEIGHTS = 127 * 65536
MOST_SUM = (1 << 39) - 1
_UNSUPPORTED = (
    "bitwise_and bitwise_or bitwise_xor bitwise_not intdiv logical_and logical_right_shift logical_or logical_xor logical_not select equal "
    "greater greater_equal reduce_all reduce_any gather scatter reverse"
).split()


def _stride(op: SchemaOp) -> str | None:
    """Kernel stride: 1 <= stride <= 3, or more without dilation and padding."""
    stride, gaps = op.argument("stride"), op.argument("dilation") if "dilation" in _names(op) else (1, 1)
    free = op.schema.base != "depthwise_conv2d" and max(gaps) == 1 and not any(op.argument("pad"))
    return None if max(stride) <= MOST_STEPS or free else f"kernel stride: 1 <= stride <= 3, and its stride is {list(stride)}"


def _padded_mean(op: SchemaOp) -> str | None:
    """IF padding is used: 1 <= kernel_x <= 8 and 1 <= kernel_y <= 8."""
    kernel = op.argument("kernel")
    if not any(op.argument("pad")) or max(kernel) <= MOST_PADDED_MEAN:
        return None
    return f"IF padding is used: 1 <= kernel_x <= 8 and 1 <= kernel_y <= 8, and its kernel is {list(kernel)}"


def _transposed(op: SchemaOp) -> str | None:
    """Product of any N-2 axes in a rank N tensor must be less than or equal to 2^16."""
    shape = shape_of(op.operands[0])
    most = prod(sorted(shape)[2:])
    if most <= MOST_POSITIONS and max(shape, default=1) <= MOST_POSITIONS:
        return None
    return f"product of any N-2 axes in a rank N tensor must be less than or equal to 2^16, and its shape is {list(shape)}"


def _of_bytes(op: SchemaOp) -> str | None:
    """DataTypes: int8 only."""
    return None if element_of(op.operands[0]) == i8 else f"DataTypes: int8 only, and it is of {element_of(op.operands[0])}"


def _of_two_of_bytes(op: SchemaOp) -> str | None:
    """DataTypes (IFM, IFM2, OFM): (i8_t, i8_t, i32_t)."""
    kind = element_of(op.operands[0])
    return None if kind == i8 else f"DataTypes (IFM, IFM2, OFM): (i8_t, i8_t, i32_t), and it is of {kind}"


def _no_int32(op: SchemaOp) -> str | None:
    """INT8->INT8 and INT16->INT16."""
    return None if element_of(op.operands[0]) != i32 else "DataTypes: INT8->INT8 and INT16->INT16, and it is of int32"


def _wrong_minima(op: SchemaOp) -> str | None:
    """Vela 5.2 subtracts one element of the minima of one depth from all of them where their shape changes behind."""
    return "Vela computes REDUCE_MIN wrongly where the shape of its result changes"


def _not_there(op: SchemaOp) -> str | None:
    """No such operator."""
    return f"{op.schema.base.upper()} is not supported on Ethos-U55 and Ethos-U65"


_SMALL: Mapping[str, Sequence[Limit]] = {
    "conv2d": (_stride,),
    "depthwise_conv2d": (_stride,),
    "avg_pool2d": (_stride, _padded_mean),
    "max_pool2d": (_stride,),
    "matmul": (_of_two_of_bytes,),
    "transpose": (_transposed,),
    "table": (_of_bytes,),
    "reduce_max": (_no_int32,),
    "reduce_min": (_wrong_minima,),
    **dict.fromkeys(_UNSUPPORTED, (_not_there,)),
}
LIMITS: Mapping[str, Mapping[str, Sequence[Limit]]] = {"ethos-u55": _SMALL, "ethos-u65": _SMALL, "ethos-u85": {}}
"""The limits of each family on operators of TOSA, by their names. U85 has none beside those of TOSA's own level."""


_OUTPUTS: Mapping[str, tuple[int, ...]] = {"conv2d": (0,), "depthwise_conv2d": (2, 3), "transpose_conv2d": (0,)}
"""The dimensions of the outputs of weights."""


def _why_no_sums(op: SchemaOp, constants: ModuleConstants) -> str | None:
    """Bias must fit in signed int40, and so must the sums of products with it, which Vela does not check."""
    weight, bias = (constants.elements(value).astype(np.int64) for value in op.operands[1:3])
    others = tuple(dim for dim in range(weight.ndim) if dim not in _OUTPUTS[op.schema.base])
    weights = np.abs(weight).sum(others).reshape(-1)
    if (most := int(weights.max())) > MOST_WEIGHTS:
        return f"sum of absolute weights must not exceed 127*65536, and it is {most}"
    largest = 1 << (15 if element_of(op.operands[0]) == i16 else 8)
    if (most := int((np.abs(bias) + largest * weights).max())) > MOST_SUM:
        return f"bias must fit in signed int40, and its sums with the bias go up to {most}"
    return None


def why_not(op: SchemaOp, family: str, constants: ModuleConstants) -> str | None:
    """Returns the first limit of a family of accelerators that an operation of TOSA fails; None when all hold."""
    reasons = (limit(op) for limit in LIMITS[family].get(op.schema.base, ()))
    reason = next(filter(None, reasons), None)
    is_small_layer = LIMITS[family] and op.schema.base in _OUTPUTS
    return reason or (_why_no_sums(op, constants) if is_small_layer else None)


def _names(op: SchemaOp) -> Sequence[str]:
    return [argument.name for argument in op.schema.arguments]
