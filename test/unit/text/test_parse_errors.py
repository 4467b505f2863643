"""However a text is broken, its errors are one line each, at a place in it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.dialects.text.source_text import Source
from flambeau.tools.opt.input import split

FILECHECK = Path(__file__).parents[2] / "filecheck"
TOKEN = re.compile(r"\w+|\s+|.")


def texts() -> list[str]:
    files = sorted(FILECHECK.glob("*/ops.mlir"))
    return [part.text for file in files for part in split(Source(file.read_text()), "// -----")]


def broken(text: str, words: list[str], chosen: random.Random) -> str:
    """The text with a few tokens left out, exchanged or put in."""
    tokens = TOKEN.findall(text)
    for _ in range(chosen.choice((1, 1, 2, 3))):
        place = chosen.randrange(len(tokens))
        match chosen.randrange(4):
            case 0:
                del tokens[place : place + chosen.choice((1, 2, 5))]
            case 1:
                tokens[place] = chosen.choice(words)
            case 2:
                tokens.insert(place, chosen.choice(words))
            case _:
                other = chosen.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
        tokens = tokens or [" "]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(4))
def test_broken_texts_have_errors_for_people(seed: int) -> None:
    chosen = random.Random(seed)
    originals = texts()
    words = [word for text in originals for word in TOKEN.findall(text) if not word.isspace()]
    for _ in range(60):
        text = broken(chosen.choice(originals), words, chosen)
        try:
            verify_parsed(parse_module(text, FlambeauContext(), "a.mlir", locate=True))
        except IRError as error:
            for diagnostic in error.diagnostics:
                assert diagnostic.message and "\n" not in diagnostic.message, text
                assert "make sense" not in diagnostic.message, text
                position = diagnostic.position
                assert position is None or 1 <= position.line <= text.count("\n") + 1, text


def test_every_place_is_within_its_line() -> None:
    with pytest.raises(IRError) as caught:
        parse_module("func.func @f() {\n  aten.nothing", FlambeauContext(), "a.mlir", line_offset=4)
    position = caught.value.diagnostic.position
    assert position is not None
    assert (position.line, position.column, position.length) == (6, 3, len("aten.nothing"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n  cf.br ^a\n^a:\n  func.return\n^a:\n  func.return\n}", "a.mlir:5:1: error: block ^a is defined twice"),
        ('"x"() {a = 1 : i99999999999999999999} : () -> ()', "an integer type of 99999999999999999999 bits is too wide"),
        ('"x"() {a = dense<0> : tensor<9999999999999999999xf32>} : () -> ()', "dimension 9999999999999999999 is too large for an int64"),
        ('"x"() {a = dense<(1., 2. : tensor<2xf32>} : () -> ()', "expected ')', got ':'"),
    ],
)
def test_what_the_parser_stumbles_over_has_a_message(text: str, message: str) -> None:
    with pytest.raises(IRError, match=re.escape(message)):
        parse_module(text, FlambeauContext(allow_unregistered=True), "a.mlir")


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("%0 = arith.cmpi foo, %a, %a : i32", "foo"),
        ("%0 = arith.constant 300 : i8", "300"),
        ("%0 = arith.addi %b, %b : f32", "f32"),
        ('"x"() {one = 1, two = 2, one = 3} : () -> ()', "one"),
    ],
)
def test_what_a_check_of_the_parser_speaks_of_is_marked(line: str, marked: str) -> None:
    text = f"func.func @f(%a: i32, %b: f32) {{\n  {line}\n  func.return\n}}"
    with pytest.raises(IRError) as caught:
        parse_module(text, FlambeauContext(allow_unregistered=True), "a.mlir")
    position = caught.value.diagnostic.position
    assert position is not None and position.line == 2
    assert f"  {line}"[position.column - 1 :][: position.length] == marked


def test_what_is_missing_at_the_end_is_missing_behind_the_last_token() -> None:
    with pytest.raises(IRError, match=r"^a.mlir:1:21: error: '\)' expected, got the end of the text"):
        parse_module("func.func @f(%a: i32\n\n// a comment\n\n", FlambeauContext(), "a.mlir")


def test_an_integer_type_is_not_wider_than_in_mlir() -> None:
    with pytest.raises(IRError, match="4294967296 bits is too wide"):
        parse_module('"x.y"() {a = 808 : i4294967296} : () -> ()', FlambeauContext(allow_unregistered=True))


def test_a_brace_in_a_comment_behind_named_arguments_is_no_attribute() -> None:
    parse_module("func.func private @m(%a: i2) // {\n", FlambeauContext(allow_unregistered=True))
