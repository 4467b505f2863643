"""What a target has decides which operators stay whole, which fused forms are made and which layouts tensors have."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.aten.elementwise.math import SquareOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.ir.tensor_types import tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.plugins.loader import load_plugin, plugin_scope
from flambeau.runtime import Runtime
from flambeau.runtime.manifest import kernel_names


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with plugin_scope():
        yield


def load(folder: Path, text: str) -> None:
    path = folder / "plugin.py"
    path.write_text(text)
    load_plugin(path)


def run(pipeline: str, text: str) -> ModuleOp:
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse(pipeline).run(module, context)
    return module


def test_core_holds_core_aten_and_what_kernels_take_whole():
    silu = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = LEVEL.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
    for level in ("aten", "core"):
        assert "core.silu" in str(run("convert-aten-to-core", silu.replace("LEVEL", level)))
    with pytest.raises(VerifyException, match=r"square is not in Core ATen, and its row does not let targets keep it whole"):
        SquareOp.at("core")(create_ssa_value(tensor(f32, (4,)))).verify_()


def test_it_has_the_kernel_of_an_operator_of_any_level():
    assert all(find_target("executorch").has(kind) for kind in (ViewOp, ViewOp.at("core"), ViewOp.at("edge")))


DSP = """
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.passes.targets.interface import Target, find_target

FUSED = {"flambeau::conv2d.out", "flambeau::scaled_dot_product_attention.out"}
DSP = Target("dsp", find_target("executorch").operators | FUSED, dim_orders=frozenset({CHANNELS_LAST}), alignment=64)
"""

HEADS = """
func.func @forward(%x: tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32> {
  %0 = edge.permute_copy(%x) {dims = [0, 2, 1, 3]} : (tensor<1x5x2x4xf32>) -> tensor<1x2x5x4xf32>
  %1 = fused.scaled_dot_product_attention(%0, %0, %0, none) {is_causal = false, scale = 0.5, enable_gqa = false} :
      (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %2 = edge.permute_copy(%1) {dims = [0, 2, 1, 3]} : (tensor<1x2x5x4xf32>) -> tensor<1x5x2x4xf32>
  func.return %2 : tensor<1x5x2x4xf32>
}
"""


def test_a_target_gets_the_fused_forms_and_layouts_that_it_has(tmp_path: Path):
    load(tmp_path, DSP)
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1), nn.Flatten(), nn.Linear(16, 2)).eval()
    x, context = torch.randn(1, 3, 6, 6), FlambeauContext()
    compilation = Compilation(export_module(network, (x,), context), context, PipelineOptions(target="dsp"))
    compilation.to("edge")
    Pipeline.parse("optimize-edge{target=dsp}").run(compilation.module, context)
    kinds = [op.name for op in compilation.module.walk() if isinstance(op, SchemaOp)]
    # The activation is in the convolution, the pool between two convolutions is channels-last, and the linear layer is as it was.
    convolutions = ["edge._to_dim_order_copy", "fused.conv2d", "edge.max_pool2d_with_indices", "fused.conv2d", "edge._to_dim_order_copy"]
    assert kinds == [*convolutions, "edge.view_copy", "edge.linear"]
    loaded = Runtime.get().load_program(compilation.emit()).load_method("forward")
    np.testing.assert_allclose(loaded.execute([x.numpy()])[0], network(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert "plan-memory{alignment=64}" in str(Pipeline.parse("compile{target=dsp}"))
    assert "plan-memory{alignment=32}" in str(Pipeline.parse("compile{target=dsp planner='best{alignment=32}'}"))


def test_a_target_without_a_dim_order_keeps_the_copies(tmp_path: Path):
    load(tmp_path, DSP)
    for pipeline, copies in (("propagate-layouts,edge-to-exec{target=dsp}", 0), ("optimize-edge{target=dsp},edge-to-exec{target=dsp}", 2)):
        module = run(pipeline, HEADS)
        assert sum(isinstance(op, CallOp) for op in module.walk()) == 1 + copies


def test_our_runtime_has_every_kernel_that_the_target_executorch_lists() -> None:
    assert find_target("executorch").operators - set(kernel_names()) == set()
