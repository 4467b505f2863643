"""A project in C++ that finds an installation of the runtime, and runs a program with the names of ExecuTorch's Module."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from flambeau.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = Path(sysconfig.get_path("scripts"))
PROGRAMS = ROOT / "runtime" / "c" / "test" / "programs"
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(application CXX)
find_package(flambeau 0.1 REQUIRED)
foreach(kind flambeau flambeau_static)
  add_executable(with_${kind} application.cpp)
  target_link_libraries(with_${kind} PRIVATE flambeau::${kind})
endforeach()
add_executable(generated application.cpp)
flambeau_generate(TARGET generated PROGRAMS PROGRAM)
foreach(target with_flambeau with_flambeau_static generated)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Werror -fno-exceptions -fno-rtti)
endforeach()
"""

APPLICATION = """
#include <flambeau/flambeau.hpp>

using flambeau::Error;

// Says what failed, and returns whether it failed as it should.
static bool fails(const char *what, Error found, Error wanted, const char *message) {
  std::printf("%s: %s\\n", what, message);
  return found == wanted;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    return 2;
  }
  flambeau::Module linear(argv[1]);
  std::vector<float> numbers(16);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i) - 8;
  }
  const auto names = linear.method_names();
  if (!names.ok() || names->count("forward") != 1 || linear.is_method_loaded("forward")) {
    return 3;
  }
  for (const auto &input : {flambeau::make_tensor_ptr({2, 8}, numbers), flambeau::from_blob(numbers.data(), {2, 8})}) {
    const auto result = linear.forward(input);
    if (!result.ok() || result->size() != 1 || !(*result)[0].isTensor()) {
      std::printf("%s\\n", linear.message());
      return 4;
    }
    const flambeau::Tensor &output = result->at(0).toTensor();
    if (output.scalar_type() != flambeau::ScalarType::Float || output.dim() != 2 || output.numel() != 8 || output.nbytes() != 32) {
      return 5;
    }
    for (int64_t i = 0; i < output.numel(); ++i) {
      std::printf("%.9g\\n", static_cast<double>(output.const_data_ptr<float>()[i]));
    }
  }
  const auto first = linear.get("forward", {flambeau::make_tensor_ptr({2, 8}, numbers)});
  if (!first.ok() || first->toTensor().size(1) != 4 || flambeau::make_tensor_ptr({2, 2}, {1.0f}) != nullptr) {
    return 6;
  }
  flambeau::Module absent("absent.pte"), damaged(argv[2]);
  const bool all = fails("shape", linear.forward(flambeau::make_tensor_ptr(numbers)).error(), Error::InvalidArgument, linear.message()) &&
                   fails("name", linear.execute("backward").error(), Error::NotFound, linear.message()) &&
                   fails("number", linear.forward(2.5).error(), Error::InvalidArgument, linear.message()) &&
                   fails("absent", absent.load(), Error::AccessFailed, absent.message()) &&
                   fails("damaged", damaged.forward().error(), Error::InvalidProgram, damaged.message());
  return all ? 0 : 7;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runtime with the kernels of a program, installed in a folder."""
    folder = tmp_path_factory.mktemp("installed")
    kernels = "aten::permute_copy.out;aten::addmm.out;aten::relu.out"
    options = [
        f"-DFLAMBEAU_KERNELS={kernels}",
        "-DFLAMBEAU_BACKENDS=",
        "-DFLAMBEAU_TESTS=OFF",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DFLAMBEAU_ARCH=",
    ]
    subprocess.run([SCRIPTS / "cmake", "-S", ROOT / "runtime" / "c", "-B", folder / "build", *options], check=True, capture_output=True)
    subprocess.run([SCRIPTS / "cmake", "--build", folder / "build", "-j", "2"], check=True, capture_output=True)
    subprocess.run([SCRIPTS / "cmake", "--install", folder / "build", "--prefix", folder / "prefix"], check=True, capture_output=True)
    return folder / "prefix"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_project_finds_the_package_and_runs_a_program(compiler: str, installed: Path, tmp_path: Path) -> None:
    program = PROGRAMS / "linear.pte"
    (tmp_path / "damaged.pte").write_bytes(program.read_bytes()[:300])
    (tmp_path / "application.cpp").write_text(APPLICATION)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.replace("PROGRAMS PROGRAM", f"PROGRAMS {program.as_posix()}"))
    options = [f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={installed}", f"-DFLAMBEAU_COMMAND={SCRIPTS / 'flambeau'}"]
    build = [SCRIPTS / "cmake", "-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Debug", *options]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([SCRIPTS / "cmake", "--build", tmp_path / "build", "-j", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    x = np.arange(-8, 8, dtype=np.float32).reshape(2, 8)
    expected = np.asarray(Runtime.get().load_program(program).load_method("forward")(x)[0]).reshape(-1)
    for name in ("with_flambeau", "with_flambeau_static", "generated"):
        ran = subprocess.run([tmp_path / "build" / name, program, tmp_path / "damaged.pte"], capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        lines = ran.stdout.splitlines()
        np.testing.assert_allclose([float(line) for line in lines[:8]], expected, rtol=1e-5)
        assert lines[8:16] == lines[:8]
        assert [line.partition(":")[0] for line in lines[16:]] == ["shape", "name", "number", "absent", "damaged"]
        assert all(len(line) > 12 for line in lines[16:]), "each failure says why"
