"""Conditions on the sizes of inputs: what the exported program refuses, the compiled one refuses, also where it was saved and loaded."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from all_engines import TARGETS, peer
from shares import dealt
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

from flambeau import EdgeCompileConfig, to_edge
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import UnsupportedProgramError, import_program
from flambeau.passes.manager import PassError
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime

untyped: Any = torch
ANY = {0: Dim.AUTO}
CONDITIONS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a quotient": (lambda a, b: a / b <= 2, "a / b <= 2.0"),
    "a distance": (lambda a, b: abs(a - b) <= 6, ""),
    "one of two": (lambda a, b: ((a < 5) & (b < 9)) | (a % 2 == 0), "a % 2 == 0 or (b < 9 and a < 5)"),
    "all of three": (lambda a, b: (a + b < 18) & (a / b < 3) & (b != 5), " and "),
    "not": (lambda a, b: untyped.sym_not((a < 3) & (b < 9)), "not (b < 9 and a < 3)"),
    "a choice": (lambda a, b: untyped.sym_ite(a < 5, a, b) * 3 <= 30, "3 * (a if a < 5 else b) <= 30"),
    "a root": (lambda a, b: untyped.sym_sqrt(a * b) > 2.5, "sqrt(b * a) > 2.5"),
    "a power": (lambda a, b: (a * 0.3) ** 2 < 8 + b, "(0.3 * a) ** 2.0 < "),
    "a cube": (lambda a, b: a**3 < 90 * b, ""),
    "rounded": (lambda a, b: round(a / b) < 3, "round(a / b) < 3"),
    "cut": (lambda a, b: math.trunc(a * 0.1 + b / 3) * 2 <= 5, "trunc("),
    "the larger": (lambda a, b: untyped.sym_max(a / 2, b) < 9.5, "< 9.5"),
    "a remainder": (lambda a, b: (a * b) % 3 != 1, ""),
}


class Checked(nn.Module):
    def __init__(self, holds: Callable[[Any, Any], Any]):
        super().__init__()
        self.holds = holds

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        untyped._check(self.holds(x.shape[0], y.shape[0]))
        return x.sum() + y.sum()


def _loaded(program: ExportedProgram) -> ExportedProgram:
    """The program from its `.pt2` file."""
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def _method(program: ExportedProgram, target: str) -> tuple[Any, bytes]:
    context = FlambeauContext()
    data = Compilation(import_program(program, context), context, PipelineOptions(target=target)).emit()
    return Runtime.get().load_program(data).load_method("forward"), data


def _refused(method: Any, *inputs: Any) -> str | None:
    try:
        method.execute(list(inputs))
    except RuntimeError as caught:
        return str(caught)
    return None


@pytest.mark.parametrize(("name", "target"), dealt(CONDITIONS, TARGETS))
def test_a_program_refuses_the_sizes_that_pytorch_refuses(name: str, target: str) -> None:
    holds, words = CONDITIONS[name]
    sizes = {"x": {0: Dim("a", min=2, max=12)}, "y": {0: Dim("b", min=2, max=12)}}
    program = export(Checked(holds), (torch.ones(4, 2), torch.ones(6, 2)), dynamic_shapes=sizes, strict=False)
    fresh, data = _method(program, target)
    loaded, _ = _method(_loaded(program), target)
    stock = peer.Runtime.get().load_program(data).load_method("forward") if target == "executorch" else None
    found: set[bool] = set()
    for a in range(2, 13):
        for b in range(2, 13):
            x, y = torch.ones(a, 2), torch.ones(b, 2)
            message = _refused(fresh, x.numpy(), y.numpy())
            expected = bool(holds(a, b))
            found.add(expected)
            assert (message is None) == expected, (a, b, message)
            assert message is None or words in message
            assert (_refused(loaded, x.numpy(), y.numpy()) is None) == expected
            if stock is not None and (a * b) % 5 == 0:
                assert (_refused(stock, x, y) is None) == expected
    assert found == {True, False}


class Nested(nn.Module):
    def forward(self, d: dict[str, list[Tensor]], *xs: Tensor, n: int, k: Tensor) -> Tensor:
        size = d["a"][0].shape[0]
        untyped._check(xs[1].shape[0] / size <= 2)
        untyped._check(k.shape[0] / size <= 3)
        untyped._check(n / size <= 4)
        return k.sum() + xs[0].sum() + n


@pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
def test_conditions_on_inputs_in_containers(strict: bool) -> None:
    sizes = {"d": {"a": [ANY]}, "xs": (ANY, ANY), "n": Dim.AUTO, "k": ANY}
    given = ({"a": [torch.ones(4)]}, torch.ones(5), torch.ones(6))
    program = export(Nested(), given, {"n": 7, "k": torch.ones(8)}, dynamic_shapes=sizes, strict=strict)
    for source in (program, _loaded(program)):
        assert str(import_program(source, FlambeauContext())).count("cf.assert") == 3


def test_a_condition_without_a_form_is_refused() -> None:
    program = export(Checked(lambda a, b: round(a / b, 1) <= 2.2), (torch.ones(4, 2), torch.ones(6, 2)), dynamic_shapes=(ANY, ANY))
    with pytest.raises(
        UnsupportedProgramError, match=r"the condition round\(s\d+ / s\d+, 1\) <= 2.2 .* cannot be checked: round of 2 numbers"
    ):
        import_program(program, FlambeauContext())


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_derived_dimension_begins_where_its_range_does(is_saved: bool) -> None:
    sizes = {0: 2 * Dim("half", min=1, max=5)}
    program = export(nn.ReLU(), (torch.ones(4, 2),), dynamic_shapes=(sizes,))
    method, _ = _method(_loaded(program) if is_saved else program, "executorch")
    assert [_refused(method, torch.ones(rows, 2)) is None for rows in range(12)] == [rows in range(2, 11, 2) for rows in range(12)]


def test_a_dimension_that_others_are_derived_from_has_its_name() -> None:
    sizes = {0: 8 * Dim("frames", min=1) + 1}
    program = export(nn.ReLU(), (torch.ones(17, 2),), dynamic_shapes=(sizes,))
    edge = to_edge(program, compile_config=EdgeCompileConfig(bounds={"frames": 3}))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    assert [_refused(method, torch.ones(rows, 2)) is None for rows in (9, 17, 24, 25, 33)] == [True, True, False, True, False]


class Sum(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        first, second = cast("tuple[int, int]", (x[0].item(), x[1].item()))
        untyped._check(first + second <= 10)
        untyped._check(first + second >= 0)
        return torch.zeros(first + second)


def test_what_bounds_a_sum_of_sizes_says_that_each_needs_a_bound() -> None:
    program = export(Sum(), (torch.tensor([3, 4]),))
    with pytest.raises(PassError) as caught:
        to_edge(program).to_executorch()
    message = str(caught.value)
    assert "torch._check(size <= 512) for each of u0, u1, not for what is computed from them" in message
    assert "--bound u0=512 --bound u1=512, in Python EdgeCompileConfig(bounds={'u0': 512, 'u1': 512})" in message
