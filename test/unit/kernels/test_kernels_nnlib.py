"""Kernels that call functions of Cadence's nnlib: what stands in for it, by the vendor's parameters, gives what portable kernels give."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from kernel_harness import KernelError, Out, run, using
from row_harness import ROWS, assert_close, samples_of
from row_walk import Case
from test_kernels_alone import Call
from test_kernels_pruned import CMAKE, SOURCE

from flambeau.dialects.schema.out_variants import out_variant
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

STAND_IN = Path(__file__).parent / "nnlib"
NAMES = sorted(name for name in ROWS if name.startswith(("cadence.quantized_linear", "cadence.quantized_relu", "cadence.quantized_conv")))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the group `cadence`, linked with the stand-in; not optimized, which is quick to compile."""
    folder = tmp_path_factory.mktemp("nnlib")
    shutil.copytree(STAND_IN / "include", folder / "xa_nnlib" / "include")
    (folder / "lib").mkdir()
    flags = ["-std=c11", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{STAND_IN / 'include'}"]
    subprocess.run(["cc", *flags, "-c", STAND_IN / "xa_nnlib.c", "-o", folder / "xa_nnlib.o"], check=True)
    subprocess.run(["ar", "rcs", folder / "lib" / "libxa_nnlib.a", folder / "xa_nnlib.o"], check=True)
    options = [f"-DFLAMBEAU_NNLIB={folder}", "-DFLAMBEAU_GROUPS=cadence", "-DFLAMBEAU_BACKENDS=", "-DFLAMBEAU_TESTS=OFF"]
    options += ["-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O0"]
    subprocess.run([CMAKE, "-S", SOURCE, "-B", folder / "build", *options], check=True, capture_output=True)
    subprocess.run([CMAKE, "--build", folder / "build", "--target", "flambeau", "-j", "2"], check=True, capture_output=True)
    return next(folder.glob("build/libflambeau.[sd]*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_the_vendor_what_the_vendor_takes(library: Path, name: str) -> None:
    out = out_variant(ROWS[name].schema)
    assert out is not None
    for sample in samples_of(ROWS[name]):
        case = Case(ROWS[name], "as given", sample)
        (wanted,) = meaning(operation(case.row, sample)[0], arrays_of(sample))
        with using(library):
            assert_close(name, Call(out.qualified_name, case).results([wanted.shape]), [wanted], row=case.row)


def test_what_the_vendor_refuses_is_an_error(library: Path) -> None:
    x, weight, bias = torch.ones(2, 13, dtype=torch.int8), torch.ones(3, 13, dtype=torch.int8), torch.ones(3, dtype=torch.int32)
    line = torch.ones(13, dtype=torch.int8)
    with using(library):
        with pytest.raises(KernelError, match="nnlib refuses this call: -1"):
            run("cadence::quantized_linear.per_tensor_out", x, weight, bias, 0, 0, 2**30, 0, 0, None, outs=[Out((2, 3), torch.int8)])
        with pytest.raises(KernelError, match="nnlib refuses this call: -1"):
            run("cadence::quantized_relu.per_tensor_out", line, 0, 0, 2**30, 1, outs=[Out((13,), torch.int8)])
