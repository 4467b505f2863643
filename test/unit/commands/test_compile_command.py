"""`flambeau compile`: what is written where, what is never written over, what results are checked with, and how far it is."""

import importlib
import io
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.status import Status
from safetensors.numpy import save

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import file_backends
from flambeau.passes.manager import Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.support.files import replacing
from flambeau.tools.commands.console import PassProgress
from flambeau.tools.main import main

TEXT = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""
OVERLAPPING = """exec.method @forward {arenas = [48]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %b = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::exp.out"(%x) outs(%b)
  exec.call "aten::mul.out"(%a, %b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
"""
MODEL = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, *, shift):
        return torch.relu(x) * self.weight + shift

def make():
    return Scaled(), (torch.full((2, 3), -1.0),)
"""
NAMED = """
from collections import OrderedDict

import torch

def make():
    return torch.nn.Sequential(OrderedDict(before=torch.nn.ReLU(), behind=torch.nn.Sigmoid())), (torch.ones(4),)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.mlir").write_text(TEXT)
    return tmp_path


def compiled(*arguments: str) -> int:
    return main(["compile", *arguments])


def test_strip_debug_leaves_the_lines_of_the_model_out(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL.replace(", *, shift", "").replace(" + shift", ""))
    sys.modules.pop("model", None)
    assert compiled("model:make", "-o", "with.pte") == compiled("model:make", "-o", "without.pte", "--strip-debug") == 0
    assert b"model.py" in (folder / "with.pte").read_bytes()
    assert b"model.py" not in (folder / "without.pte").read_bytes()
    assert compiled("model:make", "-o", "with.mlir") == compiled("model:make", "-o", "without.mlir", "--strip-debug") == 0
    assert "model.py" in (folder / "with.mlir").read_text()
    assert "model.py" not in (folder / "without.mlir").read_text()


@pytest.mark.parametrize("form", file_backends())
def test_strip_debug_leaves_the_modules_out_of_files_of_backends(form: str, folder: Path) -> None:
    (folder / "named.py").write_text(NAMED)
    assert compiled("named:make", "-o", f"with.{form}") == compiled("named:make", "-o", f"without.{form}", "--strip-debug") == 0
    assert b"before" in _bytes_of(folder / f"with.{form}")
    assert b"before" not in _bytes_of(folder / f"without.{form}")


def _bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()) if path.is_dir() else path.read_bytes()


def form_of(path: Path) -> str:
    return "pte" if path.read_bytes()[4:8] == b"ET12" else "mlir" if "builtin.module" in path.read_text() else "?"


