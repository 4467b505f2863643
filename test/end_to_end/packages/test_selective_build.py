"""Libraries with only what programs need: the command that lists it, and a project of CMake whose program is linked with one."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from flambeau.compiler.called_kernels import Selection
from flambeau.runtime import pte
from flambeau.runtime.manifest import kernel_rows, table_source
from flambeau.tools.main import main

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = Path(sysconfig.get_path("scripts"))
PROGRAMS = ROOT / "runtime" / "c" / "test" / "programs"
LINEAR = PROGRAMS / "linear.pte"
OPERATORS = {"aten::permute_copy.out", "aten::addmm.out", "aten::relu.out"}

APPLICATION = """
#include <stdio.h>
#include <string.h>

#include "flambeau/runtime.h"

static _Alignas(64) unsigned char file[16384], records[16384], scratch[65536], arena[16384];

int main(int argc, char **argv) {
  fl_program program;
  fl_method method;
  fl_error error;
  FILE *stream = fopen(argv[argc - 1], "rb");
  const size_t size = stream == NULL ? 0 : fread(file, 1, sizeof file, stream);
  void *arenas[1] = {arena};
  const size_t sizes[1] = {sizeof arena};
  const fl_memory memory = {records, sizeof records, arenas, sizes, 1, scratch, sizeof scratch, 0};
  float x[16];
  int32_t shape[2] = {2, 8};
  fl_tensor tensor = {.data = x, .sizes = shape, .rank = 2, .dtype = FL_FLOAT32};
  const fl_value input = {.as.tensor = &tensor, .tag = FL_TENSOR};
  for (int i = 0; i < 16; ++i) {
    x[i] = 1;
  }
  if (fl_program_load(&program, file, size, &error) != FL_OK || fl_method_init(&method, &program, 0, NULL, &memory, &error) != FL_OK ||
      fl_method_set_input(&method, 0, &input, &error) != FL_OK || fl_method_execute(&method, &error) != FL_OK) {
    fputs(error.text, stderr);
    return 1;
  }
  return fwrite(fl_method_output(&method, 0)->as.tensor->data, sizeof(float), 8, stdout) != 8;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(application C)
include("{runtime}/cmake/flambeau_generate.cmake")
add_executable(application application.c)
flambeau_generate(TARGET application PROGRAMS {programs})
"""


def configured(folder: Path, programs: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What CMake says of a project with programs."""
    (folder / "application.c").write_text(APPLICATION)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(runtime=(ROOT / "runtime" / "c").as_posix(), programs=programs))
    command = [SCRIPTS / "cmake", "-S", folder, "-B", folder / "build", f"-DFLAMBEAU_COMMAND={SCRIPTS / 'flambeau'}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def built(folder: Path, *options: str) -> Path:
    """The program of a project that runs `linear.pte`, compiled without optimization, which is quick."""
    shutil.copy(LINEAR, folder / "model.pte")
    done = configured(folder, "model.pte", "-DCMAKE_BUILD_TYPE=Debug", *options)
    assert done.returncode == 0, done.stderr
    subprocess.run([SCRIPTS / "cmake", "--build", folder / "build", "-j", "2"], check=True, capture_output=True)
    return folder / "build" / "application"


def functions(program: Path, nm: str = "nm") -> set[str]:
    """The functions that are linked into a program."""
    return set(re.findall(r" [tT] (\w+)$", subprocess.run([nm, program], check=True, capture_output=True, text=True).stdout, re.MULTILINE))


EVERY_KERNEL = {row.run for row in kernel_rows().values()}
CALLED = {kernel_rows()[name].run for name in OPERATORS}


def test_a_program_is_linked_with_its_kernels_alone_and_runs(tmp_path: Path) -> None:
    application = built(tmp_path)
    # A kernel may be another's: what the called ones do not reach is not there.
    assert CALLED <= functions(application) & EVERY_KERNEL <= CALLED | {"fl_copy_out"}
    ran = subprocess.run([application, LINEAR], check=True, capture_output=True)
    assert np.isfinite(np.frombuffer(ran.stdout, np.float32)).all()
    other = subprocess.run([application, PROGRAMS / "add.pte"], capture_output=True, text=True, check=False)
    assert other.returncode == 1 and "calls operators that this runtime does not have: aten::add.out" in other.stderr
    # Another program in that file is another library at the next build.
    shutil.copy(PROGRAMS / "add.pte", tmp_path / "model.pte")
    subprocess.run([SCRIPTS / "cmake", "--build", tmp_path / "build", "-j", "2"], check=True, capture_output=True)
    assert "fl_add_out" in functions(application) and not functions(application) & CALLED


MACHINES = [name for name in ("aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu") if shutil.which(f"{name}-gcc")]
"""For which there is a compiler."""


@pytest.mark.parametrize("machine", MACHINES[:1])
def test_another_machine_gets_the_same_kernels(machine: str, tmp_path: Path) -> None:
    application = built(tmp_path, "-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_C_COMPILER={machine}-gcc")
    assert CALLED <= functions(application, f"{machine}-nm") & EVERY_KERNEL <= CALLED | {"fl_copy_out"}


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ("none.pte", r"no such file: \S*none\.pte"),
        ("CMakeLists.txt", r"CMakeLists\.txt: not a \.pte program"),
        ("damaged.pte", r"damaged\.pte: "),
        ("unknown.pte", r"unknown\.pte: the runtime has no kernel of mine::add\.out"),
        (f"{(PROGRAMS / 'delegate.pte').as_posix()}", r"no installed backend has the identifier 'Test'"),
        ("", "flambeau_generate takes TARGET name PROGRAMS files"),
    ],
)
def test_a_program_that_cannot_be_part_of_the_build_is_named(programs: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "damaged.pte").write_bytes(LINEAR.read_bytes()[:400])
    (tmp_path / "unknown.pte").write_bytes((PROGRAMS / "add.pte").read_bytes().replace(b"aten::add", b"mine::add"))
    done = configured(tmp_path, programs)
    assert done.returncode and re.search(message, " ".join(done.stderr.split())), done.stderr


