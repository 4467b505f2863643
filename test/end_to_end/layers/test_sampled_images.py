"""Images sampled at places that are no numbers, infinite or far away: on all engines what PyTorch gives."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from shares import drawn
from torch import Tensor, nn
from torch.nn import functional as F

from flambeau import EdgeCompileConfig, Runtime, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.runtime.interpreter import interpret

FAR = (1e3, -1e3, 1.0001, -1.0001, 0.3, 1e7, -1e7, 3e9, -3e9, 1e19, -1e19, 1e30, -1e30)
NUMBERS = (math.nan, math.inf, -math.inf, *FAR)
PADDINGS = ("zeros", "border", "reflection")
MODES = [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]
CASES = [(*mode, padding, aligned) for mode, padding, aligned in product(MODES, PADDINGS, (False, True))]


class Sampled(nn.Module):
    def __init__(self, mode: str, padding: str, align_corners: bool):
        super().__init__()
        self.mode, self.padding, self.align_corners = mode, padding, align_corners

    def forward(self, x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, self.mode, self.padding, self.align_corners)


def places(rank: int) -> Tensor:
    """A grid with each number in each place of a coordinate, and in all of them."""
    points = [[number if axis in (dim, rank) else 0.2 - 0.6 * dim for dim in range(rank)] for axis in range(rank + 1) for number in NUMBERS]
    return torch.tensor(points).reshape(1, len(points), *(1,) * (rank - 1), rank)


@pytest.mark.parametrize(("rank", "mode", "padding", "align_corners"), drawn(CASES))
def test_engines_sample_what_pytorch_samples(rank: int, mode: str, padding: str, align_corners: bool) -> None:
    model = Sampled(mode, padding, align_corners)
    for dtype in (torch.float32, torch.float64):
        x = torch.linspace(-3, 4, 2 * math.prod((4, 5, 3)[:rank])).cos().view(1, 2, *(4, 5, 3)[:rank]).to(dtype)
        inputs = (x, places(rank).to(dtype))
        arrays = [item.numpy() for item in inputs]
        program = torch.export.export(model, inputs)
        context = FlambeauContext()
        found = [interpret(import_program(program, context), context).run("forward", arrays)[0]]
        for target in ("executorch", "flambeau"):
            compiled = to_edge(program, compile_config=EdgeCompileConfig(target=target)).to_executorch()
            found += Runtime.get().load_program(compiled.buffer).load_method("forward").execute(arrays)
        for result in found:
            np.testing.assert_allclose(np.asarray(result), model(*inputs).numpy(), rtol=1e-3, atol=1e-4)
