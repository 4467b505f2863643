"""Functions of floats that TOSA has as several operators, and conditions."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from xdsl.dialects.builtin import f16, f32, i1
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, constant, in_type_of, ranked
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.choices import COMPARISONS, LOGIC, CastOp, LogicalNotOp, PowOp, SelectOp
from flambeau.dialects.ir.tensor_types import element_of, is_float, numpy_dtype, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


class _Numbers:
    """Arithmetic on a tensor of floats and numbers."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """Returns a number with as many dimensions as a tensor has, in its type; beside conditions in float32."""
        element = element_of(like) if is_float(element_of(like)) else f32
        return constant(self.constants, "number", np.full((1,) * len(shape_of(like)), value, numpy_dtype(element)), element)

    def of_two(self, node: type[SchemaOp], a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """Returns a function of two tensors, one of which may be a number."""
        if isinstance(a, SSAValue):
            return self._call(node, a, b if isinstance(b, SSAValue) else self.number(b, a))
        assert isinstance(b, SSAValue)
        return self._call(node, self.number(a, b), b)

    def _call(self, node: type[SchemaOp], a: SSAValue, b: SSAValue) -> SSAValue:
        like = a if len(shape_of(a)) >= len(shape_of(b)) else b
        return node(ranked(a, like), ranked(b, like)).result

    def plus(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """Returns a sum."""
        return self.of_two(e.BINARY["add"], a, b)

    def minus(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """Returns a difference."""
        return self.of_two(e.BINARY["sub"], a, b)

    def times(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """Returns a product."""
        return self.of_two(e.MulOp, a, b)

    def within(self, x: SSAValue, least: float, most: float) -> SSAValue:
        """Returns limited numbers."""
        return e.ClampOp(x, min_val=float(least), max_val=float(most)).result

    def chosen(self, condition: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """Returns one of two, by a condition."""
        pair = [item if isinstance(item, SSAValue) else self.number(item, condition) for item in (a, b)]
        like = max((condition, *pair), key=lambda item: len(shape_of(item)))
        return SelectOp(*(ranked(item, like) for item in (condition, *pair))).result


def _unary(name: str, x: SSAValue) -> SSAValue:
    return e.UNARY[name](x).result


# Arithmetic


@CONVERTERS("add.Scalar", "sub.Scalar", "rsub.Scalar", "mul.Scalar", "div.Scalar", "div.Tensor")
def _arithmetic(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts arithmetic with numbers, and quotients, which are products with reciprocals."""
    n, x = _Numbers(constants), op.operands[0]
    if op.schema.name == "div.Tensor":
        return n.times(x, _unary("reciprocal", op.operands[1]))
    other = op.argument("other")
    match op.schema.base:
        case "add":
            return n.plus(x, other)
        case "sub":
            return n.minus(x, other)
        case "rsub":
            return n.minus(other, x)
        case "mul":
            return n.times(x, other)
        case _:
            with np.errstate(divide="ignore"):
                return n.times(x, float(np.float32(1) / np.float32(other)))


