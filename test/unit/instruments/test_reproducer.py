"""Reproducers: files that hold all it takes to see a pass fail again."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import ReturnOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Instrumentation, OperationPass, PassCrash, PassError, PatternPass, Pipeline
from flambeau.passes.manager.registry import register_pass
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.support.tables import declared_by
from flambeau.tools.instruments.debug_counter import DebugCounter, parse_debug_counters
from flambeau.tools.main import main as flambeau
from flambeau.tools.opt import main
from flambeau.tools.reproducers import reproducer_file
from flambeau.tools.reproducers.crash_reproducer import CrashReproducer, reproducer_of
from flambeau.tools.reproducers.reproducer_file import Reproducer, ReproducerError, read_reproducer, write_reproducer


@dataclass(frozen=True)
class MarkPass(OperationPass):
    """Marks what it meets; what comes after it can tell whether it ran."""

    name = "mark"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for inner in op.walk():
            if isinstance(inner, TestOp):
                inner.attributes["marked"] = UnitAttr()


@dataclass(frozen=True)
class GripePass(OperationPass):
    """Does not like operations that are bad, nor, if told so, those that are marked."""

    name = "gripe"
    early: bool = False

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for inner in op.walk():
            if self.early and "marked" in inner.attributes:
                raise OperationError(inner, "this is marked")
            if "bad" in inner.attributes:
                raise OperationError(inner, "this is bad")


@dataclass(frozen=True)
class CollapsePass(OperationPass):
    name = "collapse"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        raise TypeError(f"{object()!r} has no such thing")


@dataclass(frozen=True)
class RuinPass(OperationPass):
    name = "ruin"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, ReturnOp):
                inner.detach()


class AgainPattern(Pattern):
    roots: ClassVar[tuple[type[Operation], ...]] = (TestOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class ForeverPass(PatternPass):
    name = "forever"

    def patterns(self) -> list[Pattern]:
        return [AgainPattern()]


@dataclass(frozen=True)
class WeighPass(ModulePass):
    """Reads the weights and does not like them."""

    name = "weigh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert isinstance(ctx, FlambeauContext)
        for inner in op.body.block.ops:
            if isinstance(inner, GlobalOp):
                raise ValueError(f"the weights {bytes(ctx.blobs.get(inner.blob))!r} are too heavy")


class HiddenPass(GripePass):
    """Is not registered."""

    name = "hidden"


KINDS = (MarkPass, GripePass, CollapsePass, RuinPass, ForeverPass, WeighPass)


@pytest.fixture(autouse=True)
def passes() -> Generator[None, None, None]:
    with declared_by("this test") as registrations:
        for kind in KINDS:
            register_pass(kind)
    yield
    for registration in reversed(registrations):
        registration.undo()


TEXT = """\
func.func @a() {
  "test.op"() : () -> () loc("model.py":7:1)
  func.return
}
func.func @b() {
  "test.op"() {bad} : () -> () loc("model.py":9:1)
  func.return
}
"""


def fail(pipeline: Pipeline, path: Path | None, *others: Instrumentation, text: str = TEXT, options: Reproducer | None = None) -> PassError:
    context = FlambeauContext()
    with pytest.raises(PassError) as caught:
        watchers = [CrashReproducer(path, settings=options), *others]
        pipeline.run(parse_module(text, context).module, context, watchers)
    return caught.value


@pytest.mark.parametrize(
    ("pipeline", "rest", "marks"),
    [
        ("mark,gripe,mark", "gripe,mark", 2),
        ("mark,func.func(mark,gripe),mark", "func.func(gripe),mark", 2),
        ("func.func(mark,gripe,mark)", "func.func(gripe,mark)", 2),
        # When it fails on @b, @a is marked: from there on it would fail on @a.
        ("cse,func.func(cse,gripe{early=true},mark)", "func.func(cse,gripe{early=true},mark)", 0),
        ("mark,collapse", "collapse", 2),
        ("mark,forever,mark", "forever,mark", 2),
        ("ruin,mark", "ruin,mark", 0),
    ],
)
def test_a_reproducer_begins_at_the_failing_pass(tmp_path: Path, pipeline: str, rest: str, marks: int):
    path = tmp_path / "r.mlir"
    error = fail(Pipeline.parse(pipeline), path)
    assert reproducer_of(error) == path
    found = read_reproducer(path)
    assert found.pipeline == f"builtin.module({rest})"
    assert found.error == str(error)
    assert found.note == ""
    text = path.read_text()
    assert text.count("{marked}") + text.count("{bad, marked}") == marks
    assert '"model.py":9:1' in text
    assert found.versions.keys() == {"flambeau", "xdsl", "python"}
    assert "Traceback" in found.traceback[0]


@pytest.mark.parametrize(
    "pipeline", ["mark,gripe", "mark,func.func(mark,gripe)", "mark,collapse", "ruin", "forever", "mark,convert-edge-to-exec"]
)
def test_running_a_reproducer_gives_the_same_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], pipeline: str):
    source, path, again = tmp_path / "in.mlir", tmp_path / "r.mlir", tmp_path / "again.mlir"
    source.write_text(TEXT)
    status = main([str(source), "-p", pipeline, f"--crash-reproducer={path}"])
    assert status in (1, 70)
    assert f"--run-reproducer {path}" in capsys.readouterr().err
    assert main(["--run-reproducer", str(path), f"--crash-reproducer={again}"]) == status
    first, second = read_reproducer(path), read_reproducer(again)
    assert (first.error.split(" at 0x")[0], first.pipeline) == (second.error.split(" at 0x")[0], second.pipeline)


def test_by_default_a_reproducer_is_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    paths = {reproducer_of(fail(Pipeline.parse("gripe"), None)) for _ in range(2)}
    (folder,) = tmp_path.iterdir()
    assert {path.parent for path in paths if path} == {folder}
    assert len(paths) == len(list(folder.iterdir())) == 2


def test_a_crash_is_reproduced_though_its_message_names_an_address(tmp_path: Path):
    error = fail(Pipeline.parse("mark,collapse"), tmp_path / "r.mlir")
    assert isinstance(error, PassCrash)
    assert read_reproducer(tmp_path / "r.mlir").note == ""
    assert any("TypeError" in line for line in read_reproducer(tmp_path / "r.mlir").traceback)


def test_the_last_action_is_noted(tmp_path: Path):
    fail(Pipeline.parse("forever"), tmp_path / "r.mlir")
    assert read_reproducer(tmp_path / "r.mlir").last_action == "pattern AgainPattern on test.op at model.py:7"


def test_with_debug_counters_a_reproducer_holds_the_whole_pipeline(tmp_path: Path):
    counters = "erase-dead-operation-count=0"
    fail(
        Pipeline.parse("mark,gripe"),
        tmp_path / "r.mlir",
        DebugCounter(parse_debug_counters(counters)),
        options=Reproducer(debug_counters=counters),
    )
    found = read_reproducer(tmp_path / "r.mlir")
    assert (found.pipeline, found.debug_counters, found.note) == ("builtin.module(mark,gripe)", counters, "")


def test_what_does_not_fail_again_is_said(tmp_path: Path):
    class Moody(Instrumentation):
        def before_verification(self, step: object) -> None:
            raise PassError(step, "not today")  # pyright: ignore[reportArgumentType]  any step will do

    fail(Pipeline.parse("mark"), tmp_path / "r.mlir", Moody())
    found = read_reproducer(tmp_path / "r.mlir")
    assert found.note == "run again, this did not fail in the same way"
    assert found.pipeline == "builtin.module(mark)"


def test_a_pass_that_is_not_registered_is_said(tmp_path: Path):
    fail(Pipeline.of([HiddenPass()]), tmp_path / "r.mlir")
    assert "the pipeline cannot be read back" in read_reproducer(tmp_path / "r.mlir").note


def test_a_reproducer_that_cannot_be_written_is_a_note(tmp_path: Path):
    error = fail(Pipeline.parse("gripe"), tmp_path / "no" / "r.mlir")
    assert reproducer_of(error) is None
    assert any("no reproducer could be written: FileNotFoundError" in note for note in error.__notes__)


WEIGHTS = 'ml_program.global private @w(#{0}<"w", "{1}">) : tensor<4xui8>\n'


def weighed(tmp_path: Path, pipeline: str) -> tuple[Path, FlambeauContext]:
    """Runs a pipeline over a module with weights that lie in a file."""
    maker = FlambeauContext()
    blob = maker.blobs.add("w", b"iron")
    text = f"ml_program.global private @w({blob}) : tensor<4xui8>\n" + TEXT
    source = tmp_path / "model.mlir"
    source.write_text(text)
    save_weights(parse_module(text, maker).module, maker.blobs, tmp_path / "model.safetensors")
    context = FlambeauContext()
    context.blobs.open_beside(source)
    path = tmp_path / "r.mlir"
    with pytest.raises(PassError):
        Pipeline.parse(pipeline).run(parse_module(text, context).module, context, [CrashReproducer(path)])
    return path, context


def test_weights_are_kept_when_the_failure_needs_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, _ = weighed(tmp_path, "mark,weigh")
    assert read_reproducer(path).weights == ("r.safetensors",)
    (tmp_path / "model.safetensors").unlink()
    assert main(["--run-reproducer", str(path), "--no-reproducer"]) == 1
    assert "the weights b'iron' are too heavy" in capsys.readouterr().err


def test_weights_are_left_out_when_it_does_not(tmp_path: Path):
    path, _ = weighed(tmp_path, "gripe")
    assert read_reproducer(path).weights == ()
    assert not path.with_suffix(".safetensors").exists()


def test_large_weights_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(reproducer_file, "WEIGHTS_LIMIT", 3)
    path, _ = weighed(tmp_path, "weigh")
    assert read_reproducer(path).weights == (str(tmp_path / "model.safetensors"),)
    assert main(["--run-reproducer", str(path), "--no-reproducer"]) == 1
    assert "the weights b'iron' are too heavy" in capsys.readouterr().err


def test_large_weights_in_memory_are_not_kept_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reproducer_file, "WEIGHTS_LIMIT", 3)
    context = FlambeauContext()
    module = parse_module(f"ml_program.global private @w({context.blobs.add('w', b'lead')}) : tensor<4xui8>\n", context).module
    with pytest.raises(PassError):
        Pipeline.parse("weigh").run(module, context, [CrashReproducer(tmp_path / "r.mlir")])
    found = read_reproducer(tmp_path / "r.mlir")
    assert found.weights == ()
    assert "too large to be kept" in found.note


def test_a_reproducer_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
    source.write_text(TEXT)
    assert main([str(source), "-p", "mark,cse", f"--generate-reproducer={path}"]) == 0
    once = capsys.readouterr().out
    found = read_reproducer(path)
    assert (found.pipeline, found.error, found.traceback) == ("builtin.module(mark,cse)", "", ())
    assert main(["--run-reproducer", str(path)]) == 0
    assert capsys.readouterr().out == once


def test_write_reproducer_keeps_options_and_weights(tmp_path: Path):
    context = FlambeauContext()
    module = parse_module(f"ml_program.global private @w({context.blobs.add('w', b'lead')}) : tensor<4xui8>\n", context).module
    options = Reproducer(verify_each=False, allow_unregistered=True, plugins={"a.py": "0"}, versions={"other": "1"})
    write_reproducer(tmp_path / "r.mlir", module, Pipeline.parse("cse"), context, options)
    found = read_reproducer(tmp_path / "r.mlir")
    assert (found.verify_each, found.allow_unregistered, found.plugins) == (False, True, {"a.py": "0"})
    assert found.versions["other"] == "1"
    assert found.weights == ("r.safetensors",)
    assert (tmp_path / "r.safetensors").exists()


PLUGIN = """
from dataclasses import dataclass
from flambeau.passes.manager import OperationPass

