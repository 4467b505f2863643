"""What `flambeau new` writes works as it stands, and breaks nothing that is there."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from flambeau.tools.commands.new import KINDS, skeleton
from flambeau.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
NAMES = {"pass": "halve-sums", "dialect": "image_ops", "backend": "my_npu"}
MODULES = {"pass": "halve_sums.py", "dialect": "image_ops/image_ops.py", "backend": "my_npu/__init__.py"}
CONFIGURATION = """
[tool.ruff]
extend = "ROOT/pyproject.toml"
src = ["."]
[tool.ruff.lint.isort]
known-first-party = []
[tool.ruff.lint.flake8-tidy-imports]
ban-relative-imports = "parents"
[tool.ruff.lint.extend-per-file-ignores]
"test_*.py" = ["D"]
[tool.pyright]
typeCheckingMode = "strict"
enableExperimentalFeatures = true
reportMissingTypeStubs = false
extraPaths = ["ROOT/src"]
"""


def tool(name: str, *arguments: str, cwd: Path) -> str:
    command = [Path(sysconfig.get_path("scripts")) / name, *arguments]
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a skeleton of each kind."""
    folder = tmp_path_factory.mktemp("skeletons")
    for kind, name in NAMES.items():
        assert main(["new", kind, name, "--dir", str(folder)]) == 0
    (folder / "pyproject.toml").write_text(CONFIGURATION.replace("ROOT", str(ROOT)))
    return folder


def test_the_file_check_tests_of_passes_and_dialects_pass(written: Path):
    output = tool("lit", "-v", str(written), cwd=written)
    assert "Passed: 4 (100.00%)" in output


def test_the_tests_of_backends_pass(written: Path):
    assert "passed" in tool("pytest", "-q", "-p", "no:cacheprovider", "my_npu", cwd=written)


def test_skeletons_are_clean(written: Path):
    tool("ruff", "check", "--no-cache", ".", cwd=written)
    tool("ruff", "format", "--no-cache", "--check", ".", cwd=written)
    tool("pyright", "--pythonpath", sys.executable, cwd=written)


def test_a_pass_is_at_most_thirty_lines(written: Path):
    assert len((written / MODULES["pass"]).read_text().splitlines()) <= 30


def test_what_is_there_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "lit.cfg.py").write_text("mine")
    (tmp_path / "my_npu").mkdir()
    (tmp_path / "my_npu" / "payload.py").write_text("mine")
    assert main(["new", "pass", "halve-sums", "--dir", str(tmp_path)]) == 0
    assert (tmp_path / "lit.cfg.py").read_text() == "mine"
    capsys.readouterr()
    for kind, name, file in (("pass", "halve-sums", "halve_sums.mlir"), ("backend", "my_npu", "my_npu/payload.py")):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert main(["new", kind, name, "--dir", str(tmp_path)]) == 1
        assert (
            capsys.readouterr().err
            == f"error: {tmp_path / file} exists already, and nothing is written over: choose another name or --dir\n"
        )
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("frontend", "x", "there is no skeleton of a 'frontend'; there are pass, dialect, backend"),
        ("pass", "Fuse", "'Fuse' cannot be the name of a pass: write it like fuse-mul-add; did you mean 'fuse'?"),
        ("pass", "fuse_mul", "'fuse_mul' cannot be the name of a pass: write it like fuse-mul-add; did you mean 'fuse-mul'?"),
        ("pass", "3d", "'3d' cannot be the name of a pass: write it like fuse-mul-add"),
        ("pass", "import", "'import' is a word of Python, and a module of that name cannot be imported: choose another name"),
        ("backend", "lambda", "'lambda' is a word of Python, and a module of that name cannot be imported: choose another name"),
        ("pass", "cse", "there is a pass 'cse' already; choose another name"),
        ("pass", "dce", "there is a pass 'dce' already; choose another name"),
        ("pass", "compile", "there is a pass 'compile' already; choose another name"),
        ("dialect", "image-ops", "'image-ops' cannot be the name of a dialect: write it like image_ops; did you mean 'image_ops'?"),
        ("dialect", "arith", "there is a dialect 'arith' already; choose another name"),
        ("dialect", "exec", "there is a dialect 'exec' already; choose another name"),
        ("backend", "../up", "'../up' cannot be the name of a backend: write it like my_npu"),
        ("backend", "elementwise", "there is a backend 'elementwise' already; choose another name"),
    ],
)
def test_a_name_that_will_not_do_is_refused(kind: str, name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new", kind, name, "--dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"
    assert not list(tmp_path.iterdir())


def test_the_output_says_what_to_run_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for kind, name in NAMES.items():
        assert main(["new", kind, name, "--dir", str(tmp_path)]) == 0
        output = capsys.readouterr().out
        assert f"wrote {tmp_path / MODULES[kind]}\n" in output and "\nnext:\n" in output


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "image_ops").write_text("mine")
    for arguments in (["pass", "halve-sums", "--dir", str(tmp_path / "image_ops")], ["dialect", "image_ops", "--dir", str(tmp_path)]):
        assert main(["new", *arguments]) == 1
        assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'image_ops'} is a file: the skeleton needs a folder")
    assert (tmp_path / "image_ops").read_text() == "mine"


def test_paths_with_spaces_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "pass", "halve-sums", "--dir", "my passes"]) == 0
    assert "flambeau-opt 'my passes/halve_sums.mlir' --load-plugin 'my passes/halve_sums.py' -p" in capsys.readouterr().out


def test_every_kind_has_its_skeleton():
    assert set(KINDS) == set(NAMES) and all(skeleton(kind, name) for kind, name in NAMES.items())
