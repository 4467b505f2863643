"""Diagnostics as people read them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, IntAttr, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.dialects.text.source_text import Source
from flambeau.support.position import Position
from flambeau.support.terminal import wants_colour
from flambeau.tools.rendering.diagnostics_rendering import LINE_WIDTH, Renderer, one_line, placed

FILE = "a.mlir"


def rendered(text: str, *diagnostics: Diagnostic, **options: bool) -> list[str]:
    renderer = Renderer(sources={FILE: Source(text, FILE)}, **options)
    return renderer.render(*diagnostics).splitlines()


def error(line: int, column: int, length: int = 1, message: str = "wrong") -> Diagnostic:
    return Diagnostic("error", message, Position(FILE, line, column, length))


def test_the_line_and_a_caret() -> None:
    assert rendered("first\n  second line\n", error(2, 3, 6)) == ["a.mlir:2:3: error: wrong", "  second line", "  ^~~~~~"]


def test_tabs_and_wide_characters_keep_the_caret_in_place() -> None:
    assert rendered("\t好x\n", error(1, 3)) == ["a.mlir:1:3: error: wrong", "\t好x", "\t  ^"]
    assert rendered("cafe\u0301 x\n", error(1, 7)) == ["a.mlir:1:7: error: wrong", "cafe\u0301 x", "     ^"]


@pytest.mark.parametrize(("line", "column"), [(1, 6), (2, 1)])
def test_the_end_of_the_text_can_be_pointed_at(line: int, column: int) -> None:
    assert rendered("first\n", error(line, column, 9))[0] == f"a.mlir:{line}:{column}: error: wrong"
    assert rendered("first\n", error(line, column, 9))[-1] == " " * (column - 1) + "^"


def test_a_place_outside_of_the_text_has_no_line() -> None:
    assert rendered("first\n", error(9, 1)) == ["a.mlir:9:1: error: wrong"]


@pytest.mark.parametrize("column", [1, 100, 1000, 1995])
def test_long_lines_are_cut_around_the_caret(column: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(2000))
    _, line, caret = rendered(text, error(1, column, 3))
    assert len(line) <= LINE_WIDTH + 2
    start = caret.index("^")
    assert line[start : start + 3] == text[column - 1 : column + 2]
    assert line.startswith("…") == (column > 100) and line.endswith("…") == (column < 1995)


def test_characters_that_move_the_cursor_are_not_printed() -> None:
    lines = rendered("a\x1b[2Jb\n", error(1, 1, message="bad \x1b[31mname"))
    assert "\x1b" not in "".join(lines)


def test_several_lines_of_a_message_stay_lines() -> None:
    assert rendered("", Diagnostic("error", "two problems:\n  this\n  that")) == ["error: two problems:", "  this", "  that"]


def test_notes_follow() -> None:
    note = Diagnostic("note", "defined here", Position(FILE, 1, 1))
    found = Diagnostic("warning", "odd", Position(FILE, 2, 1), notes=(note,))
    assert rendered("first\nsecond", found) == [
        "a.mlir:2:1: warning: odd",
        "second",
        "^",
        "a.mlir:1:1: note: defined here",
        "first",
        "^",
    ]


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal()) and not wants_colour(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "")
    monkeypatch.setenv("CLICOLOR_FORCE", "0")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal()) and wants_colour(Terminal(), always=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    assert "\x1b[1;31merror:\x1b[0m wrong" in rendered("first", error(1, 1), colour=True)[0]
    assert "\x1b" not in "".join(rendered("first", error(1, 1)))


def module(text: str) -> ModuleOp:
    return parse_module(text, FlambeauContext(), FILE, locate=True).module


TEXT = """func.func @f(%x: tensor<2xf32>) {
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>  loc("layers.0"("model.py":12:0))
  %1 = aten.relu(%0) : (tensor<2xf32>) -> tensor<2xf32> // the second
  func.return
}
"""


def test_operations_are_found_in_the_text_and_in_the_model() -> None:
    parsed = parse_module(TEXT, FlambeauContext(), FILE, locate=True)
    first, second = (op for op in parsed.module.walk() if op.name == "aten.relu")
    assert rendered(TEXT, placed(Diagnostic("error", "wrong", op=first), parsed))[0] == "a.mlir:2:3: error: wrong"
    assert rendered(TEXT, placed(Diagnostic("error", "wrong", op=first), parsed))[-1] == "  in layers.0 (model.py:12)"
    assert rendered(TEXT, placed(Diagnostic("error", "wrong", op=second), parsed))[-1] == "  ^"
    made = second.clone()
    made.location = FusedLoc((first.location, second.location), NoneAttr())
    found = rendered(TEXT, placed(Diagnostic("error", "wrong", op=made), parsed))
    assert found[0] == "a.mlir:3:3: error: wrong"
    assert found[-1] == "  in layers.0 (model.py:12)"


def test_what_an_operation_has_become_is_shown() -> None:
    parsed = parse_module(TEXT, FlambeauContext(), FILE, locate=True)
    first, second = (op for op in parsed.module.walk() if op.name == "aten.relu")
    for op in (first, second):
        assert "  op: " not in "\n".join(rendered(TEXT, placed(Diagnostic("error", "wrong", op=op), parsed), show_changes=True))
    second.operands = [first.operands[0]]
    found = rendered(TEXT, placed(Diagnostic("error", "wrong", op=second), parsed), show_changes=True)
    assert found[-1] == "  op: %1 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>"
    assert not any("op:" in line for line in rendered(TEXT, placed(Diagnostic("error", "wrong", op=second), parsed)))


def test_an_operation_with_regions_is_one_line() -> None:
    (function,) = module(TEXT).body.block.ops
    assert one_line(function) == "func.func @f(%x: tensor<2xf32>) {"
    assert one_line(FuncOp("g", ([], []))) == "func.func @g() {"
    assert one_line(ReturnOp()) == "func.return"


def test_the_line_of_the_model_is_shown_where_its_file_is_there(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("import torch\n\nx = self.norm(x)\n")
    op = ReturnOp()
    op.location = NameLoc(StringAttr("norm"), FileLineColLoc(StringAttr(str(source)), IntAttr(3), IntAttr(0)))
    assert rendered("", Diagnostic("error", "wrong", op=op)) == ["error: wrong", f"  in norm ({source}:3)", "      3 | x = self.norm(x)"]
    source.unlink()
    assert rendered("", Diagnostic("error", "wrong", op=op)) == ["error: wrong", f"  in norm ({source}:3)"]
