"""Tensors of float8 are stored and moved: conversions are PyTorch's to the bit, operators that move elements take them, others refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import disagreement, engines
from control_flow_operators import steps
from torch import Tensor, nn
from torch.nn import functional
from torch_programs import Function, export, seed

from flambeau import PassError
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.ir.tensor_types import DTYPES, is_float8
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.frontends.torch_export.importer import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions

KINDS: list[torch.dtype] = [getattr(torch, row.torch) for row in DTYPES if is_float8(row.element)]
WIDE = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def numbers() -> Tensor:
    """Floats of every exponent and every way to round, the largest numbers of each kind and what is just beyond them."""
    chance = np.random.default_rng(0)
    high = np.arange(1 << 14, dtype=np.uint32) << 18
    bits = np.concatenate([high, high[::8] | 1, high[::8] | 0x8000, high[::8] - 1, chance.integers(0, 1 << 32, 1 << 16, np.uint32)])
    near = [chance.uniform(-most, most, 1 << 13) for most in (600, 70000, 0.05, 1e-4)]
    return torch.as_tensor(np.concatenate([bits.view(np.float32), *[item.astype(np.float32) for item in near]]))


def bytes_of(item: Any) -> bytes:
    """The memory of an array or a tensor of float8."""
    return item.tobytes() if hasattr(item, "tobytes") else item.view(torch.uint8).numpy().tobytes()


def run(function: Callable[..., Any], *inputs: Tensor) -> dict[str, list[Any]]:
    """What each engine makes of a program."""
    program = export(Function(function), *inputs)
    return {engine: list(run(list(inputs))) for engine, run in engines(program, ("flambeau",))}


def test_every_number_becomes_the_float8_that_pytorch_makes_of_it() -> None:
    given = numbers()
    sources = [given, given.double() * (1 + 2**-30), given.half(), given.bfloat16(), given.nan_to_num(0).clamp(-600, 600).long()]
    found = run(lambda *items: [item.to(kind) for item in items for kind in KINDS], *sources)
    expected = [item.to(kind) for item in sources for kind in KINDS]
    for engine, results in found.items():
        for index, (result, wanted) in enumerate(zip(results, expected, strict=True)):
            where = f"{engine}: {wanted.dtype} of {sources[index // len(KINDS)].dtype}"
            if engine.startswith("C"):
                assert bytes_of(result) == bytes_of(wanted), where
            else:  # ml_dtypes has another NaN
                np.testing.assert_array_equal(result.astype(np.float32), wanted.float().numpy(), where)


def test_every_float8_becomes_the_number_that_it_is_in_pytorch() -> None:
    given, kinds = [torch.arange(256, dtype=torch.uint8).view(kind) for kind in KINDS], len(KINDS)
    # What an integer makes of NaN is not defined, and PyTorch's vectors and single numbers make different ones.
    whole = [item.float().nan_to_num(0).clamp(0, 200).to(item.dtype) for item in given]
    found = run(
        lambda *items: (
            [item.to(dtype) for item in items[:kinds] for dtype in WIDE[:4]]
            + [item.to(dtype) for item in items[kinds:] for dtype in WIDE[4:]]
        ),
        *given,
        *whole,
    )
    expected = [item.to(dtype) for item in given for dtype in WIDE[:4]] + [item.to(dtype) for item in whole for dtype in WIDE[4:]]
    for engine, results in found.items():
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.astype(np.float64), wanted.double().numpy(), f"{engine}: {wanted.dtype}")


MOVES: dict[str, Callable[[Tensor], Any]] = {
    "joined": lambda x: (torch.cat([x, x[1:]]), torch.stack([x, x], 1), cast(Any, torch).block_diag(x, x)),
    "parts": lambda x: (x[1:, ::2], x[1], *cast(Any, x).split(2), *x.unbind(1), *x.chunk(2, 1), x.narrow(1, 1, 2)),
    "padded": lambda x: (functional.pad(x, (1, -1, 0, 2), value=1.7), functional.pad(x, (2, 0)), x[0].diag_embed()),
    "chosen": lambda x: (x[torch.tensor([0, 2])], x.index_select(1, torch.tensor([3, 0])), functional.embedding(torch.tensor([2, 0]), x)),
    "masked": lambda x: (torch.where(x.float() > 0, x, x.roll(1, 0)), torch.where(x.float() > 0, x, 1.3), x.masked_select(x.float() > 0)),
    "made": lambda x: (torch.full((2,), 1.7, dtype=E4M3), torch.zeros_like(x, dtype=E5M2), torch.ones_like(x), x.new_full((2,), 3.3)),
    "replaced": lambda x: (x.index_put((torch.tensor([0]),), x[1]), x.select_scatter(x[0], 0, 1), x.slice_scatter(x[:1].float(), 0, 1, 2)),
    "repeated": lambda x: (x.repeat(2, 1), x.tile(2), x.repeat_interleave(2, 0), x[None].expand(2, 3, 4).clone()),
    "viewed": lambda x: (x.permute(1, 0).contiguous(), x.view(4, 3), x.unfold(0, 2, 1), x.diagonal().clone(), x.t().reshape(-1)),
    "filled": lambda x: (x.clone().fill_(2.6), x.clone().zero_(), x.clone().copy_(x[0]), x.type_as(x.to(torch.float8_e4m3fnuz))),
}


@pytest.mark.parametrize("name", MOVES)
def test_operators_that_move_elements_take_float8(name: str) -> None:
    seed()
    kind = E5M2 if name == "padded" else E4M3
    assert disagreement(Function(MOVES[name]), [(torch.randn(3, 4) * 40).to(kind)], targets=("flambeau",)) is None


class Stored(nn.Module):
    """A linear layer whose weight is stored in float8 with a scale per output feature."""

    def __init__(self):
        super().__init__()
        seed()
        weight = torch.randn(200, 400)
        self.scale = nn.Buffer(weight.abs().amax(1, keepdim=True) / 448)
        self.weight = nn.Buffer((weight / self.scale).to(E4M3))
        self.bias = nn.Parameter(torch.randn(200))

    def forward(self, x: Tensor) -> Tensor:
        """The weight is converted where it is used."""
        return functional.linear(x, self.weight.to(torch.float32) * self.scale, self.bias)


def compiled(model: nn.Module, target: str, *inputs: Tensor) -> bytes:
    """The program of a model."""
    context = FlambeauContext()
    return Compilation(export_module(model, inputs, context), context, PipelineOptions(target=target)).emit()


def test_a_weight_of_float8_stays_one_in_the_program() -> None:
    model, x = Stored().eval(), torch.randn(3, 400)
    assert disagreement(model, [x], targets=("flambeau",)) is None
    assert len(compiled(model, "flambeau", x)) < 1.2 * 200 * 400


def test_the_target_executorch_refuses_float8_for_its_kernels_do_not_take_it() -> None:
    with pytest.raises(PassError, match=r"_to_copy\.out of the target 'executorch' does not take it: a tensor is of f8E4M3FN"):
        compiled(Stored().eval(), "executorch", torch.randn(3, 400))


@pytest.mark.parametrize("name", MOVES)
def test_the_target_executorch_takes_the_moves_of_float8_that_its_kernels_take(name: str) -> None:
    x = (torch.randn(3, 4) * 40).to(E4M3)
    if name in ("chosen", "repeated"):
        assert disagreement(Function(MOVES[name]), [x], targets=("executorch",)) is None
    else:
        with pytest.raises(PassError, match=r"and its kernel does not take that|where a tensor is of f8E4M3FN"):
            compiled(Function(MOVES[name]), "executorch", x)


def test_what_control_flow_moves_by_a_kernel_is_refused_too() -> None:
    def kept(*given: Tensor) -> Any:
        return steps(lambda last, _: (last.clone(), last.clone()), *given)

    sizes = ({0: torch.export.Dim("n", min=2, max=9)}, None)
    with torch.no_grad():
        program = torch.export.export(
            Function(kept), (torch.randn(3, 4).to(E4M3), torch.randn(3, 2)), dynamic_shapes={"given": sizes}, strict=False
        )
    context = FlambeauContext()
    with pytest.raises(PassError, match="a tensor is of f8E4M3FN, and its kernel does not take that"):
        Compilation(import_program(program, context), context, PipelineOptions(target="executorch")).emit()


def test_a_number_that_float8_does_not_hold_is_refused_as_in_pytorch() -> None:
    with pytest.raises(Exception, match=r"500\.0 is not a number that float8_e4m3fn holds"):
        compiled(Function(lambda *given: functional.pad(given[0], (1, 0), value=500.0)), "flambeau", torch.ones(3).to(E4M3))
