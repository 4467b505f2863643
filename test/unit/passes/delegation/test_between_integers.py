"""Operators between integers: what is one, which a table takes, and why it does not take the others."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32, i8

from flambeau.dialects.ir.tensor_types import ui8
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.analysis.quantized_types import integer_operator
from flambeau.passes.rewriting.constants import ModuleConstants

LAYER = Rule(constants=("weight", "bias"), dequantized=("weight",))
TABLE = OperatorTable({}, Limit(dtypes=(f32,)), integers={"linear": LAYER, "tanh": Rule(), "relu": Rule(), "hardtanh": Rule()})
NUMBERS = "{{scale = {}, zero_point = {}, quant_min = {}, quant_max = {}, dtype = {}}}"
WEIGHT = "tensor<4x4xi8>"


def dq(value: str, kind: str = "i8", zero_point: int = 0, shape: str = "4x4") -> str:
    low, high = (-128, 127) if kind == "i8" else (0, 255)
    numbers = NUMBERS.format(0.5, zero_point, low, high, kind)
    return f"quantized_decomposed.dequantize_per_tensor({value}) {numbers} : (tensor<{shape}x{kind}>) -> tensor<{shape}xf32>"


def q(value: str, kind: str = "i8") -> str:
    low, high = (-128, 127) if kind == "i8" else (0, 255)
    numbers = NUMBERS.format(0.25, 1, low, high, kind)
    return f"quantized_decomposed.quantize_per_tensor({value}) {numbers} : (tensor<4x4xf32>) -> tensor<4x4x{kind}>"


def edge(name: str, *operands: str, more: str = "") -> str:
    kinds = ", ".join(["tensor<4x4xf32>"] * len(operands))
    return f"edge.{name}({', '.join(operands)}{more}) : ({kinds}) -> tensor<4x4xf32>"


def parsed(*lines: str) -> tuple[FlambeauContext, list[SchemaOp], ModuleConstants]:
    """The operators of a function of int8 `%x`, uint8 `%u`, floats `%f` and a constant `%w`, whose lines are `%0`, `%1`, …"""
    body = "\n".join(f"  %{index} = {line}" for index, line in enumerate(lines))
    text = (
        f"ml_program.global private @weight : {WEIGHT}\n"
        "func.func @forward(%x: tensor<4x4xi8>, %u: tensor<4x4xui8>, %f: tensor<4x4xf32>) {\n"
        f"  %w = ml_program.global_load_const @weight : {WEIGHT}\n{body}\n  func.return\n}}"
    )
    context = FlambeauContext()
    module = parse_module(text, context).module
    return context, [op for op in module.walk() if isinstance(op, SchemaOp)], ModuleConstants(context, module)


TAKEN = {
    "an operator": (dq("%x"), edge("tanh", "%0"), q("%1")),
    "an operator behind which are clamps": (dq("%x"), edge("tanh", "%0"), edge("relu", "%1"), edge("relu", "%2"), q("%3")),
    "a clamp alone": (dq("%x"), edge("relu", "%0"), q("%1")),
    "a layer": (dq("%x"), dq("%w"), edge("linear", "%0", "%1", more=", none"), q("%2")),
}


@pytest.mark.parametrize("name", TAKEN)
def test_all_parts_of_what_is_taken_are_taken(name: str) -> None:
    _, ops, _ = parsed(*TAKEN[name])
    assert [TABLE.why_not(op) for op in ops] == [None] * len(ops)


LEFT = {
    "argument 'self' is of ui8, and the backend takes i8": (dq("%u", "ui8"), edge("tanh", "%0"), q("%1")),
    "its result becomes ui8, and the backend gives i8": (dq("%x"), edge("tanh", "%0"), q("%1", "ui8")),
    "the backend has no cos between integers": (dq("%x"), edge("cos", "%0"), q("%1")),
    "the backend has no quantize_per_tensor between integers": (dq("%x"), q("%0")),
    "argument 'weight' has the zero point 3, and that of a weight is 0": (
        *(dq("%x"), dq("%w", zero_point=3)),
        *(edge("linear", "%0", "%1", more=", none"), q("%2")),
    ),
    "argument 'weight' is not dequantized with one scale": (dq("%x"), edge("linear", "%0", "%f", more=", none"), q("%1")),
    "argument 'input' is not dequantized with one scale": (dq("%w"), edge("linear", "%f", "%0", more=", none"), q("%1")),
}


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left_has_a_reason(reason: str) -> None:
    _, ops, _ = parsed(*LEFT[reason])
    assert TABLE.why_not(ops[-1]) == reason
    assert all(TABLE.why_not(op) is not None for op in ops)


@pytest.mark.parametrize(
    "lines",
    [
        (edge("tanh", "%f"), q("%0")),  # it reads floats
        (dq("%x"), edge("tanh", "%0")),  # it gives floats
        (dq("%x"), edge("tanh", "%0"), q("%1"), edge("relu", "%1")),  # something else reads the floats
    ],
)
def test_floats_are_not_between_integers(lines: tuple[str, ...]) -> None:
    _, ops, _ = parsed(*lines)
    (tanh,) = (op for op in ops if op.schema.name == "tanh")
    assert quantized_operator(tanh) is None
    assert "between integers only" in str(TABLE.why_not(tanh))


def test_the_limits_are_those_of_all_clamps() -> None:
    limits = " {min_val = -1, max_val = 2}"
    clamp = f"edge.hardtanh(%1){limits} : (tensor<4x4xf32>) -> tensor<4x4xf32>"
    _, ops, constants = parsed(dq("%x", zero_point=5), edge("tanh", "%0"), clamp, edge("relu", "%2"), q("%3"))
    found = quantized_operator(ops[1])
    assert found is not None and found.members == tuple(ops[1:4]) and found.parts == tuple(ops)
    between = integer_operator(found, constants)
    assert (between.low, between.high) == (1, 9)  # 0 and 2 in steps of 0.25 from 1
    assert (between.x.type.scale, between.x.type.zero_point, between.x.type.storage) == (0.5, 5, i8)
    table = between.table()
    assert len(table) == 256 and (min(table), max(table)) == (1, 5) and table[128 + 5] == 1  # tanh(0) is 0


def test_other_element_types_are_a_field_of_the_table() -> None:
    _, ops, _ = parsed(dq("%u", "ui8"), edge("tanh", "%0"), q("%1", "ui8"))
    assert OperatorTable({}, integers={"tanh": Rule()}, activations=(ui8,)).why_not(ops[1]) is None


def test_a_check_of_every_operation_is_one_between_integers_too() -> None:
    def never(op: SchemaOp) -> str:
        return f"no {op.schema.name} today"

    _, ops, _ = parsed(dq("%x"), edge("tanh", "%0"), q("%1"))
    table = OperatorTable({}, integers={"tanh": Rule()}, checks=(never,))
    assert isinstance(ops[1], SchemaOp)
    assert table.why_not(ops[1]) == table.why_no_form(ops[1]) == "no tanh today"
