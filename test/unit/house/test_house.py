"""The promises of CONTRIBUTING.md that a machine can keep."""

import ast
import importlib.util
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from declared_packages import canonical, packages, third_party

from flambeau.dialects.schema.row_table import dialect_names
from flambeau.passes.manager.registry import own_pass_file, own_pass_names
from flambeau.passes.pipelines import PIPELINES
from flambeau.tools.reference.pages import PAGES
from flambeau.tools.reference.targets_table import with_targets_table

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("backends", "dialects", "frontends", "passes", "runtime", "tools")
AROUND = (".ci", "benchmarks", "docs", "examples", "findings", "src", "test")
TEXT = {".c", ".cfg", ".cmake", ".def", ".fbs", ".h", ".json", ".md", ".mlir", ".py", ".toml", ".txt", ".yaml", ".yml", ""}
MADE = {"__pycache__", "build", ".pytest_cache", ".ruff_cache"}
CODE = {".c", ".cmake", ".def", ".h", ".md", ".mlir", ".py", ".toml"}


def files(*folders: str) -> Iterator[Path]:
    """The files of the project's own folders that a person wrote; links are read under their own names only."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if (
                path.is_file()
                and MADE.isdisjoint(path.relative_to(ROOT).parts)
                and path.suffix in TEXT
                and not path.name.startswith(".lit")
            ):
                yield path


def every_file() -> list[Path]:
    top = [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.suffix in TEXT and path.name != ".git"]
    return [*top, *files(*FOLDERS, *AROUND)]


def names_of(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


PASSES = own_pass_names()
DIALECTS = sorted(path.parent for path in (ROOT / "dialects").glob("*/__init__.py") if path.parent.name in dialect_names())
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_no_file_is_longer_than_500_lines():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in every_file()
        if path.suffix in CODE and not (text := path.read_text()).startswith("<!-- Written by") and (lines := text.count("\n")) > 500
    }
    assert not long


def test_no_folder_has_more_than_20_loose_files():
    families = {ROOT / "runtime" / "c" / "kernels"}  # a file is a family of operators
    counts = Counter(path.parent for path in files(*FOLDERS, *AROUND))
    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > 20 and folder not in families} == {}


def test_no_two_files_of_one_name_mean_different_things():
    """Files of one name are the same thing in each place: an interface, operations of a dialect, a family, a part of a backend."""
    same = {"__init__.py", "interface.py", "ops.py"}
    rows = {ROOT / "dialects" / dialect for dialect in ("fused", "quantized_decomposed")}
    rows |= {path.parent for path in (ROOT / "dialects" / "aten").rglob("__init__.py")}
    places: dict[str, list[Path]] = {}
    for path in files(*FOLDERS, "src"):
        if path.suffix == ".py" and "test" not in path.parts and "backends" not in path.parts and path.name not in same:
            places.setdefault(path.name, []).append(path.parent)
    assert {name: names_of(found) for name, found in places.items() if len(found) > 1 and not rows.issuperset(found)} == {}


def test_no_eight_lines_stand_in_two_folders():
    places: dict[tuple[str, ...], set[Path]] = {}
    for path in files(*FOLDERS, *AROUND):
        if path.suffix in {".py", ".c", ".h", ".cmake"}:
            lines = [stripped for line in path.read_text().splitlines() if (stripped := line.strip())]
            for start in range(len(lines) - 7):
                places.setdefault(tuple(lines[start : start + 8]), set()).add(path)
    repeated = {tuple(names_of(sorted(found))) for found in places.values() if len({path.parent for path in found}) > 1}
    assert not repeated


def test_no_path_of_one_machine():
    pattern = re.compile(r"(?<![\w.*])/(?:work|farm|root|home|Users|mnt)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in every_file()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_a_silenced_check_has_a_reason_beside_it():
    bare = re.compile(r"#\s*(?:type: ignore|pyright: ignore|noqa)(?:\[[\w, ]+\]|: ?[A-Z0-9, ]+)?\s*$")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in every_file()
        if path.suffix == ".py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if bare.search(line)
    ]
    assert not found


def test_no_test_is_skipped():
    pattern = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b|^//\s*(?:XFAIL|UNSUPPORTED):", re.MULTILINE)
    here = Path(__file__)
    found = [path for path in every_file() if path != here and path.suffix in {".py", ".mlir"} and pattern.search(path.read_text())]
    assert not names_of(found)


def test_the_package_is_a_link_to_each_folder():
    links = {path.name: path.resolve() for path in (ROOT / "src" / "flambeau").iterdir() if path.is_symlink()}
    assert links == {name: ROOT / name for name in FOLDERS}
    checked = CONFIGURATION["tool"]["pyright"]["include"]
    assert {f"src/flambeau/{name}" for name in FOLDERS} <= set(checked), "pyright follows a link only when it is named"


def test_names_of_test_files_are_unique():
    names = [path.name for path in files("test", "backends") if path.name.startswith("test_")]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_file_holds_its_pass_and_has_its_test(name: str):
    path = own_pass_file(name)
    tree = ast.parse(path.read_text())
    expected = "".join(word.capitalize() for word in name.split("-")) + "Pass"
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert expected in classes, f"{path.name}: no class {expected}"
    assert ast.get_docstring(tree) or ast.get_docstring(classes[expected]), f"{path.name}: nothing says what the pass does"
    assert f'name = "{name}"' in path.read_text(), f"{path.name}: the pass is called {name}"
    test = ROOT / "test" / "filecheck" / "passes" / path.parent.name / f"{name}.mlir"
    assert test.is_file(), f"no {test.relative_to(ROOT)}"


def test_a_filecheck_test_of_passes_is_called_as_what_it_tests():
    names = {path.stem for path in (ROOT / "test" / "filecheck" / "passes").glob("*/*.mlir")}
    assert names - {*PASSES, *PIPELINES} == set()


@pytest.mark.parametrize("folder", DIALECTS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("test", ["ops.mlir", "invalid.mlir"])
def test_a_dialect_has_its_filecheck_tests(folder: Path, test: str):
    assert (ROOT / "test" / "filecheck" / folder.name / test).is_file()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_has_a_short_readme(name: str):
    readme = ROOT / name / "README.md"
    assert readme.is_file()
    assert len(readme.read_text().splitlines()) <= 60


VENDORS = ("xa_type_def.h", "nnlib/xa_nnlib_kernels_api.h")
"""The headers of Cadence's nnlib, for builds with FLAMBEAU_NNLIB."""


