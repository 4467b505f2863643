"""Our dialects and passes in xDSL's own `xdsl-opt`."""

import subprocess
import sysconfig
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from flambeau.dialects.ir.weight_files import BlobError
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op, schema_table
from flambeau.dialects.schema.row_table import dialect_names
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager.registry import own_pass_names
from flambeau.passes.transforms.fold_constants import FoldConstantsPass
from flambeau.tools.universe import PREFIX, UNIVERSE

TEXT = """
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.hardswish(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.add.Tensor(%0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""

WITH_CONSTANTS = """
func.func @f() -> tensor<2xi64> {
  %0 = core.full() {size = [2], fill_value = 1} : () -> tensor<2xi64>
  %1 = core.neg(%0) : (tensor<2xi64>) -> tensor<2xi64>
  func.return %1 : tensor<2xi64>
}
"""


def xdsl_opt(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sysconfig.get_path("scripts")) / "xdsl-opt"
    return subprocess.run([tool, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def context() -> Context:
    made = Context()
    made.load_dialect(Builtin)
    made.load_dialect(Func)
    for name, factory in UNIVERSE.all_dialects.items():
        made.register_dialect(name, factory)
    return made


def test_xdsl_opt_runs_our_passes_over_our_dialects(tmp_path: Path):
    (tmp_path / "x.mlir").write_text(TEXT)
    result = xdsl_opt("x.mlir", "-p", "decompose-aten{strict=true},convert-aten-to-core,flambeau-cse,cse", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "core.hardtanh" in result.stdout and "aten." not in result.stdout


def test_weights_go_through_xdsl_opt_unread(tmp_path: Path):
    load = "ml_program.global_load_const @w : tensor<2x3xf32>"
    weight = '#flambeau.blob<"w", "0123456789abcdef">'
    text = f"ml_program.global private @w({weight}) : tensor<2x3xf32>{TEXT}".replace("%0 = aten", f"%w = {load}\n  %0 = aten")
    (tmp_path / "x.mlir").write_text(text.replace("(%0, %0)", "(%0, %w)"))
    result = xdsl_opt("x.mlir", "-p", "decompose-aten,convert-aten-to-core,fold-constants,remove-dead-code", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    module = parse_module(result.stdout, FlambeauContext()).module
    assert weight in str(module) and load in str(module) and "aten." not in str(module)


def test_nothing_of_ours_clashes_with_what_xdsl_has():
    assert not set(UNIVERSE.all_dialects) & set(get_all_dialects())
    assert not set(UNIVERSE.all_passes) & set(get_all_passes())
    assert set(UNIVERSE.all_passes) <= set(Universe.get_multiverse().all_passes)


def test_every_dialect_and_pass_is_there_but_those_whose_name_xdsl_has():
    assert set(dialect_names()) - set(UNIVERSE.all_dialects) == {"emitc", "irdl", "ml_program"}
    assert {name.removeprefix(PREFIX) for name in UNIVERSE.all_passes} == set(own_pass_names())
    for name, factory in UNIVERSE.all_passes.items():
        assert factory().name == name


@pytest.mark.parametrize(
    "name", ["aten.relu", "aten.add.Tensor", "aten.relu_", "core.relu", "edge.view_copy", "quantized_decomposed.dequantize_per_tensor"]
)
def test_an_operator_is_the_class_that_our_own_context_finds(name: str):
    assert context().get_op(name) is find_op(name)


def test_every_overload_of_aten_is_there():
    made = context()
    made.load_registered_dialect("aten")
    count = sum(len(lines) for lines in schema_table().values())
    assert sum(op.name.startswith("aten.") for op in made.loaded_ops) == count


def test_a_pass_that_needs_no_weights_works_without_a_place_for_them_and_another_says_what_to_do():
    made = context()
    FoldConstantsPass().apply(made, Parser(made, TEXT).parse_module())
    module = Parser(made, WITH_CONSTANTS).parse_module()
    with pytest.raises(BlobError, match="use flambeau-opt"):
        FoldConstantsPass().apply(made, module)
