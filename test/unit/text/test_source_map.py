"""Where operations, values, blocks and symbols stand in a text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, ParsedModule, parse_module, print_module

TEXT = """\
func.func @f(%x : i32, %c : i1) -> i32 {
  %two:2 = "test.op"(%x) : (i32) -> (i32, i32) // a comment
  cf.cond_br %c, ^left(%two#1 : i32), ^right
^left(%l : i32):
  %later = arith.addi %l, %l : i32 loc("a.py":1:2)
  func.return %later : i32
^right:
  %call = func.call @f(%x, %c) : (i32, i1) -> i32
  func.return %call
    : i32
}
"func.func"() <{sym_name = "g", function_type = () -> ()}> ({
  func.call @f2() : () -> ()
  func.return
}) : () -> ()
"""


def parse(text: str) -> ParsedModule:
    return parse_module(text, FlambeauContext(allow_unregistered=True), record_symbols=True)


def test_every_name_stands_for_what_it_says() -> None:
    parsed = parse(TEXT)
    places = parsed.map
    assert places is not None
    written = [(TEXT[mention.start : mention.end], mention.defines) for mention in places.mentions]
    code = re.sub(r"//.*", "", TEXT)
    assert [name for name, _ in written] == re.findall(r"[%^@]\w+", code)
    assert [name for name, defines in written if defines] == [
        *("@f", "%x", "%c", "%two", "^left", "%l", "%later", "^right", "%call"),
    ]
    for mention in places.mentions:
        for named in mention.named:
            definition = places.definition_of(named)
            assert mention in places.mentions_of(named)
            if definition is None:
                assert named == "f2"
                continue
            assert TEXT[definition.start : definition.end] == TEXT[mention.start : mention.end]
            assert isinstance(named, SSAValue | Block | str)
    assert {name: op.name for name, op in places.symbols.items()} == {"f": "func.func", "g": "func.func"}


def test_operations_are_found_by_place() -> None:
    parsed = parse(TEXT)
    places = parsed.map
    assert places is not None
    texts = {op.name: TEXT[slice(*places.ranges[op])] for op in parsed.module.walk() if op in places.ranges}
    assert texts["test.op"] == '%two:2 = "test.op"(%x) : (i32) -> (i32, i32)'
    assert texts["arith.addi"] == '%later = arith.addi %l, %l : i32 loc("a.py":1:2)'
    assert TEXT[slice(*places.ranges[places.symbols["f"]])].endswith("func.return %call\n    : i32\n}")

    def name_at(text: str) -> str:
        found = places.operation_at(TEXT.index(text))
        return "" if found is None else found.name

    assert name_at("loc(") == "arith.addi"
    assert name_at("^right:") == "func.func"
    assert name_at(": i32\n}") == "func.return"
    mention = places.mention_at(TEXT.index("%two#1") + 2)
    assert mention is not None and not mention.defines and mention.named == (places.mentions_of(mention.named[0])[0].named[1],)
    assert places.mention_at(TEXT.index("arith.addi")) is None


FILES = sorted((Path(__file__).parents[2] / "filecheck").rglob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_ranges_nest_and_noting_them_changes_nothing(path: Path) -> None:
    for chunk in path.read_text().split("// -----\n"):
        try:
            parsed = parse(chunk)
        except IRError as error:
            with pytest.raises(IRError, match=re.escape(str(error))):
                parse_module(chunk, FlambeauContext(allow_unregistered=True))
            continue
        places = parsed.map
        assert places is not None
        plain = parse_module(chunk, FlambeauContext(allow_unregistered=True))
        if "dense_resource" not in chunk:  # whose names are those of no other module in the process
            assert print_module(plain.module, generic=True) == print_module(parsed.module, generic=True)
        for op, (start, end) in places.ranges.items():
            assert start == parsed.offsets[op] < end and chunk[start:end] == chunk[start:end].strip()
            around = op.parent_op()
            if isinstance(around, Operation) and around in places.ranges:
                assert places.ranges[around][0] < start and end < places.ranges[around][1]
        assert all(left.end <= right.start for left, right in pairwise(places.mentions))
        named = {named for mention in places.mentions if not mention.defines for named in mention.named if isinstance(named, SSAValue)}
        assert all(places.definition_of(value) is not None for value in named)


def test_uses_of_slots_are_known() -> None:
    text = "exec.method @m {arenas = []} {\n  %x = exec.tensor : tensor<4xf32>\n  %y = exec.tensor : tensor<4xf32>\n"
    text += '  exec.call "aten::neg.out"(%x) outs(%y)\n  exec.return inputs(%x) outputs(%y)\n}\n'
    parsed = parse(text)
    places = parsed.map
    assert places is not None
    assert [text[mention.start : mention.end] for mention in places.mentions] == re.findall(r"[%@]\w+", text)
