"""Bad input is answered with one line that says what and where, and an exit status that is not 0: never a traceback, a crash or a guess."""

from __future__ import annotations

import random
import sys
import textwrap
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from flambeau import Runtime, to_edge
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.tools.main import main
from flambeau.tools.opt import main as opt_main

FACTORY = """
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 4)

        def forward(self, x):
            return torch.relu(self.linear(x))

    class Unsupported(torch.nn.Module):
        def forward(self, x):
            return torch.igamma(x, x) + torch.igammac(x, x)

    class Dynamic(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.leaky_relu(x, x[0].item())

    class Misfit(torch.nn.Module):
        def forward(self, x):
            return torch.ones(x.shape[0], 3) @ x

    def misfit():
        return Misfit(), (torch.ones(2, 2),)

    def fails():
        return {}["weights"]

    def good():
        return Network().eval(), (torch.ones(2, 8),)

    def unsupported():
        return Unsupported(), (torch.eye(3),)

    def dynamic():
        return Dynamic(), (torch.ones(3),)

    def not_a_pair():
        return Network()

    def needs_argument(size):
        return Network(), (torch.ones(size, 8),)

    def bare_tensor():
        return Network(), torch.ones(2, 8)

    not_callable = 3
    one_method_is_not_a_program = {"encode": good(), "decode": None}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bad_input_factories.py").write_text(textwrap.dedent(FACTORY))
    (tmp_path / "bad_input_syntax.py").write_text("def good(:\n")
    (tmp_path / "bad_input_raises.py").write_text("\nsize = {}['size']\n")
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((2, 8), np.float32))
    np.save("double.npy", np.ones((2, 8)))
    np.save("narrow.npy", np.ones((2, 7), np.float32))
    return tmp_path


@pytest.fixture
def program(folder: Path) -> Path:
    assert main(["compile", "bad_input_factories:good", "-o", "good.pte"]) == 0
    return folder / "good.pte"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command prints when it fails."""
    capsys.readouterr()
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert "internal error" not in captured.err
    return captured.err.strip()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "nothing.pt2"], ["no such file", "nothing.pt2"]),
        (["compile", "nothing.mlir"], ["no such file", "nothing.mlir"]),
        (["compile", "nothing"], ["nothing", "package.module:name"]),
        (["compile", "no_module:good"], ["no_module"]),
        (["compile", "bad_input_factories:missing"], ["bad_input_factories has no 'missing'"]),
        (["compile", "bad_input_factories:god"], ["has no 'god'; did you mean 'good'?"]),
        (["compile", "bad_input_factories.py"], ["a Python object is named bad_input_factories.py:NAME"]),
        (["compile", "./bad_input_factories.py:god"], ["./bad_input_factories.py has no 'god'; did you mean 'good'?"]),
        (["compile", "bad_input_gone.py:good"], ["no such file: bad_input_gone.py"]),
        (["compile", "bad-input:good"], ["bad-input:good: a module is named as Python imports it from here, or by its file"]),
        (["compile", ":good"], [":good: a module is named as Python imports it from here"]),
        (["compile", "bad_input_syntax:good"], ["bad_input_syntax cannot be imported: SyntaxError: "]),
        (["compile", "bad_input_raises:good"], ["cannot be imported: KeyError: 'size' (at bad_input_raises.py:2)"]),
        (["compile", "bad_input_factories:fails"], ["the function failed: KeyError: 'weights'"]),
        (["compile", "bad_input_factories:misfit"], ["torch.export cannot capture Misfit, at ", "bad_input_factories.py:22: "]),
        (["compile", "bad_input_factories:not_callable"], ["expected (module, example_inputs), ", ", not int"]),
        (["compile", "bad_input_factories:not_a_pair"], ["(module, example_inputs)", ", not Network"]),
        (["compile", "bad_input_factories:Network"], ["(module, example_inputs)", ", not type"]),
        (
            ["compile", "bad_input_factories:one_method_is_not_a_program"],
            ["method decode: expected (module, example_inputs)", ", not NoneType"],
        ),
        (["compile", "bad_input_factories:good", "--target", "vax"], ["no target 'vax'", "executorch", "flambeau"]),
        (["compile", "bad_input_factories:good", "--emit", "exe"], ["--emit is pte, mlir, c, mlpackage, tflite or onnx"]),
        (["compile", "bad_input_factories:good", "--emit", "mlir", "--to", "middle"], ["no stage 'middle'"]),
        (["run", "nothing.pte"], ["no such file", "nothing.pte"]),
        (["inspect", "nothing.pte"], ["no such file", "nothing.pte"]),
        (["inspect", "x.npy"], ["x.npy"]),
    ],
)
def test_what_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]) -> None:
    message = refused(capsys, *arguments)
    assert "\n" not in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize("engine", ["c", "numpy"])
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], ["1", "0"]),
        (["x.npy", "x.npy"], ["1", "2"]),
        (["double.npy"], ["float32", "float64"]),
        (["narrow.npy"], ["8", "7"]),
        (["3"], ["int"]),
        (["gone.npy"], ["no such file"]),
    ],
)
def test_inputs_that_do_not_fit(
    program: Path, capsys: pytest.CaptureFixture[str], engine: str, inputs: list[str], words: list[str]
) -> None:
    options = [option for path in inputs for option in ("--input", path)]
    message = refused(capsys, "run", str(program), "--engine", engine, *options)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_an_unsupported_operator_names_the_line_of_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "compile", "bad_input_factories:unsupported")
    assert "aten.igamma " in message
    assert "aten.igammac" in message
    # Once for the error and once for each of them.
    assert message.count("bad_input_factories.py:14") == 3, message
    assert "torch.igamma(x, x) + torch.igammac(x, x)" in message


