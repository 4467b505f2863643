"""Weights in `.ptd` files: both ways with stock ExecuTorch, several files, programs that share one, damaged files."""

import random
import runpy
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import executorch.exir
import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from runtime_programs import call, plan, tensor, write
from torch import Tensor, nn

from flambeau import EdgeCompileConfig, ExecutorchBackendConfig, ExecutorchProgramManager, Runtime, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import FlambeauError, pte
from flambeau.runtime.emit import Constant, read_pte
from flambeau.runtime.flat_tensor import (
    FlatTensorError,
    NamedTensor,
    TensorLayout,
    external_names,
    link,
    link_files,
    read_data_files,
    read_flat_tensor,
    write_flat_tensor,
)
from flambeau.runtime.interpreter import interpret
from flambeau.tools.main import main

# What PyTorch and ExecuTorch leave without types.
stock: Any = executorch_runtime
exir: Any = executorch.exir
untyped: Any = torch
X = torch.randn(1, 3, 8, 8)
FLOATS = TensorLayout(pte.ScalarType.FLOAT, (2, 3), (0, 1))
ROOT = Path(__file__).parents[4]


class Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.last = nn.Linear(4, 5)
        self.register_buffer("scale", torch.arange(4.0) / 7)
        self.scale: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.relu(self.convolution(x)).mean((2, 3)) * self.scale + torch.tensor([1.0, 2.0, 3.0, 4.0]))


MODEL = Picture().eval()


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compiled(external: Any = True, model: nn.Module = MODEL, **options: Any) -> ExecutorchProgramManager:
    edge = to_edge(torch.export.export(model, (X,)), compile_config=EdgeCompileConfig(**options))
    program = edge.to_executorch(ExecutorchBackendConfig(external_constants=external))
    program.save("model.pte")
    program.write_tensor_data_to_file(".")
    return program


def parts(constant: Constant) -> str | None:
    return None if constant.name == "scale" else constant.name.partition(".")[0]


def len_of_name(constant: Constant) -> int:
    return len(constant.name)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_program_runs_with_its_weights_in_another_file(target: str):
    program = compiled(target=target)
    assert list(program.tensor_data) == ["_default_external_constant"]
    named = read_data_files("_default_external_constant.ptd")
    names = {name.removesuffix(".packed") for name in named}
    assert names == {"convolution.weight", "convolution.bias", "last.weight", "last.bias", "scale"}
    assert set(external_names(pte.read_program(program.buffer))) == named.keys()
    assert all(bytes(item.data) not in program.buffer for item in named.values())
    (y,) = Runtime.get().load_program("model.pte", data_path="_default_external_constant.ptd").load_method().execute([X])
    torch.testing.assert_close(torch.from_dlpack(y), MODEL(X).detach())
    context = FlambeauContext()
    module = read_pte(link_files(program.buffer, "_default_external_constant.ptd"), context)
    (z,) = interpret(module, context).run("forward", [X.numpy()])
    torch.testing.assert_close(untyped.from_numpy(z), MODEL(X).detach())


def test_stock_executorch_runs_what_we_write():
    compiled()
    program = stock.Runtime.get().load_program("model.pte", data_path="_default_external_constant.ptd")
    torch.testing.assert_close(program.load_method("forward").execute((X,))[0], MODEL(X).detach())


def test_we_run_what_stock_executorch_writes():
    def file_of(node: Any) -> str:
        return "linear" if "last" in node.name else "_others"

    config = exir.ExecutorchBackendConfig(external_constants=file_of)
    program = exir.to_edge(torch.export.export(MODEL, (X,))).to_executorch(config)
    program.save("stock.pte")
    program.write_tensor_data_to_file(".")
    files = ["linear.ptd", "_others.ptd"]
    (y,) = Runtime.get().load_program("stock.pte", data_path=files).load_method().execute([X])
    torch.testing.assert_close(torch.from_dlpack(y), MODEL(X).detach())
    # One file of several is stock's again.
    Path("merged.ptd").write_bytes(write_flat_tensor(read_data_files(files).values()))
    method = stock.Runtime.get().load_program("stock.pte", data_path="merged.ptd").load_method("forward")
    torch.testing.assert_close(method.execute((X,))[0], MODEL(X).detach())


