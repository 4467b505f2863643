"""Functions of each element, and of the elements of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import (
    CONVERTERS,
    ended,
    fixed_type,
    inputs_of,
    limited,
    of_numbers,
    operator_of,
    own_type,
    reshaped,
    same,
    types,
)
from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect import functions as f
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.quantized_decomposed.quantize import RANGES
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.lines import check_lines, exact_results
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

# Two tensors, or a tensor and a number

_OF_TWO: dict[str, Any] = {"add": e.AddOp, "sub": e.SubOp, "mul": e.MulOp}
SCALARS = ("add.Scalar", "sub.Scalar", "rsub.Scalar", "mul.Scalar", "div.Scalar")
"""The operators of a tensor and a number."""


def _with_number(op: SchemaOp, x: Any, number: Callable[[float], Any], build: Callable[[Any, Any, Any], SSAValue]) -> SSAValue:
    """Returns what an operator makes of a tensor and its number, of which `number` makes an operand for `build`."""
    other = float(op.argument("other"))
    match op.schema.base:
        case "rsub":
            return build(e.SubOp, number(other), x)
        case "div":
            with np.errstate(divide="ignore"):
                return build(e.MulOp, x, number(float(np.float32(1) / np.float32(other))))
        case name:
            return build(_OF_TWO[name], x, number(other))


def integer_of(number: float, constants: ModuleConstants, like: SSAValue) -> Quantized:
    """Returns a number as the greatest integer or its negative, or 0, with a scale that makes it of that."""
    most = RANGES[element_of(like)][1]
    return Quantized(
        of_numbers(constants, "number", int(np.sign(number)) * most, like), own_type(element_of(like), abs(number) / most or 1.0)
    )


def check_ratio(found: IntegerOperator, node: Any, first: float, second: float, to: float) -> None:
    """Raises RefusedError where LiteRT would multiply a sum, or a product of int16, by too much: it ends the process, or overflows."""
    is_sum, is_wide = issubclass(node, e.SumOp), found.to.storage == i16
    given = 2 * max(first, second) / 2 ** e.WIDENED[2 if is_wide else 1] if is_sum else first * second
    if given >= to and (is_sum or is_wide):
        reason = f"its results in steps of {to:.4g} are too fine for operands in steps of {first:.4g} and {second:.4g}"
        raise RefusedError({operator_of(found): reason})


def of_two(found: IntegerOperator, node: Any, a: Quantized, b: Quantized, constants: ModuleConstants) -> SSAValue:
    """Returns a sum, a difference or a product of integers."""
    own: dict[str, Any] = types(a.type, b.type, found.to)
    check_ratio(found, node, a.type.scale, b.type.scale, found.to.scale)
    if issubclass(node, e.SumOp) and found.to.storage == i16:
        own["pot_scale_int16"] = False
    return ended(found, lambda activation: node(a.value, b.value, fused_activation_function=activation, **own).result, constants)


for _name, _node in _OF_TWO.items():
    CONVERTERS(f"{_name}.Tensor")(lambda op, constants, node=_node: node(*op.operands).result)

    @CONVERTERS.integers(f"{_name}.Tensor")
    def _of_two(found: IntegerOperator, constants: ModuleConstants, node: Any = _node) -> SSAValue:
        a, b = inputs_of(found)
        return of_two(found, node, a, b, constants)


@CONVERTERS(*SCALARS)
def _of_number(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = op.operands[0]
    return _with_number(op, x, lambda other: of_numbers(constants, "number", other, x), lambda node, a, b: node(a, b).result)


@CONVERTERS.integers(*SCALARS)
def _integer_of_number(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = operator_of(found), found.x

    def number(other: float) -> Quantized:
        return integer_of(other, constants, x.value)

    return _with_number(op, x, number, lambda node, a, b: of_two(found, node, a, b, constants))


CONVERTERS.of_operands({**e.BINARY, "div.Tensor": e.DivOp, "pow.Tensor_Tensor": e.PowOp})


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, exponent = op.operands[0], op.argument("exponent")
    match exponent:
        case 2:
            return f.SquareOp(x).result
        case 0.5:
            return f.UNARY["sqrt"](x).result
        case -0.5:
            return f.UNARY["rsqrt"](x).result
        case _:
            return e.PowOp(x, of_numbers(constants, "exponent", exponent, x)).result


# Functions of each element


def _gelu(op: SchemaOp) -> dict[str, Any]:
    return {"approximate": op.argument("approximate") == "tanh"}


def _slope(op: SchemaOp) -> dict[str, Any]:
    return {"alpha": float(op.argument("negative_slope"))}


_RESCALING: dict[str, tuple[Any, Callable[[SchemaOp], dict[str, Any]]]] = {
    "abs": (f.AbsOp, lambda op: {}),
    "elu": (f.EluOp, lambda op: {}),
    "exp": (f.ExpOp, lambda op: {}),
    "gelu": (f.GeluOp, _gelu),
    "hardswish": (f.HardSwishOp, lambda op: {}),
    "leaky_relu": (f.LeakyReluOp, _slope),
}
"""The functions whose operand and result may have any types, and their arguments."""
_FIXED: dict[str, Any] = {"sigmoid": e.LogisticOp, "tanh": e.TanhRow}

CONVERTERS.of_operands({**f.UNARY, **_FIXED})


@CONVERTERS(*_RESCALING)
def _function(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    node, numbers = _RESCALING[op.schema.base]
    return node(op.operands[0], **numbers(op)).result


@CONVERTERS.integers(*_RESCALING)
def _integer_function(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = operator_of(found), found.x
    node, numbers = _RESCALING[op.schema.base]
    if op.schema.base == "exp" and x.type.storage == i8:
        with np.errstate(over="ignore"):
            largest = float(np.exp(x.type.floats(np.array([RANGES[i8][1]]))[0]))
        if largest >= (2**31 - 1) * found.to.scale:
            raise RefusedError({op: f"its exponentials of up to {largest:.4g} are too many steps of {found.to.scale:.4g} for int32"})
    own = {**numbers(op), **types(x.type, found.to)}
    if x.type.storage == i16:
        places = np.arange(RANGES[i16][0], RANGES[i16][1] + 1).astype(np.int16)
        check_lines(found, node.numpy(places, **own), exact_results(found, places))
    return limited(node(x.value, **own).result, found, constants)


def _fixed(x: Quantized, node: Any) -> Quantized:
    """Returns a function of integers whose results have a type of their own."""
    kind = fixed_type(node, x.type)
    return Quantized(node(x.value, **types(x.type, kind)).result, kind)


@CONVERTERS.integers(*_FIXED)
def _integer_fixed(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(same(_fixed(found.x, _FIXED[operator_of(found).schema.base]), found.to), found, constants)


@CONVERTERS("silu")
def _silu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = op.operands[0]
    return e.MulOp(x, e.LogisticOp(x).result).result


@CONVERTERS.integers("silu")
def _integer_silu(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return of_two(found, e.MulOp, found.x, _fixed(found.x, e.LogisticOp), constants)


@CONVERTERS("hardsigmoid")
def _hard_sigmoid(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x = op.operands[0]
    gate = e.AddOp(x, of_numbers(constants, "number", 3, x), fused_activation_function="RELU6").result
    return e.MulOp(gate, of_numbers(constants, "number", 1 / 6, x)).result


@CONVERTERS.integers("hardsigmoid")
def _integer_hard_sigmoid(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    x, three, (low, high) = found.x, integer_of(3, constants, found.x.value), RANGES[found.x.type.storage]
    gate = own_type(i8, 6 / (high - low), low) if x.type.storage == i8 else own_type(i16, 6 / high)
    check_ratio(found, e.AddOp, x.type.scale, three.type.scale, gate.scale)
    numbers: dict[str, Any] = {**types(x.type, three.type, gate), "pot_scale_int16": x.type.storage == i8}
    sums = e.AddOp(x.value, three.value, fused_activation_function="RELU6", **numbers).result
    return of_two(found, e.MulOp, Quantized(sums, gate), integer_of(1 / 6, constants, x.value), constants)


@CONVERTERS.integers("neg")
def _integer_neg(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return of_two(found, e.MulOp, found.x, integer_of(-1, constants, found.x.value), constants)


def _slopes(op: SchemaOp, slopes: SSAValue) -> SSAValue:
    """Returns the slopes of channels, which are along the second dimension, or the one slope."""
    shape = shape_of(op.operands[0])
    return reshaped(slopes, (*shape_of(slopes), *(1,) * (len(shape) - 2))) if len(shape) > 1 else slopes


@CONVERTERS("prelu")
def _prelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return f.PreluOp(op.operands[0], _slopes(op, op.operands[1])).result


@CONVERTERS.integers("prelu")
def _integer_prelu(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    x, slopes = inputs_of(found)
    result = f.PreluOp(x.value, _slopes(operator_of(found), slopes.value), **types(x.type, slopes.type, found.to)).result
    return limited(result, found, constants)


# Limits


@CONVERTERS("relu", "clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, bounds = op.operands[0], bounds_of_clamp(op)
    assert bounds is not None
    known = {(0.0, np.inf): "RELU", (-1.0, 1.0): "RELU_N1_TO_1", (0.0, 6.0): "RELU6"}.get(bounds)
    if known is not None:
        return e.LIMITED[known](x).result
    for name, limit in zip(("maximum", "minimum"), bounds, strict=True):
        if np.isfinite(limit):
            x = e.BINARY[name](x, of_numbers(constants, name, limit, x)).result
    return x


@CONVERTERS.integers("quantized_decomposed.quantize_per_tensor", "relu", "clamp", "hardtanh")
def _requantize(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(same(found.x, found.to), found, constants)
