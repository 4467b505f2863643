"""IR between passes: whether it changed, how it is printed, and stage files that other runs start from."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import StageError
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, print_module, read_module
from flambeau.dialects.text.operation_text import PrintingOptions, TextWithNames, operation_text, strict_text
from flambeau.passes.manager import OperationPass, PassError, Pipeline
from flambeau.tools.instruments.dump_page import MOST_LINES, StepView, page
from flambeau.tools.instruments.ir_printing import ChangePrinting, IRPrinting, coloured
from flambeau.tools.instruments.snapshot import Snapshot
from flambeau.tools.instruments.stage_dump import StageDump
from flambeau.tools.main import app
from flambeau.tools.opt import main

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "passes").glob("*/examples/*.mlir"))

MODULE = """\
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = core.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


def module(text: str = MODULE) -> ModuleOp:
    return parse_module(text, FlambeauContext()).module


def functions(op: ModuleOp) -> list[FuncOp]:
    return [item for item in op.body.block.ops if isinstance(item, FuncOp)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_snapshot_is_equal_when_the_text_is(path: Path):
    before, _, after = path.read_text().partition("// -----\n")
    first, second, again = module(before), module(before if "// error" in after else after), module(before)
    assert Snapshot(first) == Snapshot(again) == Snapshot(first.clone())
    assert (Snapshot(first) == Snapshot(second)) == (print_module(first) == print_module(second))


def swap_operands(op: Operation) -> None:
    op.operands = list(reversed(op.operands))


def move_first(op: Operation) -> None:
    block = op.parent
    assert block is not None and block.first_op is not None
    op.detach()
    block.insert_op_before(op, block.first_op)


MUTATIONS: dict[str, Callable[[FuncOp], object]] = {
    "operands": lambda f: swap_operands(list(f.body.block.ops)[2]),
    "order": lambda f: move_first(list(f.body.block.ops)[1]),
    "attribute": lambda f: f.attributes.update(x=IntegerAttr(1, i64)),
    "property": lambda f: f.properties.update(sym_name=StringAttr("h")),
    "name of a result": lambda f: setattr(next(iter(f.body.block.ops)).results[0], "name_hint", "named"),
    "name of an argument": lambda f: setattr(f.body.block.args[0], "name_hint", "named"),
    "one operation less": lambda f: list(f.body.block.ops)[2].detach(),
}


@pytest.mark.parametrize("mutate", MUTATIONS.values(), ids=MUTATIONS)
def test_a_snapshot_sees_what_the_text_shows(mutate: Callable[[FuncOp], object]):
    op = module()
    before, text = Snapshot(op), print_module(op, generic=True)
    mutate(functions(op)[0])
    assert print_module(op, generic=True) != text
    assert Snapshot(op) != before


def test_the_order_of_attributes_is_part_of_the_text():
    op = module()
    function = functions(op)[0]
    function.attributes.update(a=IntegerAttr(1, i64), b=IntegerAttr(2, i64))
    before, text = Snapshot(op), print_module(op)
    function.attributes = dict(reversed(function.attributes.items()))
    assert print_module(op) != text
    assert Snapshot(op) != before


def test_locations_count_only_where_they_are_printed():
    op = module()
    before, located = Snapshot(op), Snapshot(op, locations=True)
    next(iter(functions(op)[0].body.block.ops)).location = FileLineColLoc(StringAttr("m.py"), IntAttr(1), IntAttr(2))
    assert Snapshot(op) == before
    assert Snapshot(op, locations=True) != located
    middle = Snapshot(op, locations=True)
    functions(op)[0].body.block.args[0].location = FileLineColLoc(StringAttr("m.py"), IntAttr(3), IntAttr(4))
    assert Snapshot(op) == before
    assert Snapshot(op, locations=True) != middle


def test_an_earlier_text_takes_the_names_of_a_later_one():
    op = module()
    first = TextWithNames(op, PrintingOptions())
    assert first.text + "\n" == print_module(op)
    assert first.named_as(first) == first.text
    context = FlambeauContext()
    Pipeline.parse("cse").run(op, context)
    second = TextWithNames(op, PrintingOptions())
    assert second.text + "\n" == print_module(op)
    assert "%1 = core.add.Tensor(%0, %0)" in second.text
    assert "%1 = core.add.Tensor(%0, %2)" in first.named_as(second), "%2 is gone"
    Pipeline.parse("convert-core-to-edge").run(op, context)
    third = TextWithNames(op, PrintingOptions())
    assert third.text + "\n" == print_module(op)
    named = second.named_as(third)
    assert "%3 = core.add.Tensor(%2, %2)" in named and "%y_1 = core.neg(%x)" in named, "no value keeps a name that another has now"


@pytest.mark.parametrize("options", [[], ["--print-value-users"], ["--print-unique-ssa-ids"], ["--print-op-generic"]])
def test_the_last_diff_numbers_values_as_the_result_does(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "m.mlir"
    source.write_text(MODULE)
    passes = "cse,convert-core-to-edge,canonicalize"
    assert main([str(source), "-p", passes, "--print-changed=diff", "--print-ir-module-scope", *options]) == 0
    shown = capsys.readouterr()
    result = {line.partition(" // ")[0].rstrip() for line in shown.out.splitlines()}
    last = [diff for diff in shown.err.split("// -----// IR ")[1:] if "[no change]" not in diff][-1]
    added = [line[1:].rstrip() for line in last.splitlines() if line.startswith("+")]
    assert added and set(added) <= result


@dataclass(frozen=True)
class RenamePass(OperationPass):
    """Renames one function."""

    name = "rename"
    function: str = "g"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for item in op.walk():
            if isinstance(item, FuncOp) and item.sym_name.data == self.function:
                item.properties["sym_name"] = StringAttr(f"{self.function}_renamed")


@dataclass(frozen=True)
class FailPass(ModulePass):
    """Changes something and fails."""

    name = "fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions(op)[0].attributes["touched"] = IntegerAttr(1, i64)
        raise ValueError("on purpose")


NESTED = Pipeline("builtin.module", (Pipeline("func.func", (RenamePass(),)), RenamePass("f")))


def printed(watch: Callable[[io.StringIO], IRPrinting | ChangePrinting], pipeline: Pipeline = NESTED) -> str:
    stream = io.StringIO()
    pipeline.run(module(), FlambeauContext(), [watch(stream)])
    return stream.getvalue()


def headers(text: str) -> list[str]:
    return [line.removeprefix("// -----// IR ").replace(" //----- //", "") for line in text.splitlines() if line.startswith("// -----//")]


def test_a_nested_pass_names_its_operation():
    assert headers(printed(lambda stream: IRPrinting(stream, before="all", after="all"))) == [
        "Dump Before RenamePass (rename) ('func.func' operation: @f)",
        "Dump After RenamePass (rename) ('func.func' operation: @f)",
        "Dump Before RenamePass (rename) ('func.func' operation: @g)",
        "Dump After RenamePass (rename) ('func.func' operation: @g_renamed)",
        "Dump Before RenamePass (rename{function=f})",
        "Dump After RenamePass (rename{function=f})",
    ]


def test_scope_of_what_is_printed():
    narrow = printed(lambda stream: IRPrinting(stream, after="all", only_changed=True))
    assert narrow.count("func.func @f(") == 0
    assert narrow.count("func.func @g_renamed") == 2
    wide = printed(lambda stream: IRPrinting(stream, after="all", only_changed=True, module_scope=True))
    assert wide.count("builtin.module") == 2
    assert wide.count("func.func @f(") == 1


def test_changes_in_full_quietly_and_as_a_diff():
    full = headers(printed(lambda stream: ChangePrinting(stream)))
    assert full == [
        "Dump At Start",
        "Dump After RenamePass (rename) ('func.func' operation: @f) [no change]",
        "Dump After RenamePass (rename) ('func.func' operation: @g_renamed)",
        "Dump After RenamePass (rename{function=f})",
    ]
    quiet = headers(printed(lambda stream: ChangePrinting(stream, "quiet")))
    assert quiet == full[2:]
    diff = printed(lambda stream: ChangePrinting(stream, "diff"))
    assert re.findall(r"^[-+] *func.func @\w+", diff, re.MULTILINE) == [
        "-func.func @g", "+func.func @g_renamed", "-  func.func @f", "+  func.func @f_renamed",
    ]  # fmt: skip
    assert "\x1b" not in diff
    assert "\x1b[32m+" in printed(lambda stream: ChangePrinting(stream, "diff", colour=True))


def test_colours_of_a_diff():
    assert list(coloured(["@@ 1 @@", "-a", "+b", " c"])) == ["\x1b[36m@@ 1 @@\x1b[0m", "\x1b[31m-a\x1b[0m", "\x1b[32m+b\x1b[0m", " c"]


def test_what_a_pass_left_that_failed():
    stream = io.StringIO()
    watch = IRPrinting(stream, after_failure=True)
    with pytest.raises(PassError, match="on purpose"):
        Pipeline.of([FailPass()]).run(module(), FlambeauContext(), [watch])
    assert headers(stream.getvalue()) == ["Dump After FailPass Failed (fail)"]
    assert "touched" in stream.getvalue()


def stages(folder: Path) -> list[dict[str, object]]:
    return json.loads((folder / "index.json").read_text())


ROAD = "optimize-core,func.func(cse,canonicalize),core-to-edge,edge-to-exec,plan"


@pytest.mark.parametrize("name", ["fold-batch-norm", "fold-constants"])
def test_the_rest_of_the_pipeline_from_any_stage_ends_alike(tmp_path: Path, name: str):
    text = (ROOT / "passes" / "transforms" / "examples" / f"{name}.mlir").read_text().partition("// -----\n")[0]
    context = FlambeauContext()
    context.blobs.open_beside(ROOT / "passes" / "transforms" / "examples" / f"{name}.mlir")
    op = parse_module(text, context).module
    Pipeline.parse(ROAD).run(op, context, [StageDump(tmp_path)])
    end = print_module(op, locations=True)
    entries = stages(tmp_path)
    assert [entry["step"] for entry in entries] == list(range(len(entries)))
    assert {entry["file"] for entry in entries} == {path.name for path in tmp_path.glob("*.mlir")}
    assert sum(bool(entry["changed"]) for entry in entries) == len(list(tmp_path.glob("*.mlir"))) < len(entries)
    assert (tmp_path / str(entries[-1]["file"])).read_text() == end
    resumed = 0
    for entry in entries:
        if entry["rest"] is not None:
            fresh = FlambeauContext()
            stage = read_module(tmp_path / str(entry["file"]), fresh).module
            Pipeline.parse(str(entry["rest"])).run(stage, fresh)
            assert print_module(stage, locations=True) == end
            resumed += 1
    assert resumed > 15


def test_stages_of_a_compilation_lead_to_its_end(tmp_path: Path):
    text = "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = aten.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
    text += "  func.return %0 : tensor<4xf32>\n}\n"
    op = module(text)
    Compilation(op, FlambeauContext(), instrumentations=[StageDump(tmp_path)]).to("planned")
    entries = stages(tmp_path)
    assert [entry["step"] for entry in entries] == list(range(34))
    for entry in entries[:: len(entries) - 2]:
        context = FlambeauContext()
        stage = read_module(tmp_path / str(entry["file"]), context).module
        Pipeline.parse(str(entry["rest"])).run(stage, context)
        assert print_module(stage, locations=True) == print_module(op, locations=True)


def test_a_folder_that_is_used_again_holds_the_last_run_only(tmp_path: Path):
    (tmp_path / "mine.mlir").write_text("")
    Pipeline.parse("cse").run(module(), FlambeauContext(), [StageDump(tmp_path)])
    assert (tmp_path / "01_cse.mlir").exists()
    Pipeline.parse("convert-core-to-edge").run(module(), FlambeauContext(), [StageDump(tmp_path)])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "00_input.mlir",
        "01_convert-core-to-edge.mlir",
        "index.html",
        "index.json",
        "mine.mlir",
    ]
    (tmp_path / "index.json").write_text('[\n{"file": "../mine.mlir"},\n1\n]\n')
    with pytest.raises(FileExistsError):
        Pipeline.parse("cse").run(module(), FlambeauContext(), [StageDump(tmp_path)])
    assert (tmp_path / "mine.mlir").exists()


def test_each_weight_is_written_once(tmp_path: Path):
    folder = ROOT / "passes" / "transforms" / "examples"
    text = (folder / "fold-batch-norm.mlir").read_text().partition("// -----\n")[0]
    context = FlambeauContext()
    context.blobs.open_beside(folder / "fold-batch-norm.mlir")
    op = parse_module(text, context).module
    Pipeline.parse("fold-batch-norm,cse,remove-dead-code").run(op, context, [StageDump(tmp_path)])
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"00_input.mlir", "01_fold-batch-norm.mlir", "03_remove-dead-code.mlir", "index.json", "weights"}
    assert "02_cse.mlir" not in written
    assert sorted(path.name for path in (tmp_path / "weights").iterdir()) == ["00_input.safetensors", "01_fold-batch-norm.safetensors"]


