"""What flambeau-opt writes: nothing that was there before is lost by it, and what it says it wrote is there."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, read_module
from flambeau.tools.commands.output_paths import check_output
from flambeau.tools.main import main as flambeau
from flambeau.tools.opt import main
from flambeau.tools.reproducers.reproducer_file import read_reproducer

Run = Callable[..., tuple[int, str, str]]


def network(path: Path, *values: float, key: str = "w") -> str:
    """Writes a module with a weight, and the weight beside it."""
    context = FlambeauContext()
    array = np.array(values, np.float32)
    kind = f"tensor<{len(values)}xf32>"
    blob = context.blobs.add(key, array.data)
    text = f"""ml_program.global private @w({blob}) : {kind}
func.func @f(%x: {kind}) -> {kind} {{
  %0 = ml_program.global_load_const @w : {kind}
  %1 = core.neg(%0) : ({kind}) -> {kind}
  %2 = core.add.Tensor(%x, %1) : ({kind}, {kind}) -> {kind}
  func.return %2 : {kind}
}}
"""
    path.write_text(text)
    save_weights(parse_module(text, context).module, context.blobs, path.with_suffix(".safetensors"))
    return text


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the tool in a folder with `net.mlir`; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    network(Path("net.mlir"), 1.0, 2.0)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main([*arguments])
        except SystemExit as end:
            assert isinstance(end.code, int)
            status = end.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def holds_its_weights(name: str) -> bool:
    """Whether the weights of a module are found from its name."""
    context = FlambeauContext()
    context.blobs.open_beside(name)
    parsed = read_module(name, context)
    return all(context.blobs.holds(op.value) for op in parsed.module.body.block.ops if op.name == "ml_program.global")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  its name says what it is


@pytest.mark.parametrize("output", ["net.out", "net.reduced", "m.txt", "sub.net.txt", "out.mlir", "other"])
def test_the_weights_of_the_input_stay(run: Run, output: str) -> None:
    before = files()
    assert run("net.mlir", "-p", "fold-constants", "-o", output)[0] == 0
    assert before.items() <= files().items()
    assert holds_its_weights("net.mlir") and holds_its_weights(output)


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer", "--crash-reproducer"])
def test_a_name_that_shares_the_weights_is_refused(run: Run, option: str) -> None:
    before = files()
    status, _, err = run("net.mlir", "-p", "fold-constants", option, "net")
    assert status != 0 and "net.safetensors holds the weights of net.mlir" in err
    assert files() == before
    Path("b.mlir").write_bytes(Path("net.mlir").read_bytes())
    Path("b.safetensors").write_bytes(Path("net.safetensors").read_bytes())
    before = files()
    status, _, err = run("b.mlir", "-p", "fold-constants", option, "net")
    assert status != 0 and "net.safetensors holds the weights of net.mlir" in err
    assert files() == before


def test_a_link_to_the_weights_is_not_followed_to_their_end(run: Run) -> None:
    Path("out.safetensors").symlink_to("net.safetensors")
    before = files()
    status, _, err = run("net.mlir", "-p", "fold-constants", "-o", "out.mlir")
    assert status == 1 and "out.safetensors holds the weights of net.mlir" in err
    assert files() == before


def test_in_place_the_weights_are_replaced(run: Run) -> None:
    assert run("net.mlir", "-p", "fold-constants,canonicalize,dce", "-o", "net.mlir")[0] == 0
    assert "core.neg" not in Path("net.mlir").read_text()
    assert holds_its_weights("net.mlir")
    assert [-1.0, -2.0] in [array.tolist() for array in load(Path("net.safetensors").read_bytes()).values()]


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer", "--crash-reproducer"])
def test_a_text_is_not_called_as_weights_are(run: Run, option: str) -> None:
    before = files()
    status, _, err = run("net.mlir", option, "y.safetensors")
    assert (status, files()) == (2, before)
    assert "y.safetensors is a name for weights: write the IR to y.mlir" in err


@pytest.mark.parametrize(
    "option", ["--timing-json", "--profile-actions", "--log-actions-to", "--legality-report", "--pass-statistics-json"]
)
def test_a_report_whose_name_was_forgotten_is_not_written_over_the_module(run: Run, option: str) -> None:
    before = files()
    status, _, err = run(option, "net.mlir")
    assert (status, files()) == (2, before)
    assert f"{option}: net.mlir is the name of a module, which a report must not overwrite" in err


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer"])
def test_beside_a_device_there_are_no_weights(run: Run, option: str) -> None:
    Path("null").symlink_to("/dev/null")
    assert run("net.mlir", option, "null")[0] == 0
    assert not Path("null.safetensors").exists()


def test_weights_of_a_text_that_comes_through_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path("net.mlir").read_bytes()

    def piped(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        return run("-", *arguments)

    status, _, err = piped("-o", "out.mlir")
    assert status == 1
    assert (
        "there are no weights under 'w': the .safetensors file that belongs to this module was not opened; the text came through a" in err
    )
    assert "pipe, which takes no weights along: --weights FILE names that file, -o FILE writes both" in err
    assert piped("--weights", "net.safetensors", "-o", "out.mlir")[0] == 0
    assert holds_its_weights("out.mlir")
    status, _, err = piped("--weights", "nowhere.safetensors", "-o", "new.mlir")
    assert status == 1 and "nowhere.safetensors" in err


def test_irdl_goes_to_the_file_that_output_names(run: Run) -> None:
    assert run("--emit-irdl=core", "-o", "core.irdl") == (0, "", "")
    assert "irdl.dialect @core" in Path("core.irdl").read_text()


def test_the_weights_of_all_parts_are_saved(run: Run) -> None:
    first, second = network(Path("a.mlir"), 1.0, key="a"), network(Path("b.mlir"), 2.0, key="b")
    both = load(Path("a.safetensors").read_bytes()) | load(Path("b.safetensors").read_bytes())
    Path("both.safetensors").write_bytes(save(both))
    Path("both.mlir").write_text(f"{first}// -----\n{second}")
    assert run("both.mlir", "--split-input-file", "-o", "out.mlir")[0] == 0
    assert load(Path("out.safetensors").read_bytes()).keys() == {"a", "b"}
    before = files()
    Path("both.mlir").write_text(f"{first}// -----\n{second}// -----\n$\n")
    before["both.mlir"] = Path("both.mlir").read_bytes()
    assert run("both.mlir", "--split-input-file", "-o", "new.mlir")[0] == 1
    assert files() == before


def test_different_weights_of_one_name_cannot_be_saved(run: Run) -> None:
    for folder, value in (("weights", 1.0), ("other", 2.0)):
        Path(folder).mkdir()
        network(Path(folder, f"{folder}.mlir"), value)
    Path("other/other.safetensors").rename("weights/second.safetensors")
    Path("both.mlir").write_text(f"{Path('weights/weights.mlir').read_text()}// -----\n{Path('other/other.mlir').read_text()}")
    before = files()
    status, _, err = run("both.mlir", "--split-input-file", "-o", "out.mlir")
    assert status == 1 and "two different weights have the key 'w'" in err
    assert files() == before


def test_text_and_weights_are_written_both_or_none(run: Run) -> None:
    Path("out.safetensors").mkdir()
    before = files()
    status, _, err = run("net.mlir", "-o", "out.mlir")
    assert status == 1 and "out.safetensors" in err
    assert files() == before


def test_what_was_compiled_can_be_compiled_again(run: Run) -> None:
    Path("net.pt2").write_bytes(b"PK")
    check_output(Path("net.mlir"), "mlir", "net.pt2")
    Path("net.txt").write_bytes(Path("net.mlir").read_bytes())
    before = files()
    status, _, err = run("net.txt", "-p", "fold-constants", "-o", "net.mlir")
    assert status == 1 and "net.safetensors holds the weights of a module that was read" in err
    assert files() == before


@pytest.mark.parametrize("command", ["compile", "reduce"])
def test_flambeau_does_not_take_the_weights_of_its_input_either(run: Run, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = files()
    if command == "compile":
        assert flambeau(["compile", "net.mlir", "--emit", "mlir", "--to", "edge", "-o", "net"]) == 1
        assert "net.safetensors holds the weights of net.mlir" in capsys.readouterr().err
        assert files() == before
    else:
        assert flambeau(["reduce", "net.mlir", "-o", "net"]) == 1
        assert files() == before


ABORT = """
import os
from dataclasses import dataclass
from flambeau.passes.manager import OperationPass

