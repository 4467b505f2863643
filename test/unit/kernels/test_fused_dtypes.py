"""Programs of fused operators in each floating dtype: the target `flambeau` computes what eager PyTorch does, fused or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from all_engines import leaves
from row_harness import SAMPLES, from_torch, to_torch
from torch import Tensor, nn
from torch.nn import functional
from torch_programs import Function, export, seed

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import level_ops
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime

pytestmark = pytest.mark.every_library

TOLERANCES = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2, torch.float64: 1e-12}
"""The largest difference, in units of the largest expected value."""
Program = tuple[nn.Module, tuple[Tensor, ...]]


class Affine(nn.Module):
    """A layer, an addition before or after it, and an activation."""

    def __init__(self, layer: nn.Module, activation: Callable[[Tensor], Tensor], *, before: bool = False):
        super().__init__()
        self.layer, self.activation, self.before = layer, activation, before

    def forward(self, x: Tensor, addend: Tensor) -> Tensor:
        """activation(layer(x) + addend), or activation(layer(x + addend))."""
        return self.activation(self.layer(x + addend) if self.before else self.layer(x) + addend)


class RepeatedHeads(nn.Module):
    """Attention of four heads of queries over two of keys."""

    def __init__(self, *, causal: bool = False):
        super().__init__()
        self.causal = causal

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """The heads of keys and values are repeated, as a model does it."""
        key, value = (item.repeat_interleave(2, 1) for item in (key, value))
        return functional.scaled_dot_product_attention(query, key, value, mask, is_causal=self.causal)


class First(nn.Module):
    """The first result of a layer."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """The states of all steps."""
        return self.layer(x)[0]


def written_norm(x: Tensor, weight: Tensor) -> Tensor:
    """Root-mean-square normalisation as models write it, which widen halves."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def cached(query: Tensor, key: Tensor, value: Tensor, position: Tensor) -> Tensor:
    """Attention over what is written of a cache, in a window."""
    places, own = torch.arange(9)[None, :], torch.arange(3)[:, None] + position
    return functional.scaled_dot_product_attention(query, key, value, (places <= own) & (places > own - 4), enable_gqa=True)


def programs() -> dict[str, list[Program]]:
    """Programs in float32 which each fused operator is made of."""
    seed()
    rows, image = torch.randn(2, 5, 7), torch.randn(2, 6, 9, 8)
    query, key, value = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 9, 8), torch.randn(1, 2, 9, 8)
    return {
        "fused.linear": [
            (Affine(nn.Linear(7, 20), functional.gelu), (rows, torch.randn(2, 5, 20))),
            (Affine(nn.Linear(7, 3, bias=False), torch.sigmoid), (rows, torch.randn(2, 5, 3))),
        ],
        "fused.lstm_step": [
            (First(nn.LSTM(7, 20)), (rows,)),
            (First(nn.LSTM(7, 16, 2, bias=False, batch_first=True, bidirectional=True)), (rows,)),
        ],
        "fused.conv2d": [
            (Affine(nn.Conv2d(6, 18, 3, padding=1), functional.relu), (image, torch.randn(2, 18, 9, 8))),
            (Affine(nn.Conv2d(6, 6, 3, groups=6, bias=False, padding=1), functional.silu), (image, image)),
        ],
        "fused.layer_norm": [
            (Affine(nn.LayerNorm(7), torch.tanh, before=True), (rows, rows.flip(0))),
            (Affine(nn.LayerNorm([5, 7], elementwise_affine=False), torch.tanh, before=True), (rows, rows.flip(0))),
        ],
        "fused.rms_norm": [
            (Affine(nn.RMSNorm(7), torch.tanh, before=True), (rows, rows.flip(0))),
            (Affine(nn.RMSNorm(7, eps=1e-3, elementwise_affine=False), torch.tanh), (rows, rows.flip(0))),
            (Function(written_norm), (rows, rows[0, 0])),
        ],
        "fused.scaled_dot_product_attention": [
            (RepeatedHeads(), (query, key, value)),
            (RepeatedHeads(causal=True), (query, key, value)),
            (RepeatedHeads(), (query, key, value, torch.randn(3, 9))),
            (RepeatedHeads(), (query, key, value, torch.rand(1, 4, 3, 9) > 0.3)),
        ],
        "fused.cached_attention": [(Function(cached), (query, key, value, torch.tensor(4)))],
    }


def reads_bytes(name: str) -> bool:
    """Whether it is for quantized numbers, which no program in floats has."""
    return any(
        str(getattr(value, "dtype", "")) in ("int8", "uint8") for sample in SAMPLES[name](np.random.default_rng(0)) for value in sample
    )


FUSED = sorted(kind.name for kind in level_ops("fused") if not reads_bytes(kind.name))


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", FUSED)
def test_what_is_fused_in_float32_agrees_with_pytorch_in_each_dtype(name: str, dtype: torch.dtype) -> None:
    for number, (module, inputs) in enumerate(programs()[name]):
        module = module.to(dtype).eval()
        given = [item.to(dtype) if item.is_floating_point() else item for item in inputs]
        context = FlambeauContext()
        with torch.no_grad():
            (expected,) = leaves(module(*given))
        compilation = Compilation(import_program(export(module, *given), context), context, PipelineOptions(target="flambeau"))
        compilation.to("edge")
        Pipeline.parse("optimize-edge{target=flambeau}").run(compilation.module, context)
        if dtype == torch.float32:
            assert name in {op.name for op in compilation.module.walk()}, number
        method = Runtime.get().load_program(compilation.emit()).load_method("forward")
        (found,) = method.execute([from_torch(item) for item in given])
        found = to_torch(found)
        assert found.dtype == dtype
        distance = (found.double() - expected.double()).abs().max() / expected.double().abs().max()
        assert distance <= TOLERANCES[dtype], (number, distance)