def test_stages_of_nested_passes_and_of_failures(tmp_path: Path):
    NESTED.run(module(), FlambeauContext(), [StageDump(tmp_path / "nested")])
    assert [(entry["op"], entry["file"]) for entry in stages(tmp_path / "nested")[1:]] == [
        ("f", "00_input.mlir"),
        ("g_renamed", "02_rename_g_renamed.mlir"),
        (None, "03_rename.mlir"),
    ]
    with pytest.raises(PassError):
        Pipeline.of([RenamePass(), FailPass()]).run(module(), FlambeauContext(), [StageDump(tmp_path / "failed")])
    last = stages(tmp_path / "failed")[-1]
    assert (last["file"], last["rest"]) == ("02_fail.failed.mlir", None)
    assert str(last["error"]).startswith("fail: on purpose\n")
    assert "touched" in (tmp_path / "failed" / "02_fail.failed.mlir").read_text()


def test_a_module_whose_weights_are_absent_is_dumped_without_them(tmp_path: Path):
    text = 'ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>\n'
    Pipeline.parse("cse").run(module(text), FlambeauContext(), [StageDump(tmp_path)])
    assert "0123456789abcdef" in (tmp_path / "00_input.mlir").read_text()
    assert not (tmp_path / "weights").exists()


CONSTANT = """\
func.func @f() -> (tensor<3xf32>, tensor<100xf32>) {
  %0 = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = arith.constant dense<1.0> : tensor<100xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<100xf32>
}
"""


