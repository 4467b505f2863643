"""An operator belongs to the first of the backends, and then the target, that takes all of it: whole, or in parts."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.conversion.decompose_aten import DecomposePattern
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.targets.interface import find_target

KIND = "tensor<2x3x?x4xf32, #edge.layout<sizes = [2, 3, s0 in [1, 8], 4]>>"
SILU = "aten.silu(%x)"
ATTENTION = "aten.scaled_dot_product_attention(%x, %x, %x, none) {is_causal = true}"
GLU = "aten.glu(%x)"


def table(*names: str, whole: bool = False) -> OperatorTable:
    """What takes operators of float32."""
    return OperatorTable(dict.fromkeys(names, Rule(whole=whole)), Limit(dtypes=(f32,)))


def asked(given: OperatorTable) -> Partitioner:
    """A backend with this table."""
    found = Partitioner("elementwise")
    vars(found)["table"] = given
    return found


WHOLE = table("silu", "scaled_dot_product_attention", whole=True)
GATES = table("sigmoid", "mul.Tensor")
PRODUCTS = table("bmm", "expand_copy", "view_copy", "permute_copy", "mul.Scalar", "add.Tensor", "_softmax")


@pytest.mark.parametrize(
    ("text", "tables", "is_whole"),
    [
        (SILU, (WHOLE, GATES), True),
        (SILU, (GATES, WHOLE), False),
        (SILU, (table("mul.Tensor"), WHOLE), True),
        (SILU, (table("mul.Tensor"), GATES, WHOLE), False),
        (SILU, (table("silu"), WHOLE), True),
        (SILU, (table("silu"),), False),
        (ATTENTION, (WHOLE, PRODUCTS), True),
        (ATTENTION, (PRODUCTS, WHOLE), False),
        (ATTENTION, (GATES, WHOLE), True),
        (GLU, (), True),
        (GLU, (table("glu"),), True),
        (GLU, (table("slice_copy.Tensor", "sigmoid", "mul.Tensor"),), False),
        (GLU, (table("sigmoid", "mul.Tensor"),), True),
    ],
)
def test_it_belongs_to_the_first_that_takes_all_of_it(text: str, tables: tuple[OperatorTable, ...], is_whole: bool):
    operands, result = ", ".join([KIND] * text.count("%x")), KIND.replace("4", "2") if text == GLU else KIND
    function = f"func.func @f(%x: {KIND}) -> {result} {{\n%0 = {text} : ({operands}) -> {result}\nfunc.return %0 : {result}\n}}"
    module = parse_module(function, FlambeauContext()).module
    name = next(op.name for op in module.walk() if isinstance(op, SchemaOp))
    PatternDriver([DecomposePattern(find_target("executorch"), frozenset(), tuple(map(asked, tables)))]).run(module)
    assert any(op.name == name for op in module.walk()) == is_whole