@dataclass(frozen=True)
class AbortPass(OperationPass):
    name = "abort"
    late: bool = False

    def apply_to(self, ctx, op):
        if not self.late or op.sym_name.data == "g":
            os._exit(9)
"""


FFT = """func.func @h(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.fft_fft(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


def end_in(*arguments: str) -> int:
    """Runs the tool in a process of its own, which a pass may end; gives its status."""
    Path("abort.py").write_text(ABORT)
    command = [sys.executable, "-c", "import sys; from flambeau.tools.opt import main; sys.exit(main())", "--load-plugin=abort.py"]
    return subprocess.run([*command, *arguments], check=False).returncode


def test_the_index_lists_what_was_written_before_a_pass_ends_the_process(run: Run) -> None:
    assert run("net.mlir", "-p", "fold-constants,canonicalize,dce", "--dump-dir=st")[0] == 0
    assert {"01_fold-constants.mlir", "index.html"} < {path.name for path in Path("st").iterdir()}
    Path("st/mine.mlir").write_text("mine")
    assert end_in("net.mlir", "-p", "canonicalize,cse,abort", "--dump-dir=st") == 9
    index = json.loads(Path("st/index.json").read_text())
    assert [record["pass"] for record in index] == [None, "canonicalize", "cse"]
    assert {path.name for path in Path("st").iterdir()} == {record["file"] for record in index} | {"index.json", "mine.mlir", "weights"}
    assert index[1]["rest"] == "builtin.module(cse,abort)"


def test_stages_of_parts_that_there_no_longer_are_go(run: Run) -> None:
    text = Path("net.mlir").read_text()
    Path("three.mlir").write_text("// -----\n".join([text] * 3))
    assert run("three.mlir", "--split-input-file", "-p", "cse", "--dump-dir=st")[0] == 0
    Path("st/chunk_01/mine.txt").write_text("mine")
    Path("two.mlir").write_text(f"$\n// -----\n{text}")
    assert run("two.mlir", "--split-input-file", "-p", "cse", "--dump-dir=st")[0] == 1
    assert {str(path) for path in Path("st").rglob("*") if path.is_file()} >= {"st/chunk_01/mine.txt", "st/chunk_01/index.json"}
    assert sorted(path.name for path in Path("st").iterdir()) == ["chunk_01"]
    assert run("net.mlir", "-p", "cse", "--dump-dir=st")[0] == 0
    assert [path.name for path in Path("st/chunk_01").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("name", "text"), [("index.json", "{}"), ("index.json", "[\n]\n"), ("index.html", "<html>")])
def test_an_index_of_others_stays(run: Run, name: str, text: str) -> None:
    Path("site").mkdir()
    Path("site", name).write_text(text)
    before = files()
    status, _, err = run("net.mlir", "-p", "cse", "--dump-dir=site", "--no-reproducer")
    assert (status, err) == (1, f"error: site/{name}: this exists and was not written by Flambeau: name another folder\n")
    assert files() == before


def test_a_folder_that_is_a_file(run: Run) -> None:
    assert run("net.mlir", "--dump-dir=net.mlir")[::2] == (1, "error: net.mlir: this is a file, not a folder to write into\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("net.txt --timing-json ./net.txt", "--timing-json ./net.txt: this is the file of the input too: name another file"),
        ("net.txt -o x.txt --log-actions-to x.txt", "--log-actions-to x.txt: this is the file of -o too: name another file"),
        ("net.txt --timing-json x --log-actions-to x", "this is the file of --"),
        ("net.txt --timing-json plug_in.py", "plug_in.py is the name of Python source, which a report must not overwrite"),
    ],
)
def test_a_report_replaces_neither_the_input_nor_another_output(run: Run, arguments: str, message: str) -> None:
    Path("net.mlir").rename("net.txt")
    before = files()
    status, _, err = run(*arguments.split(), "-p", "cse")
    assert status != 0 and message in err
    assert files() == before


@pytest.mark.parametrize("split", [(), ("--split-input-file",)])
def test_a_stage_is_not_written_over_while_it_is_read(run: Run, split: tuple[str, ...]) -> None:
    assert run("net.mlir", "-p", "fold-constants", "--dump-dir=st", *split)[0] == 0
    (stage,) = Path("st").rglob("00_input.mlir")
    before = files()
    status, _, err = run(str(stage), "-p", "cse", "--dump-dir=st", *split)
    assert status == 2 and "is a stage in this folder" in err
    assert files() == before


def test_the_stage_that_flambeau_compiles_stays(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert flambeau(["compile", "net.mlir", "-o", "net.pte", "--dump-dir=ir", "--dump-passes=st"]) == 0
    before = files()
    again = ["compile", "ir/core.mlir", "-o", "net.pte", "--dump-dir=ir"]
    assert flambeau(again) == 0
    assert before == files()
    capsys.readouterr()
    assert flambeau([*again, "--passes=core:cse"]) == 1
    assert "refusing to overwrite the input ir/core.mlir" in capsys.readouterr().err
    assert flambeau(["compile", "st/00_input.mlir", "-o", "net.pte", "--dump-passes=st"]) == 1
    assert "st/00_input.mlir is a stage in this folder" in capsys.readouterr().err
    assert before == files()


@pytest.mark.parametrize("place", ["abort", "func.func(cse,abort{late=true})"])
def test_a_pass_that_ends_the_process_leaves_a_reproducer(run: Run, place: str) -> None:
    with Path("net.mlir").open("a") as file:
        file.write("func.func @g() {\n  func.return\n}\n")
    assert end_in("net.mlir", "-p", f"canonicalize,{place},cse", "--crash-reproducer=r.mlir") == 9
    found = read_reproducer("r.mlir")
    if place == "abort":
        assert found.pipeline == "builtin.module(abort,cse)"
        assert found.note == "written before abort ran, which did not come to its end"
    else:
        assert found.pipeline == f"builtin.module({place},cse)"
    assert (found.error, found.weights) == ("", ("r.safetensors",))
    before = files()
    assert run("net.mlir", "--crash-reproducer=r.mlir")[0] == 0
    status, _, err = run("net.mlir", "-p", "cse", "--crash-reproducer=no/r.mlir", "--timing")
    assert status == 1 and err.startswith("error: cannot write weights no/r.safetensors: there is no folder no\n")
    assert files() == before
    Path("net.safetensors").unlink()
    assert end_in("r.mlir", "--run-reproducer") == 9
    assert run("net.mlir", "-p", "cse", "--crash-reproducer=r.mlir")[0] == 0
    assert not Path("r.mlir").exists() and not Path("r.safetensors").exists(), "all went well"


def test_a_failure_that_can_be_tried_out_has_the_better_reproducer(run: Run) -> None:
    Path("fft.mlir").write_text(Path("net.mlir").read_text() + FFT)
    Path("fft.safetensors").write_bytes(Path("net.safetensors").read_bytes())
    assert run("fft.mlir", "-p", "cse,convert-aten-to-core,cse", "--crash-reproducer=r.mlir")[0] == 1
    found = read_reproducer("r.mlir")
    assert (found.pipeline, found.weights) == ("builtin.module(convert-aten-to-core,cse)", ())
    assert not Path("r.safetensors").exists()
    status, _, err = run("r.mlir", "--run-reproducer")
    assert status == 1 and err.endswith("note: the error of r.mlir came again\n")
    status, _, err = run("r.mlir", "--run-reproducer", "-p", "convert-core-to-edge")
    assert status == 1 and "note: another error came than the error of r.mlir, which is: convert-aten-to-core: " in err
    status, _, err = run("r.mlir", "--run-reproducer", "-p", "cse")
    assert status == 0 and "note: the error of r.mlir did not come; it is: convert-aten-to-core: " in err
    Path("r.mlir").write_text(Path("r.mlir").read_text().replace("func.return", "func.retrn"))
    status, _, err = run("r.mlir", "--run-reproducer")
    assert status == 1 and "note: the error of r.mlir could not come: no pass ran to its end; it is: " in err


def test_expected_diagnostics_do_not_hinder_a_reproducer_that_is_asked_for(run: Run) -> None:
    Path("fft.mlir").write_text(FFT)
    assert run("fft.mlir", "-p", "convert-aten-to-core", "--verify-diagnostics", "--crash-reproducer=r.mlir")[0] == 1
    assert read_reproducer("r.mlir").error


@pytest.mark.parametrize(
    ("text", "what"), [("$\n", "the module that was read is not valid"), ("$\n// -----\n$\n", "2 of the modules are not valid")]
)
def test_it_is_said_that_there_is_no_reproducer_of_what_is_no_module(run: Run, text: str, what: str) -> None:
    Path("a.mlir").write_text(text)
    status, _, err = run("a.mlir", "--split-input-file", "--generate-reproducer=r.mlir")
    assert status == 1 and err.endswith(f"note: {what}: --generate-reproducer writes no reproducer\n")
    assert not Path("r.mlir").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--crash-reproducer=net.mlir",), "refusing to overwrite the input net.mlir"),
        (("--generate-reproducer=net.mlir",), "refusing to overwrite the input net.mlir"),
        (("--generate-reproducer=notes.txt",), "notes.txt exists and is not a reproducer"),
        (("--generate-reproducer=-",), "needs the name of a file"),
        (("--generate-reproducer=r.mlir", "-o", "./r.mlir"), "name the same file"),
        (("--generate-reproducer=r.mlir", "--crash-reproducer=./r.mlir"), "name the same file"),
        (("--crash-reproducer=r.mlir", "--no-reproducer"), "contradict"),
    ],
)
def test_reproducers_take_the_place_of_nothing_else(run: Run, arguments: tuple[str, ...], message: str) -> None:
    Path("notes.txt").write_text("remember")
    before = files()
    status, _, err = run("net.mlir", *arguments)
    assert status == 2 and message in err
    assert files() == before


