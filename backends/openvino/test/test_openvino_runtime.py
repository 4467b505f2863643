"""The C adapter and the library: options, sizes, threads, and programs that are wrong or whose library is absent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from runtime_programs import executable

from flambeau import to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import find_library

nn = torch.nn
pytestmark = pytest.mark.usefixtures("openvino_library")
REFUSES = "backend 'OpenvinoBackend' refuses it: "


def net() -> nn.Module:
    cast(Any, torch).manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5), nn.Softmax(-1)).eval()


IMAGE = torch.linspace(-1, 1, 192).reshape(1, 3, 8, 8)


def program(module: nn.Module, *inputs: torch.Tensor, backend: str = "openvino", **export: Any) -> bytes:
    return bytes(to_edge(torch.export.export(module, inputs, **export)).to_backend(backend).to_executorch().buffer)


def run(data: bytes, *inputs: torch.Tensor, **options: Any) -> list[Any]:
    method = Runtime.get().load_program(data, backend_options={"openvino": options}).load_method("forward")
    return [np.asarray(result) for result in method.execute([tensor.numpy() for tensor in inputs])]


@pytest.fixture(scope="module")
def compiled() -> bytes:
    return program(net(), IMAGE, backend="openvino{compiled=true}")


@pytest.mark.parametrize("kind", ["interchange", "compiled"])
def test_it_computes_in_float32_unless_it_may_do_less(kind: str, compiled: bytes):
    data = compiled if kind == "compiled" else program(net(), IMAGE)
    assert kind.encode() in data
    expected = net()(IMAGE).detach().numpy()
    for options in ({}, {"threads": 2}, {"device": "CPU"}):
        np.testing.assert_allclose(run(data, IMAGE, **options)[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(data, IMAGE, precision="bf16")[0], expected, rtol=0.05)


def test_the_program_says_the_precision_and_the_application_goes_before_it():
    x, y = torch.rand(64, 64), torch.rand(64, 64)

    class Product(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x @ y

    exact = (x.double() @ y.double()).numpy()
    errors = {
        name: float(np.abs(run(program(Product(), x, y, backend=backend), x, y, **options)[0] - exact).max())
        for name, backend, options in (
            ("f32", "openvino", {}),
            ("program", "openvino{precision=bf16}", {}),
            ("application", "openvino{precision=bf16}", {"precision": "f32"}),
        )
    }
    assert errors["f32"] < 1e-4 and errors["application"] < 1e-4
    # A processor without bf16 computes in float32.
    assert errors["program"] >= errors["f32"]


def test_a_compiled_model_is_kept_in_the_cache_folder(tmp_path: Path):
    data, expected = program(net(), IMAGE), net()(IMAGE).detach().numpy()
    for _ in range(2):
        np.testing.assert_allclose(run(data, IMAGE, cache=str(tmp_path))[0], expected, rtol=1e-5, atol=1e-6)
        assert [path.suffix for path in tmp_path.iterdir()] == [".blob"]


STOCK = """
import numpy, torch
from pathlib import Path
from executorch.runtime import Runtime

program = Runtime.get().load_program(Path("model.pte").read_bytes())
(found,) = program.load_method("forward").execute([torch.from_numpy(numpy.load("x.npy"))])
numpy.save("y.npy", found.numpy())
"""


def test_stock_executorch_runs_what_is_compiled_from_bytes(compiled: bytes, openvino_library: Path, tmp_path: Path):
    """It looks for the library once in a process, and unmaps the constants of a file that OpenVINO still reads."""
    (tmp_path / "model.pte").write_bytes(compiled)
    np.save(tmp_path / "x.npy", IMAGE.numpy())
    environment = {**os.environ, "OPENVINO_LIB_PATH": str(openvino_library)}
    subprocess.run([sys.executable, "-c", STOCK], check=True, cwd=tmp_path, env=environment)
    # It does not ask for float32.
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net()(IMAGE).detach().numpy(), rtol=0.05)


def test_what_executorch_compiles_runs(compiled: bytes):
    """Its payload is an export without our label."""
    bare = bytearray(compiled)
    place = bare.rindex(b"flov")
    bare[place : place + 36] = bytes(36)
    np.testing.assert_allclose(run(bytes(bare), IMAGE)[0], net()(IMAGE).detach().numpy(), rtol=1e-5, atol=1e-6)


class Copies(nn.Module):
    """Results that are inputs, or are so after OpenVINO has simplified them; one result twice; numbers without dimensions."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        negative = -x
        return torch.relu(x), -negative, x * 1.0, x.transpose(0, 1).transpose(0, 1).clone(), negative, negative + 0, y * 2, x.sum()


def test_outputs_that_are_inputs_are_right_and_leave_them_alone():
    x, y = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor(4.0)
    method = Runtime.get().load_program(program(Copies(), x, y)).load_method("forward")
    for scale in (1, 2):
        inputs = [(x * scale).numpy(), (y * scale).numpy()]
        kept = [array.copy() for array in inputs]
        for found, expected in zip(method.execute(inputs), Copies()(x * scale, y * scale), strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected.numpy())
        assert all(np.array_equal(a, b) for a, b in zip(inputs, kept, strict=True))


