"""A finished program has the bytes that the model had when `to_executorch` was called, whatever happens to the model afterwards."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flambeau import (
    BundledProgram,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    MethodTestCase,
    MethodTestSuite,
    Runtime,
    to_edge,
)
from flambeau.runtime.bundled_program import BundledModule, serialize_from_bundled_program_to_flatbuffer
from flambeau.support import unchanging_bytes

X = torch.linspace(-1, 1, 32).reshape(1, 32)


class Counter(torch.nn.Module):
    """Adds its number of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = torch.nn.Buffer(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x + self.calls


def compiled(model: torch.nn.Module, **config: Any) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(model, (X,))).to_executorch(ExecutorchBackendConfig(**config))


def saved(program: ExecutorchProgramManager, folder: Path) -> bytes:
    program.save(folder / "model.pte")
    return (folder / "model.pte").read_bytes()


def written(program: ExecutorchProgramManager, folder: Path) -> bytes:
    file = io.BytesIO()
    program.write_to_file(file)
    return file.getvalue()


WAYS: dict[str, Callable[[ExecutorchProgramManager, Path], bytes]] = {
    "buffer": lambda program, folder: program.buffer,
    "save": saved,
    "write_to_file": written,
}
CHANGES: dict[str, Callable[[torch.nn.Linear], object]] = {
    "in place": lambda layer: layer.weight.detach().zero_(),
    "data": lambda layer: layer.weight.data.fill_(0),
    "numpy": lambda layer: layer.weight.detach().numpy().fill(0),
    "load_state_dict": lambda layer: layer.load_state_dict({"weight": torch.zeros(32, 32), "bias": torch.zeros(32)}),
}


@pytest.fixture(params=[True, False], ids=["in a file", "in memory"])
def keeping(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanging_bytes, "MOST_IN_MEMORY", 0 if request.param else 1 << 20)


@pytest.mark.usefixtures("keeping")
@pytest.mark.parametrize("change", CHANGES)
def test_weights_are_those_of_to_executorch(change: str, tmp_path: Path):
    layer = torch.nn.Linear(32, 32)
    expected = layer(X).detach().numpy()
    program = compiled(layer)
    CHANGES[change](layer)
    assert not np.allclose(layer(X).detach().numpy(), expected)
    for way in WAYS.values():
        (found,) = Runtime.get().load_program(way(program, tmp_path)).load_method().execute([X.numpy()])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("keeping")
def test_state_is_that_of_to_executorch(tmp_path: Path):
    model = Counter()
    program = compiled(model)
    for _ in range(2):
        model(X)
    for way in WAYS.values():
        method = Runtime.get().load_program(way(program, tmp_path)).load_method()
        for calls in (1, 2):
            np.testing.assert_array_equal(method.execute([X.numpy()])[0], X.numpy() + calls)


def test_external_weights_are_those_of_to_executorch(tmp_path: Path):
    layer = torch.nn.Linear(32, 32)
    expected = layer(X).detach().numpy()
    program = compiled(layer, external_constants=True)
    layer.weight.data.zero_()
    program.write_tensor_data_to_file(tmp_path)
    (data,) = tmp_path.iterdir()
    (found,) = Runtime.get().load_program(program.buffer, data_path=data).load_method().execute([X.numpy()])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_bundle_keeps_its_program_and_its_cases():
    """A model that counts computes the expected outputs after the program; the caller's arrays change before the bundle is written."""
    model, x = Counter(), X.numpy().copy()
    program = compiled(model)
    expected = model(X).numpy().copy()
    bundle = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase([x], [expected])])])
    x[:], expected[:] = 0, 0
    model(X)
    (result,) = BundledModule(serialize_from_bundled_program_to_flatbuffer(bundle)).verify()
    assert result.passed, result


@pytest.mark.usefixtures("keeping")
def test_a_program_is_read_as_often_as_wanted(tmp_path: Path):
    program = compiled(torch.nn.Linear(32, 32))
    first = saved(program, tmp_path)
    assert first == program.buffer == written(program, tmp_path) == saved(program, tmp_path)
    assert f"{len(first)} bytes" in repr(program)
    assert f"<p>{len(first)} bytes</p>" in program._repr_html_()  # pyright: ignore[reportPrivateUsage]: notebooks call it


def test_without_a_folder_for_temporary_files_a_program_is_kept_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unchanging_bytes, "MOST_IN_MEMORY", 0)
    expected = compiled(layer := torch.nn.Linear(32, 32)).buffer
    monkeypatch.setattr(unchanging_bytes, "TemporaryFile", full)
    program = compiled(layer)
    layer.weight.data.zero_()
    assert program.buffer == saved(program, tmp_path) == expected
