"""The import place for writers of passes: its own example works, in a file outside of the package."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import flambeau
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes import kit
from flambeau.plugins.loader import unload_plugin

TEXT = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %half = core.mul.Scalar(%y) {other = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  %sum = core.add.Tensor(%half, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %sum : tensor<4xf32>
}
"""


def test_the_example_of_the_kit_is_a_pass_of_thirty_lines(tmp_path: Path):
    description = inspect.cleandoc(kit.__doc__ or "")
    code = textwrap.dedent(description.partition("\n\n")[2].partition("\n`flambeau-opt")[0]).strip("\n")
    assert len(code.splitlines()) <= 30
    path = tmp_path / "fuse_mul_add.py"
    path.write_text(code)
    plugin = flambeau.load_plugin(path)
    try:
        pipeline = flambeau.Pipeline.parse("func.func(fuse-mul-add)")
    finally:
        unload_plugin(plugin)
    context = flambeau.FlambeauContext()
    module = parse_module(TEXT, context).module
    pipeline.run(module, context)
    assert "%sum = core.add.Tensor(%x, %y) {alpha = 0.5}" in print_module(module)
    assert "mul" not in print_module(module)


def test_what_the_kit_names_exists():
    assert all(hasattr(kit, name) for name in kit.__all__)
