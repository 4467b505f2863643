"""Complex inputs and outputs, and Fourier transforms: every stage and every engine, stock ExecuTorch too, gives what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import pytest
import torch
from all_engines import disagreement
from torch import Tensor, nn

fourier: Any = torch.fft
Function: TypeAlias = Callable[[Tensor, Tensor], Tensor | tuple[Tensor, ...]]


class _Function(nn.Module):
    """A function, with a complex weight."""

    def __init__(self, function: Function):
        super().__init__()
        self.register_buffer("weight", torch.tensor([1 + 2j, -1j, 0.5, 3 - 1j]))
        self.function = function

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        return self.function(self.get_buffer("weight"), x)


def _arithmetic(weight: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return x * weight + 2j, (x @ weight).abs()


def _filtered(weight: Tensor, x: Tensor) -> Tensor:
    return torch.view_as_real(fourier.ifft(fourier.fft(x) * weight))


def _spectrum(weight: Tensor, x: Tensor) -> Tensor:
    return fourier.rfftn(x, norm="ortho")


def _denoised(weight: Tensor, x: Tensor) -> Tensor:
    window = torch.hann_window(8)
    spectrum = torch.stft(x, 8, 4, window=window, return_complex=True)
    louder = torch.where(spectrum.abs() > 0.5, spectrum, spectrum * 0.1)
    return cast(Any, torch).istft(louder, 8, 4, window=window, length=x.shape[-1])


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (_arithmetic, torch.randn(3, 4, dtype=torch.complex64)),
        (_filtered, torch.randn(2, 4)),
        (_spectrum, torch.randn(3, 5, 4)),
        (_denoised, torch.randn(2, 40)),
    ],
)
def test_every_engine_agrees_with_pytorch(function: Function, x: Tensor) -> None:
    assert disagreement(_Function(function), (x,)) is None


def _selected(weight: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return weight[x > 0] * 2, x.masked_select(x > 0)


def test_as_many_complex_numbers_as_data_decides() -> None:
    assert disagreement(_Function(_selected), (torch.tensor([1.0, -1.0, 2.0, 0.5]),), targets=["flambeau"]) is None