@pytest.mark.parametrize(
    ("arguments", "written", "contains"),
    [
        (["-o", "x.pte"], "x.pte", ""),
        (["-o", "x.mlir"], "x.mlir", "exec.method"),
        (["-o", "x.mlir", "--to", "core"], "x.mlir", "core.relu"),
        (["-o", "x.bin"], "x.bin", ""),
        (["-o", "x.txt", "--to", "edge"], "x.txt", "edge.relu"),
        ([], "program.pte", ""),
    ],
)
def test_the_form_follows_the_stage_or_the_name(arguments: list[str], written: str, contains: str, folder: Path):
    assert compiled("program.mlir", *arguments) == 0
    assert form_of(folder / written) == ("mlir" if contains else "pte")
    assert contains.encode() in (folder / written).read_bytes()
    assert {path.name for path in folder.iterdir()} == {"program.mlir", written}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.mlir", "--emit", "pte"], "x.mlir is the name of a .mlir file, but with --emit pte it would be a .pte file: change one"),
        (["-o", "x.pte", "--emit", "mlir"], "x.pte is the name of a .pte file, but with --emit mlir it would be a .mlir file: change one"),
        (["-o", "x.pte", "--to", "core"], "x.pte is the name of a .pte file, but with --to core it would be a .mlir file: change one"),
        (["--emit", "pte", "--to", "core"], "--to core is for --emit mlir: a .pte is made at the end of all stages"),
        (["--emit", "pt"], "--emit is pte, mlir, c, mlpackage, tflite or onnx, not 'pt'"),
        (["-o", "x.tflit"], "x.tflit has no suffix of a form of programs; did you mean 'tflite'? --emit pte writes a .pte of this name"),
        (["-o", "x.TFLITE"], "x.TFLITE has no suffix of a form of programs; did you mean 'tflite'? --emit pte writes a .pte of this name"),
        (["--to", "attic"], "there is no stage 'attic'; there are aten, core, edge, exec, planned"),
        (["-o", "there/x.pte"], "there/x.pte cannot be written: there is no folder there"),
        (["-o", "."], ". is a folder, not a file to write"),
        (["-o", "x.safetensors", "--to", "core"], "x.safetensors is a name for weights: write the IR to x.mlir"),
        (["-o", "program.mlir"], "refusing to overwrite the input program.mlir: name another file with -o"),
        (["--emit", "mlir"], "refusing to overwrite the input program.mlir: name another file with -o"),
        (["-o", "notes.txt"], "notes.txt exists and is not a .pte file: name another file with -o"),
        (["-o", "notes.txt", "--to", "core"], "notes.txt exists and is not a .mlir file: name another file with -o"),
        (["-o", "theirs.mlir"], "theirs.safetensors exists and was not written by Flambeau: move it away"),
        (["--planner", "greedz"], "--planner greedz: there is no planning algorithm 'greedz'; there are best,"),
        (["--planner", "best{size=3}"], "--planner best{size=3}: pass 'plan-memory' has no option 'size'"),
        (["--planner", "best,greedy"], "--planner best,greedy: a planner is a name, perhaps with options of plan-memory in braces"),
        (["--inputs", "x.npz"], "--inputs is for --check-semantics"),
        (["--seed", "1"], "--seed is for --check-semantics"),
        (["--check-semantics", "--seed=-1"], "the seed must not be negative, got -1"),
        (["--check-semantics", "--inputs", "notes.txt"], "notes.txt is not an .npz file of arrays"),
    ],
)
def test_what_contradicts_itself_or_would_lose_something_is_refused(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "notes.txt").write_text("mine")
    (folder / "theirs.safetensors").write_bytes(save({"w": np.zeros(3)}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert compiled("program.mlir", *arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}") and error.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_name_of_our_choosing_replaces_programs_only(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "other.py").write_text(MODEL.replace("*, shift", "shift=1"))
    assert compiled("program.mlir") == 0 and compiled("program.mlir") == 0
    (folder / "program.pte").write_text("notes")
    (folder / "other.mlir").write_text(TEXT)
    capsys.readouterr()
    assert compiled("program.mlir") == 1
    assert capsys.readouterr().err == "error: program.pte exists and is not a .pte file: name another file with -o\n"
    assert compiled("other:make", "--to", "aten") == 1
    assert capsys.readouterr().err == "error: other.mlir exists: name the file to write with -o, which may be this one\n"
    assert compiled("other:make", "--to", "aten", "-o", "other.mlir") == 0
    assert "aten.mul.Tensor" in (folder / "other.mlir").read_text() and (folder / "other.safetensors").is_file()


KINDS = """
import torch

class Shifted(torch.nn.Module):
    def forward(self, x, *, shift):
        return x + shift

x = torch.ones(2)
with_keywords = (Shifted(), (x,), {"shift": torch.zeros(2)})
exported = torch.export.export(*with_keywords)
methods = {"one": with_keywords, "two": exported, "three": (torch.nn.ReLU(), [x])}

def make():
    return methods
"""


@pytest.mark.parametrize("module", ["kinds", "folder/the-kinds.py"])
@pytest.mark.parametrize(("name", "names"), [("with_keywords", ["forward"]), ("exported", ["forward"]), ("make", ["one", "two", "three"])])
def test_what_is_named_in_python_may_be_of_many_kinds(module: str, name: str, names: list[str], folder: Path):
    (folder / "folder").mkdir()
    for path in ("kinds.py", "folder/the-kinds.py"):
        (folder / path).write_text(KINDS)
    assert compiled(f"{module}:{name}") == 0
    program = Runtime.get().load_program(folder / f"{Path(module).stem}.pte")
    assert program.method_names == set(names)
    (found,) = program.load_method(names[0]).execute([np.ones(2, np.float32)], {"shift": np.full(2, 3, np.float32)})
    np.testing.assert_array_equal(found, [4, 4])


def test_a_file_is_read_anew_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for size in (2, 3):
        (folder / "anew.py").write_text(f"import torch\nmodel = (torch.nn.ReLU(), (torch.ones({size}),))")
        assert compiled("anew.py:model", "--to", "aten", "-o", "anew.mlir") == 0
        assert f"tensor<{size}xf32>" in (folder / "anew.mlir").read_text()


def test_versions(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["flambeau", "xdsl", "python"]


def test_a_device_takes_what_is_written_and_no_weights():
    assert compiled("program.mlir", "-o", os.devnull) == 0 and compiled("program.mlir", "-o", os.devnull, "--to", "core") == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_is_replaced_as_a_whole_or_not_at_all(folder: Path):
    path, link = folder / "x", folder / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to("x")
    with pytest.raises(KeyError), replacing(link) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_text() == "before"
    with replacing(link) as file:
        file.write(b"after")
    assert path.read_text() == "after" and link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError, match="gone/x"), replacing("gone/x"):
        pass
    assert {item.name for item in folder.iterdir()} == {"program.mlir", "x", "link"}


def test_what_a_stage_is_too_late_for_is_said(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert compiled("program.mlir", "--to", "edge", "-o", "edge.mlir") == 0
    assert compiled("edge.mlir", "--to", "planned", "-o", "planned.mlir") == 0
    capsys.readouterr()
    late = "error: --backend: {0}.mlir is at stage {0} already, and backends take over on the way there"
    passes = "edge:delegate{backends=elementwise}"
    assert compiled("edge.mlir", "--backend", "elementwise") == 1
    assert capsys.readouterr().err == f"{late.format('edge')}; --passes '{passes}' does it here\n"
    assert compiled("planned.mlir", "--backend", "elementwise") == 1
    assert capsys.readouterr().err == f"{late.format('planned')}\n"
    assert compiled("edge.mlir", "--passes", passes, "-o", "handed.pte") == 0
    assert b"FlambeauElementwise" in (folder / "handed.pte").read_bytes()
    assert compiled("edge.mlir", "--target", "flambeau") == 0
    assert (
        "note: edge.mlir is at stage edge already; --target and --preserve have no effect on its earlier stages" in capsys.readouterr().err
    )


def test_a_plan_that_was_given_is_verified(folder: Path, capsys: pytest.CaptureFixture[str]):
    reads = "@forward: instruction 2 (aten::mul.out) reads %a, over whose bytes instruction 1 (aten::exp.out) wrote through %b\n"
    (folder / "planned.mlir").write_text(OVERLAPPING)
    for options in (["-o", "planned.pte"], ["--to", "planned", "-o", "again.mlir"], ["--passes", "planned:cse"]):
        assert compiled("planned.mlir", *options) == 1
        assert capsys.readouterr().err.startswith(f"error: verify-plan: method {reads}")
    # Stock ExecuTorch gave the branches of sibling conditionals the same bytes, although a value of the first lives on.
    assert compiled(str(Path(__file__).resolve().parents[3] / "runtime/c/test/programs/siblings.pte"), "-o", "siblings.pte") == 1
    assert "reads slot 3, over whose bytes instruction 10 (aten::add.out) wrote through slot 10\n" in capsys.readouterr().err
    # One of several methods has a plan.
    (folder / "both.mlir").write_text(OVERLAPPING + "exec.method @other {} { exec.return }")
    assert compiled("both.mlir") == 1
    assert capsys.readouterr().err.startswith(f"error: plan-memory: method {reads}")
    assert {path.suffix for path in folder.iterdir()} == {".mlir"}
    (folder / "planned.mlir").write_text(OVERLAPPING.replace("(%a, %b)", "(%x, %b)"))
    assert compiled("planned.mlir", "-o", "planned.pte", "--dump-dir", ".") == 0
    assert (folder / "planned.pte").is_file()


def test_what_the_runtime_would_refuse_is_not_written(folder: Path, capsys: pytest.CaptureFixture[str]):
    huge = TEXT.replace("tensor<4xf32>", "tensor<50000x50000xf32>")
    (folder / "huge.mlir").write_text(huge)
    assert compiled("huge.mlir", "-o", "huge.pte") == 1
    told = capsys.readouterr().err
    assert "tensor<50000x50000xf32> has 2500000000 elements, more than the 2^31 - 1 that a tensor of a program can have" in told
    assert told.startswith("error: ") and "huge.mlir" in told and "internal" not in told, told
    (folder / "short.mlir").write_text(OVERLAPPING.replace("(%a, %b)", "(%x)").replace("offset = 16", "offset = 32", 1))
    assert compiled("short.mlir", "-o", "short.pte") == 1
    assert "error: the runtime refuses the program: method 'forward', instruction 2" in capsys.readouterr().err
    assert {path.suffix for path in folder.iterdir()} == {".mlir"}


def test_a_planner_and_its_options(folder: Path):
    (folder / "plugin.py").write_text(
        "from flambeau import planner\n@planner('apart')\ndef apart(buffers):\n"
        "    return [sum(b.size for b in buffers[:index]) for index in range(len(buffers))]\n"
    )
    for number, (name, size) in enumerate({"naive": 32, "naive{alignment=64}": 128, "apart": 32}.items()):
        assert compiled("program.mlir", "-o", f"{number}.mlir", "--planner", name, "--load-plugin", "plugin.py") == 0
        assert f"arenas = [{size}]" in (folder / f"{number}.mlir").read_text()


def test_the_examples_that_a_model_brings_are_what_it_is_checked_with(folder: Path, monkeypatch: pytest.MonkeyPatch):
    import torch

    from flambeau.frontends.torch_export import export_module, import_program
    from flambeau.tools.semantics.reference_results import Reference

    (folder / "given.py").write_text(MODEL)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    network, inputs = importlib.import_module("given").make()
    context = FlambeauContext()
    ir = export_module(network, inputs, context, kwargs={"shift": torch.arange(3, dtype=torch.bfloat16)})
    reference = Reference(ir, context)
    first, second, _ = reference.inputs["forward"]
    assert [str(item.dtype) for item in first if isinstance(item, np.ndarray)] == ["float32", "bfloat16"]
    np.testing.assert_array_equal(np.asarray(first[0]), np.full((2, 3), -1, np.float32))
    np.testing.assert_array_equal(np.asarray(first[1], np.float32), [0, 1, 2])
    assert not np.array_equal(np.asarray(second[0]), np.asarray(first[0])), "and others, which reach further"
    program = torch.export.export(torch.nn.ReLU(), (torch.tensor([4.0, -4.0]),), strict=False)
    context = FlambeauContext()
    ir = import_program(program, context, name="act")
    np.testing.assert_array_equal(np.asarray(Reference(ir, context).inputs["act"][0][0]), [4, -4])


WRONG = """
from flambeau.passes.kit import PatternPass, op, rewrites

Relu, Hardtanh = op("aten.relu"), op("aten.hardtanh")

@rewrites(Relu)
def bound(relu):
    return Hardtanh(relu.operands[0], 0, 50)

class BoundPass(PatternPass):
    name = "bound"

    def patterns(self):
        return [bound]
"""


def test_inputs_and_seeds_are_what_they_say(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "wrong.py").write_text(WRONG)
    wrong = ("program.mlir", "--load-plugin", "wrong.py", "--passes", "aten:bound", "--check-semantics")
    assert compiled(*wrong) == 0 and compiled(*wrong, "--seed", "7") == 0, "made-up inputs do not reach that far"
    np.savez("near.npz", x=np.arange(4, dtype=np.float32))
    np.savez("far.npz", x=np.array([0, 1, 2, 60], np.float32))
    assert compiled(*wrong, "--inputs", "near.npz") == 0
    capsys.readouterr()
    assert compiled(*wrong, "--inputs", "far.npz") == 1
    assert "bound: changes the result" in capsys.readouterr().err


def test_what_runs_is_said_on_a_terminal_and_nowhere_else(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    console = Console(file=io.StringIO(), force_terminal=True)
    status = Status("", console=console)
    said: list[str] = []

    def update(text: object, **_: object) -> None:
        said.append(str(text))

    monkeypatch.setattr(status, "update", update)
    module = parse_module(TEXT, context := FlambeauContext()).module
    Pipeline.parse("canonicalize,cse").run(module, context, [PassProgress(status, "compiling x")])
    assert said == [
        "compiling x: canonicalize (1 of 2)",
        "compiling x: verifying the result of canonicalize (1 of 2)",
        "compiling x: cse (2 of 2)",
        "compiling x: verifying the result of cse (2 of 2)",
    ]
    (folder / "[x].mlir").write_text(TEXT)
    assert compiled("[x].mlir") == 0
    output = capsys.readouterr()
    assert output.out == "" and "compiling" not in output.err and output.err.endswith(" bytes\n") and "\n[x].pte: " in output.err


@pytest.mark.parametrize("command", ["reduce", "bisect"])
def test_bisect_and_reduce_do_not_write_over_what_they_read(command: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "before-pass.mlir").write_text(TEXT)
    output = {"reduce": "before-pass.mlir", "bisect": "."}[command]
    assert main([command, "before-pass.mlir", "-p", "cse", "-o", output]) == 1
    assert capsys.readouterr().err == "error: refusing to overwrite the input before-pass.mlir: name another file with -o\n"
    assert (folder / "before-pass.mlir").read_text() == TEXT


def test_a_size_without_a_bound_is_refused_and_an_option_gives_one(folder: Path, capsys: pytest.CaptureFixture[str]):
    kind = "tensor<?xf32, #edge.layout<sizes = [{}]>>"
    text = TEXT.replace("tensor<4xf32>", kind.format("s0"))
    (folder / "net.mlir").write_text(text.replace(kind.format("s0"), kind.format("s0 in [1, ?]"), 1))
    assert main(["compile", "net.mlir"]) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert error.count("s0 has no maximum") == 1 and "--bound s0=512" in error
    for wrong in ("s0=x", "s0", "=8", "s0=-1", "s0=1.5", "s0=²", "s0:8", "s0,s1=8"):
        assert main(["compile", "net.mlir", "--bound", wrong]) == 1
        assert f"--bound is NAME=MAX, where MAX is an integer, as in seq=512; not {wrong!r}" in " ".join(capsys.readouterr().err.split())
    assert main(["compile", "net.mlir", "--bound", "s0=8"]) == 0
    method = Runtime.get().load_program(folder / "net.pte").load_method("forward")
    assert [output.shape for output in method.execute([np.ones(8, np.float32)])] == [(8,)]
    with pytest.raises(FlambeauError, match="at most 8"):
        method.execute([np.ones(9, np.float32)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--memory", "sram=4Q,dram"),
            "--memory: a bank is an identifier of C, perhaps with its size in bytes, K or M, as sram=512K; not 'sram=4Q'",
        ),
        (("--memory", ""), "--memory: a bank is an identifier of C, perhaps with its size in bytes, K or M, as sram:512K; not ''"),
        (("--memory", "a=4,a"), "--memory: the bank 'a' is given twice"),
        (
            ("--memory", "sram,dram", "--pin", "x=dran"),
            "--pin: x cannot lie in a bank 'dran'; did you mean 'dram'?; the banks are sram, dram",
        ),
        (("--memory", "sram,dram", "--pin", "x"), "--pin: a pin is a name and a bank, as conv1:sram; not 'x'"),
        (("--pin", "x=dram"), "--pin x=dram: --memory names the banks"),
        (("--memory", "sram,dram", "--pin", "q=dram"), "the pin of 'q' names no tensor, state or module of the program"),
    ],
)
def test_banks_and_pins_that_are_none_are_refused(folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str):
    assert main(["compile", "program.mlir", *options]) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (folder / "program.pte").exists()
