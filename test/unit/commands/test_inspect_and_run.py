"""What `flambeau inspect` says of programs, and that the engines of `flambeau run` take the same inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from runtime_programs import call, plan, stock, write

from flambeau import to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.blobs import digest_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import Runtime, pte
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.support.safetensors import write_safetensors
from flambeau.tools.commands.run import parse_input
from flambeau.tools.main import main
from flambeau.tools.opt import main as opt

MODULE = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.add.Tensor(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.mul.Tensor(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.relu(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def test_a_dynamic_dimension_shows_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(stock("dynamic"))]) == 0
    out = capsys.readouterr().out
    assert "float32 [?<=6, ?<=8]" in out and "9223372036854775808" not in out
    assert main(["inspect", "--json", str(stock("dynamic"))]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["methods"]["forward"]["inputs"]
    assert (entry["shape"], entry["bounds"]) == ([None, None], [6, 8])


def test_sizes_show_their_names_and_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "tensor<?x?x?x3xf32, #edge.layout<sizes = [batch in [2, 8], n in [0, 4], m in [1, ?], 3]>>"
    text = f"func.func @forward(%x: {kind}) -> {kind} {{ func.return %x : {kind} }}"
    (tmp_path / "a.mlir").write_text(text)
    assert main(["inspect", str(tmp_path / "a.mlir")]) == 0
    assert "input input_0: float32 [batch in 2..8, n<=4, m>=1, 3]" in capsys.readouterr().out


def test_an_unknown_method_is_refused_with_those_that_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mlir").write_text(MODULE.replace("@forward", "@encode") + MODULE.replace("@forward", "@decode"))
    assert main(["run", str(tmp_path / "a.mlir")]) == 1
    assert capsys.readouterr().err == "error: there is no method 'forward'; --method names one of encode, decode\n"
    assert main(["run", str(tmp_path / "a.mlir"), "--method", "encod"]) == 1
    assert "'encod'; did you mean 'encode'?; --method" in capsys.readouterr().err


def test_a_delegate_shows_its_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mlir").write_text(MODULE)
    program = str(tmp_path / "a.pte")
    assert main(["compile", str(tmp_path / "a.mlir"), "--backend", "elementwise", "-o", program]) == 0
    capsys.readouterr()
    assert main(["inspect", program]) == 0
    assert "delegate delegate0 (" in (out := capsys.readouterr().out) and "unknown" not in out
    assert main(["inspect", "--json", program]) == 0
    delegates = json.loads(capsys.readouterr().out)["delegates"]
    assert list(delegates) == ["delegate0"]
    backend, size = (delegates["delegate0"][key] for key in ("backend", "bytes"))
    assert f"delegate delegate0 ({backend}), {size} bytes" in out and "not disassembled" not in out


def test_weights_in_delegates_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = torch.export.export(torch.nn.Linear(4, 2).eval(), (torch.rand(1, 4),))
    to_edge_transform_and_lower(exported, partitioner="openvino").to_executorch().save(tmp_path / "a.pte")
    assert main(["inspect", str(tmp_path / "a.pte")]) == 0
    assert " bytes, 0 of them in 0 weights, 40 in constants of delegates\n" in capsys.readouterr().out


def test_a_delegate_of_an_unknown_backend_shows_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    delegate = pte.BackendDelegate("Nobody's", memoryview(b"12345"), ())
    program = tmp_path / "a.pte"
    program.write_bytes(write(plan([], [], [], [], [], delegates=(delegate,))))
    assert main(["inspect", str(program)]) == 0
    why = 'its 5 bytes are for "Nobody\'s" only: no backend here is called so by programs'
    assert f"delegate delegate0 (Nobody's), 5 bytes\n  not disassembled: {why}\n" in capsys.readouterr().out
    assert opt([str(program), "-p", "disassemble-payloads"]) == 0
    out, err = capsys.readouterr()
    assert 'delegate.payload @delegate0 backend "Nobody\'s"' in out and f"@delegate0 stays a payload: {why}\n" in err


def test_engines_take_dynamic_inputs_of_any_size(tmp_path: Path) -> None:
    outputs: list[np.ndarray] = []
    for rows in (6, 1, 3):
        np.save(tmp_path / "x.npy", np.linspace(-1, 1, rows * 8, dtype=np.float32).reshape(rows, 8))
        for engine in ("c", "numpy"):
            out = tmp_path / "out.npz"
            assert main(["run", str(stock("dynamic")), "--engine", engine, "--input", str(tmp_path / "x.npy"), "--output", str(out)]) == 0
            outputs.append(np.load(out)["output_0"])
        np.testing.assert_allclose(outputs[-1], outputs[-2], rtol=1e-6)
        assert outputs[-1].shape == (rows, 4)


def test_engines_take_a_number_for_a_tensor_without_dimensions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "tensor<f32>"
    (tmp_path / "a.mlir").write_text(
        f"func.func @forward(%x: {kind}) -> {kind} {{\n"
        f"  %0 = aten.add.Tensor(%x, %x) : ({kind}, {kind}) -> {kind}\n  func.return %0 : {kind}\n}}\n"
    )
    program = str(tmp_path / "a.pte")
    assert main(["compile", str(tmp_path / "a.mlir"), "-o", program]) == 0
    capsys.readouterr()
    for engine in ("c", "numpy"):
        assert main(["run", program, "--engine", engine, "--input", "0.25"]) == 0
        assert capsys.readouterr().out == "output_0: float32 []\n0.5\n"
    assert main(["run", program]) == 1
    assert "takes 1 input, got 0" in capsys.readouterr().err


def test_a_backend_that_no_plug_in_brings_is_advised_against(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mlir").write_text(MODULE)
    program = tmp_path / "a.pte"
    assert main(["compile", str(tmp_path / "a.mlir"), "--backend", "elementwise", "-o", str(program)]) == 0
    (identifier,) = (op.backend.data for op in read_pte(program.read_bytes(), FlambeauContext()).walk() if isinstance(op, PayloadOp))
    program.write_bytes(program.read_bytes().replace(identifier.encode(), b"X" * len(identifier)))
    capsys.readouterr()
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    for engine in ("c", "numpy"):
        assert main(["run", str(program), "--engine", engine, "--input", str(tmp_path / "x.npy")]) == 1
        advice = "load its plug-in with --load-plugin; if there is none, export the program without a partitioner for this backend"
        assert advice in " ".join(capsys.readouterr().err.split())


def test_engines_take_the_same_scalars() -> None:
    values: list[pte.Value] = [pte.Int(3), pte.Int(5), pte.Int(0), pte.Double(0.5), pte.Bool(True)]
    data = write(plan(values, [call(0, 0, 1, 2)], ["executorch_prim::add.Scalar"], [0, 1, 3, 4], [2, 3, 4]))
    context = FlambeauContext()
    loaded = Runtime.get().load_program(data).load_method()
    program = interpret(read_pte(data, context), context)
    cases: list[tuple[Any, ...]] = [(3, 5, 0.5, True), (np.int64(-4), 2**61, np.float32(2), np.bool_(False)), (1, 2, 3, False)]
    for inputs in cases:
        assert program.run("forward", inputs) == loaded.execute(inputs)


def test_a_file_of_bfloat16_is_an_input(tmp_path: Path) -> None:
    numbers = np.array([1.5, -2], ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", numbers)
    read = parse_input(str(tmp_path / "x.npy"))
    assert read.dtype == numbers.dtype
    np.testing.assert_array_equal(read, numbers)


PLANNED = """exec.method @forward {arenas = [48]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %y_1 = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %z = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.call "aten::exp.out"(%x) outs(%y_1)
  exec.call "aten::mul.out"(%y, %y_1) outs(%z)
  exec.return inputs(%x) outputs(%z)
}
"""


@pytest.mark.parametrize("engine", ["c", "numpy"])
def test_a_wrong_plan_is_not_run(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "planned.mlir").write_text(PLANNED)
    assert main(["run", str(tmp_path / "planned.mlir"), "--engine", engine]) == 1
    error = capsys.readouterr().err
    assert "instruction 2 (aten::mul.out) reads %y, over whose bytes instruction 1 (aten::exp.out) wrote through %y_1\n" in error


@pytest.mark.parametrize("size", [None, 8])
def test_weights_that_a_program_lacks_are_named_with_their_line(
    size: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytes(size or 0)
    path = tmp_path / "planned.mlir"
    path.write_text(
        f'ml_program.global private @w(#flambeau.blob<"w", "{digest_of(data)}">) : tensor<4xf32>\n'
        + PLANNED.replace("%y_1 = exec.tensor {arena = 1, offset = 16}", "%y_1 = exec.constant @w").replace(
            '  exec.call "aten::exp.out"(%x) outs(%y_1)\n', ""
        )
    )
    if size is not None:
        write_safetensors(tmp_path / "planned.safetensors", [("w", "I8", (size,), memoryview(data))])
    expected = (
        "there are no weights under 'w'" if size is None else "global @w is tensor<4xf32>, which takes 16 bytes, but its weights 'w' have 8"
    )
    for arguments in (["compile", str(path), "-o", str(tmp_path / "p.pte")], ["run", str(path)], ["run", str(path), "--engine", "c"]):
        assert main(arguments) == 1
        first, second, *_ = capsys.readouterr().err.splitlines()
        assert first.startswith(f"error: {expected}") and second == f"  in {path}:1"


def test_what_torch_cannot_run_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = f"tensor<{2**58}xf32>"
    path = tmp_path / "full.mlir"
    path.write_text(
        f"func.func @forward() -> {kind} {{\n  %0 = aten.full() {{size = [{2**58}], fill_value = 1.0}} : () -> {kind}\n"
        f"  func.return %0 : {kind}\n}}\n"
    )
    assert main(["run", str(path)]) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("error: aten.full: ") and "enforce" not in first and second == f"  in {path}:2"


def test_env_prints_the_libraries_for_a_shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("# flambeau ")
    named = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert {"FLAMBEAU_INCLUDE", "FLAMBEAU_LIBRARY"} < {*named} and all(Path(path).exists() for path in named.values())
    backend = next(name for name in named if name not in ("FLAMBEAU_INCLUDE", "FLAMBEAU_LIBRARY"))
    monkeypatch.setenv(backend, "/mine.so")
    assert main(["env", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[backend] == "/mine.so"