def test_a_function_divides_the_constants():
    program = compiled(parts)
    assert {name: set(read_flat_tensor(data)) for name, data in program.tensor_data.items()} == {
        "convolution": {"convolution.weight", "convolution.bias"},
        "last": {"last.weight", "last.bias"},
    }
    runtime = Runtime.get()
    (y,) = runtime.load_program("model.pte", data_path=["last.ptd", "convolution.ptd"]).load_method().execute([X])
    torch.testing.assert_close(torch.from_dlpack(y), MODEL(X).detach())
    with pytest.raises(FlambeauError, match=r"in \.ptd files that were not given: 'convolution.weight', 'convolution.bias'$"):
        runtime.load_program("model.pte", data_path="last.ptd")
    with pytest.raises(FlambeauError, match=r"^last.ptd: 'last.bias' is in last.ptd already"):
        runtime.load_program("model.pte", data_path=["last.ptd", "last.ptd"])
    with pytest.raises(FlambeauError, match=r"the data of value \d+ \('convolution.weight'\) lie in a \.ptd file"):
        runtime.load_program("model.pte").load_method()
    with pytest.raises(TypeError, match="names the file of each constant, or gives None, not 18"):
        compiled(len_of_name)
    for path in ("../x", "/tmp/x", "a\\x"):

        def elsewhere(_: Constant, path: str = path) -> str:
            return path

        with pytest.raises(ValueError, match=r"names a file for 'convolution.weight' in another folder, '.*': give a name without / and"):
            compiled(elsewhere)
    with pytest.raises(TypeError, match="is True, False, or a function that names the file of a constant, not str"):
        compiled("weights")


def test_constants_of_equal_bytes_keep_their_names_and_are_stored_once():
    model = Picture().eval()
    with torch.no_grad():
        for bias in model.convolution.parameters():
            bias.zero_()
        model.scale.zero_()
    program = compiled(model=model)
    (data,) = program.tensor_data.values()
    found = read_flat_tensor(data)
    assert bytes(found["scale"].data) == bytes(found["convolution.bias"].data) == bytes(16)
    assert len(data) < len(compiled().tensor_data["_default_external_constant"])
    divided = compiled(parts, model)
    assert "convolution.bias" in read_flat_tensor(divided.tensor_data["convolution"])


