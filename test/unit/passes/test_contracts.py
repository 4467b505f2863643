"""The limits of a target's kernels: what a kernel does not take is computed with others, or refused with the place."""

from __future__ import annotations

import pytest
import torch
from row_harness import assert_close
from row_programs import refused_samples
from torch import nn
from torch_programs import seed
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.runtime import Runtime

CONTRACTS = [(name, kernel) for name in ("executorch", "flambeau") for kernel, rule in find_target(name).contracts.items() if rule.limits]


@pytest.mark.parametrize("target, kernel", CONTRACTS)
def test_what_a_kernel_does_not_take_is_computed_with_others(target: str, kernel: str) -> None:
    count = 0
    for name, arrays, expected, compilation in refused_samples(target, kernel):
        count += 1
        compilation.to("edge")
        Pipeline.parse(f"legalize{{target={target}}}").run(compilation.module, compilation.context)
        operations = [op for op in compilation.module.walk() if isinstance(op, SchemaOp)]
        assert [op.name for op in operations if find_target(target).table.why_not(op) is not None] == [], name
        actual = Runtime.get().load_program(compilation.emit()).load_method("forward").execute(arrays)
        assert_close(name, actual, expected, 5e-3)
    assert count


def test_an_operation_that_reaches_the_kernel_calls_is_refused_with_its_numbers() -> None:
    text = """
func.func @forward(%x: tensor<3xf32>, %w: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = edge.linear(%x, %w, none) : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
    context = FlambeauContext()
    module: ModuleOp = parse_module(text, context).module
    reason = "aten::linear.out of the target 'executorch' does not take it: argument 'input' has 1 dimensions, and its kernel takes 2 to 16"
    with pytest.raises(PassError, match=reason):
        Pipeline.parse("convert-edge-to-exec{target=executorch}").run(module, context)


class Attention(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value)


DTYPES = (torch.float16, torch.bfloat16, torch.float64)
HEADS = {
    "one head of keys": ((2, 4, 5, 3), (2, 1, 6, 3)),
    "one head of keys, one batch": ((2, 4, 5, 3), (1, 1, 6, 3)),
    "one batch of keys": ((2, 4, 5, 3), (1, 4, 6, 3)),
    "one query": ((1, 1, 5, 3), (2, 4, 6, 3)),
    "without heads": ((4, 5, 3), (4, 6, 3)),
}


def calls(module: nn.Module, *inputs: torch.Tensor) -> list[str]:
    """The kernels that the module's program for our runtime calls, once its results are those of PyTorch."""
    context = FlambeauContext()
    with torch.no_grad():
        expected = module(*inputs)
    compilation = Compilation(export_module(module, inputs, context), context, PipelineOptions(target="flambeau"))
    (actual,) = Runtime.get().load_program(compilation.emit()).load_method("forward").execute(inputs)
    bound = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(expected.dtype, 1e-5)
    torch.testing.assert_close(torch.as_tensor(actual.astype("float64")), expected.double(), rtol=bound, atol=bound)
    return [op.operator.data for op in compilation.module.walk() if isinstance(op, CallOp)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("module", [nn.LayerNorm(6), nn.RMSNorm(6)], ids=["layer_norm", "rms_norm"])
def test_norms_in_other_types_do_without_the_fused_kernel(module: nn.Module, dtype: torch.dtype) -> None:
    seed()
    calls(module.to(dtype), torch.randn(2, 5, 6, dtype=dtype))
    (fused,) = calls(module.float(), torch.randn(2, 5, 6))
    assert fused in ("flambeau::layer_norm.out", "flambeau::rms_norm.out")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_attention_in_other_types_is_not_fused(dtype: torch.dtype) -> None:
    seed()
    inputs = (torch.randn(1, 2, 5, 4, dtype=dtype), torch.randn(1, 2, 6, 4, dtype=dtype), torch.randn(1, 2, 6, 4, dtype=dtype))
    assert not any(name.startswith("flambeau::") for name in calls(Attention(), *inputs))


@pytest.mark.parametrize("case", HEADS)
def test_attention_whose_heads_are_broadcast(case: str) -> None:
    seed()
    query, key = HEADS[case]
    found = calls(Attention(), torch.randn(query), torch.randn(key), torch.randn(key))
    assert ("flambeau::scaled_dot_product_attention.out" in found) == (len(query) == 4)
    if case == "one head of keys":
        assert len(found) == 1
