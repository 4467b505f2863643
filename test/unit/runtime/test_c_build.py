"""The build of the C runtime: what it makes for which machine."""

import os
import subprocess
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "runtime" / "c"
CMAKE = Path(sysconfig.get_path("scripts")) / "cmake"


def configured(folder: Path, *options: str) -> tuple[str, str]:
    """The build's targets and its cache."""
    environment = {name: value for name, value in os.environ.items() if name != "CFLAGS"}  # which may name instructions
    subprocess.run([CMAKE, "-S", SOURCE, "-B", folder, *options], check=True, capture_output=True, env=environment)
    targets = subprocess.run([CMAKE, "--build", folder, "--target", "help"], check=True, capture_output=True, text=True).stdout
    return targets, (folder / "CMakeCache.txt").read_text()


def test_a_machine_without_a_system_gets_the_static_library_alone(tmp_path: Path) -> None:
    targets, cache = configured(tmp_path, "-DCMAKE_SYSTEM_NAME=Generic")
    assert "flambeau_static" in targets
    assert not {"flambeau", "flambeau-run", "value_test", "fuzz"} & {line.removeprefix("... ") for line in targets.splitlines()}
    assert "FLAMBEAU_ARCH:STRING=\n" in cache


def test_another_machine_with_a_system_gets_all_of_it_but_not_for_this_ones_instructions(tmp_path: Path) -> None:
    targets, cache = configured(tmp_path, "-DCMAKE_SYSTEM_NAME=Linux")
    assert {"flambeau", "flambeau-run", "value_test"} <= {line.removeprefix("... ") for line in targets.splitlines()}
    assert "FLAMBEAU_ARCH:STRING=\n" in cache


def test_this_machine_gets_kernels_for_its_instructions(tmp_path: Path) -> None:
    assert "FLAMBEAU_ARCH:STRING=native\n" in configured(tmp_path)[1]


def test_a_project_chooses_kernels_and_backends_by_variables(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(app C)\nset(FLAMBEAU_KERNELS aten::linear.out aten::relu.out)\n"
        f'set(FLAMBEAU_BACKENDS "")\nadd_subdirectory({SOURCE.as_posix()} flambeau)\n'
    )
    done = subprocess.run([CMAKE, "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True, text=True)
    assert "flambeau: 2 kernels" in done.stdout
    assert (tmp_path / "build" / "flambeau" / "backend_table.c").read_text().count("fl_backend_") == 0, "no backend was chosen"