class Doubled(nn.Module):
    """A weight in two layouts."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.flatten()[:6] + self.weight, x.flatten()[:24] + self.weight.view(24)


def test_a_view_of_a_constant_has_a_name_of_its_own_for_the_same_bytes():
    compiled(model=Doubled())
    named = read_data_files("_default_external_constant.ptd")
    assert "weight" in named
    y, z = Runtime.get().load_program("model.pte", data_path="_default_external_constant.ptd").load_method().execute([X])
    model = Doubled()
    with torch.no_grad():
        model.weight.copy_(torch.frombuffer(bytearray(named["weight"].data), dtype=torch.float32).view(4, 6))
    torch.testing.assert_close((torch.from_dlpack(y), torch.from_dlpack(z)), tuple(item.detach() for item in model(X)))


def test_the_example_of_adapters_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["adapters.py", "."])
    runpy.run_path(str(ROOT / "examples" / "lora" / "adapters.py"), run_name="__main__")
    assert capsys.readouterr().out.endswith("casual: foundation.ptd, casual.ptd: as in PyTorch\n")
    assert Path("casual.ptd").stat().st_size * 20 < Path("foundation.ptd").stat().st_size


def external(key: str, **fields: Any) -> pte.Tensor:
    extra = pte.ExtraTensorInfo(fully_qualified_name=key, location=pte.TensorDataLocation.EXTERNAL)
    return tensor(2, 3, extra_tensor_info=extra, **fields)


def adding(value: pte.Tensor) -> bytes:
    values: list[pte.Value] = [tensor(2, 3, at=0), value, pte.Int(1), tensor(2, 3, at=64)]
    return write(plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0], [3]))


def weights(layout: TensorLayout | None = FLOATS, **others: bytes) -> list[NamedTensor]:
    data = np.arange(6, dtype=np.float32).tobytes()
    return [NamedTensor("w", memoryview(data), layout), *(NamedTensor(key, memoryview(item)) for key, item in others.items())]


def test_a_mutable_buffer_begins_with_what_a_file_holds():
    Path("w.ptd").write_bytes(write_flat_tensor(weights()))
    data = adding(external("w", at=32))
    method = Runtime.get().load_program(data, data_path="w.ptd").load_method()
    assert np.array_equal(method.execute([np.ones((2, 3), np.float32)])[0], np.arange(6).reshape(2, 3) + 1)
    assert np.array_equal(method.state["w"], np.arange(6).reshape(2, 3))


def test_what_delegates_look_for_comes_along():
    found = {item.key: item for item in weights(packed=b"for a delegate")}
    linked = link(pte.read_program(adding(external("w", data_buffer_idx=1))), found)
    assert [(item.key, bytes(item.data)) for item in linked.named_data] == [("packed", b"for a delegate")]
    with pytest.raises(FlatTensorError, match=r"data called 'packed' is in the program and in a \.ptd file"):
        link(linked, found)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (TensorLayout(pte.ScalarType.INT, (2, 3), (0, 1)), r"takes 'w' as float \[2, 3\], and the .ptd file has int \[2, 3\]"),
        (TensorLayout(pte.ScalarType.FLOAT, (3, 2), (0, 1)), r"has float \[3, 2\]"),
        (TensorLayout(pte.ScalarType.FLOAT, (2, 3), (1, 0)), r"has float \[2, 3\] in dim order \[1, 0\]"),
        (None, "has no tensor"),
    ],
)
def test_weights_of_another_kind_are_refused(layout: TensorLayout | None, message: str):
    Path("w.ptd").write_bytes(write_flat_tensor(weights(layout)))
    with pytest.raises(FlambeauError, match=message):
        Runtime.get().load_program(adding(external("w", data_buffer_idx=1)), data_path="w.ptd")


def test_the_same_data_gives_the_same_bytes_in_any_order():
    tensors = weights(a=b"1", b=b"2", c=b"1")
    data = write_flat_tensor(tensors)
    assert data == write_flat_tensor(reversed(tensors))
    read = read_flat_tensor(data)
    assert {key: bytes(item.data) for key, item in read.items()} == {item.key: bytes(item.data) for item in tensors}
    assert all((item.data.obj is data) for item in read.values())
    assert read_flat_tensor(write_flat_tensor([])) == {}
    with pytest.raises(FlatTensorError, match="there are two data called 'w'"):
        write_flat_tensor([*tensors, *weights()])
    with pytest.raises(FlatTensorError, match=r"'w' has sizes \[2, 3\] and the dim order \[0, 0\]"):
        read_flat_tensor(write_flat_tensor(weights(replace(FLOATS, dim_order=(0, 0)))))
    with pytest.raises(FlatTensorError, match=r"'w', float \[2, 4\], takes 32 bytes, and has 24"):
        read_flat_tensor(write_flat_tensor(weights(replace(FLOATS, sizes=(2, 4)))))


def test_a_damaged_file_is_refused_in_one_line_or_still_read(capsys: pytest.CaptureFixture[str]):
    Path("add.pte").write_bytes(adding(external("w", data_buffer_idx=1)))
    np.save("x.npy", np.ones((2, 3), np.float32))
    data = write_flat_tensor(weights(other=b"12345"))
    damages = [data[:length] for length in (0, 7, 12, 47, 48, 100, len(data) // 2, len(data) - 1)]
    generator = random.Random(0)
    for number in range(300):
        damaged = bytearray(data)
        if number % 3:
            damaged[generator.randrange(256)] = generator.randrange(256)
        else:  # a word of the header or of the tables
            struct.pack_into("<I", damaged, 4 * generator.randrange(64), generator.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1)))
        damages.append(bytes(damaged))
    refused = 0
    for number, damaged in enumerate(damages):
        Path("damaged.ptd").write_bytes(damaged)
        status = main(["run", "add.pte", "--data-path", "damaged.ptd", "--input", "x.npy"])
        error = capsys.readouterr().err
        assert "Traceback" not in error and "internal error" not in error, error
        assert error.count("\n") == status, error
        assert status or number >= 8
        refused += status
    assert refused > 100


def test_the_commands_take_and_write_files(capsys: pytest.CaptureFixture[str]):
    to_edge(torch.export.export(MODEL, (X,))).save("edge.mlir")
    np.save("x.npy", X.numpy())
    assert main(["compile", "edge.mlir", "-o", "m.pte", "--external-constants", "c=conv*", "--external-constants", "rest"]) == 0
    assert read_data_files("c.ptd").keys() == {"convolution.weight", "convolution.bias"}
    for engine in ("c", "numpy"):
        command = ["run", "m.pte", "--data-path", "c.ptd", "--data-path", "rest.ptd", "--input", "x.npy", "--engine", engine]
        assert main([*command, "--output", "y.npz"]) == 0
        torch.testing.assert_close(untyped.from_numpy(np.load("y.npz")["output_0"]), MODEL(X).detach())
    assert main(["inspect", "m.pte", "--data-path", "c.ptd", "--data-path", "rest.ptd"]) == 0
    capsys.readouterr()
    assert main(["run", "m.pte", "--input", "x.npy"]) == 1
    assert capsys.readouterr().err.endswith("lies in a .ptd file, which is given with --data-path\n")
    for arguments, message in (
        (["inspect", "edge.mlir", "--data-path", "c.ptd"], "--data-path is for the weights of a .pte, and edge.mlir is none"),
        (["inspect", "m.pte", "--data-path", "absent.ptd"], "absent.ptd: No such file or directory"),
        (["inspect", "m.pte", "--data-path", "x.npy"], "x.npy: not a .ptd file: its "),
        (["compile", "edge.mlir", "--external-constants", "a="], "--external-constants is NAME or NAME=PATTERN"),
        (["compile", "edge.mlir", "-o", "n.mlir", "--external-constants", "a"], "--external-constants is for a .pte"),
    ):
        assert main(arguments) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: {message}") and error.count("\n") == 1