def test_debug_counters_given_one_by_one_are_all_kept(run: Run) -> None:
    counters = ("--debug-counter=fold-constants-skip=1", "--debug-counter=fold-constants-count=0,dce-count=0")
    status, out, err = run("net.mlir", "-p", "fold-constants,dce", *counters, "--generate-reproducer=r.mlir", "--print-debug-counter")
    assert (status, "core.neg" in out) == (0, True), err
    assert read_reproducer("r.mlir").debug_counters == "fold-constants-skip=1,fold-constants-count=0,dce-count=0"
    assert "given count twice" in run("net.mlir", *counters, "--debug-counter=dce-count=2")[2]


BIAS = """
from dataclasses import dataclass
from flambeau.passes.manager import OperationPass

@dataclass(frozen=True)
class DropPass(OperationPass):
    name = "drop"

    def apply_to(self, ctx, op):
        for inner in list(op.walk()):
            if inner.name == "core.neg":
                inner.results[0].replace_all_uses_with(inner.operands[0])
"""


def test_a_reproducer_compares_results_as_the_run_did_wherever_it_is_moved(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("work").mkdir()
    Path("work/drop.py").write_text(BIAS)
    np.savez("work/x.npz", x=np.array([3.0, 4.0], np.float32))
    status, _, err = run(
        "net.mlir",
        "--load-plugin=work/drop.py",
        "-p",
        "cse,drop,cse",
        "--check-semantics=1e-3",
        "--inputs=work/x.npz",
        "--seed=5",
        "--crash-reproducer=work/r.mlir",
    )
    assert status == 1 and "drop: changes the result" in err
    found = read_reproducer("work/r.mlir")
    assert (found.check_semantics, found.seed, found.note) == ("1e-3", 5, "")
    assert found.pipeline == "builtin.module(drop,cse)"
    options = ("--load-plugin=work/drop.py", "--check-semantics", "--tolerance=1e-3", "--inputs=work/x.npz", "--seed=5")
    assert flambeau(["compile", "net.mlir", "-o", "net.pte", *options, "--passes=core:drop"]) == 1
    (path,) = Path().glob("flambeau-failures*/drop-*.mlir")
    again = read_reproducer(path)
    assert (again.check_semantics, again.inputs, again.seed, again.note) == ("0.001", found.inputs, 5, "")
    capsys.readouterr()
    assert run("--run-reproducer", str(path))[2].endswith(f"note: the error of {path} came again\n")
    Path("work").rename("moved")
    status, _, err = run("--run-reproducer", "moved/r.mlir")
    assert status == 1 and "note: the error of moved/r.mlir came again" in err


def test_a_program_is_not_written_over(run: Run) -> None:
    status, _, err = run("model.pte", "-o", "model.pte")
    assert status == 2 and "model.pte is a name for a program: write the IR to model.mlir" in err
