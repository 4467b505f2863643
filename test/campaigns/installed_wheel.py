"""Builds the wheel, installs it in an empty environment where no compiler is found, and runs the commands there.

    python test/campaigns/installed_wheel.py --extra torch --extra peer

A project in C++ that finds the package is compiled outside of it. Without extras it takes three minutes. With `torch`, the README's first
program runs too. With `peer`, so does a program for XNNPACK, with the library of the package executorch. Programs to run are compiled in
the environment that this script runs in.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = """\
import torch


def make():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval(), (torch.ones(1, 4),)
"""
MODULE = (ROOT / "passes" / "transforms" / "examples" / "cse.mlir").read_text().partition("// -----")[0]
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(application CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(flambeau REQUIRED)
add_executable(found main.cpp)
target_link_libraries(found PRIVATE flambeau::flambeau_static)
add_executable(made main.cpp)
flambeau_generate(TARGET made PROGRAMS PROGRAM)
"""
APPLICATION = """\
#include <flambeau/flambeau.hpp>

int main(int, char **argv) {
  return flambeau::Module(argv[1]).forward(flambeau::make_tensor_ptr({1, 4}, {1.0f, 2.0f, 3.0f, 4.0f})).ok() ? 0 : 1;
}
"""
COMPILERS = ("cc", "gcc", "clang", "c99", "cmake", "ninja", "make", "ld")


def first_program() -> str:
    """Returns the first block of Python in the README."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    return block[1]


class Installed:
    """An environment with the wheel, and a folder to run its commands in."""

    def __init__(self, folder: Path, extras: list[str]):
        self.folder = folder
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
        subprocess.run(pip, check=True)
        wheel = next(folder.glob("*.whl"))
        print(f"wheel: {wheel.name}, {wheel.stat().st_size} bytes")
        venv.create(folder / "venv", with_pip=True)
        self.scripts = folder / "venv" / "bin"
        requirement = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        subprocess.run([self.scripts / "pip", "install", "--quiet", requirement], check=True)
        self.environment = {"PATH": str(self.scripts), "HOME": str(folder), "LANG": "C.UTF-8"}
        found = [name for name in COMPILERS if shutil.which(name, path=self.environment["PATH"])]
        assert not found, f"there are compilers: {found}"

    def run(self, *command: str, stdin: str | None = None) -> str:
        """Runs a command with only the environment's own programs on the PATH; returns what it printed."""
        result = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        shown = " ".join(command).partition("\n")[0]
        print(f"{'passed' if result.returncode == 0 else 'FAILED'}: {shown}", flush=True)
        if result.returncode != 0:
            raise SystemExit(result.stderr)
        return result.stdout

    def find_package(self, program: Path) -> None:
        """Builds a project in C++ that finds the package by the CMake and the compilers of this machine, and runs a program."""
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT.replace("PROGRAM", program.as_posix()))
        (project / "main.cpp").write_text(APPLICATION)
        prefix = next(self.folder.glob("venv/lib/*/site-packages"))
        command = ["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        environment.pop("VIRTUAL_ENV", None)
        for step in (
            command,
            ["cmake", "--build", project / "build"],
            *([project / "build" / name, program] for name in ("found", "made")),
        ):
            subprocess.run(step, check=True, env=environment, stdout=subprocess.DEVNULL)
        cache = (project / "build" / "CMakeCache.txt").read_text()
        assert f"FLAMBEAU_COMMAND:FILEPATH={self.scripts / 'flambeau'}" in cache, "the command beside the package makes the list"
        print("passed: find_package(flambeau)", flush=True)


def main() -> None:
    """Builds, installs and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extra", action="append", default=[], choices=["torch", "peer", "openvino"], help="a group of packages to install"
    )
    extras: list[str] = parser.parse_args().extra
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "model.py").write_text(MODEL)
        backends = [name for group, name in (("peer", "xnnpack"), ("openvino", "openvino")) if group in extras]
        programs = {"executorch": ("--target", "executorch"), "flambeau": ("--target", "flambeau")}
        programs |= {name: ("--target", "flambeau", "--backend", name) for name in backends}
        for name, options in programs.items():
            command = [Path(sys.executable).parent / "flambeau", "compile", "model.py:make", "-o", f"{name}.pte", *options]
            subprocess.run(command, cwd=folder, env=os.environ, check=True, capture_output=True)
        installed = Installed(folder, extras)
        installed.run("python", "-c", "import numpy; numpy.save('x.npy', numpy.ones((1, 4), 'float32'))")
        assert installed.run("flambeau-opt", "-", "-p", "cse", stdin=MODULE).count("core.relu") == 1
        for name in programs:
            assert "float32 [1, 2]" in installed.run("flambeau", "run", f"{name}.pte", "--input", "x.npy")
        for command in ("inspect", "profile", "size", "kernels"):
            installed.run("flambeau", command, "flambeau.pte")
        installed.run("flambeau", "compile", "flambeau.pte", "--emit", "c", "-o", "net")
        assert "linear.c" in {path.name for path in (folder / "net").rglob("kernels/*.c")}
        installed.find_package(folder / "flambeau.pte")
        installed.run("flambeau-run", "flambeau.pte", "--input", "x.npy")
        installed.run("flambeau", "env")
        installed.run("flambeau", "new", "pass", "my-pass")
        installed.run("flambeau", "test-backend", "elementwise", "--graphs", "2")
        if "torch" in extras:
            installed.run("python", "-c", first_program())
            installed.run("flambeau", "report", "model.py:make", "-o", "model.html")


if __name__ == "__main__":
    main()