def test_the_list_has_operators_types_layouts_and_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", str(LINEAR), str(PROGRAMS / "delegate.pte"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["operators"]) == OPERATORS and report["backends"] == ["Test"]
    assert report["dtypes"] == "all", "a backend may call kernels with any type"
    matrix = {"dtype": "float32", "layout": [0, 1]}
    assert report["operators"]["aten::relu.out"] == [{"tensors": [matrix, matrix], "calls": 1}]
    assert main(["kernels", str(LINEAR)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"aten::relu\.out +float32\[0,1\] float32\[0,1\] +1", shown) and shown.endswith(
        "element types: float32\nbackends: none\n"
    )


def _compile(table: Path) -> None:
    """Compiles a table of kernels without a warning."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "runtime" / "c" / "include"]
    subprocess.run(["cc", *flags, "-c", table, "-o", table.with_suffix(".o")], check=True)


def test_the_source_for_c_is_a_table_of_the_called_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.c"
    assert main(["kernels", str(LINEAR), "--format", "c", "-o", str(table)]) == 0
    assert set(re.findall(r'^  \{"([^"]+)"', table.read_text(), re.MULTILINE)) == OPERATORS
    _compile(table)
    os.utime(table, (0, 0))
    assert main(["kernels", str(LINEAR), "--format", "c", "-o", str(table)]) == 0
    assert table.stat().st_mtime == 0, "what has not changed is not written, so that nothing is compiled again"
    assert main(["kernels", str(LINEAR), "--format", "make"]) == 1
    assert "the formats are table, cmake, c" in capsys.readouterr().err


SKETCH = """
#include <Flambeau.h>
#include <stdio.h>

alignas(64) static unsigned char records[16384], scratch[65536], arena[16384];

int main() {
  fl_program program;
  fl_method method;
  fl_error error;
  void *const arenas[1] = {arena};
  const size_t sizes[1] = {sizeof arena};
  const fl_memory memory = {records, sizeof records, arenas, sizes, 1, scratch, sizeof scratch, 0};
  if (fl_program_load(&program, model_program, sizeof model_program, &error) != FL_OK ||
      fl_method_init(&method, &program, 0, nullptr, &memory, &error) != FL_OK) {
    puts(error.text);
    return 1;
  }
  puts(fl_program_method_name(&program, 0));
  return 0;
}
"""


def test_a_library_for_arduino_is_compiled_as_its_builder_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(LINEAR, tmp_path / "model.pte")
    library = tmp_path / "library"
    command = ["kernels", str(tmp_path / "model.pte"), "--format", "arduino", "-o", str(library)]
    assert main(command) == 0
    assert re.search(r"^includes=Flambeau\.h$", (library / "library.properties").read_text(), re.MULTILINE)
    (tmp_path / "sketch.cpp").write_text(SKETCH)
    objects = [str(tmp_path / "sketch.o")]
    subprocess.run(["c++", "-std=gnu++17", "-I", library / "src", "-c", tmp_path / "sketch.cpp", "-o", objects[0]], check=True)
    for source in sorted((library / "src").rglob("*.c")):
        objects.append(f"{source}.o")
        flags = ["-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections"]
        subprocess.run(["cc", *flags, "-I", library / "src", "-c", source, "-o", objects[-1]], check=True)
    subprocess.run(["c++", *objects, "-Wl,--gc-sections", "-lm", "-o", tmp_path / "sketch"], check=True)
    assert subprocess.run([tmp_path / "sketch"], check=True, capture_output=True, text=True).stdout == "forward\n"
    assert CALLED <= functions(tmp_path / "sketch") & EVERY_KERNEL <= CALLED | {"fl_copy_out"}
    assert main(command) == 0 and not list(library.rglob("*.o")), "it is written anew"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sketch.ino").touch()
    for wrong, message in ((["-o", str(tmp_path / "mine")], "mine has other files: name a new folder"), ([], "name one with -o")):
        assert main([*command[:4], *wrong]) == 1
        assert message in capsys.readouterr().err
    assert main(["kernels", str(PROGRAMS / "delegate.pte"), "--format", "arduino", "-o", str(library)]) == 1
    assert "a library for Arduino has no backends, and the programs call Test" in capsys.readouterr().err
    shutil.copy(LINEAR, tmp_path / "mine" / "model.pte")
    assert main([*command, str(tmp_path / "mine" / "model.pte")]) == 1
    assert "two of the programs have one name" in capsys.readouterr().err


ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(zephyr C)
# What Zephyr's own CMake has made when it reads modules: the flags of all code, and the library of the application.
add_library(zephyr_interface INTERFACE)
target_compile_definitions(zephyr_interface INTERFACE IN_ZEPHYR)
add_library(app STATIC application.c)
set(CONFIG_FLAMBEAU y)
set(CONFIG_FLAMBEAU_NUMBERS y)
add_subdirectory("{module}" module)
# The application's.
flambeau_generate(TARGET app PROGRAMS model.pte)
# Zephyr's again.
file(WRITE ${{CMAKE_BINARY_DIR}}/empty.c "")
add_executable(zephyr ${{CMAKE_BINARY_DIR}}/empty.c)
target_link_libraries(zephyr PRIVATE app)
"""


def test_the_module_for_zephyr_compiles_with_its_flags(tmp_path: Path) -> None:
    """Against what Zephyr's CMake makes for modules: Zephyr itself is not there."""
    module = ROOT / "runtime" / "c" / "zephyr"
    keys = dict(line.strip().split(": ") for line in (module / "module.yml").read_text().splitlines() if ": " in line)
    assert (module.parent / keys["cmake"] / "CMakeLists.txt").is_file() and (module.parent / keys["kconfig"]).is_file()
    assert set(re.findall(r"CONFIG_(\w+)", (module / "CMakeLists.txt").read_text())) == set(
        re.findall(r"^config (\w+)$", (module / "Kconfig").read_text(), re.MULTILINE)
    )
    shutil.copy(LINEAR, tmp_path / "model.pte")
    (tmp_path / "application.c").write_text(APPLICATION)
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR.format(module=module.as_posix()))
    options = ["-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_BUILD_TYPE=Debug", f"-DFLAMBEAU_COMMAND={SCRIPTS / 'flambeau'}"]
    subprocess.run([SCRIPTS / "cmake", "-S", tmp_path, "-B", tmp_path / "build", *options], check=True, capture_output=True)
    subprocess.run([SCRIPTS / "cmake", "--build", tmp_path / "build", "-j", "2"], check=True, capture_output=True)
    built = [path for path in (tmp_path / "build").glob("**/flags.make") if "flambeau" in str(path) or "fl_core" in str(path)]
    used = {path.parent.name for path in built if "IN_ZEPHYR" in path.read_text()}
    assert {"fl_core.dir", "app_flambeau_kernels.dir"} <= used
    linked = tmp_path / "build" / "zephyr"
    assert CALLED <= functions(linked) & EVERY_KERNEL <= CALLED | {"fl_copy_out"}
    ran = subprocess.run([linked, PROGRAMS / "add.pte"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and re.match(r"#\d+", ran.stderr), "errors are numbers"


def test_no_kernel_at_all_is_a_table_too(tmp_path: Path) -> None:
    (tmp_path / "table.c").write_text(table_source([]))
    _compile(tmp_path / "table.c")


def test_an_operator_of_ones_own_is_left_to_the_application(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "unknown.pte"
    program.write_bytes((PROGRAMS / "add.pte").read_bytes().replace(b"aten::add", b"mine::add"))
    assert main(["kernels", str(program), "--format", "cmake"]) == 1
    assert "a kernel of your own is named with --own" in capsys.readouterr().err
    name = next(iter(json.loads(_printed(["kernels", str(program), "--json", "--own", "mine::add.out"], capsys))["operators"]))
    assert 'set(FLAMBEAU_GROUPS "none")' in _printed(["kernels", str(program), "--format", "cmake", "--own", name], capsys)
    assert main(["kernels", str(LINEAR), "--own", "aten::relu.ou"]) == 1
    assert "did you mean 'aten::relu.out'?: no program calls it" in capsys.readouterr().err


def _printed(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("tensors", "computed"),
    [
        (["float32"], {"float32"}),
        (["float16"], {"float16", "float32"}),
        (["bool", "float32"], {"bool", "float32", "int64"}),
        (["int8", "uint8"], {"int8", "uint8", "int16", "int64", "float32"}),
        (["int16", "uint16"], {"int16", "uint16", "int32", "int64", "float32"}),
    ],
)
def test_kernels_compute_with_what_type_promotion_makes(tensors: list[str], computed: set[str]) -> None:
    assert set(Selection(tensors=set(tensors)).dtypes() or ()) == computed


def test_an_empty_program_needs_float32_alone() -> None:
    selection = Selection()
    selection.add(pte.Program((pte.ExecutionPlan("forward"),)))
    assert (selection.operators, selection.dtypes()) == ({}, ("float32",))