@pytest.mark.parametrize("generic", [False, True])
def test_large_constants_are_elided(generic: bool):
    op = module(CONSTANT)
    assert "dense<[" in strict_text(op, PrintingOptions(generic, elide_above=3))
    elided = strict_text(op, PrintingOptions(generic, elide_above=2))
    assert "dense_resource<__elided__> : tensor<3xf32>" in elided
    assert "dense<1.0" in elided, "what repeats one element is short"
    module(elided).verify()
    empty = module("func.func @f() {\n  %0 = arith.constant dense<> : tensor<0xi64>\n  func.return\n}\n")
    assert "dense<>" in strict_text(empty, PrintingOptions(generic, elide_above=0))


def test_resources_are_printed_after_the_module_unless_they_are_long():
    text = """\
func.func @f() -> tensor<1xf64> {
  %0 = "arith.constant"() {value = dense_resource<kept_apart> : tensor<1xf64>} : () -> tensor<1xf64>
  func.return %0 : tensor<1xf64>
}
{-#
  dialect_resources: {
    builtin: {
      kept_apart: "0x080000000000000000000040"
    }
  }
#-}
"""
    op = module(text)
    whole = print_module(op)
    key = re.search(r"dense_resource<(\w+)>", whole)
    assert key is not None
    assert f'{key[1]}: "0x080000000000000000000040"' in whole
    assert "-#" not in strict_text(op, PrintingOptions(elide_resources_above=10))
    assert "-#" in strict_text(op, PrintingOptions(elide_resources_above=100))


