"""Graphs of operations, matched by declaration."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import IntAttr, ModuleOp, f32
from xdsl.dialects.test import TestOp, TestPureOp, TestType
from xdsl.ir import Operation

from flambeau.dialects.ir.tensor_types import tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.kit import ModuleConstants, apply_patterns, m, op, rewrites
from flambeau.passes.rewriting.explanation import explaining

ADD, MUL, MUL_SCALAR, RELU = op("aten.add.Tensor"), op("aten.mul.Tensor"), op("aten.mul.Scalar"), op("aten.relu")
CAT, SORT, LINEAR = op("aten.cat"), op("aten.sort"), op("aten.linear")


def ops_of(body: str, arguments: str = "%x: tensor<4xf32>, %y: tensor<4xf32>") -> list[Operation]:
    """The operations of a function with this body."""
    text = f"func.func @f({arguments}) {{\n{body}\n  func.return\n}}"
    module = parse_module(text, FlambeauContext()).module
    return [found for found in module.walk() if found.name not in ("builtin.module", "func.func", "func.return")]


T = "tensor<4xf32>"
MUL_ADD = f"""
  %0 = core.mul.Tensor(%x, %y) : ({T}, {T}) -> {T}
  %1 = core.add.Tensor(%x, %0) : ({T}, {T}) -> {T}
