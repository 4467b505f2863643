"""However flambeau-opt fails, a person gets a line that says why, and the status says that it failed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.tools.opt import main

VALID = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n"
INVALID = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return\n}\n"
WEIGHTS = """ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
func.func @f() -> tensor<2xf32> {
  %0 = ml_program.global_load_const @w : tensor<2xf32>
  %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""
PLUGIN = """
from dataclasses import dataclass
from xdsl.passes import ModulePass
from flambeau.dialects.ir.diagnostics import OperationError, remark, warn
from flambeau.passes.manager.registry import register_pass

@dataclass(frozen=True)
class CrashPass(ModulePass):
    name = "crash"
    def apply(self, ctx, op):
        {}["no such key"]

@dataclass(frozen=True)
class BreakPass(ModulePass):
    name = "break"
    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if inner.name == "func.return":
                inner.operands = []

@dataclass(frozen=True)
class TalkPass(ModulePass):
    name = "talk"
    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "func.return":
                warn(inner, "this looks odd")
                remark(inner, "left alone")

@dataclass(frozen=True)
class RefusePass(ModulePass):
    name = "refuse"
    def apply(self, ctx, op):
        raise OperationError(op.body.block.first_op, "it is not for me")

for kind in (CrashPass, BreakPass, TalkPass, RefusePass):
    register_pass(kind)
"""

FORGETFUL = """
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def

from flambeau.dialects.schema.context import register_dialect

@irdl_op_definition
class WordOp(IRDLOperation):
    name = "some.word"
    word = prop_def(StringAttr)

    def print(self, printer):
        printer.print_string(' "lost"')

    @classmethod
    def parse(cls, parser):
        return cls(properties={"word": StringAttr(parser.parse_str_literal())})

register_dialect(Dialect("some", [WordOp]))
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the tool on a text in a file, in a folder of its own; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("FLAMBEAU_DEBUG", raising=False)
    Path("plugin.py").write_text(PLUGIN)

    def run(text: str | None, *arguments: str) -> tuple[int, str, str]:
        if text is not None:
            Path("a.mlir").write_text(text)
            arguments = ("a.mlir", *arguments)
        status = main([*arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_a_file_that_is_not_there(run: Run) -> None:
    assert run(None, "nowhere.mlir") == (1, "", "error: nowhere.mlir: No such file or directory\n")


def test_a_folder(run: Run) -> None:
    assert run(None, ".") == (1, "", "error: .: Is a directory\n")


def test_a_file_that_is_not_text(run: Run) -> None:
    Path("model.pt2").write_bytes(b"PK\x03\x04\xff\x00")
    assert run(None, "model.pt2") == (1, "", "error: model.pt2: the file is not text: give a module as a .mlir file\n")


def test_a_damaged_program(run: Run) -> None:
    Path("model.pte").write_bytes(b"\x18\x00\x00\x00ET12\xff\xfe\x00")
    status, out, err = run(None, "model.pte")
    assert (status, out) == (1, "") and err.startswith("error: model.pte: ") and err.count("\n") == 1
    assert run(None, "nowhere.pte") == (1, "", "error: no such file: nowhere.pte\n")


@pytest.mark.parametrize("text", ["", " \n\n", "// only a comment\n"])
def test_an_empty_file_is_an_empty_module(run: Run, text: str) -> None:
    assert run(text, "-p", "compile") == (0, "builtin.module {\n}\n", "")


def test_output_that_cannot_be_written(run: Run) -> None:
    assert run(VALID, "-o", "nowhere/b.mlir") == (1, "", "error: nowhere/b.mlir: there is no folder nowhere\n")


def test_nothing_is_written_after_an_error(run: Run) -> None:
    assert run(INVALID, "-o", "b.mlir")[0] == 1
    assert not Path("b.mlir").exists()


def test_weights_that_are_missing(run: Run) -> None:
    status, out, err = run(WEIGHTS, "-p", "fold-constants")
    assert (status, out) == (1, "")
    assert "the .safetensors file that belongs to this module was not opened; a.safetensors does not exist\n" in err
    assert "Traceback" not in err


def test_weights_of_another_module(run: Run) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    Path("a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    status, _, err = run(WEIGHTS, "-p", "fold-constants")
    assert status == 1
    assert "but the module needs 0123456789abcdef: use the file that was saved with it" in err


def test_weights_that_are_damaged(run: Run) -> None:
    Path("a.safetensors").write_bytes(b"\xff" * 20)
    status, out, err = run(WEIGHTS)
    assert (status, out) == (1, "")
    assert (
        err
        == "error: a.safetensors is not a safetensors file: its header is cut off or too long: it takes 18446744073709551623 of 20 bytes\n"
    )


def test_a_pipeline_that_does_not_parse(run: Run) -> None:
    status, _, err = run(VALID, "-p", "canonicalize,ccse")
    assert status == 1
    assert err == "<pipeline>:1:14: error: there is no pass or pipeline 'ccse'; did you mean 'cse'?\ncanonicalize,ccse\n             ^\n"


def test_every_error_has_its_line(run: Run) -> None:
    status, out, err = run(f"{INVALID}func.func @g() -> (tensor<f32>) {{\n\tfunc.return\n}}")
    assert (status, out) == (1, "")
    assert err == (
        "a.mlir:2:3: error: returns (), but the function's type says (tensor<2xf32>)\n"
        "  func.return\n"
        "  ^\n"
        "a.mlir:5:2: error: returns (), but the function's type says (tensor<f32>)\n"
        "\tfunc.return\n"
        "\t^\n"
    )


def test_very_many_errors_are_counted(run: Run) -> None:
    lines = "".join(f"  %{number} = aten.relu(%x) : (tensor<2xf32>) -> tensor<3xf32>\n" for number in range(25))
    _, _, err = run(f"func.func @f(%x: tensor<2xf32>) {{\n{lines}  func.return\n}}")
    assert err.count("error:") == 20
    assert err.endswith("and 5 more errors\n")


def test_a_bad_module_does_not_end_the_rest(run: Run) -> None:
    status, out, err = run(f"{VALID}// -----\n{INVALID}// -----\n$\n// -----\n{VALID}", "--split-input-file")
    assert status == 1
    assert out.count("// -----\n") == 3
    assert out.count("func.func @f") == 2
    assert [line for line in err.splitlines() if "error:" in line] == [
        "a.mlir:6:3: error: returns (), but the function's type says (tensor<2xf32>)",
        "a.mlir:9:1: error: the character '$' has no meaning here",
    ]


def test_other_markers(run: Run) -> None:
    status, out, _ = run(f"{VALID}// ===\n{VALID}", "--split-input-file=// ===")
    assert (status, out.count("// ===\n"), out.count("builtin.module")) == (0, 1, 2)
    with pytest.raises(SystemExit):
        run(VALID, "--split-input-file=")


@pytest.mark.parametrize("line", ["// ------", "// ----- next", "// ----"])
def test_what_nearly_splits_is_pointed_out(run: Run, line: str) -> None:
    status, out, err = run(f"{VALID}{line}\n{VALID.replace('@f', '@g')}", "--split-input-file")
    assert (status, out.count("builtin.module")) == (0, 1)
    assert err.splitlines()[:2] == ["a.mlir:4:1: warning: this splits nothing: a line that does is just '// -----'", line]
    assert run(f"{VALID}// -----  \n{VALID}", "--split-input-file")[2] == ""


def test_parts_without_operations_are_empty_modules(run: Run) -> None:
    status, out, _ = run(f"// first\n// -----\n{VALID}// -----\n", "--split-input-file")
    assert (status, out.count("builtin.module"), out.count("builtin.module {\n}\n")) == (0, 3, 2)
    status, _, err = run(f"{VALID}// -----\n// expected-error @unknown {{{{never}}}}\n", "--split-input-file", "--verify-diagnostics")
    assert (status, err.splitlines()[0]) == (1, 'a.mlir:5:4: error: expected error "never" was not produced')


def test_a_bug_in_a_pass_is_one_line_and_a_file(run: Run, tmp_path: Path) -> None:
    status, out, err = run(VALID, "--load-plugin=plugin.py", "-p", "canonicalize,crash")
    assert (status, out) == (70, "")
    assert err.splitlines()[0] == "error: crash: internal error: KeyError: 'no such key'"
    assert "Traceback" not in err and "func.func" not in err
    (written,) = tmp_path.glob("flambeau-failures*/crash-*.mlir")
    assert str(written) in err
    assert "KeyError" in written.read_text() and "func.func @f" in written.read_text()


def test_a_bug_shows_its_traceback_to_those_who_ask(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_DEBUG", "1")
    with pytest.raises(ValueError, match="no such key"):
        run(VALID, "--load-plugin=plugin.py", "-p", "crash")


def test_a_pass_that_breaks_the_module_shows_what_it_made(run: Run) -> None:
    status, out, err = run(VALID, "--load-plugin=plugin.py", "-p", "break")
    assert (status, out) == (1, "")
    assert err.splitlines()[:4] == [
        "a.mlir:2:3: error: break: left the module invalid: returns (), but the function's type says (tensor<2xf32>)",
        "  func.return %x : tensor<2xf32>",
        "  ^",
        "  op: func.return",
    ]


def test_the_place_in_the_model_is_named(run: Run) -> None:
    Path("model.py").write_text("import torch\n\n    y = self.norm(x)\n")
    text = VALID.rstrip() + ' loc("layers.0.norm"("model.py":3:0))\n'
    _, _, err = run(text, "--load-plugin=plugin.py", "-p", "refuse")
    assert err.splitlines()[:5] == [
        "a.mlir:1:1: error: refuse: it is not for me",
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {",
        "^",
        "  in layers.0.norm (model.py:3)",
        "      3 |     y = self.norm(x)",
    ]


def test_warnings_and_remarks(run: Run) -> None:
    plain = run(VALID, "--load-plugin=plugin.py", "-p", "talk")
    assert plain[0] == 0 and "builtin.module" in plain[1]
    assert plain[2] == "a.mlir:2:3: warning: talk: this looks odd\n  func.return %x : tensor<2xf32>\n  ^\n"
    assert "remark: talk: left alone" in run(VALID, "--load-plugin=plugin.py", "-p", "talk", "--remarks")[2]
    assert "remark" in run(VALID, "--load-plugin=plugin.py", "-p", "talk", "--remarks=^talk: left")[2]
    assert "remark" not in run(VALID, "--load-plugin=plugin.py", "-p", "talk", "--remarks=^left")[2]
    with pytest.raises(SystemExit):
        run(VALID, "--remarks=[")


def test_expected_diagnostics_of_passes(run: Run) -> None:
    text = VALID.replace("f32>\n}", "f32> // expected-warning {{odd}} expected-remark {{alone}}\n}")
    assert run(text, "--load-plugin=plugin.py", "-p", "talk", "--remarks", "--verify-diagnostics")[0] == 0
    status, out, err = run(text, "--load-plugin=plugin.py", "-p", "talk", "--verify-diagnostics", "--remarks=never")
    assert status == 1 and "builtin.module" in out
    assert 'error: expected remark "alone" was not produced' in err
    status, out, err = run(VALID, "--load-plugin=plugin.py", "-p", "talk,crash", "--verify-diagnostics")
    assert (status, out) == (1, "")
    assert "error: unexpected warning: talk: this looks odd" in err and "unexpected error: crash: internal error" in err
    assert run(VALID, "--load-plugin=plugin.py", "-p", "talk", "--verify-diagnostics=only-expected")[0] == 0


def test_what_conversions_leave_is_a_table_and_json(run: Run) -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten._coalesce(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten._coalesce(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("head"("model.py":12:0))
  %2 = aten.square(%1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
"""
    status, _, err = run(text, "-p", "convert-aten-to-core", "--legality-report=report.json")
    assert status == 1
    assert "\n  operation       count  at   why\n  aten._coalesce      2  2:3  Flambeau knows" in err
    assert "\n                              in head (model.py:12)\n" in err
    assert "\n  aten.square         1  4:3  it is not in Core ATen; run decompose-aten first\n" in err
    (report,) = json.loads(Path("report.json").read_text())
    assert (report["pass"], report["count"]) == ("convert-aten-to-core", 3)
    coalesce, square = report["operations"]
    assert (coalesce["name"], coalesce["count"], coalesce["in_text"]) == ("aten._coalesce", 2, ["a.mlir:2:3", "a.mlir:3:3"])
    assert "head (model.py:12)" in coalesce["in_model"]
    assert square["reason"] == "it is not in Core ATen; run decompose-aten first"


def flambeau(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    from flambeau.tools.main import main as compiler

    status = compiler(arguments)
    return status, capsys.readouterr().err


def test_the_compiler_shows_errors_as_well(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.mlir").write_text(INVALID)
    assert flambeau(capsys, "compile", "a.mlir") == (
        1,
        "a.mlir:2:3: error: returns (), but the function's type says (tensor<2xf32>)\n  func.return\n  ^\n",
    )
    Path("a.mlir").write_text(VALID.replace("return %x", "retrn %x"))
    status, err = flambeau(capsys, "compile", "a.mlir")
    assert (status, err.splitlines()[0]) == (1, "a.mlir:2:3: error: there is no operation func.retrn; did you mean 'func.return'?")


def test_the_compiler_names_the_place_of_what_a_pass_refuses(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.mlir").write_text("""func.func @f(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0, %1, %2 = aten.linalg_svd(%x) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>)
  func.return %0, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}
""")
    status, err = flambeau(capsys, "compile", "a.mlir")
    assert status == 1
    assert "error: convert-aten-to-core: 1 operation cannot be converted to Core ATen" in err
    assert "  in a.mlir:2\n      2 |   %0, %1, %2 = aten.linalg_svd(%x)" in err
    assert "Traceback" not in err


SVD = """func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0, %1, %2 = aten.linalg_svd(%x) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>)
  func.return %0 : tensor<2x2xf32>
}
"""
DROPPING = """
from flambeau.passes.kit import OperationPass

class DropPass(OperationPass):
    '''Leaves functions without a type.'''
    name = "drop"
    def apply_to(self, ctx, op):
        for inner in op.walk():
            inner.properties.pop("function_type", None)
"""
REFUSING = """
from flambeau.passes.kit import ConversionTarget, ModulePass, Pattern, apply_partial_conversion, decline, op

class HalvePattern(Pattern):
    roots = (op("aten.linalg_svd"),)

    def rewrite(self, op, rewriter):
        decline("it is too large")

class HalfPass(ModulePass):
    '''Makes halves.'''
    name = "half"
    def apply(self, ctx, op):
        target = ConversionTarget("halves").illegal("aten", because="it is whole")
        apply_partial_conversion(op, target, [HalvePattern()])
"""


def test_what_a_table_says_the_message_does_not(run: Run, tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(REFUSING)
    status, _, err = run(SVD, f"--load-plugin={tmp_path / 'half.py'}", "-p", "half")
    assert status == 1
    assert "error: half: 1 operation cannot be converted to halves\n" in err
    assert err.count("it is whole") == err.count("it is too large") == 1


@pytest.mark.parametrize("location", ['loc("layers.0"("model.py":6:0))', "loc(#place)"])
def test_a_line_that_cannot_be_read_names_the_users_module(run: Run, location: str) -> None:
    text = VALID.replace("  func.return", f"  %0 = aten.rellu(%x) : (tensor<2xf32>) -> tensor<2xf32> {location} // here\n  func.return")
    _, _, err = run(f'{text}#place = loc("layers.0"("model.py":6:0))\n')
    assert "there is no operation aten.rellu" in err
    assert err.endswith("~\n  in layers.0 (model.py:6)\n")
    _, _, err = run(text.replace("tensor<2xf32> loc(", "tensor<2xf32> loc(loc("))
    assert "  in " not in err


def test_nesting(run: Run) -> None:
    def nested(depth: int) -> str:
        return "func.func @f(%x: i1) {\n" + "scf.if %x {\n" * depth + "}\n" * depth + "func.return\n}\n"

    status, out, _ = run(nested(600), "--verify-roundtrip")
    assert (status, out.count("scf.if")) == (0, 600)
    status, _, err = run(nested(5000))
    assert status == 1
    assert "error: the text is nested too deeply\nscf.if %x {\n" in err


def test_what_the_own_syntax_cannot_say_is_printed_in_the_generic_form(run: Run, tmp_path: Path) -> None:
    (tmp_path / "drop.py").write_text(DROPPING)
    status, out, err = run(VALID, f"--load-plugin={tmp_path / 'drop.py'}", "-p", "drop", "--verify-each=0")
    assert (status, err) == (0, "")
    assert out.startswith('"builtin.module"() ({\n  "func.func"() <{sym_name = "f"}> ({')


@pytest.mark.parametrize("expression", ["[", "a{99999999999}", "(" * 2000 + ")" * 2000])
def test_remarks_by_no_regular_expression(run: Run, expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(VALID, f"--remarks={expression}")
    assert "is not a regular expression" in capsys.readouterr().err


def test_a_plugin_that_is_interrupted_and_output_without_room(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt")
    assert run(VALID, f"--load-plugin={tmp_path / 'slow.py'}")[::2] == (130, "interrupted\n")

    class Full(StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    assert main(["--list-passes"]) == 1


def test_a_pipeline_beside_a_reproducer_goes_first_and_a_note_says_so(run: Run) -> None:
    assert run(VALID, "-p", "cse", "--generate-reproducer=r.mlir")[0] == 0
    note = "note: instead of the pipeline of r.mlir, that of the command line runs\n"
    assert main(["r.mlir", "--run-reproducer", "-p", "canonicalize", "--dump-pass-pipeline", "-o", "out.mlir"]) == 0
    assert run(VALID, "-o", "out.mlir")[2] == note + "builtin.module(canonicalize)\n"
    assert main(["r.mlir", "--run-reproducer", "--dump-pass-pipeline", "-o", "out.mlir"]) == 0
    assert run(VALID, "-o", "out.mlir")[2] == "builtin.module(cse)\n"


def test_the_stack_of_a_diagnostic(run: Run) -> None:
    status, _, err = run(VALID, "--load-plugin=plugin.py", "-p", "talk,refuse", "--print-stacktrace-on-diagnostic", "--no-reproducer")
    assert status == 1
    warned, refused = err.split("from here, the innermost call last:\n")[1:]
    assert 'warn(inner, "this looks odd")' in warned and "error: refuse: it is not for me" in warned
    assert 'raise OperationError(op.body.block.first_op, "it is not for me")' in refused.splitlines()[-1]
    status, _, err = run(INVALID, "--print-stacktrace-on-diagnostic")
    assert status == 1 and "in verify_" in err


def test_markers_between_results(run: Run) -> None:
    text = f"{VALID}// next\n{VALID}"
    for options, marker in (([], "// next"), (["--output-split-marker=// -----"], "// -----")):
        status, out, _ = run(text, "--split-input-file=// next", *options)
        first, second = out.split(f"{marker}\n")
        assert status == 0 and first == second


def test_colour_when_asked_for(run: Run) -> None:
    coloured = "\x1b[1;31merror:\x1b[0m "
    assert coloured in run(INVALID, "--color")[2]
    assert coloured not in run(INVALID, "--color=0")[2]
    dead = VALID.replace("  func", "  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n  func")
    assert "\x1b[" in run(dead, "--color", "-p", "remove-dead-code", "--print-changed=diff")[2]
    assert "\x1b[" not in run(dead, "--color=false", "-p", "remove-dead-code", "--print-changed=diff")[2]


def test_a_device_as_the_output_gets_no_weights_beside_it(run: Run) -> None:
    context = FlambeauContext()
    text = WEIGHTS.replace("0123456789abcdef", context.blobs.add("w", bytes(8)).digest.data)
    save_weights(parse_module(text, context).module, context.blobs, "a.safetensors")
    Path("null").symlink_to(os.devnull)
    assert run(text, "-o", "null") == (0, "", "")
    assert not Path("null.safetensors").exists()
    assert run(text, "-o", "out.mlir") == (0, "", "")
    assert Path("out.safetensors").exists()


def test_a_round_trip_that_fails_is_a_diagnostic(run: Run) -> None:
    Path("forget.py").write_text(FORGETFUL)
    status, out, err = run('some.word "kept"\n', "--load-plugin=forget.py", "--verify-roundtrip")
    assert (status, out) == (1, "")
    assert err.splitlines()[0] == ('a.mlir:1:1: error: the text parses back to other IR: some.word has word = "lost", not "kept"')
    assert run('some.word "lost"\n', "--load-plugin=forget.py", "--verify-roundtrip")[0] == 0


def test_tables_are_as_wide_as_they_need(run: Run) -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten._coalesce(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("NAME"("model.py":12:0))
  func.return %0 : tensor<2xf32>
}
""".replace("NAME", "long_" * 40)
    err = run(text, "-p", "convert-aten-to-core", "--timing", "--pass-statistics")[2]
    assert max(map(len, err.splitlines())) > 200
