"""Operators that compute with sizes: on all engines, for sizes that are known and for sizes that only the run knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from all_engines import disagreement, results, wrong_engine
from shares import drawn
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F

Function = Callable[[Tensor], Any]
POSITIONS = torch.linspace(-1, 2, 2 * 7 * 5).sin().view(1, 2, 7, 5)
"""A trained image, as the position embedding of a vision transformer is."""


class Wrapped(nn.Module):
    def __init__(self, function: Function):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


def check(function: Function, inputs: Sequence[Tensor]) -> None:
    """Compares engines on a program for one of the inputs, then on one program for all of them, whose last two sizes are dynamic."""
    model = Wrapped(function)
    for x in drawn(inputs, key=lambda x: str(x.shape), parts=len(inputs)):
        assert disagreement(model, (x,)) is None
    sizes = [size for x in inputs for size in x.shape[-2:]]
    dims = {dim: Dim.DYNAMIC(min=min(sizes), max=max(sizes)) for dim in (inputs[0].ndim - 2, inputs[0].ndim - 1)}
    torch._dynamo.reset()  # pyright: ignore[reportPrivateUsage]  what it saw would make dimensions dynamic
    program = torch.export.export(model, (inputs[0],), dynamic_shapes=((dims),))
    assert wrong_engine(program, [((x,), results(lambda given: model(*given), (x,))) for x in inputs]) is None


def _images(*sizes: tuple[int, int]) -> list[Tensor]:
    return [torch.linspace(-3, 4, 2 * height * width).cos().view(1, 2, height, width) for height, width in sizes]


MODES: dict[str, dict[str, Any]] = {
    "nearest-exact": {"mode": "nearest-exact"},
    "bicubic": {"mode": "bicubic"},
    "bicubic, aligned": {"mode": "bicubic", "align_corners": True},
    "bicubic, antialias": {"mode": "bicubic", "antialias": True},
    "bilinear, antialias": {"mode": "bilinear", "antialias": True},
    "bilinear, antialias, aligned": {"mode": "bilinear", "antialias": True, "align_corners": True},
}


@pytest.mark.parametrize("mode", MODES)
def test_an_image_is_resampled_to_and_from_any_size(mode: str) -> None:
    def resampled(x: Tensor) -> tuple[Tensor, ...]:
        sizes = (x.shape[2:], (4, 9), (x.shape[3] + 1, 6))
        return F.interpolate(POSITIONS, size=sizes[0], **MODES[mode]), *(F.interpolate(x, size=size, **MODES[mode]) for size in sizes[1:])

    check(resampled, _images((6, 9), (3, 11), (12, 2)))


@pytest.mark.parametrize("mode", ["nearest", "trilinear"])
def test_a_volume_is_resampled_to_and_from_any_size(mode: str) -> None:
    check(lambda x: F.interpolate(x[None], size=(3, x.shape[3], 2 * x.shape[2]), mode=mode), _images((6, 9), (3, 11), (12, 2)))


@pytest.mark.parametrize(("mode", "factor"), drawn(product(("nearest", "nearest-exact", "linear", "bicubic"), (2, 0.5, 1.1)), parts=4))
def test_lines_images_and_volumes_are_resampled_by_a_factor(mode: str, factor: float) -> None:
    def resampled(x: Tensor) -> tuple[Tensor, ...]:
        modes = {"linear": ("linear", "bilinear", "trilinear"), "bicubic": ("linear", "bicubic", "trilinear")}.get(mode, (mode,) * 3)
        return tuple(F.interpolate(given, scale_factor=factor, mode=name) for given, name in zip((x[0], x, x[None]), modes, strict=True))

    # Of smaller images, stock ExecuTorch does not leave a dimension that 1.1 does not change as it is.
    check(resampled, _images((12, 15), (10, 21), (17, 10)))


def test_sizes_are_rounded_quotients_of_sizes() -> None:
    def rounded(x: Tensor) -> tuple[Tensor, ...]:
        height, width = x.shape[2:]
        sizes = (math.ceil(height / 8), math.floor(width / 3), math.trunc(width * 0.3), round(height / 4), round(width * 0.5 + 0.25))
        return *(x.new_ones(size) for size in sizes), x.new_ones(math.ceil(width / height)), x.new_ones(20 + math.trunc((5 - width) / 2))

    check(rounded, _images((10, 23), (11, 12), (12, 34), (10, 30)))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_a_dimension_is_padded_to_a_multiple(mode: str) -> None:
    def padded(x: Tensor) -> tuple[Tensor, ...]:
        height, width = -x.shape[2] % 4, -x.shape[3] % 3
        return F.pad(x[0], (0, width), mode=mode), F.pad(x, (width, 0, 1, height), mode=mode)

    check(padded, _images((6, 9), (4, 7), (5, 11), (8, 12)))


@pytest.mark.parametrize("mode", ["constant", "replicate"])
def test_whether_entries_are_added_or_taken_away_may_depend_on_the_size(mode: str) -> None:
    check(lambda x: F.pad(x[0], (x.shape[3] % 4 - 2, 2 - x.shape[2] % 5), mode=mode), _images((6, 9), (4, 7), (5, 11), (8, 12)))


def test_products_run_along_any_size() -> None:
    def running(x: Tensor) -> tuple[Tensor, ...]:
        integers, bools = (4 * x).long(), x > 0.1
        return (
            x.cumprod(2),
            x.cumprod(-1),
            x.cumprod(1, dtype=torch.float64),
            integers.cumprod(3),
            integers.int().cumprod(2),
            bools.cumprod(3),
        )

    check(running, _images((6, 9), (4, 7), (5, 11), (8, 12)))
