"""Operators without a row are decomposed by PyTorch, one call at a time: nothing else changes, and a remark says so."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F
from torch_programs import check, export, text_of, unary

from flambeau import EdgeCompileConfig, Runtime, to_edge
from flambeau.dialects.ir.diagnostics import Diagnostic, listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import UNDECOMPOSED
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager import PassError

fftn: Any = cast(Any, torch.fft).fftn
entr: Any = cast(Any, torch.special).entr


class Loss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((3, 4), 0.5))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.hinge_embedding_loss(F.silu(x) * self.scale, y, reduction="none")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.loss = Loss()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.loss(x, y)


def test_only_the_operator_without_a_row_changes() -> None:
    text = check(Model(), torch.randn(3, 4), torch.randn(3, 4).sign(), tolerance=1e-6)
    assert "aten.silu" in text and "hinge" not in text
    assert "@loss.scale" in text


def test_its_operations_have_its_place_and_a_remark_tells_what_they_are() -> None:
    said: list[Diagnostic] = []
    with listening(said.append, ("remark",)):
        module = import_program(export(Model(), torch.randn(3, 4), torch.randn(3, 4)), FlambeauContext())
    line = Loss.forward.__code__.co_firstlineno + 1
    places = {text.rpartition(" loc(")[2] for text in text_of(module, locations=True).splitlines() if "aten." in text}
    assert places == {f'"loss"("{__file__}":{line}:0))'}
    assert len(said) == 1
    assert said[0].message.startswith("aten.hinge_embedding_loss has no row: PyTorch decomposes it into aten.")
    assert said[0].op is not None and said[0].op.name.startswith("aten.")


def test_an_in_place_operator_keeps_its_type_and_its_name_stands_for_the_result() -> None:
    def halved(x: Tensor) -> Tensor:
        y = x + 1
        y.deg2rad_()
        return y * 2

    check(unary(halved), torch.randn(3, 4, dtype=torch.float64), tolerance=1e-9)


def test_a_decomposition_may_write_to_what_it_makes() -> None:
    check(unary(lambda x: torch.quantile(x, 0.3, dim=1)), torch.randn(3, 5), tolerance=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_decomposition_may_compute_in_another_type(dtype: torch.dtype) -> None:
    check(unary(lambda x: entr(x)), torch.rand(3, 5).to(dtype), tolerance=1e-2)
    check(unary(lambda x: x.renorm(2, 0, 1.0)), torch.rand(3, 5).to(dtype), tolerance=1e-2)


def test_a_decomposition_may_give_several_results() -> None:
    check(unary(lambda x: torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)), torch.randn(3, 4), tolerance=1e-6)


def test_what_has_no_decomposition_down_to_rows_keeps_its_name() -> None:
    text = text_of(import_program(export(unary(lambda x: torch.igamma(x, x)), torch.rand(3)), FlambeauContext()))
    assert "aten.igamma" in text and UNDECOMPOSED not in text


class Pieces(nn.Module):
    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        return torch.tensor_split(x, ends)[0]


def test_why_a_decomposition_does_not_apply_stays_with_the_operator() -> None:
    program = export(Pieces(), torch.randn(4, 6), torch.tensor([1, 2]))
    text = text_of(import_program(program, FlambeauContext()))
    assert "aten.tensor_split.tensor_indices_or_sections" in text and UNDECOMPOSED in text
    with pytest.raises(PassError, match=r"it has no row, and PyTorch's decomposition does not apply here: tracing it fails: "):
        to_edge(program)


@pytest.mark.parametrize(("shape", "wrap"), [((3, 4), False), ((4, 3), False), ((7, 2), True), ((2, 7), True), ((3, 3, 3), False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_diagonal_is_filled_in_place(shape: tuple[int, ...], wrap: bool, dtype: torch.dtype) -> None:
    def filled(x: Tensor) -> Tensor:
        y = x * 1
        y.fill_diagonal_(7, wrap=wrap)
        return y + x

    check(unary(filled), torch.ones(shape).to(dtype))


def test_the_orders_of_the_polygamma_functions_in_place() -> None:
    check(unary(lambda x: (x + 1).polygamma_(2)), torch.rand(3, 4, dtype=torch.float64), tolerance=1e-9)


def test_a_transform_of_a_fixed_length_takes_any_size() -> None:
    class Transform(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.real(fftn(x, s=(30,), dim=(0,)))

    model = Transform()
    program = torch.export.export(model, (torch.randn(10, 3),), dynamic_shapes=({0: Dim.DYNAMIC(max=40)},))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for length in (10, 2, 29):
        x = torch.randn(length, 3)
        torch.testing.assert_close(torch.as_tensor(method.execute((x,))[0]), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("norm", ["ortho", "forward"])
def test_a_transform_takes_any_length_though_a_decomposition_of_pytorch_fixes_it(norm: str, target: str) -> None:
    class Transform(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.real(fftn(x, dim=(1, 2), norm=norm))

    model = Transform()
    program = torch.export.export(model, (torch.randn(2, 10, 3),), dynamic_shapes=({1: Dim.DYNAMIC(max=16)},))
    edge = to_edge(program, compile_config=EdgeCompileConfig(target=target))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for length in (10, 2, 3, 16):
        x = torch.randn(2, length, 3)
        torch.testing.assert_close(torch.as_tensor(method.execute((x,))[0]), model(x), rtol=1e-5, atol=1e-5)


def test_rows_of_groups_are_multiplied_by_the_matrices_of_their_groups() -> None:
    operator: Any = cast(Any, torch)._grouped_mm
    x, weight, offsets = torch.randn(10, 16), torch.randn(4, 16, 24), torch.tensor([3, 3, 7, 10], dtype=torch.int32)

    def multiplied(x: Tensor, offsets: Tensor) -> Tensor:
        return operator(x.bfloat16(), weight.bfloat16(), offsets).float()

    program = export(multiplied, x, offsets)
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    (found,) = method.execute((x, offsets))
    torch.testing.assert_close(torch.as_tensor(found), multiplied(x, offsets), rtol=2e-2, atol=2e-2)


def counted(x: Tensor) -> Tensor:
    return torch.bincount(x)


def above(grad: Tensor, x: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward(grad, x, 0.5)


WITHOUT_FORM: dict[str, tuple[Any, tuple[Tensor, ...], str]] = {
    "bincount": (counted, (torch.tensor([1, 3]),), "the numbers in its operand decide its size; for numbers below n use x.new_zeros(n)"),
    "threshold_backward": (
        above,
        (torch.tensor([1, 3]), torch.tensor([0.1, 0.9])),
        "the export says that the result is torch.int64, and eager PyTorch gives torch.float32; convert both operands to it",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_what_has_no_form_says_what_to_do_instead(name: str) -> None:
    function, operands, message = WITHOUT_FORM[name]
    with pytest.raises(PassError) as caught:
        to_edge(export(function, *operands))
    assert message in str(caught.value)
