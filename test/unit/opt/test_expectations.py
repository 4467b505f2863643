"""Expected diagnostics, as mlir-opt has them: where a comment speaks of, what it matches, and what is reported otherwise."""

from __future__ import annotations

import pytest

from flambeau.dialects.ir.diagnostics import Diagnostic, Severity
from flambeau.dialects.text.source_text import Source
from flambeau.support.position import Position
from flambeau.tools.opt.expectations import Expectations

FILE = "a.mlir"


def at(line: int | None, message: str = "wrong", severity: Severity = "error", *notes: Diagnostic) -> Diagnostic:
    return Diagnostic(severity, message, None if line is None else Position(FILE, line, 3), notes=notes)


def problems(text: str, *diagnostics: Diagnostic, only_expected: bool = False, line_offset: int = 0) -> list[str]:
    expectations = Expectations(Source(text, FILE, line_offset), only_expected=only_expected)
    for diagnostic in diagnostics:
        expectations.see(diagnostic)
    return [str(problem) for problem in expectations.finish()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{wrong}}", 1),
        ("\n// expected-error@+2 {{wrong}}\n\nop", 4),
        ("op\n\n// expected-error @-2 {{wrong}}", 1),
        ("op\n// expected-error @above {{wrong}}", 1),
        ("op\n// expected-note @above {{n}}\n// expected-error @above {{wrong}}", 1),
        ("// expected-error @below {{wrong}}\nop", 2),
        ("// expected-error @below {{wrong}}\n// expected-note @below {{n}}\nop", 3),
        ("op\n// expected-error @below {{wrong}}", 2),
        ("// expected-error @unknown {{wrong}}", None),
        ("op //expected-error{{wrong}}   ", 1),
        ("op // expected-error {{ron}}", 1),
        ("op // expected-error {{}}", 1),
        ("op // expected-error-re {{w{{[a-z]+}}g}}", 1),
        ("op // expected-error-re {{wr{{.*}}}}", 1),
    ],
)
def test_a_comment_speaks_of_a_line(text: str, line: int | None) -> None:
    note = (at(line, "n", "note"),) if "expected-note" in text else ()
    assert problems(text, at(line, "wrong", "error", *note)) == []
    elsewhere = problems(text, at(7))
    assert "a.mlir:7:3: error: unexpected error: wrong" in elsewhere
    assert any("was not produced" in problem for problem in elsewhere)


def test_several_on_a_line_and_their_order_does_not_matter() -> None:
    text = "op // expected-error {{first}} expected-warning {{second}} expected-note-re {{{{[a-z]}}hird}}"
    found = [at(1, "the third", "note"), at(1, "the second", "warning"), at(1, "the first")]
    assert problems(text, *found) == []
    assert problems(text, *found[:2]) == ['a.mlir:1:7: error: expected error "first" was not produced']


@pytest.mark.parametrize(
    "string", ['"// expected-error {{x}}"', r'"\" // expected-error {{x}}"', 'loc("http://a" "// expected-error {{x}}")']
)
def test_strings_hold_no_comments(string: str) -> None:
    assert problems(f"op {string}") == []
    assert problems(f'op {string} // "a" expected-error {{{{wrong}}}}', at(1)) == []


def test_each_diagnostic_meets_one_comment() -> None:
    text = "op // expected-error {{wrong}}"
    assert problems(text, at(1), at(1)) == ["a.mlir:1:3: error: unexpected error: wrong"]
    assert problems(f"{text} expected-error {{{{wrong}}}}", at(1), at(1)) == []
    assert len(problems(f"{text} expected-error {{{{wrong}}}}", at(1))) == 1


def test_notes_are_expected_too() -> None:
    text = "op // expected-error {{wrong}}"
    assert problems(text, at(1, "wrong", "error", at(2, "see here", "note"))) == ["a.mlir:2:3: error: unexpected note: see here"]


def test_the_wrong_severity_is_said() -> None:
    assert problems("op // expected-error {{wrong}}", at(1, "wrong", "remark")) == [
        "a.mlir:1:7: error: remark where this expects error: wrong",
        'a.mlir:1:7: error: expected error "wrong" was not produced',
    ]


def test_others_may_be_let_pass() -> None:
    text = "op // expected-error {{wrong}}"
    assert problems(text, at(1), at(5, "more"), at(1, "also", "warning"), only_expected=True) == []
    assert len(problems(text, at(5, "more"), only_expected=True)) == 1


def test_lines_count_from_the_start_of_the_file() -> None:
    text = "op // expected-error {{wrong}}\n// expected-error @above {{wrong}}\n"
    assert problems(text, at(11), line_offset=10) != []
    assert problems("// expected-error @below {{wrong}}\nop", at(12), line_offset=10) == []
    assert problems("op\n// expected-error @above {{wrong}}", at(11), line_offset=10) == []


def test_diagnostics_of_other_files_have_no_place_in_this_one() -> None:
    elsewhere = Diagnostic("error", "wrong", Position("b.mlir", 1, 1))
    assert problems("op // expected-error {{wrong}}", elsewhere)[0] == "b.mlir:1:1: error: unexpected error: wrong"
    assert problems("// expected-error @unknown {{wrong}}", elsewhere) == []


@pytest.mark.parametrize(
    ("comment", "fault"),
    [
        ("expected-eror {{wrong}}", "there is no severity 'eror'; there are error, warning, remark, note"),
        ("expected-error wrong", "expected {{ after it, and }} at the end"),
        ("expected-error {{wrong", "it must end with }}, and nothing may follow"),
        ("expected-error {{wrong}} today", "it must end with }}, and nothing may follow"),
        ("expected-error {{}", "it must end with }}, and nothing may follow"),
        ("expected-error @next {{wrong}}", "there is no place @next; write @+N, @-N, @above, @below or @unknown"),
        ("expected-error @+ {{wrong}}", "there is no place @+;"),
        ("expected-error @ {{wrong}}", "there is no place @;"),
        ("expected-error-re {{a {{[}} b}}", "invalid regular expression"),
        ("expected-error-re {{a {{b}}", "a regular expression begins with {{ and never ends with }}"),
    ],
)
def test_malformed_comments_are_errors(comment: str, fault: str) -> None:
    (problem,) = problems(f"op // {comment}")
    assert problem.startswith("a.mlir:1:7: error: this expectation is malformed: ")
    assert fault in problem


@pytest.mark.parametrize(
    "line", ['"test.op"() {a = "expected-error {{x}}"} : () -> ()', "// it was expected-ly so", "// the unexpected error"]
)
def test_prose_and_strings_expect_nothing(line: str) -> None:
    assert problems(line) == []


@pytest.mark.parametrize("comment", ["expected-error-re {{{{a{99999999999} }}}}", "expected-error @+" + "9" * 5000 + " {{a}}"])
def test_numbers_that_are_too_large_are_malformed(comment: str) -> None:
    assert "this expectation is malformed" in problems(f"op // {comment}")[0]