def test_numbers_that_depend_on_data_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "compile", "bad_input_factories:dynamic")
    assert "bad_input_factories.py" in message
    assert "it takes a number that data decides where a tensor has no place; keep it a tensor, without item()" in message


def test_a_cut_off_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = program.read_bytes()
    for length in (0, 3, 8, 40, 100, len(data) // 2, len(data) - 1):
        Path("cut.pte").write_bytes(data[:length])
        for command in (["run", "cut.pte", "--input", "x.npy"], ["inspect", "cut.pte"]):
            assert "\n" not in refused(capsys, *command)


def test_a_program_with_a_flipped_bit_is_refused_or_still_runs(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = program.read_bytes()
    generator = random.Random(0)
    refusals = 0
    for _ in range(150):
        damaged = bytearray(data)
        damaged[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        Path("flipped.pte").write_bytes(damaged)
        capsys.readouterr()
        status = main(["run", "flipped.pte", "--input", "x.npy", "--output", "out.npz"])
        error = capsys.readouterr().err
        assert status in (0, 1)
        assert "Traceback" not in error
        assert "internal error" not in error, error
        refusals += status
    assert refusals > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("func.func @f(%x: tensor<2xf32>) { %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<3xf32> func.return }", ["result types must be"]),
        ("func.func @f(", ["bad.mlir:1"]),
        ("core.relu(%x", ["bad.mlir:1"]),
        ("not ir at all", ["bad.mlir:1"]),
    ],
)
def test_ir_that_is_not_valid(folder: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str]) -> None:
    Path("bad.mlir").write_text(text)
    message, line, caret = f"{refused(capsys, 'compile', 'bad.mlir', '-o', 'bad.pte')}\n".splitlines()
    assert all(word in message for word in words), message
    assert line == text and "^" in caret
    assert not Path("bad.pte").exists()


def test_an_empty_module_is_no_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.mlir").write_text("// nothing\n")
    assert (
        refused(capsys, "compile", "empty.mlir", "-o", "empty.pte")
        == "error: there is no function to compile: the module has neither a func.func nor an exec.method"
    )
    assert refused(capsys, "run", "empty.mlir") == "error: the module has no method 'forward'; it has none"


