"""The language server: each feature on a text, and on texts that are half typed."""

import random
from pathlib import Path

import pytest
from editor_texts import BAD, BLOCKS, FILECHECK, TEXT, URI, found_in, hovered, place, words
from lsprotocol import types

from flambeau.tools.language_server import code_actions, completion, hints, hover, navigation, published_diagnostics
from flambeau.tools.language_server.analysis import Analysis, Settings, analyze, completed, moved
from flambeau.tools.language_server.text_around import statement_before, word_at
from flambeau.tools.language_server.text_positions import Edit, Lines


@pytest.fixture(scope="module")
def good() -> Analysis:
    return analyze(TEXT, "model.mlir")


# Places


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)])
def test_columns_are_counted_in_the_units_of_the_editor(encoding: str, column: int):
    lines = Lines("é𝄞x\nabc", encoding)
    assert lines.position(2) == types.Position(0, column)
    assert lines.offset(types.Position(0, column)) == 2
    assert lines.offset(types.Position(0, 99)) == 3
    assert lines.offset(types.Position(1, 1)) == 5
    assert lines.offset(types.Position(9, 0)) == len(lines.text)
    assert lines.position(5) == types.Position(1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_an_edit_moves_what_is_outside_of_it(seed: int):
    chooser = random.Random(seed)
    old = "".join(chooser.choice("abc\n") for _ in range(40))
    start, end = sorted((chooser.randrange(40), chooser.randrange(40)))
    new = old[:start] + "".join(chooser.choice("ab") for _ in range(chooser.randrange(6))) + old[end:]
    edit = Edit.between(old, new)
    for offset, character in enumerate(new):
        if (before := edit.to_old(offset)) is not None and offset != edit.start:
            assert old[before] == character
            assert edit.to_new(before) == offset
    assert old[: edit.start] + new[edit.start : edit.new_end] + old[edit.old_end :] == new


def test_words_and_statements():
    line = "  %a, %b:2 = aten.add.Tensor(%x, %y) {alpha = "
    assert [getattr(word_at(line, index), "text", None) for index in (3, 15, 30, 43)] == ["%a", "aten.add.Tensor", "%x", "alpha"]
    assert statement_before(line, len(line)) == ("aten.add.Tensor", "(%x, %y) {alpha = ")
    assert statement_before("%0 = aten.cat(\n  %a,\n  ", 22)[0] == "aten.cat"
    assert statement_before("%0 = aten.cat(%a)\n  ", 20)[0] is None


# Diagnostics


def test_a_valid_file_has_no_diagnostics(good: Analysis):
    assert found_in(good) == []


def test_errors_stand_where_they_are_meant():
    assert found_in(analyze(BAD, "model.mlir")) == [
        (9, "%bad = aten.relu", "aten.relu: result types must be (tensor<4x8xf32>), got (tensor<4x9xf32>)")
    ]
    assert found_in(analyze(TEXT.replace("aten.relu", "aten.rleu"), "model.mlir")) == [
        (6, "aten.rleu", "there is no operation aten.rleu; did you mean 'aten.relu'?")
    ]


def test_the_other_place_of_a_mismatch_is_shown():
    first = "func.func @f(%a : i32) {\n  func.return\n}\n// -----\n"
    analysis = analyze(f"{first}func.func @f(%a : i32) -> i64 {{\n  func.return %a : i64\n}}\n", "two.mlir")
    (fault,) = published_diagnostics.diagnostics(analysis, URI)
    (note,) = list(fault.related_information or [])
    assert note.message == "%a is defined here as i32"
    assert words(analysis, [fault.range, note.location.range]) == [(6, "%a"), (5, "%a")]


def test_each_part_between_markers_is_a_module_of_its_own():
    text = "// -----\n".join((TEXT, TEXT.replace("aten.relu", "aten.rleu"), TEXT.replace("@w(", "@v("), "// nothing\n"))
    analysis = analyze(text, "model.mlir")
    assert [(line, word) for line, word, _ in found_in(analysis)] == [(18, "aten.rleu"), (28, "%w = ml_program.global_load_const")]
    assert words(analysis, navigation.definition(analysis, place(analysis, "%z", 1))) == [(6, "%z")]
    assert words(analysis, navigation.definition(analysis, place(analysis, "%z", 5))) == [(30, "%z")]
    again = analyze(text.replace("rleu", "relu"), "model.mlir", previous=analysis)
    assert again.chunks[0].parsed is analysis.chunks[0].parsed
    assert [line for line, _, _ in found_in(again)] == [28]


def test_the_users_model_is_named():
    text = BAD.replace("-> tensor<4x9xf32>", '-> tensor<4x9xf32> loc("layers.0"("model.py":12:3))')
    (_, _, message), *_ = found_in(analyze(text, "model.mlir"))
    assert message.splitlines()[1] == "in layers.0 (model.py:12)"


RUN = "// RUN: flambeau-opt %s --verify-diagnostics --split-input-file\n"


def test_what_a_test_expects_is_a_hint_and_what_it_misses_an_error():
    expected = "// expected-error @below {{there is no operation aten.rleu}}\n"
    bad = "%0 = aten.rleu(%x)\n"
    (hint,) = published_diagnostics.diagnostics(analyze(RUN + expected + bad, "t.mlir"), URI)
    assert hint.severity == types.DiagnosticSeverity.Hint
    assert hint.message.startswith("expected: there is no operation")
    missed = found_in(analyze(f"{RUN}{expected}{TEXT}", "t.mlir"))
    assert [(line, message) for line, _, message in missed] == [(2, 'expected error "there is no operation aten.rleu" was not produced')]
    with_passes = RUN.replace("%s", "%s -p canonicalize")
    assert found_in(analyze(f"{with_passes}{expected}{TEXT}", "t.mlir")) == []
    (plain,) = published_diagnostics.diagnostics(analyze(expected + bad, "t.mlir"), URI)
    assert plain.severity == types.DiagnosticSeverity.Error


def test_unknown_dialects_are_fine_where_the_run_line_or_the_settings_say_so():
    text = '"foo.bar"() : () -> ()\n'
    assert len(found_in(analyze(text, "t.mlir"))) == 1
    assert found_in(analyze(f"// RUN: flambeau-opt --allow-unregistered-dialect %s\n{text}", "t.mlir")) == []
    assert found_in(analyze(text, "t.mlir", Settings(allow_unregistered=True))) == []


def test_large_modules_are_verified_first_and_their_names_read_afterwards():
    line = "    %z = aten.relu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    many = "".join(line.replace("%z", f"%n{index}") for index in range(1200))
    text = TEXT.replace(line, line + many)
    analysis = analyze(text, "model.mlir")
    assert not analysis.is_complete
    assert hovered(analysis, "%n7 ") == ""
    whole = completed(analysis)
    assert whole.is_complete
    assert "%n7 : tensor<4x8xf32>" in hovered(whole, "%n7 ")
    later = analyze(text.replace("aten.cat", "aten.cta"), "model.mlir", previous=whole)
    assert "%n7 : tensor<4x8xf32>" in hovered(later, "%n7 ")
    asked = iter(range(1000))
    assert completed(analysis, lambda: next(asked) < 10) is analysis, "reading names ends when nobody wants them any more"
    assert 10 < next(asked) < 100
    broken = analyze(text.replace("aten.cat", "aten.cta"), "model.mlir")
    assert not broken.is_complete
    assert "%n7 : tensor<4x8xf32>" in hovered(completed(broken), "%n7 ")


# Hover


def test_hover_of_values(good: Analysis):
    assert "%y : tensor<4x8xf32>" in hovered(good, "%y", 1)
    assert "%y = aten.linear(%x, %w, none)" in hovered(good, "%y", 1)
    assert "argument 0 of `func.func`" in hovered(good, "%x")
    assert "%s#1 : tensor<4x4xf32>" in hovered(good, "%s#1")
    assert "2 results of `aten.split.Tensor`" in hovered(good, "%s:2")


def test_hover_of_operations_symbols_blocks_and_attributes(good: Analysis):
    linear = hovered(good, "aten.linear", inside=7)
    assert "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor" in linear
    assert "(tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>)" in linear
    assert "inferred" not in linear
    assert "func.func @forward(%x : tensor<4x8xf32>)" in hovered(good, "@forward")
    assert "ml_program.global private @w" in hovered(good, "@w", 1)
    assert "int split_size" in hovered(good, "split_size")
    assert "int dim=0" in hovered(good, "dim")
    assert "^one(i32)" in hovered(analyze(BLOCKS, "b.mlir"), "^one")
    assert "- operands: `lhs`, `rhs`" in hovered(analyze("%0 = arith.addi %x, %x : i32", "b.mlir"), "arith.addi")
    assert hovered(analyze("// aten.relu here", "b.mlir"), "aten.relu") == ""


def test_hover_shows_no_words_about_other_operations():
    analysis = analyze("func.func @f(%x : i32) {\n  %y = arith.addi %x, %x : i32\n  func.return\n}\n", "model.mlir")
    assert hovered(analysis, "func.func").startswith("**func.func**\n\n- attributes: ")
    assert not any("IRDLOperation" in hovered(analysis, name) for name in ("func.func", "func.return", "arith.addi", "@f"))
    assert "base class" not in hovered(analysis, "arith.addi")


def test_hover_shows_what_is_inferred_where_the_text_says_something_else():
    assert "inferred: `tensor<4x8xf32>`" in hovered(analyze(BAD, "model.mlir"), "aten.relu", 1, inside=6)


# From name to name


def test_definitions_and_references_of_values(good: Analysis):
    assert words(good, navigation.definition(good, place(good, "%y", 1))) == [(5, "%y")]
    assert words(good, navigation.references(good, place(good, "%y", 1))) == [(5, "%y"), (6, "%y")]
    assert words(good, navigation.references(good, place(good, "%y"), declaration=False)) == [(6, "%y")]
    assert words(good, navigation.definition(good, place(good, "%x", 1))) == [(3, "%x")]
    assert words(good, navigation.definition(good, place(good, "%s#1"))) == [(7, "%s")]
    kinds = [item.kind for item in navigation.highlights(good, place(good, "%z"))]
    assert kinds == [types.DocumentHighlightKind.Write, types.DocumentHighlightKind.Read]


def test_definitions_and_references_of_symbols_and_blocks(good: Analysis):
    assert words(good, navigation.definition(good, place(good, "@w", 1))) == [(2, "@w")]
    assert words(good, navigation.references(good, place(good, "@w"))) == [(2, "@w"), (4, "@w")]
    blocks = analyze(BLOCKS, "b.mlir")
    assert words(blocks, navigation.definition(blocks, place(blocks, "^two"))) == [(6, "^two")]
    assert words(blocks, navigation.references(blocks, place(blocks, "^two"))) == [(3, "^two"), (5, "^two"), (6, "^two")]
    assert navigation.definition(good, place(good, "tensor")) == []


def test_an_operation_leads_to_its_line_in_the_model(tmp_path: Path):
    analysis = analyze(BAD.replace("-> tensor<4x9xf32>", '-> tensor<4x9xf32> loc("layers.0"("model.py":12:3))'), "model.mlir")
    position = place(analysis, "aten.relu", 1, inside=6)
    assert navigation.model_source(analysis, position, tmp_path) == []
    (tmp_path / "model.py").write_text("")
    (tmp_path / "out").mkdir()
    (found,) = navigation.model_source(analysis, position, tmp_path / "out")
    assert (found.uri, found.range.start) == ((tmp_path / "model.py").as_uri(), types.Position(11, 2))
    assert navigation.model_source(analysis, place(analysis, "%bad"), tmp_path) == []
    far = analyze(analysis.text.replace(":12:3", ":99999999999:0"), "model.mlir")
    (found,) = navigation.model_source(far, position, tmp_path)
    assert found.range.start == types.Position(2**31 - 1, 0)


def test_a_broken_text_is_answered_from_the_last_good_one(good: Analysis):
    text = TEXT.replace("    %z = aten.relu", "    %new = aten.\n    %z = aten.relu")
    broken = analyze(text, "model.mlir", previous=good)
    assert broken.chunks[0].parsed is None
    assert words(broken, navigation.references(broken, place(broken, "%y"))) == [(5, "%y"), (7, "%y")]
    assert words(broken, navigation.definition(broken, place(broken, "%z", 1))) == [(7, "%z")]
    assert [item.name for item in navigation.document_symbols(broken)] == ["w"], "the function holds the edit"
    fresh = analyze("func.func @f(%x : i32) {\n  %a = aten.relu(%x)\n  %b = aten.(%a)", "model.mlir")
    assert words(fresh, navigation.definition(fresh, place(fresh, "%a", 1))) == [(2, "%a")]
    assert words(fresh, navigation.definition(fresh, place(fresh, "%x", 1))) == [(1, "%x")]


def test_of_a_text_that_never_could_be_read_what_stands_before_the_error_is_known():
    text = TEXT.replace("aten.relu", "aten.rleu").removeprefix("builtin.module {\n").removesuffix("}\n")
    broken = analyze(text, "model.mlir")
    assert "%y : tensor<4x8xf32>" in hovered(broken, "%y")
    assert words(broken, navigation.references(broken, place(broken, "%x"))) == [(2, "%x"), (4, "%x")]
    assert [item.name for item in navigation.document_symbols(broken)] == ["w"]
    assert navigation.rename(broken, place(broken, "%x"), "%input") is None
    items = completion.complete(broken, place(broken, "(%y", inside=2))
    assert [(item.label, item.detail) for item in items][-1] == ("%x", "tensor<4x8xf32>")
    later = analyze(text.replace("aten.rleu", "aten.relu").replace("aten.cat", "aten.cta"), "model.mlir", previous=broken)
    assert "%z : tensor<4x8xf32>" in hovered(later, "%z")


def test_renaming(good: Analysis):
    def renamed(analysis: Analysis, position: types.Position, name: str) -> str:
        changes = navigation.rename(analysis, position, name)
        assert changes is not None
        text = analysis.text
        for change in sorted(changes, key=lambda item: (item.range.start.line, item.range.start.character), reverse=True):
            start, end = analysis.lines.offset(change.range.start), analysis.lines.offset(change.range.end)
            text = text[:start] + change.new_text + text[end:]
        assert found_in(analyze(text, "model.mlir")) == []
        return text

    text = renamed(good, place(good, "%s#1"), "%parts")
    assert "%parts:2 = aten.split.Tensor" in text
    assert "[%parts#0, %parts#1]" in text
    assert renamed(good, place(good, "@w"), "weight").count("@weight") == 2
    assert renamed(good, place(good, "%y"), "0").count("%0") == 2
    assert renamed(analyze(BLOCKS, "b.mlir"), place(analyze(BLOCKS, "b.mlir"), "^two"), "end").count("^end") == 3
    with pytest.raises(ValueError, match="something else"):
        navigation.rename(good, place(good, "%y"), "z")
    with pytest.raises(ValueError, match="is not a name"):
        navigation.rename(good, place(good, "%y"), "a b")
    twice = analyze(TEXT.replace("  func.func", "  func.func @g(%q : i32) {\n    func.return\n  }\n  func.func", 1), "model.mlir")
    assert renamed(twice, place(twice, "%y"), "q").count("%q") == 3


def test_the_outline(good: Analysis):
    found = navigation.document_symbols(good)
    assert [(item.name, item.kind) for item in found] == [("w", types.SymbolKind.Constant), ("forward", types.SymbolKind.Function)]
    assert words(good, [item.selection_range for item in found]) == [(2, "@w"), (3, "@forward")]
    assert found[1].range.end.line == 9


# Edits


def test_what_was_probably_meant_and_an_expectation_of_the_error():
    analysis = analyze(f"{RUN}{TEXT.replace('aten.relu', 'aten.rleu')}", "model.mlir")
    found = published_diagnostics.diagnostics(analysis, URI)
    fix, expect = code_actions.code_actions(analysis, URI, found)

    def applied(action: types.CodeAction) -> str:
        changes = action.edit.changes if action.edit is not None else None
        assert changes is not None
        (change,) = changes[URI]
        start, end = analysis.lines.offset(change.range.start), analysis.lines.offset(change.range.end)
        return analysis.text[:start] + change.new_text + analysis.text[end:]

    assert applied(fix) == RUN + TEXT
    text = applied(expect)
    assert "    // expected-error @below {{there is no operation aten.rleu; did you mean 'aten.relu'?}}\n" in text
    again = published_diagnostics.diagnostics(analyze(text, "model.mlir"), URI)
    assert [item.severity for item in again] == [types.DiagnosticSeverity.Hint]
    assert code_actions.code_actions(analysis, URI, again) == []
    line = found[0].range.start.line
    cursor = types.Position(line, 0)
    # Some editors name no diagnostics: what is on the line is meant.
    assert code_actions.code_actions(analysis, URI, [], types.Range(cursor, cursor)) == [fix, expect]
    below = types.Position(line + 1, 0)
    assert code_actions.code_actions(analysis, URI, [], types.Range(below, below)) == []


def test_formatting_is_exact_or_not_at_all(good: Analysis):
    messy = TEXT.replace("    %z", "  %z").replace(" : (tensor", "  :  (tensor")
    analysis = analyze(messy, "model.mlir")
    (change,) = code_actions.formatting(analysis)
    assert found_in(analyze(change.new_text, "model.mlir")) == []
    assert code_actions.formatting(analyze(change.new_text, "model.mlir")) == []
    assert "%y = aten.linear(%x, %w, none)" in change.new_text
    assert code_actions.formatting(analyze(f"// kept\n{messy}", "model.mlir")) == []
    assert code_actions.formatting(analyze(messy.replace("aten.relu", "aten.rleu"), "model.mlir")) == []


FUNCTIONS = """func.func @f() -> i32 {
  %a = arith.constant 1 : i32
  cf.br ^end
^end:
  func.return %a : i32
}

func.func private @g(i32) -> i32
func.func private @h(i32) -> i32
"""


@pytest.mark.parametrize("locations", ["", " loc(unknown)"])
def test_formatting_adds_no_module_and_keeps_empty_lines(locations: str):
    text = FUNCTIONS.replace("@h(i32) -> i32", f"@h(i32) -> i32{locations}")
    (change,) = code_actions.formatting(analyze(text.replace("  %a", " %a").replace("\n\n", "\n\n\n"), "f.mlir"))
    assert change.new_text.replace(" loc(unknown)", "") == FUNCTIONS
    assert code_actions.formatting(analyze(change.new_text, "f.mlir")) == []


# Hints


def test_hints_name_the_arguments_of_operators(good: Analysis):
    everywhere = good.lines.range(0, len(TEXT))
    found = [(good.lines.offset(hint.position), hint.label) for hint in hints.inlay_hints(good, everywhere)]
    assert [(TEXT[offset:].split(",")[0].split(")")[0], label) for offset, label in found] == [
        ("%x", "input:"),
        ("%w", "weight:"),
        ("none", "bias:"),
    ]
    assert hints.inlay_hints(good, good.lines.range(0, 200)) == []
    text = "func.func @f(%x : tensor<4xf32>, %i : tensor<2xi64>) -> tensor<2xf32> {\n  %r = aten.index.Tensor(%x, [%i])\n}"
    text = text.replace("[%i])", "[%i]) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>\n  func.return %r : tensor<2xf32>")
    listed = analyze(text, "f.mlir")
    assert [item.label for item in hints.inlay_hints(listed, listed.lines.range(0, len(text)))] == ["self:", "indices:"]
    generic = text.replace("aten.index.Tensor(%x, [%i])", '"aten.index.Tensor"(%x, %i) <{operandSegmentSizes = array<i32: 1, 1>}>')
    assert hints.inlay_hints(analyze(generic, "f.mlir"), types.Range(types.Position(0, 0), types.Position(9, 0))) == []


# Half-typed text


def everything(analysis: Analysis, offset: int) -> None:
    position = analysis.lines.position(offset)
    found = published_diagnostics.diagnostics(analysis, URI)
    hover.hover(analysis, position)
    navigation.definition(analysis, position)
    navigation.references(analysis, position)
    navigation.highlights(analysis, position)
    navigation.document_symbols(analysis)
    hints.inlay_hints(analysis, analysis.lines.range(0, offset))
    completion.complete(analysis, position)
    code_actions.code_actions(analysis, URI, found)
    code_actions.formatting(analysis)


@pytest.mark.parametrize("text", [TEXT, BLOCKS, f"{RUN}{BLOCKS}// -----\n{TEXT}"])
def test_text_that_ends_anywhere(text: str):
    whole = analyze(text, "model.mlir")
    for end in range(0, len(text), 7):
        everything(moved(text[:end], whole), end)
        everything(analyze(text[:end], "model.mlir", previous=whole), end)
        everything(analyze(text[:end], "model.mlir"), end)


@pytest.mark.parametrize("seed", range(25))
def test_random_edits_one_after_the_other(seed: int):
    chooser = random.Random(seed)
    text = chooser.choice((TEXT, BLOCKS, f"{BLOCKS}// -----\n{TEXT}"))
    analysis = analyze(text, "model.mlir")
    for _ in range(6):
        start = chooser.randrange(len(text) + 1)
        end = min(len(text), start + chooser.randrange(12))
        piece = chooser.choice(("", "%", "@", "^", "{", '"', "aten.", "// -----\n", "𝄞", "\n", "%x", text[:30], "}", "\r\n"))
        text = text[:start] + piece + text[end:]
        everything(moved(text, analysis), min(start + len(piece), len(text)))
        analysis = analyze(text, "model.mlir", previous=analysis)
        everything(analysis, chooser.randrange(len(text) + 1))


@pytest.mark.parametrize("folder", sorted(path.name for path in FILECHECK.iterdir() if path.is_dir() and any(path.glob("*.mlir"))))
def test_filecheck_tests_are_read_as_their_run_lines_say(folder: str):
    for path in sorted((FILECHECK / folder).glob("*.mlir")):
        text = path.read_text()
        if "RUN: not " in text or "--irdl-file" in text:  # the server loads only what its user names
            continue
        analysis = completed(analyze(text, path.name))
        found = [item for item in published_diagnostics.diagnostics(analysis, URI) if item.severity != types.DiagnosticSeverity.Hint]
        assert not found, path
        everything(analysis, len(text) // 2)
