"""A backend that is a package of its own, installed into a new environment: found by its entry point, judged, compiled for and run."""

import json
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from changed_payloads import compile_tool, run_changed

from flambeau.support.lazy import Array
from flambeau.tools.commands.new import skeleton

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "backend_from_outside" / "abacus"
MOST_LINES = 400

# The packages that are installed here, those of editable installations among them: nothing is downloaded.
SHARED = "import site; site.addsitedir({!r})\n"

MODEL = """
import torch


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(6, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return torch.maximum(self.second(hidden), -hidden[:, :4].abs()), torch.cos(hidden) - hidden * hidden.mean()


def make():
    return Network().eval(), (torch.linspace(-2, 2, 30).reshape(5, 6),)
"""

LAYER = """
func.func @forward(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = aten.mm(%x, %y) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = aten.abs(%0) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = aten.sub.Tensor(%1, %0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %2 : tensor<3x5xf32>
}
"""


class Environment:
    """A new environment with the package."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.source = folder / "abacus"
        shutil.copytree(EXAMPLE, self.source, ignore=shutil.ignore_patterns("build", "*.so", "__pycache__"))
        venv.create(folder / "environment", symlinks=True)
        (site,) = (folder / "environment").glob("lib/python*/site-packages")
        (site / "shared.pth").write_text(SHARED.format(sysconfig.get_path("purelib")))
        self.python = folder / "environment" / "bin" / "python"
        self.run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(self.source))

    def run(self, *arguments: str) -> str:
        """What Python prints. Fails where it does."""
        done = subprocess.run([self.python, *arguments], cwd=self.folder / "environment", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def flambeau(self, *arguments: str) -> str:
        """What the command prints."""
        return self.run("-m", "flambeau.tools.main", *arguments)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("outside"))


def test_it_is_judged_as_a_built_in_backend_is(environment: Environment):
    report = json.loads(environment.flambeau("test-backend", "abacus", "--graphs", "60", "--json"))
    assert not report["failures"] and not report["absent"] and report["graphs"] == 60
    assert {"README", "unknown option"} <= set(report["checks"])
    assert report["passed"]["C runtime, bad payloads"] > 50
    assert len(report["operators"]) == 10
    for name, result in report["operators"].items():
        assert result["ok"] and not result["failed"] and result["untried"] is None, name


def test_a_model_is_compiled_and_run(environment: Environment):
    (environment.folder / "model.py").write_text(MODEL)
    program, x = environment.folder / "model.pte", environment.folder / "x.npy"
    environment.flambeau("compile", f"{environment.folder}/model.py:make", "--backend", "abacus", "-o", str(program))
    assert b"AbacusBackend" in program.read_bytes()
    np.save(x, np.linspace(-2, 2, 30, dtype=np.float32).reshape(5, 6))
    found: dict[str, list[Array]] = {}
    for engine in ("c", "numpy"):
        output = environment.folder / f"{engine}.npz"
        environment.flambeau("run", str(program), "--engine", engine, "--input", str(x), "--output", str(output))
        with np.load(output) as arrays:
            found[engine] = [arrays[name] for name in arrays.files]
    scope: dict[str, Any] = {}
    exec(MODEL, scope)
    module, example = scope["make"]()
    with torch.no_grad():
        expected = module(*example)
    for a, b, c in zip(expected, found["c"], found["numpy"], strict=True):
        np.testing.assert_allclose(b, a.numpy(), rtol=0, atol=1e-5)
        np.testing.assert_allclose(b, c, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found["c"][0], found["numpy"][0])  # the second output has sums and a cosine of the CPU


def test_changed_payloads_are_refused_or_run(environment: Environment, tmp_path: Path):
    (tmp_path / "layer.mlir").write_text(LAYER)
    environment.flambeau("compile", str(tmp_path / "layer.mlir"), "--backend", "abacus", "-o", str(tmp_path / "layer.pte"))
    runtime = tmp_path / "abacus" / "runtime"  # the place of the C part of a built-in backend
    runtime.mkdir(parents=True)
    shutil.copy(EXAMPLE / "abacus.c", runtime)
    tool = compile_tool(runtime.parent, tmp_path)
    refused, _, ran = run_changed(tool, {}, [(tmp_path / "layer.pte").read_bytes()], 2000)
    assert refused and ran


def test_its_own_tests_pass(environment: Environment):
    assert "passed" in environment.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(environment.source), str(environment.source)
    )


def test_its_build_is_the_one_that_the_generator_writes():
    written = skeleton("backend", EXAMPLE.name)
    assert (EXAMPLE / "CMakeLists.txt").read_text() == written["CMakeLists.txt"]
    assert (EXAMPLE / "pyproject.toml").read_text().startswith(written["pyproject.toml"])


def test_it_is_small():
    lines = {path.name: len(path.read_text().splitlines()) for path in EXAMPLE.glob("*.py") if not path.name.startswith("test_")}
    assert sum(lines.values()) <= MOST_LINES, lines