def test_flambeau_opt_refuses_in_one_message(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fine.mlir").write_text("func.func @f() { func.return }")
    for arguments in (
        ["gone.mlir"],
        ["fine.mlir", "-p", "canonicalise"],
        ["fine.mlir", "-p", "cse{depth=3}"],
        ["fine.mlir", "-p", "plan-memory{alignment=3}"],
        ["fine.mlir", "-p", "cse,,{"],
    ):
        capsys.readouterr()
        assert opt_main(arguments) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("error:") == 1, captured.err
        assert "Traceback" not in captured.err
    assert opt_main(["fine.mlir", "-p", "canonicalise"]) == 1
    assert "did you mean 'canonicalize'" in capsys.readouterr().err


def test_a_module_whose_string_never_ends_is_refused_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cut.mlir").write_text('func.func @f() attributes {spec = "' + "\\22type\\22: tuple, " * 40)
    for arguments in (["cut.mlir"], ["cut.mlir", "-p", "cse"]):
        assert opt_main(arguments) == 1
        assert capsys.readouterr().err.count("error:") == 1
    assert "this string has no closing quote" in refused(capsys, "compile", "cut.mlir", "-o", "cut.pte")


def test_options_and_files_of_the_wrong_kind(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("x.npz", np.ones((2, 8), np.float32))
    for arguments, word in (
        (["run", str(program), "--input", "x.npz"], ".npy"),
        (["run", str(program), "--input", str(program)], ".npy"),
        (["run", str(program), "--input", "x.npy", "--output", "out.txt"], ".npz"),
        (["compile", "bad_input_factories:good", "--preserve", "no_such_operator"], "no_such_operator"),
        (["compile", "bad_input_factories:needs_argument"], "the function failed"),
        (["compile", "bad_input_factories:bare_tensor"], "must be a tuple"),
    ):
        message = refused(capsys, *arguments)
        assert "\n" not in message
        assert word in message
    Path("bytes.mlir").write_bytes(program.read_bytes())
    assert opt_main(["bytes.mlir"]) == 1
    assert "not text" in capsys.readouterr().err


def test_without_pytorch_the_rest_works(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "tensor<2x8xf32>"
    Path("program.mlir").write_text(
        f"func.func @forward(%x: {kind}) -> {kind} {{\n  %0 = aten.relu(%x) : ({kind}) -> {kind}\n  func.return %0 : {kind}\n}}\n"
    )
    Path("model.pt2").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "torch", None)
    needs = "needs PyTorch: run pip install '.[torch]' in the folder of Flambeau's sources"
    assert refused(capsys, "compile", "bad_input_factories:good") == f"error: bad_input_factories:good {needs}"
    assert refused(capsys, "compile", "model.pt2") == f"error: model.pt2 {needs}"
    assert refused(capsys, "run", "program.mlir", "--input", "x.npy", "--engine", "torch") == f"error: the engine torch {needs}"
    assert main(["run", "program.mlir", "--input", "x.npy"]) == 0
    assert main(["compile", "program.mlir"]) == 0


def test_mistakes_in_python_are_explained(program: Path) -> None:
    method = Runtime.get().load_program(program).load_method("forward")
    untyped: Any = to_edge
    for call, kind, words in (
        (lambda: untyped(torch.nn.ReLU()), TypeError, "torch.export.export"),
        (lambda: untyped({"forward": 3}), TypeError, "torch.export.export"),
        (lambda: method.execute(cast(Any, None)), FlambeauError, "list or tuple"),
        (lambda: Runtime.get().load_program(cast(Any, None)), FlambeauError, "a path, bytes or an open file"),
    ):
        with pytest.raises(kind, match=words):
            call()
    edge = to_edge(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)))
    with pytest.raises(ValueError, match="to_executorch"):
        edge.save("edge.pte")


@pytest.mark.parametrize(
    "target, mode", [("executorch", "sum"), ("executorch", "mean"), *(("flambeau", mode) for mode in ("sum", "mean", "max"))]
)
@pytest.mark.parametrize("includes_last", [False, True])
def test_bags_that_torch_refuses_are_refused(target: str, mode: str, includes_last: bool) -> None:
    network = torch.nn.EmbeddingBag(6, 3, mode=mode, include_last_offset=includes_last).eval()
    indices = torch.tensor([1, 2, 3, 4, 5])
    context = FlambeauContext()
    module = export_module(network, (indices, torch.tensor([0, 2, 5])), context)
    interpreted = interpret(module.clone(), context)
    method = Runtime.get().load_program(Compilation(module, context, PipelineOptions(target=target)).emit()).load_method("forward")
    for offsets in ([0, 2, 5], [0, 0, 3]):
        given = torch.tensor(offsets)
        results: list[Any] = [*method.execute([indices, given]), *interpreted.run("forward", [indices.numpy(), given.numpy()])]
        for found in results:
            np.testing.assert_allclose(found, network(indices, given).detach(), rtol=1e-5, atol=1e-6)
    for offsets in ([1, 2, 5], [3, 1, 5], [0, 2, 6], [-1, 2, 5]):
        given = torch.tensor(offsets)
        with pytest.raises(RuntimeError, match=r"offsets\["):
            network(indices, given)
        with pytest.raises(FlambeauError, match="out of range"):
            method.execute([indices, given])
        with pytest.raises(InterpreterError, match="offset"):
            interpreted.run("forward", [indices.numpy(), given.numpy()])