def test_the_core_of_the_c_runtime_includes_only_what_it_may():
    allowed = {"stddef.h", "stdint.h", "string.h"}
    found: list[str] = []
    for folder, more in {"include": set[str](), "core": {"stdarg.h"}, "kernels": {"math.h", *VENDORS}}.items():
        for path in files(f"runtime/c/{folder}"):
            if path.name == "simd.h":
                continue  # the one header that names instruction sets
            headers = set(re.findall(r"^\s*#\s*include\s*<([^>]+)>", path.read_text(), flags=re.MULTILINE))
            found += [f"{path.relative_to(ROOT)}: <{header}>" for header in sorted(headers - allowed - more)]
    assert not found


def test_text_is_read_and_written_as_utf_8():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files(*FOLDERS)
        if path.suffix == ".py" and "test" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and opens_text(node) and not any(keyword.arg == "encoding" for keyword in node.keywords)
    ]
    assert not found, "what a file says would depend on the machine: encoding"


def opens_text(call: ast.Call) -> bool:
    """Whether a call opens, reads or writes a file, or talks to a process, as text."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    if name in ("run", "Popen", "check_output"):
        return any(keyword.arg in ("text", "universal_newlines") for keyword in call.keywords)
    if name in ("read_text", "write_text"):
        return isinstance(call.func, ast.Attribute)
    if name not in ("open", "fdopen") or any("b" in mode for mode in modes):
        return False
    return isinstance(call.func, ast.Name) or not call.args or bool(modes)  # others have an `open` of their own


def test_what_the_package_imports_is_what_it_declares():
    project = CONFIGURATION["project"]
    core = packages(project["dependencies"])
    modules = [path for path in files(*FOLDERS) if path.suffix == ".py" and "test" not in path.parts and "backends" not in path.parts]
    used = set(map(canonical, set[str]().union(*map(third_party, modules))))
    lazy = set(
        re.findall(r'"(\w+)"', (ROOT / "src" / "flambeau" / "support" / "lazy.py").read_text())
    )  # modules that are named, not imported
    extras = set[str]().union(*map(packages, project["optional-dependencies"].values()))
    assert used - core - extras == set()
    assert core - used - set(map(canonical, lazy)) == set(), "declared and not used"


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_flambeau_opt_imports_neither_torch_nor_numpy(tmp_path: Path):
    source = tmp_path / "empty.mlir"
    source.write_text("builtin.module {}\n")
    output = run_python(
        "import sys\nfrom flambeau.tools.opt import main\n"
        f"assert main([{str(source)!r}]) == 0\n"
        # A package that stands in sys.modules for later loading has no submodules yet.
        "print('loaded:', *sorted({name.partition('.')[0] for name in sys.modules if '.' in name}))"
    )
    assert "builtin.module" in output
    assert set(output.splitlines()[-1].split()) & {"torch", "numpy", "ml_dtypes", "safetensors", "flatbuffers", "rich", "typer"} == set()


def test_flambeau_opt_imports_the_operators_that_it_reads(tmp_path: Path):
    source = tmp_path / "relu.mlir"
    source.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %y = edge.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n")
    with source.open("a") as file:
        file.write("  %z = edge.view_copy(%y) {size = [2]} : (tensor<2xf32>) -> tensor<2xf32>\n  return %z : tensor<2xf32>\n}\n")
    code = f"import sys\nfrom flambeau.tools.opt import main\nassert main([{str(source)!r}]) == 0\nprint('loaded:', *sys.modules)"
    loaded = run_python(code).splitlines()[-1].split()
    assert "flambeau.dialects.aten.layers.activation" in loaded
    assert [name for name in loaded if "special_functions." in name or "linear_algebra." in name or name.endswith(".complex")] == []


@pytest.mark.parametrize(
    "module", ["flambeau", "flambeau.runtime", "flambeau.runtime.interpreter", "flambeau.passes", "flambeau.tools.opt"]
)
def test_torch_is_not_imported_with(module: str):
    assert run_python(f"import sys, {module}\nprint('torch' in sys.modules)").strip() == "False"


def test_dialects_refuse_to_be_imported_twice():
    result = subprocess.run([sys.executable, "-c", "import dialects"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "import flambeau.dialects" in result.stderr


def test_readme_shows_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


def test_links_in_documents_lead_somewhere():
    broken: list[str] = []
    for path in every_file():
        if path.suffix == ".md":
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text()):
                if not (path.parent / target).exists():
                    broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken


def test_generated_pages_are_fresh():
    for name, page in PAGES.items():
        assert (ROOT / "docs" / name).read_text() == page(), f"docs/{name} is out of date: make docs"
    readme = (ROOT / "README.md").read_text()
    assert with_targets_table(readme) == readme, "the table of targets in README.md is out of date: make docs"
    drawing = runpy.run_path(str(ROOT / "benchmarks" / "latency_chart.py"))
    assert drawing["CHART"].read_text() == drawing["chart"](json.loads(drawing["RECORDED"].read_text())), (
        "docs/assets/latency.svg is out of date: make docs"
    )


def test_commands_in_the_makefile_that_documents_name_exist():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {target for path in every_file() if path.suffix == ".md" for target in re.findall(r"`make ([a-z0-9-]+)", path.read_text())}
    assert named <= targets


def test_entry_points_exist():
    for target in CONFIGURATION["project"]["scripts"].values():
        module, _, function = target.partition(":")
        spec = importlib.util.find_spec(module)
        assert spec and spec.origin, module
        assert f"def {function}(" in Path(spec.origin).read_text() or f"{function} =" in Path(spec.origin).read_text()