def test_what_its_own_syntax_cannot_print_is_printed_in_the_generic_form():
    op = module()
    del functions(op)[1].properties["function_type"]
    with pytest.raises(KeyError):
        strict_text(op, PrintingOptions())
    assert '"func.func"' in operation_text(op)


def test_locations_of_arguments_come_back():
    text = MODULE.replace("%x: tensor<2xf32>)", '%x: tensor<2xf32> loc("m.py":3:4))')
    printed_once = print_module(module(text), locations=True)
    assert printed_once.count('%x: tensor<2xf32> loc("m.py":3:4)') == 2
    assert print_module(module(printed_once), locations=True) == printed_once


SILENT = ["--print-ir-before-all", "--print-ir-after-all", "--print-changed=diff", "--dump-pass-pipeline", "--print-ir-after-failure"]


def test_only_ir_goes_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "m.mlir"
    source.write_text(MODULE)
    assert main([str(source), "-p", "cse"]) == 0
    plain = capsys.readouterr()
    assert plain.err == ""
    assert main([str(source), "-p", "cse", *SILENT, "--dump-dir", str(tmp_path / "dump")]) == 0
    loud = capsys.readouterr()
    assert loud.out == plain.out
    assert "IR Dump Before CsePass (cse)" in loud.err
    module(loud.out).verify()


