"""Whole programs as packages: names, states, what coremltools reads of them, and what numpy computes of what is read back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from coremltools_judge import PYTHONS, read, run_package, written
from device_models import HEADS, LENGTH, SIZE, Step, inputs_of_step
from torch import Tensor, nn
from torch_programs import seed

from flambeau import to_edge
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.rewriting.conversion_report import ConversionError
from flambeau.tools.commands.output_paths import OutputError, check_output


def package_of(module: nn.Module, example: tuple[Tensor, ...], folder: Path, options: str) -> Path:
    """A program, saved."""
    with torch.no_grad():
        edge = to_edge(torch.export.export(module.eval(), example))
    path = folder / "model.mlpackage"
    edge.save(path, backend=f"coreml{options}")
    return path


@pytest.mark.parametrize(("precision", "near"), [("f32", 1e-5), ("f16", 2e-3)])
def test_steps_keep_their_states_in_float16(precision: str, near: float, tmp_path: Path) -> None:
    seed()
    module = Step().eval()
    path = package_of(module, inputs_of_step(0), tmp_path, f"{{target=iOS18 precision={precision}}}")
    expected: list[Any] = []
    with torch.no_grad():
        for step in range(4):
            expected.append(module(*inputs_of_step(step)).numpy())
            for state in (module.keys, module.values):
                state.copy_(state.half())
    zeros = [np.zeros((1, HEADS, LENGTH, SIZE), np.float16)] * 2
    found = run_package(path, [[value.numpy() for value in inputs_of_step(step)] for step in range(4)], zeros)
    for (array,), value in zip(found, expected, strict=True):
        assert np.abs(array - value).max() <= near * np.abs(value).max()


@pytest.mark.parametrize("python", PYTHONS, ids=lambda _: "coremltools")
def test_coremltools_reads_states_and_names(python: str, tmp_path: Path) -> None:
    path = package_of(Step(), inputs_of_step(0), tmp_path, "{target=iOS18}")
    (found,) = read(python, [path])
    assert found == written(path)
    assert found[:2] == [["token", "place", "hidden", "keys", "values"], ["output"]]
    kinds = [item[0] for item in found[2]]
    assert (kinds.count("read_state"), kinds.count("write_state"), kinds.count("scatter")) == (2, 2, 2)


class Named(nn.Module):
    """Inputs and outputs whose names are not those of a program of MIL."""

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        """A sum, and an input as it is."""
        return {"the sum": x + y, "2": x, "again": x + y}


def test_names_become_those_that_a_program_may_have(tmp_path: Path) -> None:
    path = package_of(Named(), (torch.ones(2), torch.ones(2)), tmp_path, "")
    names = written(path)[:2]
    assert names == [["x", "y"], ["the_sum", "_2", "again"]]
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    ((total, same, again),) = run_package(path, [[one, two]], [])
    assert total.tolist() == again.tolist() == [3, 3] and same.tolist() == [1, 1]


class Started(nn.Module):
    """A state that begins with a one."""

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        """The sum until now."""
        self.count.add_(x)
        return self.count * 2


class Left(nn.Module):
    """An operator that the backend does not have."""

    def forward(self, x: Tensor) -> Tensor:
        """The sorted numbers."""
        return torch.sort(x)[0]


@pytest.mark.parametrize(
    ("module", "options", "kind", "why"),
    [
        (Step(), "", BackendError, r"'keys' is a state, which iOS18 has first: coreml\{target=iOS18\}"),
        (Started(), "{target=iOS18}", BackendError, "the state 'count' does not begin with zeros"),
        (Left(), "", ConversionError, r"a \.mlpackage file: edge\.topk"),
    ],
    ids=["target", "zeros", "operator"],
)
def test_what_a_package_cannot_hold_is_refused(module: nn.Module, options: str, kind: type[Exception], why: str, tmp_path: Path) -> None:
    example = inputs_of_step(0) if isinstance(module, Step) else (torch.ones(1),)
    with pytest.raises(kind, match=why):
        package_of(module, example, tmp_path, options)
    assert not (tmp_path / "model.mlpackage").exists()


def test_a_command_checks_the_folder_first(tmp_path: Path) -> None:
    folder = tmp_path / "model.mlpackage"
    check_output(folder, "mlpackage", "model.py")
    folder.mkdir()
    check_output(folder, "mlpackage", "model.py")
    (folder / "notes").write_text("mine")
    with pytest.raises(OutputError, match=r"model\.mlpackage has other files"):
        check_output(folder, "mlpackage", "model.py")
    (folder / "Manifest.json").write_text("{}")
    check_output(folder, "mlpackage", "model.py")
    (tmp_path / "file.mlpackage").write_text("mine")
    with pytest.raises(OutputError, match="is a file, and --emit mlpackage writes a folder"):
        check_output(tmp_path / "file.mlpackage", "mlpackage", "model.py")


def test_a_package_is_written_anew_and_no_other_folder(tmp_path: Path) -> None:
    path = package_of(Named(), (torch.ones(2), torch.ones(2)), tmp_path, "")
    first = written(path)
    assert written(package_of(Named(), (torch.ones(2), torch.ones(2)), tmp_path, "{precision=f32}")) != first
    shutil.rmtree(path)
    path.write_text("a file")
    with pytest.raises(OSError, match=r"model\.mlpackage"):
        package_of(Named(), (torch.ones(2), torch.ones(2)), tmp_path, "")