@CONVERTERS("pow.Tensor_Scalar")
def _power(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    n, x, exponent = _Numbers(constants), op.operands[0], op.argument("exponent")
    count = abs(exponent)
    if count == 0.5:
        root = _unary("rsqrt", x)
        return root if exponent < 0 else _unary("reciprocal", root)
    if count not in (1, 2, 3, 4):
        return n.of_two(PowOp, x, float(exponent))
    square = n.times(x, x) if count > 1 else x
    found = n.times(square, x) if count == 3 else n.times(square, square) if count == 4 else square
    return _unary("reciprocal", found) if exponent < 0 else found


@CONVERTERS("_native_batch_norm_legit_no_training")
def _batch_norm(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a norm by known numbers to a product and a sum for each channel."""
    x, *values, _, eps = op.arguments()
    weight, bias, mean, variance = (None if value is None else constants.array(value) for value in values)
    assert mean is not None and variance is not None
    scale = (1.0 if weight is None else weight.astype(np.float64)) / np.sqrt(variance.astype(np.float64) + eps)
    shift = (0.0 if bias is None else bias.astype(np.float64)) - mean.astype(np.float64) * scale

    def of_channels(name: str, numbers: Array) -> SSAValue:
        return constant(constants, name, numbers.astype(np.float32).reshape(1, -1, *(1,) * (len(shape_of(x)) - 2)), f32)

    n = _Numbers(constants)
    return n.plus(n.times(x, of_channels("scale", scale)), of_channels("shift", shift))


# Activations


def _gelu(n: _Numbers, op: SchemaOp, x: SSAValue) -> SSAValue:
    if op.argument("approximate") == "tanh":
        cube = n.times(n.times(x, x), x)
        part = _unary("tanh", n.times(n.plus(x, n.times(cube, 0.044715)), sqrt(2 / pi)))
    else:
        part = _unary("erf", n.times(x, sqrt(0.5)))
    return n.times(n.times(x, 0.5), n.plus(part, 1))


def _elu(n: _Numbers, op: SchemaOp, x: SSAValue) -> SSAValue:
    alpha, scale, input_scale = (float(op.argument(name)) for name in ("alpha", "scale", "input_scale"))
    below = n.times(n.minus(_unary("exp", n.times(x, input_scale)), 1), alpha * scale)
    return n.chosen(n.of_two(COMPARISONS["greater"], x, 0), n.times(x, scale), below)


def _leaky_relu(n: _Numbers, op: SchemaOp, x: SSAValue) -> SSAValue:
    return n.chosen(n.of_two(COMPARISONS["greater"], x, 0), x, n.times(x, op.argument("negative_slope")))


def _hard_sigmoid(n: _Numbers, op: SchemaOp, x: SSAValue) -> SSAValue:
    return n.times(n.within(n.plus(x, 3), 0, 6), 1 / 6)


ACTIVATIONS: dict[str, Callable[[_Numbers, SchemaOp, SSAValue], SSAValue]] = {
    "sqrt": lambda n, op, x: _unary("reciprocal", _unary("rsqrt", x)),
    "silu": lambda n, op, x: n.times(x, _unary("sigmoid", x)),
    "hardsigmoid": _hard_sigmoid,
    "hardswish": lambda n, op, x: n.times(x, _hard_sigmoid(n, op, x)),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "gelu": _gelu,
}
"""What computes functions of each element."""

for _name, _function in ACTIVATIONS.items():
    CONVERTERS(_name)(lambda op, constants, function=_function: function(_Numbers(constants), op, op.operands[0]))


# Conditions


@CONVERTERS(*(f"{name}.{kind}" for name in ("eq", "ne", "gt", "ge", "lt", "le") for kind in ("Tensor", "Scalar")))
def _comparison(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    n, name, a, b = _Numbers(constants), op.schema.base, op.operands[0], op.argument("other")
    if name in ("eq", "ne"):
        found = n.of_two(COMPARISONS["equal"], a, b)
        return LogicalNotOp(found).result if name == "ne" else found
    node = COMPARISONS["greater_equal" if name.endswith("e") else "greater"]
    return n.of_two(node, a, b) if name.startswith("g") else n.of_two(node, b, a)


@CONVERTERS(*(f"logical_{name}" for name in LOGIC), *(f"bitwise_{name}.Tensor" for name in LOGIC))
def _logic(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _Numbers(constants).of_two(LOGIC[op.schema.base.split("_")[1]], *op.operands)


@CONVERTERS("logical_not", "bitwise_not")
def _not(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return LogicalNotOp(op.operands[0]).result


@CONVERTERS("where.self")
def _where(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _Numbers(constants).chosen(*op.operands)


@CONVERTERS("_to_copy")
def _conversion(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a change of type. PyTorch cuts fractions off, where TOSA rounds, and gives the least integer for what does not fit."""
    n, x, to = _Numbers(constants), op.operands[0], element_of(op.result)
    if element_of(x) == f16 and not is_float(to):
        x = CastOp(x, dtype=f32).result
    if element_of(x) == i1:
        return in_type_of(n.chosen(x, 1, 0), op.result)
    if to == i1:
        return LogicalNotOp(n.of_two(COMPARISONS["equal"], x, 0)).result
    if not is_float(to):
        whole = n.chosen(n.of_two(COMPARISONS["greater"], x, 0), _unary("floor", x), _unary("ceil", x))
        x = n.chosen(n.of_two(COMPARISONS["greater"], 2.0**31, _unary("abs", x)), whole, -(2.0**31))
    return in_type_of(x, op.result)
