"""`as_strided` counts the elements of the memory behind a view: the imported program reads the tensor that is all of this memory."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_programs import check, export, imported, seed

from flambeau.frontends.torch_export import UnsupportedProgramError
from flambeau.frontends.torch_export.evaluate import run_aten

seed()

IMAGE = torch.randn(2, 3, 4, 5)
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda x: x,
    "permute": lambda x: x.permute(2, 0, 1, 3),
    "transpose": lambda x: x.transpose(0, 2),
    "movedim": lambda x: x.movedim(0, 2),
    "slice": lambda x: x[:, 1:],
    "select": lambda x: x[1],
    "expand": lambda x: x[:1].expand(3, 3, 4, 5),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "chunk": lambda x: x.chunk(3, 1)[1],
    "split": lambda x: torch.split(x, 2, 2)[1],
    "flatten": lambda x: x[1].flatten(),
    "reshape that copies": lambda x: x.transpose(1, 2).reshape(2, -1),
    "as_strided": lambda x: x.as_strided((5, 3, 4), (1, 7, 2), 3),
    "transposed clone": lambda x: x.transpose(0, 2).clone(),
    "transposed product": lambda x: (x @ x.transpose(2, 3)).transpose(0, 1),
    "channels-last": lambda x: x.to(memory_format=torch.channels_last),
    "channels-last arithmetic": lambda x: x.to(memory_format=torch.channels_last) * 2,
    "channels-last convolution": lambda x: F.conv2d(x.to(memory_format=torch.channels_last), torch.ones(2, 3, 2, 2)),
    "maximum of a transposed tensor": lambda x: x.transpose(0, 2).max(1)[0],
}


def through_a_file(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    stream = io.BytesIO()
    torch.export.save(program, stream)
    stream.seek(0)
    return torch.export.load(stream)


@pytest.mark.parametrize("given", [IMAGE, IMAGE.to(memory_format=torch.channels_last)], ids=["row-major", "channels-last"])
def test_as_strided_reads_the_memory_of_the_base(given: Tensor) -> None:
    def function(x: Tensor) -> dict[str, Tensor]:
        views = {name: view(x) for name, view in VIEWS.items()}
        windows = {f"{name}, {offset}": view.as_strided((2, 2), (1, 3), offset) for name, view in views.items() for offset in (None, 2)}
        return dict(sorted(windows.items()))

    check(function, given)


def test_a_file_keeps_what_is_a_view_of_what() -> None:
    def function(x: Tensor) -> Tensor:
        return x[:, 1:].transpose(0, 2).as_strided((2, 2), (1, 3), 5)

    program = through_a_file(export(function, IMAGE))
    assert torch.equal(run_aten(*imported(program), (IMAGE,))[0], function(IMAGE))


def test_as_strided_after_writes() -> None:
    def written(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        z = y.transpose(0, 2).as_strided((2, 2), (1, 3))
        y.mul_(2)
        return z + 1, y

    def in_place(x: Tensor) -> Tensor:
        y = (x + 1).transpose(0, 2)
        y.as_strided_((2, 2), (1, 3))
        return y * 2

    check(written, IMAGE)
    check(in_place, IMAGE)


class Window(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.as_strided((2, 2), (1, 3))


class TransposedInPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        z = y[:1]
        y.transpose_(0, 1)
        return z.as_strided((2, 2), (1, 3)) + y.sum()


@pytest.mark.parametrize(
    "module, given", [(Window(), IMAGE[:, 1:]), (Window(), IMAGE[:1].expand(3, 3, 4, 5)), (TransposedInPlace(), IMAGE)]
)
def test_memory_that_the_program_does_not_have_is_refused_with_the_place(module: nn.Module, given: Tensor) -> None:
    reason = r"aten.as_strided at .*test_torch_export_memory.py:\d+: it reads memory outside of the tensors of the program"
    with pytest.raises(UnsupportedProgramError, match=reason):
        imported(export(module, given))
