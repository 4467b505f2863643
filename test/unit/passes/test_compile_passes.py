"""`flambeau compile --passes STAGE:PIPELINE`: passes of one's own on the way."""

import re
from pathlib import Path

import pytest

from flambeau.tools.main import main
from flambeau.tools.opt.driver import main as opt

TEXT = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(TEXT)
    return path


def compiled(program: Path, *options: str, to: str = "aten") -> str:
    output = program.with_name("out.mlir")
    assert main(["compile", str(program), "--emit", "mlir", "--to", to, "-o", str(output), *options]) == 0
    return output.read_text()


def test_passes_run_when_the_stage_is_reached(program: Path):
    assert compiled(program).count("aten.relu") == 2
    assert compiled(program, "--passes", "aten:builtin.module(func.func(cse))").count("aten.relu") == 1
    assert compiled(program, "--passes", "core:cse", to="core").count("core.relu") == 1
    assert compiled(program, to="core").count("core.relu") == 2


def test_passes_for_one_stage_follow_each_other(program: Path):
    text = compiled(program, "--passes", "aten:cse", "--passes", "aten:decompose-aten,convert-aten-to-core")
    assert text.count("core.relu") == 1


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("cse", "--passes is STAGE:PIPELINE"),
        ("attic:cse", "--passes is STAGE:PIPELINE"),
        ("aten:csee", "did you mean 'cse'?\ncsee\n^"),
    ],
)
def test_what_is_no_stage_or_pipeline_is_one_error(program: Path, option: str, message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(program), "--passes", option]) == 1
    assert message in capsys.readouterr().err


def test_a_stage_that_is_past_is_an_error(program: Path, capsys: pytest.CaptureFixture[str]):
    core = program.with_name("core.mlir")
    assert main(["compile", str(program), "--emit", "mlir", "--to", "core", "-o", str(core)]) == 0
    assert main(["compile", str(core), "--passes", "aten:cse"]) == 1
    assert "no passes can run at 'aten'" in capsys.readouterr().err


FAILING = """from xdsl.passes import ModulePass


class RefusePass(ModulePass):
    name = "refuse"

    def apply(self, ctx, op):
        raise ValueError("this pass refuses")
"""


def test_the_reproducer_of_a_failure_loads_the_plug_in_again(program: Path, capsys: pytest.CaptureFixture[str]):
    plugin = program.with_name("refuse.py")
    plugin.write_text(FAILING)
    arguments = ["compile", str(program), "--load-plugin", str(plugin), "--passes", "aten:refuse", "-o", str(program.with_name("out.pte"))]
    assert main(arguments) == 1
    note = re.search(r"flambeau-opt --run-reproducer (\S+)", capsys.readouterr().err)
    assert note is not None
    try:
        assert opt(["--run-reproducer", note[1]]) == 1
        assert "this pass refuses" in capsys.readouterr().err
    finally:
        Path(note[1]).unlink()


def _plugin_of_the_tutorial(folder: Path) -> Path:
    """The pass of the first tutorial, as it stands there."""
    page = (Path(__file__).parents[3] / "docs/tutorials/first_pass.md").read_text()
    (code,) = re.findall(r'```python title="fuse_mul_add\.py"\n(.*?)```', page, re.DOTALL)
    plugin = folder / "fuse_mul_add.py"
    plugin.write_text(code)
    return plugin


PRODUCT = """func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Tensor(%y, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("stage", ["aten", "core", "edge"])
def test_what_a_pattern_builds_takes_the_level_of_what_it_replaces(tmp_path: Path, stage: str):
    program = tmp_path / "program.mlir"
    program.write_text(PRODUCT)
    options = ("--load-plugin", str(_plugin_of_the_tutorial(tmp_path)), "--passes", f"{stage}:fuse-mul-add")
    assert f"{stage}.addcmul(%x, %y, %z)" in compiled(program, *options, to=stage)
    output = tmp_path / "out.pte"
    assert main(["compile", str(program), "--target", "flambeau", "-o", str(output), *options]) == 0


SQUARES = """
from flambeau.passes.kit import PatternPass, op, rewrites

@rewrites(op("aten.relu"))
def squared(relu):
    return op("aten.abs")(op("aten.square")(relu.operands[0]))

class SquaresPass(PatternPass):
    \"\"\"Squares.\"\"\"

    name = "squares"

    def patterns(self):
        return [squared]
"""


def test_what_does_not_exist_at_the_level_is_an_error_that_names_the_pattern(program: Path, capsys: pytest.CaptureFixture[str]):
    plugin = program.with_name("squares.py")
    plugin.write_text(SQUARES)
    output = program.with_name("out.mlir")
    arguments = ["compile", str(program), "--load-plugin", str(plugin), "--passes", "core:squares", "--to", "core", "-o", str(output)]
    assert main(arguments) == 1
    message = "squares: squared: aten.square takes the place of core.relu, and the core level has no such operator"
    assert message in capsys.readouterr().err