@dataclass(frozen=True)
class SulkPass(OperationPass):
    name = "sulk"

    def apply_to(self, ctx, op):
        raise ValueError("{}")
"""


def test_plug_ins_are_loaded_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, plugin, path = tmp_path / "in.mlir", tmp_path / "sulk.py", tmp_path / "r.mlir"
    source.write_text(TEXT)
    plugin.write_text(PLUGIN.format("no"))
    assert main([str(source), "--load-plugin", str(plugin), "-p", "sulk", f"--crash-reproducer={path}"]) == 1
    assert list(read_reproducer(path).plugins) == [str(plugin)]
    capsys.readouterr()
    assert main(["--run-reproducer", str(path)]) == 1
    assert "error: sulk: no" in capsys.readouterr().err
    plugin.write_text(PLUGIN.format("never"))
    assert main(["--run-reproducer", str(path)]) == 1
    errors = capsys.readouterr().err
    assert f"warning: plug-in {plugin} has changed since {path} was written" in errors and "error: sulk: never" in errors
    plugin.unlink()
    assert main(["--run-reproducer", str(path)]) == 1
    assert "no such file" in capsys.readouterr().err


def test_a_pipeline_that_did_not_verify_does_not_when_it_is_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
    source.write_text(TEXT)
    assert main([str(source), "-p", "ruin,gripe", "--verify-each=0", f"--crash-reproducer={path}"]) == 1
    assert not read_reproducer(path).verify_each
    assert read_reproducer(path).pipeline == "builtin.module(ruin,gripe)", "the IR before the pass is not valid"
    capsys.readouterr()
    assert main(["--run-reproducer", str(path)]) == 1
    assert "this is bad" in capsys.readouterr().err


def test_each_part_of_a_split_input_has_its_own(tmp_path: Path):
    source, path = tmp_path / "in.mlir", tmp_path / "r.mlir"
    source.write_text(f"{TEXT}// -----\n{TEXT}")
    assert main([str(source), "-p", "gripe", "--split-input-file", f"--crash-reproducer={path}"]) == 1
    assert read_reproducer(path).error == read_reproducer(tmp_path / "r-1.mlir").error


@pytest.mark.parametrize("option", ["--no-reproducer", "--verify-diagnostics"])
def test_none_is_written_when_none_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    main([str(source), "-p", "gripe", option])
    assert not list(folder.iterdir())


def test_flambeau_compile_writes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = tmp_path / "in.mlir"
    source.write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = aten.fft_fft(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}\n"
    )
    assert flambeau(["compile", str(source)]) == 1
    (path,) = tmp_path.glob("flambeau-failures*/convert-aten-to-core-*.mlir")
    assert f"flambeau-opt --run-reproducer {path}" in capsys.readouterr().err
    assert main(["--run-reproducer", str(path)]) == 1
    assert "aten.fft_fft" in capsys.readouterr().err
    assert list(tmp_path.glob("flambeau-failures*/*")) == [path], "running a reproducer writes no other one"


HEADER = Reproducer("builtin.module(gripe)", error="gripe: bad", traceback=("Traceback", "  x")).header()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it does not begin with"),
        (TEXT, "it does not begin with"),
        (HEADER.replace("version 1", "version 2"), "of version '2'; this program reads version 1"),
        (HEADER.replace("// end of the header\n", ""), "the line '// end of the header' is missing"),
        (HEADER.replace('// pipeline: "builtin.module(gripe)"\n', ""), "names no pipeline"),
        (HEADER.replace('"gripe: bad"', '"gripe'), "in.mlir:3 is damaged"),
        (HEADER.replace('"gripe: bad"', "true"), "in.mlir:3 is damaged"),
        (HEADER.replace("// error", "// horror"), "in.mlir:3 is damaged"),
        (HEADER.replace("// error", "// traceback"), "in.mlir:3 is damaged"),
        (HEADER.replace("// error", "error"), "in.mlir:3 is damaged"),
        (HEADER.replace("// error", "// pipeline"), "has one already"),
        (HEADER.replace('// error: "gripe: bad"', "// plugins: [1]"), "in.mlir:3 is damaged"),
        (HEADER.replace('// error: "gripe: bad"', '// seeds: {"a": 1}'), "in.mlir:3 is damaged"),
        (HEADER.replace('// error: "gripe: bad"', "// plugins: " + "[" * 100_000), "in.mlir:3 is damaged"),
        (HEADER.replace("(gripe)", "(gripes)"), "gripes"),
        (HEADER + "func.func @f( {\n", ":9:"),
        (HEADER.replace('// error: "gripe: bad"', '// weights: ["none.safetensors"]') + TEXT, "none.safetensors"),
    ],
)
def test_damaged_reproducers_are_errors_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str):
    path = tmp_path / "in.mlir"
    path.write_text(text)
    try:
        status: object = main(["--run-reproducer", str(path), "--no-reproducer"])
    except SystemExit as end:
        status = end.code
    errors = capsys.readouterr().err
    assert status == 1
    assert message in errors.splitlines()[0]
    assert "Traceback" not in errors


@pytest.mark.parametrize("name", ["none.mlir", "."])
def test_files_that_cannot_be_read_are_errors_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str):
    assert main(["--run-reproducer", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / name}: ")


def test_bytes_are_no_reproducer(tmp_path: Path):
    path = tmp_path / "r.mlir"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ReproducerError, match="it is not text"):
        read_reproducer(path)


LINES = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))


@given(
    pipeline=st.text(st.characters(exclude_categories=["Cs"])),
    error=st.text(st.characters(exclude_categories=["Cs"])),
    plugins=st.dictionaries(LINES, LINES),
    verify_each=st.booleans(),
    traceback=st.lists(LINES),
)
def test_a_header_reads_back(pipeline: str, error: str, plugins: dict[str, str], verify_each: bool, traceback: list[str]):
    found = Reproducer(pipeline, error, plugins=plugins, verify_each=verify_each, traceback=tuple(traceback))
    assert Reproducer.parse(found.header() + "// end of the header\n", "r.mlir") == found
