"""Everything that cannot be imported is reported at once, with its place in the model."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
import torch
from control_flow_operators import branch
from torch import Tensor, nn
from torch_programs import Function, export, unary

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import UnsupportedProgramError, import_program


def problems(program: torch.export.ExportedProgram) -> UnsupportedProgramError:
    with pytest.raises(UnsupportedProgramError) as caught:
        import_program(program, FlambeauContext())
    return caught.value


@torch.library.custom_op("test_torch_export::mystery", mutates_args=())
def mystery(x: Tensor) -> Tensor:
    return x.clone()


@cast(Any, mystery).register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Block(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = mystery(x)
        return torch.complex(y.half(), y.half()).abs()


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def test_all_problems_are_listed_with_their_places() -> None:
    error = problems(export(Model(), torch.randn(3)))
    line = Block.forward.__code__.co_firstlineno
    assert str(error).splitlines() == [
        "the program has 2 unsupported constructs:",
        f"  test_torch_export.mystery (×2) at blocks.0, {__file__}:{line + 1}; blocks.1, {__file__}:{line + 1}: "
        "the operator is unknown: it is not ATen's, and has no row; --load-plugin loads rows, "
        "and docs/tutorials/add_kernel.md shows how to write them",
        f"  aten.complex (×2) at blocks.0, {__file__}:{line + 2}; blocks.1, {__file__}:{line + 2}: "
        "tensors of torch.complex32 are not supported",
    ]
    assert isinstance(error, ValueError)
    assert len(error.problems) == 4


def test_places_beyond_the_third_are_counted() -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block() for _ in range(5)])

        forward = Model.forward

    assert "; and 2 more places" in str(problems(export(Deep(), torch.randn(3))))


def test_operators_that_a_pass_might_still_lower_are_listed_beside_what_cannot_be_imported() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.igamma(mystery(x), x) + torch.tensor_split(x, x.long())[0]

    error = str(problems(export(function, torch.rand(3))))
    assert error.startswith("the program has 3 unsupported constructs:")
    assert "aten.igamma: Flambeau knows this operator's schema but not its meaning" in error
    assert "PyTorch's decomposition does not apply here: tracing it fails:" in error


def test_problems_in_regions_are_listed_with_the_others() -> None:
    class Branching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            def more(x: Tensor) -> Tensor:
                return mystery(x) + torch.complex(x.half(), x.half()).abs()

            return branch(mystery(x).sum() > 0, more, lambda x: mystery(x), (x,)) * 2

    error = str(problems(export(Branching(), torch.randn(3))))
    line = Branching.forward.__code__.co_firstlineno + 4
    assert error.startswith("the program has 2 unsupported constructs:")
    assert f"test_torch_export.mystery (×3) at {__file__}:{line}" in error
    assert f"aten.complex at {__file__}:{line}" in error


@torch.library.custom_op("test_torch_export::bump", mutates_args=("x",))
def bump(x: Tensor) -> None:
    x.add_(1)


def test_custom_operators_that_write() -> None:
    def function(x: Tensor) -> Tensor:
        y = x.clone()
        cast(Any, bump)(y)
        return y.view(-1)[:2]

    error = str(problems(export(function, torch.randn(3))))
    assert "test_torch_export.bump: the operator is unknown" in error and "has no row; --load-plugin loads rows" in error


def test_sizes_without_a_form() -> None:
    def function(x: Tensor) -> Tensor:
        return x * (x.shape[0] & 3)

    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(Function(function), (torch.randn(4, 6),), dynamic_shapes=({0: batch},), strict=False)
    assert "is computed from sizes or data in a way that has no form in the IR" in str(problems(program))


def test_integers_beyond_64_bits() -> None:
    class Large(nn.Module):
        def forward(self, x: Tensor, n: int) -> tuple[Tensor, int, int]:
            return x, n, -(2**63)

    error = str(problems(export(Large(), torch.randn(3), 2**63)))
    assert error.startswith("the program has 2 unsupported constructs:")
    assert f"input 'n': {2**63}, which does not fit in 64 bits, is not supported as an input; give a constant or a tensor" in error
    assert f"output 'output_1': {2**63}, which does not fit in 64 bits, is not supported as an output" in error


def test_numbers_of_data_without_a_place() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(x, cast(float, x[0].item()))

    error = str(problems(export(function, torch.tensor([3.0, 4.0]))))
    assert "it takes a number that data decides where a tensor has no place; keep it a tensor, without item()" in error


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.randn(2, dtype=torch.complex32), "input 'x': tensors of torch.complex32 are not supported"),
        (torch.randn(2, 2).to_sparse(), "input 'x': torch.sparse_coo tensors are not supported: use dense ones"),
    ],
)
def test_tensors_that_programs_cannot_hold(value: Tensor, message: str) -> None:
    assert message in str(problems(export(unary(lambda x: x * 2), value)))


def test_weights_that_programs_cannot_hold() -> None:
    class Weighted(nn.Module):
        phase: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("phase", torch.randn(2, dtype=torch.complex32))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.phase.abs()

    assert "buffer 'phase': tensors of torch.complex32 are not supported" in str(problems(export(Weighted(), torch.randn(2))))


def test_weights_without_data() -> None:
    with torch.device("meta"):
        model = nn.Linear(2, 2)
    program = export(model, torch.randn(3, 2, device="meta"))
    assert "parameter 'weight': it has no data; load the weights before the export" in str(problems(program))


@pytest.mark.parametrize("transform", ["grad", "jacrev"])
def test_values_inside_of_a_transform_that_the_export_took_for_constants(transform: str) -> None:
    def cubed(x: Tensor) -> Tensor:
        return (x**3 * torch.tensor([1.0, 2.0])).sum()

    error = str(problems(export(unary(lambda x: getattr(torch.func, transform)(cubed)(x)), torch.randn(2))))
    assert re.search("constant tensor 'lifted_tensor_[0-9]': it is a value inside of torch.func.grad or a transform like it", error)


def test_a_problem_in_one_method_of_several() -> None:
    programs = {"good": export(unary(lambda x: x + 1), torch.randn(2)), "bad": export(unary(lambda x: mystery(x)), torch.randn(2))}
    with pytest.raises(UnsupportedProgramError, match=r"test_torch_export\.mystery"):
        import_program(programs, FlambeauContext())
