"""Programs of dynamic shapes: every stage and every runtime computes what PyTorch computes, and refuses what the program does not take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import EMITTED
from control_flow_operators import branch, loop, rows, steps
from engines import peer
from shares import dealt
from torch import Tensor
from torch.export import Dim
from torch.nn import functional as F
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.emitted_method import EmittedMethod
from flambeau.runtime.interpreter import InterpreterError, interpret

Inputs = tuple[Tensor, ...]
check: Callable[..., None] = cast(Any, torch)._check
TARGETS = ("executorch", "flambeau")


@dataclass(frozen=True)
class Program:
    """A function, inputs to export it with, its dynamic shapes, and other inputs that it takes."""

    function: Callable[..., Any]
    example: Inputs
    dims: Any
    others: Sequence[Inputs]
    refused: Sequence[tuple[Inputs, str]] = ()
    """Inputs that it does not take, with a part of the message."""


class Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function
        if isinstance(function, torch.nn.Module):
            self.inner = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def _rand(*shape: int) -> Tensor:
    return torch.rand(shape) - 0.5


def _reshaped(x: Tensor) -> Tensor:
    rows, columns = x.shape
    return torch.cat([x.view(rows * 2, columns // 2), x.reshape(-1, columns // 2)]) + rows


def _windows(x: Tensor) -> tuple[Tensor, ...]:
    n = x.shape[1]
    return x[:, 1 : n // 2], x[:, -3:], x[:, ::2], x.narrow(1, 1, n - 2), x.flip(1)


def _attention(x: Tensor) -> Tensor:
    batch, length, width = x.shape
    heads = x.view(batch, length, 2, width // 2).transpose(1, 2)
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(heads, heads, heads, mask).transpose(1, 2).reshape(batch, length, width)


def _generated(x: Tensor) -> tuple[Tensor, ...]:
    n = x.shape[0]
    return torch.arange(n) * 2, torch.zeros(n, 2), torch.full((n + 1,), 0.5), x.expand(3, n), torch.eye(n)


def _chosen(x: Tensor) -> tuple[Tensor, ...]:
    return x[x > 0], torch.nonzero(x), torch.masked_select(x, x < 0)


def _counted(x: Tensor, count: Tensor) -> tuple[Tensor, ...]:
    n = count.item()
    check(n >= 0)
    check(n <= x.shape[0])
    return x[:n], torch.ones(cast(int, n) + 1)


def _repeated_by_counts(x: Tensor, repeats: Tensor) -> Tensor:
    rows = x.repeat_interleave(repeats, 0)
    check(rows.shape[0] <= 20)
    return rows + 1


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    first, second = x.chunk(2)
    return first * 2, second, *x.tensor_split(3)


def _scaled(x: Tensor) -> tuple[Tensor, ...]:
    return x / cast(float, x.max().item()), (x > 0).to(torch.int64) * cast(float, x.mean().item()) + x.shape[0]


def _checked(x: Tensor, y: Tensor) -> Tensor:
    check(x.shape[0] % 4 == 0, lambda: "a multiple of 4")
    check(x.shape[0] != y.shape[0])
    return x.sum() + y


def _checked_against(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x.shape[0], y.shape[0]
    check(a <= b)
    check((b == 8) | (b == 12))
    return x * 2, y * 2


def _equal(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def _folded(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(0), x.mean(1, keepdim=True), x.softmax(0), x.cumsum(1), x.argmax(1), x.sort(1)[0], x.std(1)


def _in_place(x: Tensor) -> tuple[Tensor, ...]:
    squared = torch.relu(x + 1).square() * (x - x.mean(0)).abs()
    positive = torch.relu(x)
    return positive * positive, squared.sigmoid() + squared.amax(0, keepdim=True), squared.flip(0) - x[:1]


def _negated(x: Tensor) -> Tensor:
    return -x


def _conditional(x: Tensor) -> tuple[Tensor, ...]:
    def positive(x: Tensor) -> Tensor:
        return x.flatten()[x.flatten() > 0]

    def negative(x: Tensor) -> Tensor:
        return x.flatten()[x.flatten() < 0]

    return branch(x.shape[0] > 4, torch.sin, _negated, (x,)), branch(x.sum() > 0, positive, negative, (x,))


def _repeated(x: Tensor) -> tuple[Any, ...]:
    def before_the_end(i: int, x: Tensor) -> bool:
        return i < x.shape[0]

    def added(i: int, x: Tensor) -> tuple[int, Tensor]:
        return i + 1, x + i

    def below_three(i: Tensor, x: Tensor) -> Tensor:
        return i < 3

    def doubled(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, x * 2

    return *loop(before_the_end, added, (0, x)), loop(below_three, doubled, (torch.tensor(0), x))[1]


def _rows(x: Tensor) -> tuple[Tensor, ...]:
    def step(carried: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        return carried + row.sum(), carried * row

    def of_row(row: Tensor) -> Tensor:
        return row.sin() + row.sum()

    return *steps(step, torch.zeros(()), x), rows(of_row, x)


def _nested(x: Tensor) -> Any:
    def first(i: int, x: Tensor) -> bool:
        return i < 2

    def more(i: int, x: Tensor) -> tuple[int, Tensor]:
        return i + 1, x + 1

    def repeated(x: Tensor) -> Tensor:
        return loop(first, more, (0, x))[1]

    def by_rows(x: Tensor) -> Tensor:
        return branch(x.shape[0] > 5, repeated, _negated, (x,))

    return branch(x.sum() > 0, by_rows, _negated, (x,))


def _resized(x: Tensor) -> tuple[Tensor, ...]:
    resize = F.interpolate
    return resize(x, scale_factor=0.5), resize(x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True)


def _products(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return torch.einsum("abc,abd->cd", x, y), torch.einsum("abc,abd->bcd", x, y), torch.einsum("abc,c->ba", x, torch.ones(1))


MLP = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))
CNN = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, stride=2, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
CNN.eval()

B = Dim("b", min=2, max=6)
N = Dim("n", min=4, max=12)


def _pooled(x: Tensor) -> tuple[Tensor, ...]:
    values, places = F.adaptive_max_pool2d(x, (3, 2), return_indices=True)
    return (
        values,
        places,
        F.adaptive_avg_pool2d(x, (3, 2)),
        F.adaptive_avg_pool3d(x.unsqueeze(1), (2, 3, 2)),
        F.adaptive_avg_pool1d(x[0], 3),
    )


def _sampled(x: Tensor) -> tuple[Tensor, ...]:
    grid = 3 * x.permute(0, 2, 3, 4, 1)
    plain = F.grid_sample(x, grid, align_corners=False)
    return plain, F.grid_sample(x, grid, "nearest", "border", False), F.grid_sample(x, grid, padding_mode="reflection", align_corners=True)


def _means_of_integers(x: Tensor) -> tuple[Tensor, ...]:
    return F.avg_pool3d(x, 2), F.avg_pool3d(x, 3, 2, 1), F.avg_pool3d(x, 3, (2, 1, 1), 1, count_include_pad=False)


PROGRAMS: dict[str, Program] = {
    "adaptive pools": Program(
        _pooled,
        (_rand(2, 3, 8, 5),),
        ({2: Dim("height", min=2, max=16), 3: N},),
        [(_rand(2, 3, 2, 12),), (_rand(2, 3, 9, 4),), (_rand(2, 3, 16, 7),)],
    ),
    "sampled volumes": Program(
        _sampled,
        (_rand(2, 3, 4, 5, 6),),
        ({0: B, 2: Dim("depth", min=2, max=8)},),
        [(_rand(3, 3, 2, 5, 6),), (_rand(6, 3, 8, 5, 6),)],
    ),
    "means of integers": Program(
        _means_of_integers,
        (torch.arange(-400, 440).view(2, 2, 6, 7, 5),),
        ({2: Dim("depth", min=4, max=9)},),
        [(torch.arange(-400, 160).view(2, 2, 4, 7, 5),), (torch.arange(-700, 560).view(2, 2, 9, 7, 5),)],
    ),
    "mlp": Program(MLP, (_rand(3, 6),), ({0: B},), [(_rand(2, 6),), (_rand(6, 6),)], [((_rand(2, 5),), "dimension 1 of input")]),
    "image": Program(
        CNN,
        (_rand(2, 3, 16, 20),),
        ({0: B, 2: 4 * Dim("h", min=2, max=6), 3: 4 * Dim("w", min=2, max=6)},),
        [(_rand(3, 3, 8, 24),), (_rand(6, 3, 24, 8),)],
        [((_rand(2, 3, 18, 20),), "dimension 2 of input")],
    ),
    "reshaped": Program(_reshaped, (_rand(3, 8),), ({0: B, 1: 2 * Dim("half", min=2, max=6)},), [(_rand(2, 4),), (_rand(6, 12),)]),
    "windows": Program(_windows, (_rand(2, 10),), ({1: 2 * Dim("half", min=4, max=9)},), [(_rand(2, 8),), (_rand(2, 18),)]),
    "attention": Program(_attention, (_rand(2, 5, 8),), ({0: B, 1: N},), [(_rand(3, 4, 8),), (_rand(6, 12, 8),)]),
    "generated": Program(_generated, (_rand(5),), ({0: N},), [(_rand(4),), (_rand(12),)]),
    "chosen": Program(_chosen, (_rand(5, 3),), ({0: N},), [(_rand(4, 3),), (-_rand(12, 3).abs(),)]),
    "chosen of two": Program(_chosen, (_rand(5, 3),), ({0: N, 1: B},), [(_rand(4, 2),), (_rand(12, 6),)]),
    "counted": Program(
        _counted,
        (_rand(5, 3), torch.tensor(3)),
        ({0: N}, {}),
        [(_rand(7, 3), torch.tensor(0)), (_rand(12, 3), torch.tensor(12))],
        [((_rand(5, 3), torch.tensor(6)), "u0"), ((_rand(5, 3), torch.tensor(-1)), "must be 0 to 12")],
    ),
    "repeated by counts": Program(
        _repeated_by_counts,
        (_rand(4, 3), torch.tensor([1, 0, 2, 1])),
        ({}, {}),
        [(_rand(4, 3), torch.tensor([0, 0, 0, 0])), (_rand(4, 3), torch.tensor([5, 5, 5, 5]))],
        [((_rand(4, 3), torch.tensor([5, 6, 5, 5])), "")],
    ),
    "parts": Program(_parts, (_rand(12, 3),), ({0: 6 * Dim("sixth", min=2, max=4)},), [(_rand(18, 3),), (_rand(24, 3),)]),
    "sums of products": Program(
        _products,
        (_rand(3, 4, 2), _rand(3, 4, 5)),
        ({0: Dim("rows", max=6), 1: Dim("columns", max=5)},) * 2,
        [(_rand(1, 4, 2), _rand(1, 4, 5)), (_rand(6, 1, 2), _rand(6, 1, 5))],
    ),
    "scaled": Program(_scaled, (_rand(5, 3),), ({0: N},), [(_rand(4, 3),), (_rand(12, 3),)]),
    "checked": Program(
        _checked,
        (_rand(8, 3), _rand(5)),
        ({0: Dim.DYNAMIC(min=4, max=12)}, {0: Dim.DYNAMIC(min=2, max=9)}),
        [(_rand(4, 3), _rand(5)), (_rand(12, 3), _rand(8))],
        [((_rand(6, 3), _rand(5)), " mod 4 == 0"), ((_rand(8, 3), _rand(8)), " != ")],
    ),
    "checked against a derived size": Program(
        _checked_against,
        (_rand(3), _rand(8)),
        ({0: Dim("a", min=2, max=9)}, {0: 4 * Dim("k", min=2, max=5)}),
        [(_rand(8), _rand(8)), (_rand(9), _rand(12))],
        [
            ((_rand(9), _rand(8)), " * 4 must hold, where a is dimension 0 of input 'inputs_0' and k * 4 is dimension 0 of input"),
            ((_rand(2), _rand(16)), " * 4 == 8 or "),
        ],
    ),
    "equal": Program(
        _equal,
        (_rand(5, 3), _rand(5, 3)),
        ({0: N}, {0: N}),
        [(_rand(4, 3), _rand(4, 3)), (_rand(12, 3), _rand(12, 3))],
        [
            ((_rand(5, 3), _rand(6, 3)), "dimension 0 of input"),
            ((_rand(5, 3), _rand(5, 2)), "dimension 1 of input"),
            ((_rand(3, 3), _rand(3, 3)), "4 to 12"),
        ],
    ),
    "conditional": Program(_conditional, (_rand(5, 3),), ({0: N, 1: B},), [(_rand(4, 2),), (-_rand(12, 6).abs(),)]),
    "repeated": Program(_repeated, (_rand(5, 3),), ({0: N},), [(_rand(4, 3),), (_rand(12, 3),)]),
    "rows": Program(_rows, (_rand(5, 3),), ({0: Dim("n", min=2, max=9), 1: B},), [(_rand(2, 2),), (_rand(9, 6),)]),
    "nested": Program(_nested, (_rand(5, 3),), ({0: N},), [(_rand(4, 3).abs(),), (_rand(12, 3).abs(),), (-_rand(12, 3).abs(),)]),
    "resized": Program(_resized, (_rand(1, 2, 6, 5),), ({2: N},), [(_rand(1, 2, 4, 5),), (_rand(1, 2, 11, 5),)]),
    "in place": Program(_in_place, (_rand(5, 6),), ({0: N},), [(_rand(4, 6),), (_rand(12, 6),)]),
    "folded": Program(_folded, (_rand(5, 6),), ({0: N, 1: B},), [(_rand(4, 2),), (_rand(12, 6),)]),
}


@dataclass
class Compiled:
    """A program at every stage, and its file."""

    stages: dict[str, ModuleOp]
    program: bytes
    context: FlambeauContext


@cache
def _compiled(name: str, target: str) -> Compiled:
    found = PROGRAMS[name]
    exported = torch.export.export(Wrapped(found.function), found.example, dynamic_shapes=(tuple(found.dims),), strict=False)
    context = FlambeauContext()
    compilation = Compilation(import_program(exported, context), context, PipelineOptions(target=target))
    stages: dict[str, ModuleOp] = {}
    for stage in STAGES:
        compilation.to(stage)
        stages[stage] = compilation.module.clone()
    return Compiled(stages, compilation.emit(), context)


def _emitted(name: str, target: str) -> EmittedMethod:
    compiled = _compiled(name, target)
    return compile_module(compiled.stages["planned"], compiled.context, compiled.program, cache_dir=EMITTED).load_method("forward")


def _expected(program: Program, inputs: Inputs) -> list[Any]:
    with torch.no_grad():
        found: Any = program.function(*inputs)
    outputs = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
    return [item.numpy() if isinstance(item, Tensor) else np.asarray(item) for item in outputs]


def _agree(actual: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    assert len(actual) == len(expected)
    for index, (found, wanted) in enumerate(zip(actual, expected, strict=True)):
        array = found.numpy() if isinstance(found, Tensor) else np.asarray(found)
        assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype), f"{what}, output {index}"
        assert np.allclose(array, wanted, rtol=1e-4, atol=1e-5), f"{what}, output {index}"


@pytest.mark.parametrize(("name", "target"), dealt(PROGRAMS, TARGETS))
def test_every_stage_computes_what_pytorch_computes(name: str, target: str):
    program, compiled = PROGRAMS[name], _compiled(name, target)
    for stage, module in compiled.stages.items():
        for inputs in (program.example, *program.others):
            actual = interpret(module, compiled.context).run("forward", [item.numpy() for item in inputs])
            _agree(actual, _expected(program, inputs), f"{stage} of {[tuple(item.shape) for item in inputs]}")


@pytest.mark.parametrize(("name", "target"), dealt(PROGRAMS, TARGETS))
def test_the_c_runtime_and_emitted_c_compute_what_pytorch_computes(name: str, target: str):
    program, compiled = PROGRAMS[name], _compiled(name, target)
    method = Runtime.get().load_program(compiled.program).load_method("forward")
    emitted = _emitted(name, target)
    for inputs in (program.example, *program.others, program.example):
        arrays = [item.numpy() for item in inputs]
        found, same = method.execute(arrays), emitted.execute(arrays)
        _agree(found, _expected(program, inputs), str([tuple(item.shape) for item in inputs]))
        assert [np.asarray(item).tobytes() for item in found] == [np.asarray(item).tobytes() for item in same]


@pytest.mark.parametrize("name", PROGRAMS)
def test_stock_executorch_computes_what_pytorch_computes(name: str):
    program, compiled = PROGRAMS[name], _compiled(name, "executorch")
    loaded = peer.Runtime.get().load_program(compiled.program, verification=peer.Verification.InternalConsistency)
    method = loaded.load_method("forward")
    for inputs in (program.example, *program.others, program.example):
        _agree(method.execute(inputs), _expected(program, inputs), str([tuple(item.shape) for item in inputs]))


REFUSED = [(name, index) for name, program in PROGRAMS.items() for index in range(len(program.refused))]


@pytest.mark.parametrize(("name", "index"), REFUSED)
def test_inputs_that_the_program_does_not_take_are_refused(name: str, index: int, capfd: pytest.CaptureFixture[str]):
    inputs, message = PROGRAMS[name].refused[index]
    compiled = _compiled(name, "executorch")
    for stage in ("edge", "planned"):
        with pytest.raises(InterpreterError, match=r"must (have|be|hold)|does not hold|gave the shape") as refused:
            interpret(compiled.stages[stage], compiled.context).run("forward", [item.numpy() for item in inputs])
        assert "gelu" not in str(refused.value)
    for target in TARGETS:
        for method in (Runtime.get().load_program(_compiled(name, target).program).load_method("forward"), _emitted(name, target)):
            with pytest.raises(FlambeauError) as caught:
                method.execute([item.numpy() for item in inputs])
            assert message in str(caught.value) and "approximate" not in str(caught.value)
    method = peer.Runtime.get().load_program(compiled.program).load_method("forward")
    capfd.readouterr()
    with pytest.raises(RuntimeError):
        method.execute(inputs)
    assert message in capfd.readouterr().err


class Taken(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor, n: int) -> Tensor:
        check(n >= 1)
        check(n <= 5)
        check(n <= x.shape[0])
        return x[:n] + y


@pytest.mark.parametrize(
    ("rows", "columns", "n", "message"),
    [
        (3, (2, 2), 2, "dimension 0 of input 'x' must be 4 to 12; got 3"),
        (4, (2, 1), 2, "dimension 1 of input 'y' must be b, where b is dimension 1 of input 'x'; got 1"),
        (4, (3, 3), 6, "input 'n' must be 1 to 5; got 6"),
        (4, (3, 3), 5, " must hold, where "),
    ],
)
def test_an_error_says_what_must_be_and_what_was_found(rows: int, columns: tuple[int, int], n: int, message: str):
    shapes = {"x": {0: N, 1: B}, "y": {1: B}, "n": Dim.DYNAMIC}
    program = torch.export.export(Taken(), (_rand(5, 3), _rand(1, 3), 3), dynamic_shapes=shapes)
    context = FlambeauContext()
    method = Runtime.get().load_program(Compilation(import_program(program, context), context).emit()).load_method("forward")
    inputs = [_rand(rows, columns[0]).numpy(), _rand(1, columns[1]).numpy(), n]
    with pytest.raises(FlambeauError) as caught:
        method.execute(inputs)
    assert message in str(caught.value) and "its arguments" not in str(caught.value)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("layer", "shape", "largest", "lengths"),
    [
        (torch.nn.Conv1d(16, 16, 3, stride=2, groups=16), (16,), 10001, (10001, 3000, 20)),
        (torch.nn.Conv1d(8, 8, 31, padding=15, groups=8), (8,), 9000, (9000, 4000, 33)),
        (torch.nn.Conv2d(16, 16, 3, padding=1, groups=16), (16, 8), 2000, (2000, 1300, 900)),
    ],
    ids=["stride", "long kernel", "images"],
)
def test_filters_of_channels_have_memory_for_every_length(
    layer: torch.nn.Module, shape: tuple[int, ...], largest: int, lengths: Sequence[int], target: str
):
    """A kernel may choose another algorithm at a smaller size."""
    dims = {len(shape) + 1: Dim("length", min=20, max=largest)}
    program = torch.export.export(layer.eval(), (torch.randn(1, *shape, 100),), dynamic_shapes=(dims,))
    context = FlambeauContext()
    data = Compilation(import_program(program, context), context, PipelineOptions(target=target)).emit()
    method = Runtime.get().load_program(data).load_method("forward")
    for length in lengths:
        x = torch.randn(1, *shape, length)
        (found,) = method.execute([x.numpy()])
        np.testing.assert_allclose(np.asarray(found), layer(x).detach().numpy(), atol=1e-5)
