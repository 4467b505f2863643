"""An operator belongs to the first of the backends, and then the target, that takes it: whole, or in parts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import f32

from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.conversion.decompose_aten import DecomposeAtenPass
from flambeau.passes.conversion.legalize_operators import LegalizeOperatorsPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.rewriting.greedy_driver import PatternDriver

KIND = "tensor<2x3x?x4xf32, #edge.layout<sizes = [2, 3, s0 in [1, 8], 4]>>"
SILU = "edge.silu(%x)"
ATTENTION = "edge.scaled_dot_product_attention(%x, %x, %x, none) {is_causal = true}"
GLU = "edge.glu(%x)"
ALWAYS = Rule()
RANK3 = Rule(checks=(lambda op: None if len(shape_of(op.results[0])) == 3 else "its rank is not 3",))


def table(*names: str, in_parts: Sequence[str] = (), rule: Rule = ALWAYS) -> OperatorTable:
    """What takes operators of float32."""
    return OperatorTable(dict.fromkeys(names, rule), Limit(dtypes=(f32,)), in_parts=dict.fromkeys(in_parts, rule))


def asked(given: OperatorTable) -> Partitioner:
    """A backend with this table."""
    found = Partitioner("elementwise")
    vars(found)["table"] = given
    return found


WHOLE = table("silu", "scaled_dot_product_attention", "glu")
PARTS = table("sigmoid", "mul.Tensor", in_parts=("silu", "scaled_dot_product_attention", "glu"))
OTHERS = table("mul.Tensor", "sigmoid")
OF_RANK_3 = table("silu", "glu", in_parts=("silu", "glu"), rule=RANK3)


def test_what_stays_whole_is_not_said_to_lack_a_decomposition():
    function = f"func.func @f(%x: {KIND}) -> {KIND} {{\n%0 = aten.silu(%x) : ({KIND}) -> {KIND}\nfunc.return %0 : {KIND}\n}}"
    driver = PatternDriver(DecomposeAtenPass().patterns(), explain=True)
    driver.run(parse_module(function, FlambeauContext()).module)
    assert driver.declined == {}


@pytest.mark.parametrize(
    ("text", "tables", "is_whole"),
    [
        (SILU, (WHOLE, PARTS), True),
        (SILU, (PARTS, WHOLE), False),
        (SILU, (OTHERS, WHOLE), True),
        (SILU, (OTHERS, PARTS, WHOLE), False),
        (SILU, (OTHERS,), False),
        (SILU, (OF_RANK_3, WHOLE), True),
        (SILU, (OF_RANK_3, PARTS), False),
        (ATTENTION, (WHOLE, PARTS), True),
        (ATTENTION, (PARTS, WHOLE), False),
        (ATTENTION, (OTHERS, WHOLE), True),
        (GLU, (), True),
        (GLU, (WHOLE,), True),
        (GLU, (PARTS,), False),
        (GLU, (OTHERS,), True),
        (GLU, (OF_RANK_3,), True),
    ],
)
def test_it_belongs_to_the_first_that_takes_it(text: str, tables: tuple[OperatorTable, ...], is_whole: bool):
    operands, result = ", ".join([KIND] * text.count("%x")), KIND.replace("4", "2") if text == GLU else KIND
    function = f"func.func @f(%x: {KIND}) -> {result} {{\n%0 = {text} : ({operands}) -> {result}\nfunc.return %0 : {result}\n}}"
    context = FlambeauContext()
    module = parse_module(function, context).module
    name = next(op.name for op in module.walk() if isinstance(op, SchemaOp))
    LegalizeOperatorsPass(backends=tuple(map(asked, tables))).apply(context, module)
    assert any(op.name == name for op in module.walk()) == is_whole
    module.verify()
    assert all(op.level() == "edge" for op in module.walk() if isinstance(op, SchemaOp))
