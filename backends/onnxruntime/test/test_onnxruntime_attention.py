"""Attention and norms as ONNX Runtime fuses them: right with each kind of mask, by numpy and by the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_programs import seed

from flambeau import to_edge
from flambeau.backends.onnxruntime.dialect.operators import OnnxOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.disassemble_payloads import DisassemblePayloadsPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

attend = nn.functional.scaled_dot_product_attention
SHOWN = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5]).reshape(1, 1, 3, 5)
ADDED = torch.where(SHOWN, 0.5, -torch.inf)


class Attention(nn.Module):
    """Attention of 4 heads of 3 queries over 5 keys of so many heads, with a mask of its own, or one that is an input."""

    def __init__(self, mask: Tensor | None = None, **options: Any):
        super().__init__()
        self.mask, self.options = mask, options

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor) -> Tensor:
        return attend(query, key, value, mask[0] if mask else self.mask, **self.options)


def qkv(heads: int = 4, queries: int = 3) -> tuple[Tensor, ...]:
    seed()
    return torch.randn(2, 4, queries, 8), torch.randn(2, heads, 5, 8), torch.randn(2, heads, 5, 6)


Case = tuple[nn.Module, tuple[Tensor, ...]]
GROUPED: dict[str, Any] = {"enable_gqa": True}
CASES: dict[str, Callable[[], Case]] = {
    "no mask": lambda: (Attention(scale=0.3), qkv()),
    "causal": lambda: (Attention(is_causal=True), qkv()),
    "constant truths": lambda: (Attention(SHOWN), qkv()),
    "constant numbers": lambda: (Attention(ADDED), qkv()),
    "a mask of nothing": lambda: (Attention(torch.ones_like(SHOWN)), qkv()),
    "truths that are an input": lambda: (Attention(), (*qkv(), SHOWN)),
    "numbers that are an input": lambda: (Attention(), (*qkv(), ADDED)),
    "a mask of keys": lambda: (Attention(), (*qkv(), SHOWN[:, :, :1].expand(2, 1, 1, 5))),
    "groups": lambda: (Attention(**GROUPED), qkv(2)),
    "groups, causal": lambda: (Attention(is_causal=True, **GROUPED), qkv(2)),
    "groups, constant truths": lambda: (Attention(SHOWN, **GROUPED), qkv(2)),
    "groups, truths that are an input": lambda: (Attention(**GROUPED), (*qkv(2), SHOWN)),
    "groups, a mask for each head": lambda: (Attention(torch.cat([SHOWN, ~SHOWN] * 2, 1), **GROUPED), qkv(2)),
    "groups, a mask of keys": lambda: (Attention(**GROUPED), (*qkv(2), SHOWN[:, :, :1])),
    "one query in groups": lambda: (Attention(SHOWN[:, :, 2:], **GROUPED), qkv(2, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_is_one_delegate_and_right(name: str, onnxruntime_library: Path) -> None:
    module, inputs = CASES[name]()
    edge = to_edge(torch.export.export(module, inputs)).to_backend("onnxruntime")
    assert not edge.survey("onnxruntime").refused
    arrays, expected = [value.numpy() for value in inputs], module(*inputs).numpy()
    given = {"onnxruntime": {"library": str(onnxruntime_library)}}
    method = Runtime.get().load_program(bytes(edge.to_executorch().buffer), backend_options=given).load_method("forward")
    assert set(method.metadata.backend_names) == {"OnnxRuntimeBackend"}
    for (found,) in (interpret(edge.module, edge.context, run_payload).run("forward", arrays), method.execute(arrays)):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


def test_the_scale_is_known_before_the_run() -> None:
    kind = "tensor<1x2x4x?xf32, #edge.layout<sizes = [1, 2, 4, f in [1, 8]]>>"
    text = f"""func.func @forward(%x: {kind}) {{
        %y = edge.scaled_dot_product_attention(%x, %x, %x, none) : ({kind}, {kind}, {kind}) -> {kind}
        %z = edge.scaled_dot_product_attention(%x, %x, %x, none) {{scale = 0.5}} : ({kind}, {kind}, {kind}) -> {kind}
        func.return
    }}"""
    table = Partitioner("onnxruntime").table
    found = [table.why_not(op) for op in parse_module(text, FlambeauContext()).module.walk() if isinstance(op, SchemaOp)]
    assert found == ["its scale, one over the root of f, is known when it runs only", None]


def names(module: nn.Module, *inputs: Tensor) -> list[str]:
    """The operators of the delegates of a program."""
    edge = to_edge(torch.export.export(module, inputs)).to_backend("onnxruntime")
    DisassemblePayloadsPass().apply(edge.context, edge.module)
    return [op.name.partition(".")[2] for op in edge.module.walk() if isinstance(op, OnnxOp)]


class Norm(nn.Module):
    """A norm as language models write it; with `twice`, its reciprocal root is a result too."""

    def __init__(self, twice: bool = False):
        super().__init__()
        self.weight, self.twice = nn.Parameter(torch.linspace(0.5, 2, 8)), twice

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * root), *([root] if self.twice else [])


def test_a_product_with_a_reciprocal_root_is_a_division() -> None:
    seed()
    x = torch.randn(2, 3, 8)
    assert names(Norm(), x) == ["Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]
    assert names(Norm(twice=True), x) == ["Pow", "ReduceMean", "Add", "Sqrt", "Reciprocal", "Mul", "Mul"]
    assert names(Roots(), x) == ["Abs", "Sqrt", "Reciprocal", "Mul"]


class Roots(nn.Module):
    """A product of a reciprocal root with itself."""

    def forward(self, x: Tensor) -> Tensor:
        root = torch.rsqrt(x.abs())
        return root * root


def test_masks_that_layers_share_are_computed_once() -> None:
    class Layers(nn.Module):
        def forward(self, query: Tensor, mask: Tensor) -> Tensor:
            return attend(attend(query, query, query, mask), query, query, mask)

    seed()
    assert names(Layers(), torch.randn(1, 2, 3, 4), SHOWN[..., :3]).count("Where") == 1