def test_no_color_is_respected(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    source = tmp_path / "m.mlir"
    source.write_text(MODULE)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main([str(source), "--cse", "--print-changed=cdiff"]) == 0
    assert "\x1b[31m-" in capsys.readouterr().err
    assert main([str(source), "--cse", "--print-changed=diff"]) == 0
    assert "\x1b" not in capsys.readouterr().err, "not a terminal"
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([str(source), "--cse", "--print-changed=cdiff"]) == 0
    assert "\x1b" not in capsys.readouterr().err


def test_chunks_are_dumped_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "m.mlir"
    source.write_text(f"{MODULE}// -----\n{MODULE}")
    assert main([str(source), "--cse", "--split-input-file", "--dump-dir", str(tmp_path / "dump")]) == 0
    assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["chunk_00", "chunk_01"]
    assert capsys.readouterr().err == ""


def test_resources_of_one_name_in_two_modules_keep_their_data():
    text = """\
func.func @f() -> tensor<1xf64> {
  %0 = arith.constant dense_resource<same_name> : tensor<1xf64>
  %1 = arith.constant dense_resource<same_name> : tensor<1xf64>
  func.return %0 : tensor<1xf64>
}
{-# dialect_resources: { builtin: { same_name: "0xVALUE" } } #-}
"""
    first, second = (module(text.replace("VALUE", value)) for value in ("0800000001", "0800000002"))
    assert print_module(first).count("0x0800000001") == 1
    assert print_module(second).count("0x0800000002") == 1
    assert "0x0800000002" not in print_module(first)


def test_external_resources_are_refused_in_words():
    with pytest.raises(IRError, match="external resources are not supported"):
        module("builtin.module {}\n{-# external_resources: { mlir_reproducer: { verify_each: true } } #-}\n")


def test_flambeau_compile_prints_and_dumps_passes(tmp_path: Path):
    source = tmp_path / "m.mlir"
    source.write_text(MODULE.replace("core.", "aten."))
    runner = CliRunner()
    output = str(tmp_path / "m.pte")
    result = runner.invoke(app, ["compile", str(source), "-o", output, "--dump-passes", str(tmp_path / "dump"), "--print-changed", "diff"])
    assert result.exit_code == 0
    assert "// -----// IR Diff After ConvertCoreToEdgePass (convert-core-to-edge{target=executorch}) //----- //" in result.stderr
    assert result.stdout == ""
    assert (tmp_path / "dump" / "00_input.mlir").exists()
    with pytest.raises(StageError, match="--print-changed is full, quiet, diff, cdiff, not 'loud'"):
        runner.invoke(app, ["compile", str(source), "-o", output, "--print-changed", "loud"], catch_exceptions=False)


def test_the_page_of_a_dump_shows_every_step_and_needs_nothing_else(tmp_path: Path):
    Pipeline.parse("canonicalize,cse").run(module(), FlambeauContext(), [StageDump(tmp_path / "a")])
    text = (tmp_path / "a" / "index.html").read_text()
    assert '<div class="same"><span class="size">8 operations</span>01 canonicalize</div>' in text
    assert '<summary><span class="size">7 operations (-1)</span>02 cse</summary>\n<a href="02_cse.mlir">' in text
    assert '<span class="del">-    %2 = core.relu(%x) : (tensor&lt;2xf32&gt;) -&gt; tensor&lt;2xf32&gt;</span>' in text
    assert not re.search(r"https?:|<script|src=", text)
    with pytest.raises(PassError):
        Pipeline.of([FailPass()]).run(module(), FlambeauContext(), [StageDump(tmp_path / "b")])
    assert (
        '<details class="failed"><summary><span class="size">8 operations</span>01 fail: fail: on purpose'
        in (tmp_path / "b" / "index.html").read_text()
    )
    many = [StepView("x", 1, 0, "x.mlir", ["+"] * (MOST_LINES + 5))]
    assert "… 5 more lines" in page("t", many)
