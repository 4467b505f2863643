"""The build of the C runtime: what it makes for which machine."""

import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

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


def test_c_is_compiled_by_the_standard_so_that_gcc_does_not_contract_products_and_sums(tmp_path: Path) -> None:
    configured(tmp_path, "-DFLAMBEAU_TESTS=OFF")
    commands = [item["command"] for item in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert commands and all("-std=c11" in command for command in commands)
    assert not [command for command in commands if re.search("-ffast-math|-Ofast|-ffp-contract|-funsafe", command)]


def test_a_wheel_gets_kernels_for_every_machine_and_an_editable_installation_for_this_one(tmp_path: Path) -> None:
    assert "FLAMBEAU_ARCH:STRING=\n" in configured(tmp_path / "wheel", "-DSKBUILD_STATE=wheel")[1]
    built = [item for item in json.loads((tmp_path / "wheel" / "compile_commands.json").read_text()) if "fl_kernels_" not in item["output"]]
    assert built and not [item for item in built if "-march" in item["command"]]
    assert "FLAMBEAU_ARCH:STRING=native\n" in configured(tmp_path / "editable", "-DSKBUILD_STATE=editable")[1]
    assert "FLAMBEAU_ARCH:STRING=native\n" in configured(tmp_path / "asked", "-DSKBUILD_STATE=wheel", "-DFLAMBEAU_ARCH=native")[1]


def test_the_best_level_of_the_processor_is_taken(tmp_path: Path) -> None:
    options = [
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DFLAMBEAU_ARCH=",
        "-DFLAMBEAU_BACKENDS=",
        "-DFLAMBEAU_KERNELS=aten::relu.out",
    ]
    levels = ["x86-64-v3", "x86-64-v4", "x86-64-v4+vnni"] if platform.machine() == "x86_64" else []
    configured(tmp_path, *options, "-DFLAMBEAU_TESTS=OFF", f"-DFLAMBEAU_LEVELS={';'.join(levels)}")
    subprocess.run([CMAKE, "--build", tmp_path, "--target", "flambeau", "-j", "2"], check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "libflambeau.so"))
    library.fl_kernels_of_level.restype = library.fl_builtin_kernels.restype = ctypes.c_void_p
    level, tables, found = ctypes.c_char_p(), list[int](), list[str]()
    while table := library.fl_kernels_of_level(len(tables), ctypes.byref(level)):
        tables.append(table)
        found.append((level.value or b"").decode())
    # The processor executes all levels up to its best one, and those of the library as a whole.
    own = {"x86_64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}.get(platform.machine(), "")
    assert found == [*reversed(levels[: len(found) - 1]), own]
    assert len(set(tables)) == len(tables) and library.fl_builtin_kernels() == tables[0]
    flags = Path("/proc/cpuinfo").read_text().split() if levels else []
    assert ("x86-64-v3" in found) == ({"avx2", "bmi2", "fma"} <= set(flags))
    assert ("x86-64-v4+vnni" in found) == ("avx512_vnni" in flags and "avx512bw" in flags)


def test_a_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    command = [CMAKE, "-S", SOURCE, "-B", tmp_path, "-DFLAMBEAU_LEVELS=x86-64-v5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and 'FLAMBEAU_LEVELS names "x86-64-v5"; there are x86-64-v3' in done.stderr


def test_a_project_chooses_kernels_and_backends_by_variables(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(app C)\nset(FLAMBEAU_KERNELS aten::linear.out aten::relu.out)\n"
        f'set(FLAMBEAU_BACKENDS "")\nadd_subdirectory({SOURCE.as_posix()} flambeau)\n'
    )
    done = subprocess.run([CMAKE, "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True, text=True)
    assert "flambeau: 2 kernels" in done.stdout
    assert (tmp_path / "build" / "flambeau" / "backend_table.c").read_text().count("fl_backend_") == 0, "no backend was chosen"


ELEMENTWISE = {"spans", "loops", "operands", "divide", "strided", "nest", "dtype"}
"""The files that elementwise kernels share: their operands, and the loops over these."""


@pytest.mark.parametrize(
    ("kernels", "files"),
    [
        ("aten::add.out;aten::sub.out;aten::mul.out", {"arithmetic", *ELEMENTWISE}),
        ("aten::add.out;aten::mul.out;aten::relu.out", {"arithmetic", "activation", *ELEMENTWISE}),
        (
            "aten::linalg_solve_triangular.out;dim_order_ops::_to_dim_order_copy.out;dim_order_ops::_empty_dim_order.out",
            {"linear_systems", "conversion", "creation", *ELEMENTWISE} - {"spans"},
        ),
        ("aten::_linalg_eigh.eigenvalues", {"symmetric", *ELEMENTWISE} - {"spans"}),
    ],
)
def test_only_the_files_that_chosen_kernels_need_are_built(kernels: str, files: set[str], tmp_path: Path) -> None:
    options = ["-DFLAMBEAU_BACKENDS=", "-DFLAMBEAU_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,defs"]
    configured(tmp_path, "-DCMAKE_SYSTEM_NAME=Linux", f"-DFLAMBEAU_KERNELS={kernels}", *options)
    commands = [Path(item["file"]) for item in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert {path.stem for path in commands if path.parent == SOURCE / "kernels"} == files
    # Nothing that they call is missing.
    subprocess.run([CMAKE, "--build", tmp_path, "--target", "flambeau", "-j", "2"], check=True, capture_output=True)


def chosen_kernels(folder: Path, *options: str) -> set[str]:
    """The operators in the table of a build."""
    configured(folder, *options)
    return set(re.findall(r'^  \{"([^"]+)"', (folder / "kernel_table.c").read_text(), re.MULTILINE))


def test_a_device_gets_the_groups_of_most_models_and_this_machine_all(tmp_path: Path) -> None:
    device = chosen_kernels(tmp_path / "device", "-DCMAKE_SYSTEM_NAME=Generic")
    assert {"aten::add.out", "aten::_softmax.out", "flambeau::weight_only_linear.out"} <= device
    assert chosen_kernels(tmp_path / "host") - device >= {"aten::_linalg_svd.U", "aten::rand.out", "aten::_fft_c2c.out"}


def test_operators_are_added_to_groups(tmp_path: Path) -> None:
    random = chosen_kernels(tmp_path, "-DFLAMBEAU_GROUPS=random")
    assert {"aten::rand.out", "aten::randn.out"} <= random and len(random) < 10
    assert chosen_kernels(tmp_path, "-DFLAMBEAU_GROUPS=random", "-DFLAMBEAU_KERNELS=aten::relu.out") == random | {"aten::relu.out"}
    assert chosen_kernels(tmp_path, "-DFLAMBEAU_GROUPS=", "-DFLAMBEAU_KERNELS=aten::relu.out") == {"aten::relu.out"}
    refused = subprocess.run([CMAKE, "-S", SOURCE, "-B", tmp_path, "-DFLAMBEAU_GROUPS=rnd"], capture_output=True, text=True)
    assert refused.returncode and 'FLAMBEAU_GROUPS names "rnd", which no .def file has; there are' in " ".join(refused.stderr.split())


def test_what_needs_a_group_that_was_left_out_is_told_its_name(tmp_path: Path) -> None:
    options = ["-DFLAMBEAU_GROUPS=special", "-DFLAMBEAU_BACKENDS=", "-DFLAMBEAU_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    assert all("special_" in name or "erfc" in name for name in chosen_kernels(tmp_path, *options))
    subprocess.run([CMAKE, "--build", tmp_path, "--target", "flambeau", "flambeau-run", "-j", "2"], check=True, capture_output=True)
    program = SOURCE / "test" / "programs" / "linear.pte"
    ran = subprocess.run([tmp_path / "flambeau-run", program], capture_output=True, text=True)
    told = (
        "method 'forward' calls operators that this runtime does not have: aten::permute_copy.out (group base), "
        "aten::addmm.out (group nn), aten::relu.out (group nn); FLAMBEAU_GROUPS of its build leaves these groups out\n"
    )
    assert (ran.returncode, ran.stderr) == (4, f"flambeau-run: {program}: {told}")
    script = (
        "import sys; from flambeau.runtime import FlambeauError, Runtime; from flambeau.runtime.binding.library import CRequirements\n"
        "program = Runtime.get().load_program(sys.argv[1]); meta = program.metadata(); meta._measure(CRequirements())\n"
        "print(meta._error.text.decode())\n"
        "try: program.load_method('forward')\nexcept FlambeauError as error: print(error)"
    )
    environment = os.environ | {"FLAMBEAU_LIBRARY": str(next(tmp_path.glob("libflambeau.[sd]*")))}
    loaded = subprocess.run([sys.executable, "-c", script, program], check=True, capture_output=True, text=True, env=environment)
    assert loaded.stdout == told * 2


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C runtime with its backends, and one more."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(SOURCE, root / "runtime" / "c")
    for folder in (SOURCE.parents[1] / "backends").glob("*/runtime"):
        shutil.copytree(folder, root / "backends" / folder.parent.name / "runtime")
    (root / "backends" / "novel" / "runtime").mkdir(parents=True)
    text = (
        '#include "flambeau/backend.h"\n\nextern const fl_backend fl_backend_novel;\nconst fl_backend fl_backend_novel = {.id = "Novel"};\n'
    )
    (root / "backends" / "novel" / "runtime" / "novel.c").write_text(text)
    return root


def flags(tree: Path, chosen: str) -> list[str]:
    """The options that build one backend of a tree, or none."""
    names = sorted(path.parent.name for path in (tree / "backends").glob("*/runtime"))
    return [f"-DFLAMBEAU_BACKEND_{name.upper()}={'ON' if name == chosen else 'OFF'}" for name in names]


def test_a_flag_decides_over_the_files_of_its_backend(tree: Path) -> None:
    build = tree / "build"
    for chosen in ["", *sorted(path.parent.name for path in (tree / "backends").glob("*/runtime"))]:
        subprocess.run([CMAKE, "-S", tree / "runtime" / "c", "-B", build, *flags(tree, chosen)], check=True, capture_output=True)
        files = [Path(item["file"]) for item in json.loads((build / "compile_commands.json").read_text())]
        inside = {path.relative_to(tree / "backends").parts[0] for path in map(Path.resolve, files) if tree / "backends" in path.parents}
        assert inside == ({chosen} if chosen else set())
        assert (build / "backend_table.c").read_text().count("&fl_backend_") == len(inside)


KERNELS = "-DFLAMBEAU_KERNELS=aten::permute_copy.out;aten::addmm.out;aten::relu.out"
"""Those of `linear.pte`."""


def test_without_any_backend_a_program_runs(tree: Path) -> None:
    build = tree / "without"
    settings = ["-DFLAMBEAU_ARCH=", "-DCMAKE_BUILD_TYPE=Debug", "-DFLAMBEAU_TESTS=OFF", "-DFLAMBEAU_GROUPS=", KERNELS, *flags(tree, "")]
    subprocess.run([CMAKE, "-S", tree / "runtime" / "c", "-B", build, *settings], check=True, capture_output=True)
    subprocess.run([CMAKE, "--build", build, "--target", "flambeau-run", "-j", "2"], check=True, capture_output=True)
    sized = subprocess.run([CMAKE, "--build", build, "--target", "size"], check=True, capture_output=True, text=True)
    parts = re.findall(r"^\d+\t(\w+)$", sized.stdout + sized.stderr, re.MULTILINE)
    own = [part for part in parts if not part.startswith("cortex_m4")]  # where there is a compiler for it
    assert own == ["trusted", "core", "trusted_numbers", "core_numbers", "kernels"], "kernels that are named one by one are no group"
    functions = [int(size) for size in re.findall(r"^(\d+)\tcore_numbers\tfl_\w+$", sized.stdout + sized.stderr, re.MULTILINE)]
    assert len(functions) > 50 and functions == sorted(functions, reverse=True), "each function of the core has a line"

    programs = tree / "runtime" / "c" / "test" / "programs"
    np.save(tree / "x.npy", np.ones((2, 8), "float32"))
    command = [build / "flambeau-run", programs / "linear.pte", "--input", tree / "x.npy", "--output", tree / "y.npy"]
    subprocess.run(command, check=True, capture_output=True)
    assert np.load(tree / "y.npy").shape == (2, 4)
    refused = subprocess.run([build / "flambeau-run", programs / "delegate.pte"], capture_output=True, text=True)
    assert refused.returncode and refused.stderr.rstrip().endswith("needs backend 'Test', which this runtime does not have")


def sections(source: str, folder: Path, *options: str) -> dict[str, int]:
    """The sizes of the functions in the executor, made of this text and built for size."""
    (folder / "execute.c").write_text(source)
    command = ["cc", "-std=c11", "-Os", "-ffunction-sections", "-fno-asynchronous-unwind-tables", *options]
    made = folder / "execute.o"
    subprocess.run([*command, "-I", SOURCE, "-I", SOURCE / "include", "-c", folder / "execute.c", "-o", made], check=True)
    table = subprocess.run(["size", "-A", made], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in table.splitlines() if line.startswith((".text", ".data", ".bss"))]
    return {name: int(size) for name, size, _ in rows}


def test_the_hook_takes_no_byte_where_it_is_left_out(tmp_path: Path) -> None:
    source = (SOURCE / "core" / "execute.c").read_text()
    without = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("fl_tell("))
    assert source.count("\n") - without.count("\n") > 4
    bare, left_out, there = (
        sections(without, tmp_path, "-DFL_NO_HOOK"),
        sections(source, tmp_path, "-DFL_NO_HOOK"),
        sections(source, tmp_path),
    )
    assert left_out == bare
    assert sum(there.values()) > sum(left_out.values())
