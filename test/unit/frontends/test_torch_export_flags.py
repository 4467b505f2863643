"""Flags that choose between PyTorch's backends mean nothing in a program: imports do not differ in them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_programs import check, export, imported, seed

from flambeau.passes.kit import m

seed()


def test_flags_of_backends_are_the_same_whatever_they_were_at_export() -> None:
    class Norms(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.group, self.instance = nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4)

        def forward(self, x: Tensor) -> Any:
            return self.layer(x), self.group(x), self.instance(x)

    texts: list[str] = []
    for enabled in (False, True):
        with torch.backends.cudnn.flags(enabled=enabled):
            texts.append(check(Norms().eval(), torch.randn(2, 4, 4), tolerance=1e-5))
    assert texts[0] == texts[1]
    assert "cudnn_enable =" not in texts[0]
    assert texts[0].count("cudnn_enabled = false") == 1  # instance_norm has no default


def test_an_exported_layer_norm_matches_a_graph_that_does_not_mention_flags() -> None:
    module, _ = imported(export(nn.LayerNorm(4).eval(), torch.randn(2, 4)))
    graph = m.op("aten.layer_norm", m.value(), m.optional(m.value()), m.optional(m.value()), normalized_shape=m.attribute())
    assert any(graph.match(op) for op in module.walk())