def test_sizes_of_a_call_are_those_that_the_payload_says():
    sizes = {0: torch.export.Dim("rows", min=2, max=5)}
    x = torch.rand(3, 4)
    data = program(nn.Sequential(nn.Linear(4, 2), nn.Tanh()).eval(), x, dynamic_shapes=({0: sizes[0]},))
    method = Runtime.get().load_program(data).load_method("forward")
    for rows in (5, 2, 3):
        assert np.asarray(method.execute([np.ones((rows, 4), np.float32)])[0]).shape == (rows, 2)
    for rows in (1, 6):
        with pytest.raises(FlambeauError):
            method.execute([np.ones((rows, 4), np.float32)])


def test_methods_run_at_once():
    data, inputs = program(net(), IMAGE), [IMAGE * scale for scale in range(1, 5)]
    methods = [Runtime.get().load_program(data).load_method("forward") for _ in inputs]

    def call(index: int) -> Any:
        return [np.asarray(methods[index].execute([inputs[index].numpy()])[0]).copy() for _ in range(20)]

    with ThreadPoolExecutor(len(inputs)) as pool:
        for found, x in zip(pool.map(call, range(len(inputs))), inputs, strict=True):
            for result in found:
                np.testing.assert_allclose(result, net()(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_changed_payloads_are_refused_or_run(compiled: bytes, run_changed: Callable[[list[bytes], int], list[int]]):
    results = run_changed([program(net(), IMAGE), compiled], 150)
    assert sum(results) == 300 and results[0] > 0 and results[2] > 0, results


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "label": (lambda data: data.replace(b"FLOV\2", b"FLOV\3"), "its payload is of version 3; this runtime reads 1 to 2$"),
    "text": (
        lambda data: data.replace(b"ReLU\t", b"ReLV\t"),
        "its payload is damaged: its model has another checksum than its label says$",
    ),
    "kind": (lambda data: data.replace(b"FLOV", b"FLOW"), "OpenVINO does not load what it has compiled: "),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_payload_is_refused(name: str):
    change, message = CHANGES[name]
    with pytest.raises(FlambeauError, match=message) as caught:
        run(change(program(net(), IMAGE)), IMAGE)
    assert "\n" not in str(caught.value)


OPTIONS: list[tuple[dict[str, object], str]] = [
    ({"threads": 0}, REFUSES + r"its option 'threads' is a number from 1 to 1024, not '0'$"),
    ({"precision": "f64"}, REFUSES + r"its option 'precision' is f32, f16 or bf16, not 'f64'$"),
    ({"device": ""}, REFUSES + r"its option 'device' is a text of 1 to 79 bytes$"),
    (
        {"thread": 1},
        r"backend 'openvino' has no option 'thread'; it has cache, device, .*; did you mean 'threads'\?$",
    ),
    ({"library": "/nowhere.so"}, REFUSES + r"the OpenVINO library cannot be loaded: /nowhere.so: cannot open shared object file"),
    ({"device": "TPU"}, "OpenVINO does not compile it: .*TPU"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_are_wrong_are_refused(options: dict[str, object], message: str):
    with pytest.raises(FlambeauError, match=message) as caught:
        run(program(net(), IMAGE), IMAGE, **options)
    assert "\n" not in str(caught.value)


def test_another_library_is_refused():
    with pytest.raises(FlambeauError, match=r"is not the C library of OpenVINO 2025 or newer: it has no ov_core_create$"):
        run(program(net(), IMAGE), IMAGE, library=str(find_library()))


def test_without_the_package_the_message_says_what_to_install(tmp_path: Path):
    """A library of ours that lies elsewhere, as where the package openvino is not installed."""
    source, target = find_library(), tmp_path / "model.pte"
    assert source is not None
    target.write_bytes(program(net(), IMAGE))
    np.save(tmp_path / "x.npy", IMAGE.numpy())
    environment = {name: value for name, value in os.environ.items() if name != "FLAMBEAU_OPENVINO_LIBRARY"}
    environment["FLAMBEAU_LIBRARY"] = str(shutil.copy(source, tmp_path))
    runner = shutil.copy(executable(), tmp_path)
    for command in ([sys.executable, "-m", "flambeau.tools.main", "run", target], [runner, target]):
        done = subprocess.run([*command, "--input", tmp_path / "x.npy"], capture_output=True, text=True, env=environment)
        message = r"there is no OpenVINO library here: set FLAMBEAU_OPENVINO_LIBRARY to the path of one, such as .* flambeau env prints$"
        assert done.returncode != 0 and done.stderr.count("\n") == 1 and re.search(REFUSES + message, done.stderr), done.stderr


def test_the_command_line_finds_the_library_by_the_environment(tmp_path: Path, openvino_library: Path):
    (tmp_path / "model.pte").write_bytes(program(net(), IMAGE))
    np.save(tmp_path / "x.npy", IMAGE.numpy())
    environment = {**os.environ, "FLAMBEAU_OPENVINO_LIBRARY": str(openvino_library)}
    command = [executable(), tmp_path / "model.pte", "--input", tmp_path / "x.npy", "--backend-option", "openvino.threads=2"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
