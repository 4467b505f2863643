"""Operators of other libraries than ATen, by rows and kernels of plug-ins."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import Pipeline
from flambeau.plugins.loader import PluginError, load_plugin, plugin_scope
from flambeau.runtime.binding.libraries import add_backend, add_kernels, kernel_names, registry, remove_backend, remove_kernels
from flambeau.runtime.binding.library import FlambeauError, find_library, include_folder

ROWS = '''
from flambeau import row
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.namespace import aten
from flambeau.passes.kit import SchemaOp, op
from flambeau.passes.targets.interface import Target, find_target

KEEPS = Target("keeps", find_target("executorch").operators | {"mine::twice.out"})


@row("mine", "mine", "twice(Tensor x) -> Tensor")
class TwiceOp(SchemaOp):
    """2 x."""

    infer = staticmethod(lambda x: x)
    numpy = staticmethod(lambda x: 2 * x)
    decompose = staticmethod(lambda x: aten.mul.Scalar(x, 2))


@row("mine", "mine", "four_times(Tensor x) -> Tensor")
class FourTimesOp(SchemaOp):
    """4 x, by another operator of the plug-in."""

    infer = staticmethod(lambda x: x)
    numpy = staticmethod(lambda x: 4 * x)
    decompose = staticmethod(lambda x: TwiceOp(TwiceOp(x)).result)


@row("mine", "mine", "turned(Tensor x) -> Tensor")
class TurnedOp(SchemaOp):
    """The numbers times i."""

    infer = staticmethod(lambda x: x)
    numpy = staticmethod(lambda x: 1j * x)

    @staticmethod
    def on_parts(x):
        real, imaginary = x.both
        return Parts(aten.neg(imaginary), real)


@row("mine", "mine", "total.dim(Tensor x, int dim) -> Tensor")
@row("mine", "mine", "total(Tensor x) -> Tensor")
class TotalOp(SchemaOp):
    """A sum; overloads that share functions share their defaults."""

    @staticmethod
    def infer(x, dim=None):
        return op("aten.sum.dim_IntList").infer(x, dim, False, None)

    @staticmethod
    def numpy(x, dim=None):
        return x.sum(dim)
'''

TEXT = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mine.four_times(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


def lowered(pipeline: str, text: str = TEXT) -> str:
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse(pipeline).run(module, context)
    return print_module(module)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"edge.mul.Scalar": 2}),
        ("{target=keeps}", {"mine.twice": 2}),
        ("{preserve=mine.four_times}", {"mine.four_times": 1}),
        ("{preserve=mine.twice,silu}", {"mine.twice": 2}),
    ],
)
def test_a_row_of_another_library_decomposes_unless_the_target_has_its_kernel(
    tmp_path: Path, options: str, expected: dict[str, int]
) -> None:
    (tmp_path / "rows.py").write_text(ROWS)
    with plugin_scope():
        load_plugin(tmp_path / "rows.py")
        text = lowered(f"legalize-operators{options}")
    assert {
        name: text.count(f" {name}(") for name in ("edge.mul.Scalar", "mine.twice", "mine.four_times") if f" {name}(" in text
    } == expected


def test_a_row_of_another_library_says_what_it_does_with_complex_tensors(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(ROWS)
    with plugin_scope():
        load_plugin(tmp_path / "rows.py")
        text = lowered("lower-complex", TEXT.replace("2xf32", "2xcomplex<f32>").replace("four_times", "turned"))
    assert "mine." not in text and text.count("aten.neg(") == 1 and text.count("aten.complex(") == 1


def test_an_operator_to_preserve_exists() -> None:
    with pytest.raises(ValueError, match=r"ATen has no operator 'mine\.four_times'"):
        Pipeline.parse("legalize-operators{preserve=mine.four_times}")


def test_a_parameter_that_no_overload_has_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(
        ROWS.replace("def numpy(x, dim=None)", "def numpy(x, dims=None)").replace("x.sum(dim)", "x.sum(dims)")
    )
    with pytest.raises(PluginError, match=r"numpy of TotalOp: the parameter dims takes no argument of the schema .*; did you mean 'dim'\?"):
        load_plugin(tmp_path / "rows.py")


KERNELS = """
#include "flambeau/kernel.h"
static fl_status none(fl_context *context, fl_value *const *args, size_t count) {
  (void)args; (void)count;
  return FL_FAIL(context, FL_NOT_SUPPORTED, "it computes nothing");
}
static const fl_kernel kernels[] = {{"mine::b.out", none, NULL, "rww"}, {"mine::c.out", none, NULL, "rww"}};
static const fl_kernel unsorted[] = {{"mine::c.out", none, NULL, "rww"}, {"mine::b.out", none, NULL, "rww"}};
FL_API const fl_kernel_table fl_kernels_mine = {kernels, 2};
FL_API const fl_kernel_table fl_kernels_unsorted = {unsorted, 2};
FL_API const char *const fl_backend_old[16] = {"OldBackend"}; /* as before the structure began with its size */
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a table that is sorted, and one that is not."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "mine.c").write_text(KERNELS)
    command = ["cc", "-shared", "-fPIC", f"-I{include_folder()}", "mine.c", str(find_library()), "-o", "mine.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "mine.so"


def test_kernels_of_a_library_stand_beside_those_of_the_runtime(kernels: Path) -> None:
    before = kernel_names()
    add_kernels("mine", kernels)
    try:
        assert kernel_names() - before == {"mine::b.out", "mine::c.out"}
        found = registry()
        assert found is not None and found.table_count == 2
    finally:
        remove_kernels("mine")
    assert kernel_names() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unsorted", r"mine\.so cannot be used as the kernels 'unsorted': its table is not sorted by name: 'mine::b.out' comes after"),
        ("absent", r"mine\.so cannot be used as the kernels 'absent': .*fl_kernels_absent"),
    ],
)
def test_a_library_that_cannot_be_used_is_refused(kernels: Path, name: str, message: str) -> None:
    add_kernels(name, kernels)
    try:
        with pytest.raises(FlambeauError, match=message):
            registry()
    finally:
        remove_kernels(name)


def test_a_backend_that_was_compiled_with_another_header_is_refused(kernels: Path) -> None:
    add_backend("old", kernels)
    try:
        with pytest.raises(FlambeauError, match=r"cannot be used as the backend 'old': it was compiled with another flambeau/backend\.h"):
            registry()
    finally:
        remove_backend("old")