"""


def test_parts_are_keys_of_what_they_match():
    mul, add = ops_of(MUL_ADD)
    x, y, z = m.value(), m.value(), m.value()
    product = m.op(MUL, x, y)
    total = m.op(ADD, z, product)
    found = total.match(add)
    assert found is not None
    assert found.root is add
    assert found[total] is add
    assert found[product] is mul
    assert found[x] is found[z] is mul.operands[0]
    assert found[y] is mul.operands[1]
    assert found.ops == (add, mul)
    assert total.match(mul) is None


def test_operands_stand_in_order_unless_they_commute():
    _, add = ops_of(MUL_ADD)
    z = m.value()
    assert m.op(ADD, m.op(MUL, m.value(), m.value()), z).match(add) is None
    found = m.op(ADD, m.op(MUL, m.value(), m.value()), z).commutative().match(add)
    assert found is not None
    assert found[z] is add.operands[0]


def test_a_part_that_stands_twice_matches_one_thing():
    same, other = ops_of(f"%0 = core.add.Tensor(%x, %x) : ({T}, {T}) -> {T}\n%1 = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}")
    x = m.value()
    assert m.op(ADD, x, x).match(same) is not None
    assert m.op(ADD, x, x).match(other) is None


def test_shared_subexpressions():
    diamond = ops_of(f"%0 = core.relu(%x) : ({T}) -> {T}\n%1 = core.add.Tensor(%0, %0) : ({T}, {T}) -> {T}")
    apart = ops_of(
        f"%0 = core.relu(%x) : ({T}) -> {T}\n%1 = core.relu(%x) : ({T}) -> {T}\n%2 = core.add.Tensor(%0, %1) : ({T}, {T}) -> {T}"
    )
    relu = m.op(RELU, m.value())
    assert m.op(ADD, relu, relu).match(diamond[-1]) is not None
    assert m.op(ADD, relu, relu).match(apart[-1]) is None
    x = m.value()
    assert m.op(ADD, m.op(RELU, x), m.op(RELU, x)).match(apart[-1]) is not None


def test_choices_are_taken_back_when_the_rest_does_not_fit():
    *_, add = ops_of(
        f"%0 = core.relu(%x) : ({T}) -> {T}\n%1 = core.mul.Tensor(%0, %y) : ({T}, {T}) -> {T}\n"
        f"%2 = core.add.Tensor(%1, %y) : ({T}, {T}) -> {T}"
    )
    x, y = m.value(), m.value()
    # The operands of the product fit in either order; only one of them agrees with the sum.
    graph = m.op(ADD, m.op(MUL, y, x).commutative(), y).commutative()
    found = graph.match(add)
    assert found is not None
    assert found[y] is add.operands[1]
    assert m.op(ADD, m.either(m.op(RELU, x), m.op(MUL, x, y)), y).match(add) is not None


def test_arguments_that_are_not_mentioned_have_their_default():
    sums = f"%0 = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}\n%1 = core.add.Tensor(%x, %y) {{alpha = 2}} : ({T}, {T}) -> {T}"
    plain, scaled = ops_of(sums)
    x, y, alpha = m.value(), m.value(), m.attribute()
    assert m.op(ADD, x, y).match(plain) is not None
    assert m.op(ADD, x, y).match(scaled) is None
    assert m.op(ADD, x, y, alpha=2).match(scaled) is not None
    found = m.op(ADD, x, y, alpha=alpha).match(scaled)
    assert found is not None
    assert found[alpha] == 2
    assert m.op(ADD, x, y, alpha=m.attribute().where(lambda value: value > 2)).match(scaled) is None


def test_one_attribute_in_two_places():
    body = "%0 = core.mul.Scalar(%x) {{other = 2}} : ({0}) -> {0}\n%1 = core.mul.Scalar(%0) {{other = {1}}} : ({0}) -> {0}"
    factor = m.attribute()
    graph = m.op(MUL_SCALAR, m.op(MUL_SCALAR, m.value(), other=factor), other=factor)
    assert graph.match(ops_of(body.format(T, 2))[1]) is not None
    assert graph.match(ops_of(body.format(T, 3))[1]) is None


def test_levels():
    (edge,) = ops_of(f"%0 = edge.relu(%x) : ({T}) -> {T}")
    assert m.op(RELU, m.value()).match(edge) is not None
    assert m.op(RELU.at("edge"), m.value()).match(edge) is not None
    assert m.op(RELU.at("core"), m.value()).match(edge) is None
    assert m.op((MUL, RELU), ...).match(edge) is not None
    assert m.op("aten.relu", m.value()).match(edge) is not None
    assert m.op("core.relu", m.value()).match(edge) is None


def test_lists_and_absent_operands():
    (cat,) = ops_of(f"%0 = core.cat([%x, %y]) : ({T}, {T}) -> tensor<8xf32>")
    x, y = m.value(), m.value()
    found = m.op(CAT, [x, y]).match(cat)
    assert found is not None
    assert (found[x], found[y]) == tuple(cat.operands)
    assert m.op(CAT, [x, y, x]).match(cat) is None
    (linear,) = ops_of(
        "%0 = core.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>", "%x: tensor<2x3xf32>, %w: tensor<4x3xf32>"
    )
    assert m.op(LINEAR, x, y, None).match(linear) is not None
    assert m.op(LINEAR, x, y, m.value()).match(linear) is None
    assert m.op(LINEAR, x, ...).match(linear) is not None


def test_one_of_several_results():
    *_, use_values = ops_of(f"%0, %1 = core.sort(%x) : ({T}) -> ({T}, tensor<4xi64>)\n%2 = core.relu(%0) : ({T}) -> {T}")
    sort = m.op(SORT, m.value())
    assert m.op(RELU, sort.result(0)).match(use_values) is not None
    assert m.op(RELU, sort.result(1)).match(use_values) is None
    assert m.op(RELU, sort).match(use_values) is None


def test_what_alone_is_missing_is_the_reason():
    body = f"%0 = core.mul.Tensor(%x, %y) : ({T}, {T}) -> {T}\n%1 = core.add.Tensor(%0, %y) : ({T}, {T}) -> {T}\n"
    reasons: list[str] = []
    with explaining(reasons.append):
        graph = m.op(ADD, m.op(MUL, m.value(), m.value()).one_use(), m.value())
        assert graph.match(ops_of(body)[1]) is not None
        assert graph.match(ops_of(body + f"%2 = core.relu(%0) : ({T}) -> {T}")[1]) is None
        assert graph.match(ops_of(body.replace("mul.Tensor(", "sub.Tensor("))[1]) is None
    assert reasons == ["something else reads what would be fused"]


def test_constants_are_arrays():
    context = FlambeauContext()
    text = f"""
    func.func @f(%x: {T}) -> {T} {{
      func.return %x : {T}
    }}
    """
    module = parse_module(text, context).module
    constants = ModuleConstants(context, module)
    twos = constants.add("twos", np.full(4, 2.0, np.float32), tensor(f32, (4,)))
    again = constants.add("twos", np.full(4, 2.0, np.float32), tensor(f32, (4,)))
    weight, array = m.value(), m.constant(constants)
    both = m.all_of(weight, array)
    product = MUL(twos.results[0], again.results[0])
    found = m.op(MUL, both, m.value()).match(product)
    assert found is not None
    assert found[array].tolist() == [2.0] * 4
    assert found[weight] is twos.results[0]
    assert m.op(MUL, array, array).match(product) is not None
    assert m.op(MUL, m.constant(constants).where(lambda value: bool((value == 1).all())), m.value()).match(product) is None


def test_values_of_an_element_type():
    (add,) = ops_of(
        "%0 = core.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>", "%x: tensor<4xf32>, %y: tensor<4xi32>"
    )
    assert m.op(ADD, m.value(f32), m.value()).match(add) is not None
    assert m.op(ADD, m.value(), m.value(f32)).match(add) is None


def test_operations_of_other_dialects():
    inner = TestPureOp(result_types=[TestType("a")], attributes={"n": IntAttr(3)})
    outer = TestOp(inner.results, attributes={"n": IntAttr(4)})
    number = m.attribute()
    graph = m.op(TestOp, m.op(TestPureOp, n=number))
    found = graph.match(outer)
    assert found is not None
    assert found[number] == IntAttr(3)
    assert m.op(TestOp, m.value(), n=IntAttr(4)).match(outer) is not None
    assert m.op(TestOp, m.value(), n=IntAttr(5)).match(outer) is None
    assert m.op(TestOp, m.value(), m.value()).match(outer) is None


def test_graphs_that_can_never_match_are_errors():
    with pytest.raises(ValueError, match=r"aten\.add\.Tensor has the operands self, other; the graph gives it 1"):
        m.op(ADD, m.value())
    with pytest.raises(ValueError, match=r"aten\.add\.Tensor has no attribute 'beta'; it has alpha"):
        m.op(ADD, m.value(), m.value(), beta=1)
    with pytest.raises(ValueError, match="nothing to swap"):
        m.op(RELU, m.value()).commutative()
    with pytest.raises(ValueError, match="last operands"):
        m.op(ADD, ..., m.value())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aten.ad.Tensor", r"there is no operation aten\.ad\.Tensor; did you mean 'aten\.add\.Tensor'"),
        ("core.armin", r"there is no operation core\.armin; did you mean 'core\."),
        ("edge.view", r"at this level a view is a copy; use edge\.view_copy"),
        ("exec.call", r"exec\.call is not an operator with a schema: import its class"),
    ],
)
def test_an_operator_that_is_not_there_is_told_with_what_is_meant(name: str, message: str):
    with pytest.raises(ValueError, match=message):
        op(name)


def test_a_graph_and_a_function_are_a_pattern():
    x, y, factor = m.value(), m.value(), m.attribute()
    total = m.op(ADD, x, m.op(MUL_SCALAR, y, other=factor).one_use()).commutative()

    @rewrites(total)
    def fuse(found: m.Match) -> Operation:
        return type(found[total])(found[x], found[y], alpha=found[factor])

    text = f"""
    func.func @f(%x: {T}, %y: {T}) -> {T} {{
      %0 = core.mul.Scalar(%x) {{other = 0.5}} : ({T}) -> {T}
      %sum = core.add.Tensor(%0, %y) : ({T}, {T}) -> {T}
      func.return %sum : {T}
    }}
    """
    module: ModuleOp = parse_module(text, FlambeauContext()).module
    apply_patterns(module, [fuse])
    assert "%sum = core.add.Tensor(%y, %x) {alpha = 0.5}" in print_module(module)
    assert "mul" not in print_module(module)


def test_an_optional_operand():
    linear = "%0 = core.linear(%x, %w, {0}) : (tensor<2x3xf32>, tensor<4x3xf32>{1}) -> tensor<2x4xf32>"
    arguments = "%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>"
    (without,) = ops_of(linear.format("none", ""), arguments)
    (with_bias,) = ops_of(linear.format("%b", ", tensor<4xf32>"), arguments)
    x, w, b = m.value(), m.value(), m.value()
    for bias in (m.optional(b), m.either(b, None)):
        graph = m.op(LINEAR, x, w, bias)
        absent, present = graph.match(without), graph.match(with_bias)
        assert absent is not None and absent[bias] is None and b not in absent
        assert present is not None and present[bias] is present[b] is with_bias.operands[2]


def test_an_operand_that_is_not_a_part_is_an_error():
    for wrong in (3, "aten.relu", RELU):
        with pytest.raises(ValueError, match=r"an operand to match is a part such as m\.value\(\).* not "):
            m.op(RELU, wrong)  # pyright: ignore[reportArgumentType, reportCallIssue]  plug-ins need not be type-checked
    with pytest.raises(ValueError, match=r"an operand to match is a part"):
        m.either(m.value(), 3)  # pyright: ignore[reportArgumentType]  as above


def test_flags_of_backends_need_not_be_named():
    (norm,) = ops_of(f"%0 = aten.layer_norm(%x, none, none) {{normalized_shape = [4], cudnn_enable = false}} : ({T}) -> {T}")
    graph = m.op("aten.layer_norm", m.value(), None, None, normalized_shape=m.attribute())
    assert graph.match(norm) is not None
    assert m.op("aten.layer_norm", m.value(), None, None, normalized_shape=m.attribute(), cudnn_enable=True).match(norm) is None
