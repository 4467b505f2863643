"""The limits of Neutron, as the converters of ExecuTorch's NXP backend state them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quantized_layers import quantized
from quantized_programs import quantized_by_pt2e
from torch import Tensor, nn

from flambeau import get_delegation_info, to_edge_transform_and_lower


class Between(nn.Module):
    """A function between int8 of zero points."""

    def __init__(self, function: Any, zero_point: int):
        super().__init__()
        self.function, self.zero_point = function, zero_point

    def forward(self, *inputs: Tensor) -> Tensor:
        """The values."""
        given = [quantized(x, 0.05, self.zero_point, torch.int8) for x in inputs]
        return quantized(self.function(*given), 0.05, 0, torch.int8)


def refused(program: Any) -> Sequence[str]:
    edge = to_edge_transform_and_lower(program, partitioner=["neutron"])
    return [why for name, why in get_delegation_info(edge).refused if "quantize" not in name]


def resized(scale: Sequence[float], aligned: bool | None = None) -> Any:
    mode: dict[str, Any] = {"mode": "nearest"} if aligned is None else {"mode": "bilinear", "align_corners": aligned}

    def function(x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=scale, **mode)

    return function


IMAGE = (torch.randn(1, 3, 4, 5),)
MATRICES = torch.randn(2, 3, 4), torch.randn(2, 4, 5)


@pytest.mark.parametrize(
    ("function", "inputs", "zero_point", "reason"),
    [
        (resized((2.0, 8.0)), IMAGE, 3, ""),
        (resized((3.0, 2.0)), IMAGE, 3, "it makes 12 pixels of 4"),
        (resized((4.0, 1.0), False), IMAGE, 3, ""),
        (torch.bmm, MATRICES, 0, ""),
        (torch.bmm, MATRICES, 5, "a matrix has the zero point 5"),
        (torch.neg, IMAGE, 3, ""),
        (F.hardswish, IMAGE, 3, ""),
    ],
)
def test_operators_of_newer_converters(function: Any, inputs: tuple[Tensor, ...], zero_point: int, reason: str) -> None:
    found = refused(torch.export.export(Between(function, zero_point), inputs))
    assert any(reason in why for why in found) if reason else not found


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (nn.ConvTranspose2d(3, 4, 2, 2), ""),
        (nn.ConvTranspose2d(3, 4, 3, 3), "it is transposed, with windows [3, 3], steps [3, 3]"),
        (nn.ConvTranspose2d(3, 4, 1, 2), "it is transposed, with windows [1, 1], steps [2, 2]"),
    ],
)
def test_transposed_convolutions(layer: nn.Module, reason: str) -> None:
    found = refused(quantized_by_pt2e(layer.eval(), IMAGE[0]))
    assert any(reason in why for why in found) if reason else not found


def test_a_transposed_convolution_has_no_groups() -> None:
    class Grouped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Buffer(torch.ones(3, 2, 2, 2, dtype=torch.int8))

        def forward(self, x: Tensor) -> Tensor:
            weight = torch.ops.quantized_decomposed.dequantize_per_tensor(self.weight, 0.1, 0, -127, 127, torch.int8)
            found = F.conv_transpose2d(quantized(x, 0.05, 3, torch.int8), weight, None, 2, groups=3)
            return quantized(found, 0.05, 0, torch.int8)

    assert any("it is transposed and has 3 groups" in why for why in refused(torch.export.export(Grouped(), IMAGE)))
