"""Plug-ins that installed packages bring: found once a name is unknown."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flambeau.plugins.loader import plugin_scope

MARK = """
from dataclasses import dataclass
from xdsl.dialects.builtin import UnitAttr
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class MarkPass(ModulePass):
    name = "mark"
    text: str = "marked"

    def apply(self, ctx, op):
        op.attributes[self.text] = UnitAttr()
"""


ROW = (
    "from flambeau import row\nfrom flambeau.dialects.schema.row import SchemaOp\n"
    "@row({!r}, {!r}, {!r})\nclass MyOp(SchemaOp):\n    'Mine.'\n    infer = staticmethod(lambda x: x)\n"
)


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with plugin_scope():
        yield


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with an installed package that offers four plug-ins, of which one is broken."""
    site = tmp_path / "site"
    write(site, "acme/__init__.py", "")
    write(site, "acme/passes.py", MARK.replace('"mark"', '"acme-mark"'))
    write(site, "acme/broken.py", "1 / 0\n")
    write(site, "acme/ops.py", ROW.format("acme", "acme", "same(Tensor x) -> Tensor"))
    write(
        site,
        "acme/things.py",
        "from flambeau.passes.targets.interface import Target\nTHING = Target('acme', frozenset({'aten::add.out'}))\n",
    )
    write(site, "acme-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    points = "[flambeau.plugins]\npasses = acme.passes\nops = acme.ops\nbroken = acme.broken\ntarget = acme.things:THING\n"
    write(site, "acme-1.2.dist-info/entry_points.txt", points)
    return site


def python(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", f"import sys\nfrom flambeau.tools.opt.driver import main\n{code}"]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, cwd=site, capture_output=True, text=True, check=False)


def test_installed_plugins_are_found_when_a_name_is_unknown(installed: Path):
    write(installed, "x.mlir", "builtin.module {}\n")
    found = python(
        installed, "main(['x.mlir', '-p', 'acme-mark'])\nfrom flambeau.passes.targets.interface import find_target\nfind_target('acme')"
    )
    assert (found.returncode, found.stderr) == (0, "") and "marked" in found.stdout
    named = python(installed, "from flambeau.passes.kit import op\nprint(op('acme.same').name)")
    assert named.stdout == "acme.same\n", named.stderr
    write(installed, "y.mlir", "func.func @f(%x: tensor<f32>) {\n  %0 = acme.same(%x) : (tensor<f32>) -> tensor<f32>\n  func.return\n}\n")
    parsed = python(installed, "main(['y.mlir'])")
    assert "acme.same(%x)" in parsed.stdout, parsed.stderr
    missing = python(installed, "main(['x.mlir', '-p', 'acme-marc'])")
    assert "there is no pass or pipeline 'acme-marc'; did you mean 'acme-mark'?" in missing.stderr
    assert "; the installed plug-in broken (acme 1.2) could not be loaded (ZeroDivisionError: division by zero)" in missing.stderr
    as_option = python(installed, "main(['x.mlir', '--acme-mark'])")
    assert "marked" in as_option.stdout, as_option.stderr
    write(installed, "z.mlir", '"broken.op"() : () -> ()\n')
    unknown = python(installed, "main(['z.mlir'])")
    assert "there is no dialect 'broken'" in unknown.stderr and "; the installed plug-in broken (acme 1.2) could not" in unknown.stderr
    listed = python(installed, "main(['--list-plugins'])")
    assert "error: the installed plug-in broken (acme 1.2) could not be loaded" in listed.stderr and listed.returncode == 1
    assert "passes (acme 1.2):\n  pass 'acme-mark'\n" in listed.stdout and "target (acme 1.2):\n  target 'acme'\n" in listed.stdout


def test_installed_plugins_cost_nothing_when_every_name_is_known(installed: Path):
    write(
        installed,
        "x.mlir",
        "func.func @f(%x: tensor<2xf32>) {\n  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n  func.return\n}\n",
    )
    result = python(
        installed, "main(['x.mlir', '-p', 'canonicalize,plan'])\nprint('acme' in sys.modules, 'importlib.metadata' in sys.modules)"
    )
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "False False"), result.stderr


BACKEND = """
from dataclasses import replace

import acme
from flambeau.backends.elementwise import BACKEND

BACKEND = replace(BACKEND, name="zoo", identifier="ZooBackend")
"""
RELU = "func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"


@pytest.fixture
def zoo(installed: Path) -> Path:
    """The same, and a package that offers a backend, whose name comes last."""
    write(installed, "zoo/__init__.py", BACKEND)
    write(installed, "zoo-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: zoo\nVersion: 1\n")
    write(installed, "zoo-1.dist-info/entry_points.txt", "[flambeau.plugins]\nzoo = zoo\n")
    return installed


def test_the_folder_of_an_installed_backend_is_found(zoo: Path):
    code = "from flambeau.passes.delegation.interface import find_backend\nfrom flambeau.tools.conformance.readme_check import folder_of\n"
    found = python(zoo, f"{code}find_backend('zoo')\nprint(folder_of('zoo'))")
    assert found.stdout == f"{zoo / 'zoo'}\n", found.stderr


def test_a_program_is_loaded_with_the_backends_of_installed_packages(zoo: Path):
    write(zoo, "x.mlir", f"{RELU}  func.return %0 : tensor<2xf32>\n}}\n")
    compile_it = "from flambeau.tools.main import main\nmain(['compile', 'x.mlir', '--backend', 'zoo{least=1}'])"
    compiled = python(zoo, compile_it)
    assert compiled.returncode == 0, compiled.stderr
    load = (
        "from flambeau.runtime import FlambeauError, Runtime\n"
        "try:\n    Runtime.get().load_program('x.pte'{}).load_method()\n"
        "except FlambeauError as error:\n    print(error, 'zoo' in sys.modules)"
    )
    # The package has no part of the C runtime, but it was asked for one.
    told = python(zoo, load.format(""))
    assert told.stdout == "method 'forward' needs backend 'ZooBackend', which this runtime does not have True\n", told.stderr
    told = python(zoo, load.format(", backend_options={'zoo': {}}"))
    assert told.stdout.startswith("there is no backend 'zoo'; there are ") and told.stdout.endswith(" True\n"), told.stderr
