"""The wheel holds every module and the C library, and what it holds works without torch."""

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from declared_packages import is_in, packages, third_party

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("backends", "dialects", "frontends", "passes", "runtime", "tools")

BACKENDS = sorted(path.parent for path in (ROOT / "backends").glob("*/__init__.py"))
CORE = packages(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
OF_BACKENDS = {
    name
    for folder in BACKENDS
    for path in folder.rglob("*.py")
    if "test" not in path.parts
    for name in third_party(path)
    if not is_in(name, CORE)
}

# `-S` leaves out the editable installation, so that `flambeau` is the wheel's; None in sys.modules makes an import fail.
PREAMBLE = f"""\
import sys
sys.path[:0] = {{path!r}}
sys.modules.update(dict.fromkeys({["torch", "transformers", "executorch", "sklearn", *sorted(OF_BACKENDS)]}))
"""


def run(code: str, installed: Path) -> str:
    # Without `site` the interpreter does not find its environment's packages by itself.
    path = [str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    command = [sys.executable, "-I", "-S", "-c", PREAMBLE.format(path=path) + code]
    result = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # In the folder of the editable installation the C files are compiled already, if for this machine's instruction set.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--config-settings=build-dir=build/editable/{wheel_tag}"]
    pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(ROOT)]
    result = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_wheel_holds_every_file_of_the_package_and_the_library(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "flambeau"
    files = {
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file() and not {"test", "__pycache__"} & {*path.parts}
    }
    expected = {f"flambeau/{path.relative_to(ROOT)}" for path in files if path.name not in ("conftest.py", "lit.cfg.py")}
    expected |= {f"flambeau/{path.relative_to(package)}" for path in package.rglob("*.py")} | {"flambeau/py.typed"}
    assert sorted(expected - names) == []
    assert [name for name in names if name.startswith("flambeau/runtime/lib/libflambeau.")]
    assert not [name for name in names if "/test/" in name or "__pycache__" in name]
    assert {name.partition("/")[0] for name in names if not name.partition("/")[0].startswith("flambeau-")} == {"flambeau"}
    assert "-py3-none-" in wheel.name, "the library knows nothing of Python"


def test_flambeau_opt_runs_without_torch(installed: Path, tmp_path: Path):
    source = tmp_path / "empty.mlir"
    source.write_text("builtin.module {}\n")
    output = run(f"from flambeau.tools.opt import main\nmain([{str(source)!r}])\nimport flambeau\nprint(flambeau.__file__)", installed)
    assert "builtin.module" in output
    assert output.splitlines()[-1] == str(installed / "flambeau" / "__init__.py")


def test_runtime_and_interpreter_run_without_torch(installed: Path):
    code = (
        "from flambeau.runtime import Runtime\n"
        "import flambeau.runtime.interpreter, flambeau.runtime.emit\n"
        "print('aten::add.out' in Runtime.get().operator_registry.operator_names)"
    )
    assert run(code, installed) == "True\n"


@pytest.mark.parametrize("backend", [folder.name for folder in BACKENDS])
def test_a_backend_is_judged_without_torch_and_without_the_packages_of_backends(backend: str, installed: Path):
    code = f"from flambeau.tools.main import main\nprint(main(['test-backend', {backend!r}, '--graphs', '2']))"
    output = run(code, installed).splitlines()
    assert output[-1] == "0" and "README: passed" in output
