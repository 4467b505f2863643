"""Layers of graph networks, whose nodes combine what comes along edges, in every engine."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from all_engines import disagreement, engines
from shares import dealt, drawn
from torch import Tensor, nn

NODES, EDGES = 7, 20
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
DTYPES = (torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8)


class Isomorphism(nn.Module):
    """A layer of GIN: a perceptron of each node and the sum of its neighbours."""

    def __init__(self, reduce: str = "sum") -> None:
        super().__init__()
        self.reduce = reduce
        self.perceptron = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        places = edges[1].unsqueeze(1).expand(-1, x.shape[1])
        neighbours = torch.zeros_like(x).scatter_reduce(0, places, x[edges[0]], self.reduce, include_self=False)
        return self.perceptron(1.5 * x + neighbours)


class Attention(nn.Module):
    """A layer of GAT: the neighbours of a node, weighted by a softmax over its edges."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.score = nn.Linear(6, 5), nn.Linear(10, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges[0], edges[1]
        h = self.project(x)
        score = nn.functional.leaky_relu(self.score(torch.cat([h[source], h[target]], 1)), 0.2).squeeze(1)
        none = x.new_zeros(x.shape[0])
        score = (score - none.scatter_reduce(0, target, score, "amax", include_self=False)[target]).exp()
        share = score / none.scatter_reduce(0, target, score, "sum")[target]
        return torch.zeros_like(h).index_reduce(0, target, h[source] * share.unsqueeze(1), "mean", include_self=True)


def graph(seed: int) -> tuple[Tensor, Tensor]:
    """Nodes, the last one without edges, and edges between the others."""
    cast(Any, torch).manual_seed(seed)
    return torch.randn(NODES, 6), torch.randint(NODES - 1, (2, EDGES))


@pytest.mark.parametrize("seed", drawn(range(20)))
def test_layers_of_graph_networks(seed: int) -> None:
    for model in (Attention(), *map(Isomorphism, REDUCTIONS)):
        assert disagreement(model, graph(seed)) is None, model


def test_a_number_of_edges_that_only_the_run_knows() -> None:
    edges = torch.export.Dim("edges", min=2, max=40)
    for model in (Attention(), Isomorphism("amax"), Isomorphism("prod")):
        assert disagreement(model, graph(0), dynamic_shapes=({}, {1: edges})) is None, model


class Reduced(nn.Module):
    """Every reduction of the places along a dimension, without and with what was there."""

    def __init__(self, dim: int, reductions: tuple[str, ...] = REDUCTIONS) -> None:
        super().__init__()
        self.dim, self.reductions = dim, reductions

    def forward(self, x: Tensor, index: Tensor, source: Tensor) -> list[Tensor]:
        both = ((reduce, own) for reduce in self.reductions for own in (False, True))
        return [x.scatter_reduce(self.dim, index, source, reduce, include_self=own) for reduce, own in both]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions_of_repeated_and_of_missing_places(dim: int, dtype: torch.dtype) -> None:
    cast(Any, torch).manual_seed(dim)
    low = 0 if dtype == torch.uint8 else -4
    x, source = (torch.randint(low, 5, shape).to(dtype) for shape in ((5, 5), (6, 6)))
    # The index is smaller than both, and names some places never.
    index = torch.randint(4, (4, 6) if dim else (6, 4))
    assert disagreement(Reduced(dim), (x, index, source)) is None


def test_extremes_of_numbers_and_of_sizes() -> None:
    x = torch.tensor([1.0, float("nan"), -2.0, float("inf"), 0.5])
    source = torch.tensor([float("nan"), -3.0, float("-inf"), 2.0, 5.0, -1.0, -7.0])
    assert disagreement(Reduced(0), (x, torch.tensor([0, 1, 2, 2, 4, 4, 4]), source)) is None
    assert disagreement(Reduced(0), (x, torch.zeros(0, dtype=torch.int64), source)) is None
    assert disagreement(Reduced(0), (torch.tensor(2.0), torch.tensor(0), torch.tensor(-3.0))) is None
    limits = torch.iinfo(torch.int64)
    whole = torch.tensor([limits.min, limits.max, -1])
    assert disagreement(Reduced(0, ("amax", "amin", "sum")), (whole, torch.tensor([2, 2, 0]), whole)) is None


def test_reductions_of_bools() -> None:
    x, source = torch.tensor([True, False, True, False]), torch.tensor([True, False] * 200)
    index = torch.tensor([0, 0, 1, 1] * 100)
    assert disagreement(Reduced(0, ("sum", "prod", "amax", "amin")), (x, index, source)) is None


@pytest.mark.parametrize(("include_self", "reduce"), dealt([False, True], REDUCTIONS))
def test_a_place_out_of_range_is_refused(reduce: str, include_self: bool) -> None:
    class Model(nn.Module):
        def forward(self, x: Tensor, index: Tensor, source: Tensor) -> Tensor:
            return x.scatter_reduce(0, index, source, reduce, include_self=include_self)

    inputs = (torch.zeros(3), torch.tensor([0, 2, 2]), torch.ones(3))
    program = torch.export.export(Model(), inputs)
    for place in (3, -1):
        for engine, run in engines(program):
            with pytest.raises((ValueError, IndexError, RuntimeError)):
                run([inputs[0], torch.tensor([0, place, 2]), inputs[2]])
                pytest.fail(engine)
