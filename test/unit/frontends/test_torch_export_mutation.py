"""In-place operators and mutable buffers: the functional program gives what PyTorch gives, call after call."""

from __future__ import annotations

import io
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_programs import body, check, export, imported, seed, tensors, text_of

from flambeau.frontends.torch_export import UnsupportedProgramError
from flambeau.frontends.torch_export.evaluate import AtenProgram

seed()


def chain(x: Tensor) -> Tensor:
    y = x + 1
    y.mul_(2)
    z = y.relu_()
    z += x
    return y


def through(program: torch.export.ExportedProgram, a_file: bool) -> torch.export.ExportedProgram:
    """The program itself, or as a file gives it back: without what tracing knew about shared memory."""
    if not a_file:
        return program
    stream = io.BytesIO()
    torch.export.save(program, stream)
    stream.seek(0)
    return torch.export.load(stream)


def test_in_place_operators_become_their_functional_siblings() -> None:
    text = check(chain, torch.randn(3))
    for name in ("aten.mul.Scalar", "aten.relu", "aten.add.Tensor"):
        assert name in text
    assert "_(" not in text


def old_value(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    z = y + 1
    y.add_(5)
    return z, y


def second_name(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    z = y.add_(1)
    y.mul_(3)
    return y, z


def view_before(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    row = y[0]
    y.add_(1)
    return y, row


def view_after(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    y.add_(1)
    return y, y[0]


def write_through_view(x: Tensor) -> Tensor:
    y = x * 1
    y[0].fill_(9)
    return y


def write_through_slices(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    y[:, 1:].copy_(x[:, :-1])
    y.t()[0].zero_()
    return y, y.sum()


def write_through_reshape(x: Tensor) -> Tensor:
    y = x * 1
    y.reshape(-1)[2:4].add_(7)
    return y


def write_through_a_copying_reshape(x: Tensor) -> Tensor:
    y = x * 1
    y.t().reshape(-1)[2:4].add_(7)
    return y


def write_through_contiguous(x: Tensor) -> Tensor:
    y = x * 1
    y.contiguous().add_(7)
    return y


def write_through_type_as(x: Tensor) -> Tensor:
    y = x * 1
    y.type_as(x).add_(7)
    return y


def metadata(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    z = y[0]
    y.unsqueeze_(0).detach_()
    y.transpose_(0, 1)
    return y, z


def index_put(x: Tensor) -> Tensor:
    y = x * 1
    y[torch.tensor([0, 1])] = 5.0
    y[x > 0] = -1
    return y


def promotion(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    y.mul_(x.double())
    z = x * 1
    z.gt_(0)
    return y, z


def boolean(x: Tensor) -> Tensor:
    y = x > 0
    y &= x < 1
    y |= x > 2
    return y


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    a, b = y.chunk(2, 1)
    a.sigmoid_()
    return b, y


def zeros(x: Tensor) -> Tensor:
    y = torch.zeros(3, 4)
    y[1] = x[0]
    y.clamp_(0, 0.5)
    return y + x[0]


@pytest.mark.parametrize(
    "function",
    [
        old_value, second_name, view_before, view_after, write_through_view, write_through_slices, write_through_reshape,
        write_through_a_copying_reshape, write_through_contiguous,
        write_through_type_as, metadata, index_put, promotion, boolean, split, zeros,
    ],
)  # fmt: skip
@pytest.mark.parametrize("through_a_file", [False, True])
def test_writes_are_seen_by_every_alias(function: Callable[[Tensor], Any], through_a_file: bool) -> None:
    x = torch.randn(3, 4)
    ir, context = imported(through(export(function, x), through_a_file))
    expected = tensors(function(x.clone()))
    actual = AtenProgram(ir, context).run([x.clone()])
    for left, right in zip(actual, expected, strict=True):
        assert left.dtype == right.dtype
        assert torch.equal(left, right)


def test_common_in_place_layers_stay_whole() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6(inplace=True), nn.Dropout(inplace=True), nn.SiLU(inplace=True)
    ).eval()
    text = check(model, torch.randn(1, 3, 5, 5))
    for name in ("aten.conv2d", "aten.batch_norm", "aten.hardtanh", "aten.silu"):
        assert f"{name}(" in text


def test_composite_operators_stay_whole_through_pytorchs_functionalisation() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 4)
            self.norm = nn.LayerNorm(4)
            self.linear = nn.Linear(4, 4)
            self.conv = nn.Conv1d(4, 4, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = self.norm(self.lstm(x)[0])
            y[0] = 1.0
            y = F.silu(self.linear(y))
            y = F.scaled_dot_product_attention(y[None], y[None], y[None])[0]
            return self.conv(y.transpose(1, 2))

    text = check(Model().eval(), torch.randn(5, 2, 4), tolerance=1e-6)
    for name in ("lstm.input", "layer_norm", "linear", "silu", "scaled_dot_product_attention", "conv1d"):
        assert f"aten.{name}(" in text


def dropped(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    z = F.dropout(y, 0.5, training=False)
    z.add_(1)
    return y, z


def dropped_view(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 1
    z = F.dropout(y, 0.5, training=False)
    z[0].add_(1)
    return y, z


@pytest.mark.parametrize("through_a_file", [False, True])
def test_dropout_in_evaluation_mode_gives_its_operand_itself(through_a_file: bool) -> None:
    x = torch.randn(3, 4)
    ir, context = imported(through(export(dropped, x), through_a_file))
    actual = AtenProgram(ir, context).run([x])
    for left, right in zip(actual, dropped(x), strict=True):
        assert torch.equal(left, right)
    with pytest.raises(UnsupportedProgramError, match=r"other tensors share the memory it writes to.*clone"):
        imported(through(export(dropped_view, x), through_a_file))


VIEWS: list[Callable[[Tensor], Tensor]] = [
    lambda t: t[0] if t.dim() > 1 else t[:],
    lambda t: t.t() if t.dim() == 2 else t.unsqueeze(0),
    lambda t: t.reshape(-1),
    lambda t: t[..., 1:],
    lambda t: t[..., :-1],
    lambda t: t.unsqueeze(-1),
    lambda t: t.contiguous(),
    lambda t: t.detach(),
    lambda t: t.to(torch.float32),
    lambda t: t.chunk(2, -1)[-1],
    lambda t: t.transpose(0, -1),
]
PURE: list[Callable[[Tensor], Tensor]] = [lambda t: t + 1, lambda t: t.sin(), lambda t: t.clone(), lambda t: t * t]
IN_PLACE: list[Callable[[Tensor], Tensor]] = [
    lambda t: t.add_(1),
    lambda t: t.mul_(0.5),
    lambda t: t.relu_(),
    lambda t: t.zero_(),
    lambda t: t.copy_(t.flip(0)),
    lambda t: t.clamp_(-1, 1),
    lambda t: t.masked_fill_(t > 0, 2.0),
]


class RandomWrites(nn.Module):
    """A few random views, writes and functions over an intermediate value and a buffer."""

    buffer: Tensor

    def __init__(self, number: int):
        super().__init__()
        self.number = number
        self.register_buffer("buffer", torch.arange(12.0).reshape(3, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        choose = random.Random(self.number)
        pool = [x * 1, self.buffer]
        for _ in range(choose.randint(2, 9)):
            operand = choose.choice(pool)
            kind = choose.choices([VIEWS, IN_PLACE, PURE], [7, 9, 4])[0]
            function = choose.choice(kind)
            if operand.numel() > 1 and operand.dim() < 4:
                pool.append(function(operand))
        return tuple(choose.sample(pool, min(len(pool), 3)))


@pytest.mark.parametrize("number", range(24))
def test_random_writes(number: int) -> None:
    check(RandomWrites(number), torch.arange(12.0).reshape(3, 4) - 5, calls=2)


# --- state


class Counter(nn.Module):
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return x + self.count


def test_a_written_buffer_is_a_mutable_global() -> None:
    text = check(Counter(), torch.randn(2), calls=3)
    assert "ml_program.global private mutable @count(" in text
    assert "%count = ml_program.global_load @count : tensor<1xf32>" in text
    assert "ml_program.global_store @count = %" in text


class Cache(nn.Module):
    """Writes a row at a position, as attention caches do."""

    cache: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3), persistent=False)

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        self.cache.index_copy_(0, position, x)
        return self.cache.sum(0)


def test_a_cache_keeps_its_rows() -> None:
    ir, context = imported(export(Cache(), torch.randn(1, 3), torch.tensor([0])))
    assert "aten.index_copy(" in body(ir)
    program = AtenProgram(ir, context)
    first, second = torch.randn(1, 3), torch.randn(1, 3)
    program.run([first, torch.tensor([0])])
    (total,) = program.run([second, torch.tensor([2])])
    torch.testing.assert_close(total, (first + second)[0])


class SlicedCache(nn.Module):
    cache: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.cache[1:] = self.cache[:-1].clone()
        self.cache[0] = x
        return self.cache.clone()


class Swap(nn.Module):
    a: Tensor
    b: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.ones(2))
        self.register_buffer("b", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old + x)
        return self.a - self.b


class Assigned(nn.Module):
    state: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        self.state.copy_(self.state * 0.5 + x)
        return self.state * 1


@pytest.mark.parametrize("model", [SlicedCache, Swap, Assigned])
def test_state_lasts_from_call_to_call(model: Callable[[], nn.Module]) -> None:
    check(model(), torch.randn(3) if model is SlicedCache else torch.randn(2), calls=3)


def test_a_parameter_that_is_written_is_state_too() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2), requires_grad=False)

        def forward(self, x: Tensor) -> Tensor:
            self.weight.mul_(2)
            return x * self.weight

    assert "mutable @weight" in check(Model(), torch.randn(2), calls=3)


def test_batch_norm_in_training_mode_updates_its_statistics() -> None:
    model = nn.BatchNorm1d(3, momentum=0.5).train()
    text = check(model, torch.randn(8, 3), calls=3, tolerance=1e-6)
    assert "mutable @running_mean" in text


@pytest.mark.parametrize("of_a_part", [False, True])
def test_the_new_value_of_an_input_that_is_written_is_the_last_result(of_a_part: bool) -> None:
    def function(x: Tensor) -> Tensor:
        (x[0] if of_a_part else x).add_(1)
        return x * 2

    module, _ = imported(export(function, torch.randn(2)))
    assert '{name = "x", writes = "x"}' in text_of(module)


def test_the_report_of_a_write_to_an_input_names_its_line() -> None:
    class Writes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x * 2
            x.add_(1)
            return y + x

    place = f"{__file__}:{Writes.forward.__code__.co_firstlineno + 2}"
    x = torch.randn(1, 2, 3, 3).to(memory_format=torch.channels_last)
    with pytest.raises(UnsupportedProgramError, match=f"input 'x' at {re.escape(place)}: the program writes to it, and it is laid out as"):
        imported(export(Writes(), x))


def test_a_buffer_that_changes_its_shape_is_reported() -> None:
    class Model(Counter):
        def forward(self, x: Tensor) -> Tensor:
            self.count.unsqueeze_(0)
            return x + self.count

    with pytest.raises(UnsupportedProgramError, match=r"aten\.unsqueeze_"):
        imported(export(Model(), torch.randn(2)))


def test_nothing_warns_of_what_pytorch_deprecates_of_its_own() -> None:
    def writes_a_part(x: Tensor) -> Tensor:
        flat = x.clone().view(-1)
        flat[0] = 3
        return flat

    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        imported(export(writes_a_part, torch.ones(2, 2)))
