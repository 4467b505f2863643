"""Rewrites that replace several operations, and functions that forget to say what replaces them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module, verify_parsed
from flambeau.passes.kit import Pattern, PatternDriver, decline, m, op, rewrites

T = "tensor<4xf32>"
ADD, MUL, NEG, RELU, EXP = (op(f"aten.{name}") for name in ("add.Tensor", "mul.Tensor", "neg", "relu", "exp"))
x, y, z = m.value(), m.value(), m.value()
total = m.op(ADD, x, y)
scaled = m.op(MUL, total, z)


@rewrites(scaled)
def both(found: m.Match) -> Any:
    """Computes x + y and (x + y) * z otherwise: the second needs z, which may be computed late."""
    square = EXP(found[z])
    doubled = EXP(square)
    return {total: MUL(found[x], square), scaled: MUL(found[y], doubled)}


def run(body: str, *patterns: Pattern) -> tuple[str, dict[str, str]]:
    """The body of a function after the patterns, and the reasons of those that declined."""
    text = f"func.func @f(%x: {T}, %y: {T}, %z: {T}, %c: i1) -> ({T}, {T}) {{\n{body}\n}}"
    parsed = parse_module(text, FlambeauContext())
    verify_parsed(parsed)
    driver = PatternDriver(patterns, explain=True)
    driver.run(parsed.module)
    printed = print_module(parsed.module)
    verify_parsed(parse_module(printed, FlambeauContext()))  # dominance among it
    lines = printed.splitlines()[2:-2]
    reasons = list(driver.declined.values())
    return re.sub(r" : .*", "", "\n".join(line.strip() for line in lines)), reasons[0] if reasons else {}


def test_they_come_before_the_first_reader() -> None:
    body, _ = run(
        f"""
        %t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}
        %r = core.relu(%t) : ({T}) -> {T}
        %s = core.mul.Tensor(%t, %z) : ({T}, {T}) -> {T}
        func.return %r, %s : {T}, {T}""",
        both,
    )
    assert body.splitlines() == [
        "%0 = core.exp(%z)",
        "%t = core.mul.Tensor(%x, %0)",
        "%1 = core.exp(%0)",
        "%s = core.mul.Tensor(%y, %1)",
        "%r = core.relu(%t)",
        "func.return %r, %s",
    ]


def test_what_computes_their_operands_moves_up() -> None:
    body, _ = run(
        f"""
        %t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}
        %r = core.relu(%t) : ({T}) -> {T}
        %a = core.neg(%z) : ({T}) -> {T}
        %b = core.neg(%a) : ({T}) -> {T}
        %s = core.mul.Tensor(%t, %b) : ({T}, {T}) -> {T}
        func.return %r, %s : {T}, {T}""",
        both,
    )
    lines = body.splitlines()
    assert lines[:3] == ["%a = core.neg(%z)", "%b = core.neg(%a)", "%0 = core.exp(%b)"]
    assert lines[-2] == "%r = core.relu(%t)"


@pytest.mark.parametrize("middle", ["%a = core.neg(%r)", "%a = core.neg(%t)"])
def test_where_an_operand_needs_what_is_replaced_they_decline(middle: str) -> None:
    body, declined = run(
        f"""
        %t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}
        %r = core.relu(%t) : ({T}) -> {T}
        {middle} : ({T}) -> {T}
        %s = core.mul.Tensor(%t, %a) : ({T}, {T}) -> {T}
        func.return %r, %s : {T}, {T}""",
        both,
    )
    assert "core.exp" not in body and body.splitlines()[-2] == "%s = core.mul.Tensor(%t, %a)"
    assert re.fullmatch(r"the new operations read core\.\w+, which cannot be computed before core\.\w+, .*", declined["both"])


def test_readers_in_regions_count_where_the_region_stands() -> None:
    body, _ = run(
        f"""
        %r = scf.if %c -> ({T}) {{
          scf.yield %x : {T}
        }} else {{
          scf.yield %y : {T}
        }}
        %t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}
        %q = scf.if %c -> ({T}) {{
          scf.yield %t : {T}
        }} else {{
          scf.yield %r : {T}
        }}
        %s = core.mul.Tensor(%t, %r) : ({T}, {T}) -> {T}
        func.return %q, %s : {T}, {T}""",
        both,
    )
    lines = body.splitlines()
    assert lines.index("%s = core.mul.Tensor(%y, %1)") < lines.index("scf.yield %t") < lines.index("func.return %q, %s")


def test_operations_of_several_blocks_are_declined() -> None:
    body, declined = run(
        f"""
        %t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}
        %q = scf.if %c -> ({T}) {{
          %s = core.mul.Tensor(%t, %z) : ({T}, {T}) -> {T}
          scf.yield %s : {T}
        }} else {{
          scf.yield %x : {T}
        }}
        func.return %t, %q : {T}, {T}""",
        both,
    )
    assert declined == {"both": "the operations to replace stand in several blocks"}
    assert "core.exp" not in body


SIMPLE = (
    f"%t = core.add.Tensor(%x, %y) : ({T}, {T}) -> {T}\n%s = core.mul.Tensor(%t, %z) : ({T}, {T}) -> {T}\nfunc.return %t, %s : {T}, {T}"
)


def test_an_operation_behind_the_root_alone() -> None:
    @rewrites(scaled)
    def inner(found: m.Match) -> Any:
        return {total: NEG(found[x])}

    body, _ = run(SIMPLE, inner)
    assert body.splitlines()[:2] == ["%t = core.neg(%x)", "%s = core.mul.Tensor(%t, %z)"]


@pytest.mark.parametrize(
    ("give", "message"),
    [
        ("{m.op(RELU, x): found[x]}", "wrong replaces .*, which is not an operation that matched"),
        ("{x: found[x]}", "wrong replaces .*, which is not an operation that matched"),
        ("{}", "empty dictionary"),
        ("{total: [found[x], found[y]]}", r"core\.add\.Tensor has 1 results, and is replaced by 2 values"),
        ("{scaled: NEG(found[scaled].result)}", r"wrong built \w+\.neg from a result of what it replaces"),
        ("{total: found[x], scaled: found[total].result}", "wrong gave a result of what it replaces"),
    ],
)
def test_wrong_keys_and_values_are_errors(give: str, message: str) -> None:
    def wrong(found: m.Match) -> Any:
        return eval(give, globals() | {"found": found})

    with pytest.raises(ValueError, match=message):
        run(SIMPLE, rewrites(scaled)(wrong))


def test_a_replacement_cannot_need_the_reader_of_what_it_replaces() -> None:
    @rewrites(scaled)
    def late(found: m.Match) -> Any:
        return {total: NEG(found[scaled].result)}

    _, declined = run(SIMPLE, late)
    assert "cannot be computed before core.mul.Tensor" in declined["late"]


def test_building_and_giving_nothing_is_an_error() -> None:
    @rewrites(scaled)
    def of_a_graph(found: m.Match) -> Any:
        NEG(RELU(found[x]))

    @rewrites(MUL)
    def of_a_class(mul: Any) -> Any:
        NEG(mul.operands[1])

    for pattern, built in ((of_a_graph, "relu"), (of_a_class, "neg")):
        with pytest.raises(
            ValueError, match=rf"{type(pattern).__name__} built aten\.{built} and gave nothing: return what replaces core\.mul"
        ):
            run(SIMPLE, pattern)


def test_building_and_declining_leaves_nothing_behind() -> None:
    @rewrites(scaled)
    def declines(found: m.Match) -> Any:
        NEG(RELU(found[x]))
        return decline("it is not worth it")

    parsed = parse_module(f"func.func @f(%x: {T}, %y: {T}, %z: {T}) -> ({T}, {T}) {{\n{SIMPLE}\n}}", FlambeauContext())
    PatternDriver([declines]).run(parsed.module)
    module: ModuleOp = parsed.module
    assert all(use.operation.parent is not None for op in module.walk() for value in op.operands for use in value.uses)
