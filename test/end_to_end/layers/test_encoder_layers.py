"""PyTorch's fast path for encoder layers and for attention, which strict export and `torch.compile` leave in programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch
from all_engines import disagreement
from shares import dealt
from torch import Tensor, nn

torch_compile: Any = cast(Any, torch).compile
PADDING = torch.tensor([[False, False, False, False], [False, False, True, True]])
CAUSAL = nn.Transformer.generate_square_subsequent_mask(4)


def encoder(layers: int = 2, **options: Any) -> nn.Module:
    cast(Any, torch).manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()


def is_fast(program: torch.export.ExportedProgram, name: str = "_transformer_encoder_layer_fwd") -> bool:
    return any(name in str(node.target) for module in program.graph_module.modules() for node in cast(Any, module).graph.nodes)


OPTIONS: Sequence[dict[str, Any]] = [{}, {"activation": "gelu", "norm_first": True, "layer_norm_eps": 0.1}]
MASKS: Sequence[dict[str, Tensor]] = [
    {},
    {"src_key_padding_mask": PADDING},
    {"mask": CAUSAL},
    {"mask": CAUSAL < 0},
    {"mask": CAUSAL < 0, "src_key_padding_mask": PADDING},
]


@pytest.mark.parametrize(("masks", "options"), dealt(MASKS, OPTIONS))
def test_encoders_and_their_masks(options: dict[str, Any], masks: dict[str, Tensor]) -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = encoder(**options)

        def forward(self, x: Tensor, *given: Tensor) -> Tensor:
            return self.inner(x, **dict(zip(masks, given, strict=True)))

    inputs = (torch.randn(2, 4, 8), *masks.values())
    with torch.no_grad():
        assert is_fast(torch.export.export(Masked().eval(), inputs, strict=True))
    assert disagreement(Masked(), inputs, strict=True) is None


class Encoder(nn.Module):
    """An encoder that knows which places are padding."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = encoder()

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.inner(x, src_key_padding_mask=padding)


def test_encoders_of_any_batch_and_length() -> None:
    batch, length = torch.export.Dim("batch", max=5), torch.export.Dim("length", max=9)
    shapes = ({0: batch, 1: length}, {0: batch, 1: length})
    assert disagreement(Encoder(), (torch.randn(2, 4, 8), PADDING), strict=True, dynamic_shapes=shapes) is None


def test_compiled_encoders() -> None:
    torch.compiler.reset()
    for model in (Encoder().eval(), encoder()):
        compiled = torch_compile(model, backend="flambeau")
        with torch.no_grad():
            for batch in (2, 3, 4):
                given = (torch.randn(batch, 4, 8), PADDING[[0, 1, 1, 0][:batch]])[: 2 if isinstance(model, Encoder) else 1]
                torch.testing.assert_close(compiled(*given), model(*given), rtol=1e-4, atol=1e-4)


class Scanned(nn.Module):
    """A layer of an encoder, and attention with its weights, over and over."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = encoder(1)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True).requires_grad_(False)

    def forward(self, x: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        def body(carry: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
            given = carry + step
            attention = self.attention
            found, weights = cast(Any, torch)._native_multi_head_attention(
                given,
                given,
                given,
                8,
                2,
                attention.in_proj_weight,
                attention.in_proj_bias,
                attention.out_proj.weight,
                attention.out_proj.bias,
            )
            return self.layer(found), weights

        return cast(Any, torch)._higher_order_ops.scan(body, x, steps)


def test_scans_over_encoders() -> None:
    assert disagreement(Scanned(), (torch.randn(2, 4, 8), torch.randn(3, 2, 4, 8)), strict=True) is None
