"""Custom operators that write to their arguments, by rows and kernels of plug-ins, at every stage and in the C runtime."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import peer
from control_flow_operators import branch, loop, steps
from torch import Tensor, nn

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export.import_report import UnsupportedProgramError
from flambeau.frontends.torch_export.importer import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.plugins.loader import load_plugin, plugin_scope
from flambeau.runtime import Runtime
from flambeau.runtime.binding.library import find_library, include_folder
from flambeau.runtime.emit.pte_reader import read_pte
from flambeau.runtime.interpreter import interpret

SCHEMAS = (
    "add_(Tensor(a!) x, Tensor y) -> ()",
    "relu_(Tensor(a!) x) -> ()",
    "both(Tensor(a!) x, Tensor(b!) y, Tensor z) -> Tensor",
    "perhaps(Tensor(a!)? x, Tensor y) -> Tensor",
    "each(Tensor(a!)[] xs) -> ()",
    "twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    "bump_(Tensor(a!) x) -> Tensor(a!)",
    "swap(Tensor(a!) x, Tensor(b!) y) -> ()",
)
TAGS = {"twice.out": (torch.Tag.out,), "bump_": (torch.Tag.inplace,)}
LIBRARY: Any = torch.library.Library("writes", "DEF")
writes: Any = torch.ops.writes


def _add(x: Tensor, y: Tensor) -> None:
    x.add_(y)


def _seven(x: Tensor) -> None:
    x.mul_(7)


def _both(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    x.add_(z)
    y.mul_(z)
    return x + y


def _perhaps(x: Tensor | None, y: Tensor) -> Tensor:
    if x is not None:
        x.add_(y)
    return y * 2


def _each(xs: list[Tensor]) -> None:
    for x in xs:
        x.add_(1)


def _twice(x: Tensor, *, out: Tensor) -> Tensor:
    return out.copy_(x * 2)


def _bump(x: Tensor) -> Tensor:
    return x.add_(1)


def _swap(x: Tensor, y: Tensor) -> None:
    before = x.clone()
    x.copy_(y)
    y.copy_(before)


for schema, function in zip(SCHEMAS, (_add, _seven, _both, _perhaps, _each, _twice, _bump, _swap), strict=True):
    name = schema.partition("(")[0]
    LIBRARY.define(schema, tags=TAGS.get(name, ()))
    LIBRARY.impl(name, function, "CompositeExplicitAutograd")

ROWS = """
from pathlib import Path

from flambeau import row
from flambeau.passes.kit import SchemaOp
from flambeau.passes.targets.interface import Target, find_target

NAMES = ("add_", "both.out", "bump_", "each", "perhaps.out", "relu_", "swap", "twice.out")
KERNELS = frozenset(f"writes::{name}" for name in NAMES)
WRITES = Target("writes", find_target("flambeau").operators | KERNELS, dim_orders="any", library=Path(__file__).parent / "writes.so")
STOCK = Target("writes_stock", find_target("executorch").operators | KERNELS)


def declare(schema, infer, numpy):
    members = {"__doc__": schema, "infer": staticmethod(infer), "numpy": staticmethod(numpy)}
    row("writes", "writes", schema)(type("Op", (SchemaOp,), members))


declare("add_(Tensor(a!) x, Tensor y) -> ()", lambda x, y: x, lambda x, y: x + y)
declare("relu_(Tensor(a!) x) -> ()", lambda x: x, lambda x: x * 7)
declare("both(Tensor(a!) x, Tensor(b!) y, Tensor z) -> Tensor", lambda x, y, z: (x, x, y), lambda x, y, z: (x + z + y * z, x + z, y * z))
declare("perhaps(Tensor(a!)? x, Tensor y) -> Tensor", lambda x, y: (y, x), lambda x, y: (y * 2, None if x is None else x + y))
declare("each(Tensor(a!)[] xs) -> ()", lambda xs: xs, lambda xs: [x + 1 for x in xs])
declare("twice(Tensor x) -> Tensor", lambda x: x, lambda x: x * 2)
declare("bump_(Tensor(a!) x) -> Tensor(a!)", lambda x: x, lambda x: x + 1)
declare("swap(Tensor(a!) x, Tensor(b!) y) -> ()", lambda x, y: (x, y), lambda x, y: (y, x))
"""
KERNELS = r"""
#include "flambeau/kernel.h"
#define KERNEL(name) static fl_status name(fl_context *context, fl_value *const *args, size_t count)
#define BEGIN (void)context; (void)count
static fl_tensor *tensor(const fl_value *value) { return (fl_tensor *)fl_get_tensor(value); }
static float *data(const fl_value *value) { return (float *)tensor(value)->data; }
#define LIKE(out, given) do { \
  const fl_status resized = fl_resize(context, tensor(out), tensor(given)->sizes, tensor(given)->rank); \
  if (resized != FL_OK) return resized; \
} while (0)
static size_t numel(const fl_value *value) { return fl_numel(fl_get_tensor(value)); }
KERNEL(add) { BEGIN; for (size_t i = 0; i < numel(args[0]); ++i) data(args[0])[i] += data(args[1])[i]; return FL_OK; }
KERNEL(seven) { BEGIN; for (size_t i = 0; i < numel(args[0]); ++i) data(args[0])[i] *= 7; return FL_OK; }
KERNEL(bump) { BEGIN; for (size_t i = 0; i < numel(args[0]); ++i) data(args[0])[i] += 1; return FL_OK; }
KERNEL(twice) {
  BEGIN;
  LIKE(args[1], args[0]);
  for (size_t i = 0; i < numel(args[0]); ++i) data(args[1])[i] = 2 * data(args[0])[i];
  return FL_OK;
}
KERNEL(both) {
  BEGIN;
  LIKE(args[3], args[0]);
  for (size_t i = 0; i < numel(args[0]); ++i) {
    data(args[0])[i] += data(args[2])[i];
    data(args[1])[i] *= data(args[2])[i];
    data(args[3])[i] = data(args[0])[i] + data(args[1])[i];
  }
  return FL_OK;
}
KERNEL(perhaps) {
  BEGIN;
  LIKE(args[2], args[1]);
  for (size_t i = 0; i < numel(args[1]); ++i) {
    if (fl_get_tensor(args[0]) != NULL) data(args[0])[i] += data(args[1])[i];
    data(args[2])[i] = data(args[1])[i] * 2;
  }
  return FL_OK;
}
KERNEL(each) {
  BEGIN;
  for (size_t k = 0; k < args[0]->as.list.count; ++k) {
    const fl_value *x = ((fl_value **)args[0]->as.list.items)[k];
    for (size_t i = 0; i < numel(x); ++i) data(x)[i] += 1;
  }
  return FL_OK;
}
KERNEL(swap) {
  BEGIN;
  for (size_t i = 0; i < numel(args[0]); ++i) {
    const float before = data(args[0])[i];
    data(args[0])[i] = data(args[1])[i];
    data(args[1])[i] = before;
  }
  return FL_OK;
}
static const fl_kernel kernels[] = {
    {"writes::add_", add, NULL, "wr*"},        {"writes::both.out", both, NULL, "wwrww"}, {"writes::bump_", bump, NULL, "ww"},
    {"writes::each", each, NULL, "w*"},        {"writes::perhaps.out", perhaps, NULL, "Wrww"}, {"writes::relu_", seven, NULL, "w*"},
    {"writes::swap", swap, NULL, "ww*"},       {"writes::twice.out", twice, NULL, "rww"},
};
FL_API const fl_kernel_table fl_kernels_writes = {kernels, 8};
"""


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The rows, the targets and the kernels."""
    folder = tmp_path_factory.mktemp("writes")
    (folder / "writes.c").write_text(KERNELS)
    (folder / "rows.py").write_text(ROWS)
    command = ["cc", "-shared", "-fPIC", f"-I{include_folder()}", "writes.c", str(find_library()), "-o", "writes.so"]
    subprocess.run(command, cwd=folder, check=True)
    with plugin_scope():
        load_plugin(folder / "rows.py")
        yield


class _Model(nn.Module):
    state: Tensor

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function
        self.register_buffer("state", torch.arange(12.0).reshape(4, 3))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(x, y, self.state)


def _temporary(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    writes.add_(z, y)
    writes.relu_(z)
    return z + 1


def _lives_on(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    w = z.clone()
    writes.add_(w, y)
    return w, w + z


def _state(x: Tensor, y: Tensor, state: Tensor) -> Any:
    writes.add_(state, y)
    return state + x


def _part_of_state(x: Tensor, y: Tensor, state: Tensor) -> Any:
    writes.add_(state[1:3], y[:2])
    return state + x


def _input(x: Tensor, y: Tensor, state: Tensor) -> Any:
    writes.add_(x, y)
    return x * 2


def _several(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z, w = x * 2, y * 2
    sums = writes.both(z, w, y)
    writes.swap(z, w)
    writes.each([z, w])
    return sums, z, w


def _several_inputs(x: Tensor, y: Tensor, state: Tensor) -> Any:
    return writes.both(x, y, x.clone())


def _optional(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    return writes.perhaps(z, y) + writes.perhaps(None, z)


def _slices(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    return writes.both(z[0:2], z[2:4], y[:2]), z


def _transposed(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    writes.add_(z.t(), y.t())
    writes.add_(z.view(-1), y.view(-1))
    return z


def _out(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = torch.empty_like(x)
    writes.twice.out(x, out=z)
    return z + y


def _gives_itself(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    return writes.bump_(z) + z


def _read_too(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z = x * 2
    writes.add_(z, z)
    return z


def _in_a_branch(x: Tensor, y: Tensor, state: Tensor) -> Any:
    def positive(x: Tensor, y: Tensor) -> Tensor:
        z = x * 2
        writes.add_(z, y)
        return z

    return branch(x.sum() > 0, positive, lambda x, y: x - y, (x, y))


def _in_rounds(x: Tensor, y: Tensor, state: Tensor) -> Any:
    def turn(i: Tensor, x: Tensor, y: Tensor) -> Any:
        z = x * 2
        writes.add_(z, y)
        writes.swap(z, w := y * 1)
        return i + 1, z, w

    def step(carried: Tensor, x: Tensor) -> Any:
        z = carried * 1
        writes.add_(z, x)
        return z, z * 2

    start = torch.zeros((), dtype=torch.int64)
    return *loop(lambda i, x, y: i < 3, turn, (start, x.clone(), y.clone())), *steps(step, torch.zeros(3), x)


def _state_in_a_branch(x: Tensor, y: Tensor, state: Tensor) -> Any:
    def positive(x: Tensor) -> Tensor:
        writes.add_(state, x[:4])
        return x * 2

    return branch(y.sum() > -100, positive, torch.sin, (x,)), state * 1


def _half(x: Tensor, y: Tensor, state: Tensor) -> Any:
    z, half = x * 2, x.shape[0] // 2
    writes.add_(z[:half], y[:half])
    writes.add_(z[half:], y[half:])
    return z


CALLS: dict[Callable[..., Any], list[str]] = {
    _temporary: ["aten::mul.Scalar_out", "writes::add_", "writes::relu_", "aten::add.Scalar_out"],
    _lives_on: ["aten::mul.Scalar_out", "aten::clone.out", "writes::add_", "aten::add.out"],
    _state: ["writes::add_", "aten::add.out"],
    _part_of_state: ["writes::add_", "aten::add.out"],
    _input: ["writes::add_", "aten::mul.Scalar_out"],
    _several: ["aten::mul.Scalar_out", "aten::mul.Scalar_out", "writes::both.out", "writes::swap", "writes::each"],
    _several_inputs: ["aten::clone.out", "writes::both.out", "aten::copy_"],
    _optional: ["aten::mul.Scalar_out", "writes::perhaps.out", "writes::perhaps.out", "aten::add.out"],
    _slices: ["writes::both.out"],
    _transposed: ["writes::add_", "writes::add_"],
    _out: ["writes::twice.out", "aten::add.out"],
    _gives_itself: ["aten::mul.Scalar_out", "writes::bump_", "aten::add.out"],
    _read_too: ["aten::mul.Scalar_out", "aten::clone.out", "writes::add_"],
    _in_a_branch: ["writes::add_"],
    _in_rounds: ["writes::add_", "writes::swap", "writes::add_"],
    _state_in_a_branch: ["writes::add_"],
    _half: ["writes::add_", "writes::add_"],
}
"""The calls of each program, or those of the operators that write: what these write to is copied only where it lives on."""


DYNAMIC = [function for function in CALLS if function not in (_state, _part_of_state)]


def _exported(function: Callable[..., Any], *, is_dynamic: bool = False) -> torch.export.ExportedProgram:
    cast(Any, torch)._dynamo.reset()  # PyTorch guards against sizes that it traced a branch for before
    rows = {0: 2 * torch.export.Dim("half", min=2, max=4)}
    with torch.no_grad():
        example = (torch.randn(6 if is_dynamic else 4, 3), torch.randn(6 if is_dynamic else 4, 3))
        shapes = {"x": rows, "y": rows} if is_dynamic else None
        return torch.export.export(_Model(function), example, dynamic_shapes=shapes, strict=False)


@pytest.mark.parametrize(("function", "is_dynamic"), [*((item, False) for item in CALLS), *((item, True) for item in DYNAMIC)])
def test_they_compute_what_pytorch_computes(function: Callable[..., Any], is_dynamic: bool) -> None:
    context = FlambeauContext()
    compilation = Compilation(
        import_program(_exported(function, is_dynamic=is_dynamic), context), context, PipelineOptions(target="writes")
    )
    runs: dict[str, Callable[[list[Any]], Any]] = {}
    for stage in STAGES:
        compilation.to(stage)
        interpreted = interpret(compilation.module.clone(), context)
        runs[stage] = lambda given, interpreted=interpreted: interpreted.run("forward", given)
    calls = [op.operator.data for op in compilation.module.walk() if isinstance(op, CallOp)]
    wanted = [name for name in CALLS[function] if not is_dynamic or name.startswith("writes")]
    assert wanted == (calls if any(name.startswith("aten") for name in wanted) else [name for name in calls if name.startswith("writes")])
    data = compilation.emit()
    runs["C runtime"] = Runtime.get().load_program(data).load_method("forward").execute
    again = FlambeauContext()
    read = interpret(read_pte(data, again), again)
    runs["numpy, from the file"] = lambda given: read.run("forward", given)
    for engine, run in runs.items():
        model = _Model(function)
        for rows in (4, 8, 6) if is_dynamic else (4, 4):
            inputs = [torch.randn(rows, 3), torch.randn(rows, 3)]
            given = [item.numpy().copy() for item in inputs]
            expected: Any = model(*inputs)
            found = run(given)
            for one, other in zip(found, cast("tuple[Any, ...]", expected if isinstance(expected, tuple) else (expected,)), strict=True):
                np.testing.assert_allclose(np.asarray(one), cast(Tensor, other).numpy(), rtol=1e-5, atol=1e-6, err_msg=engine)
            for one, other in zip(given, inputs, strict=True):
                np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6, err_msg=engine)


def test_stock_executorch_looks_for_the_kernels_by_these_names(capfd: pytest.CaptureFixture[str]) -> None:
    context = FlambeauContext()
    program = import_program(_exported(_several), context)
    data = Compilation(program, context, PipelineOptions(target="writes_stock")).emit()
    with pytest.raises(RuntimeError):
        peer.Runtime.get().load_program(data).load_method("forward")
    assert "writes::both.out" in capfd.readouterr().err


def _refusal(function: Callable[..., Any]) -> str:
    with pytest.raises(UnsupportedProgramError) as caught:
        import_program(_exported(function), FlambeauContext())
    return str(caught.value)


LIBRARY.define("unknown_(Tensor(a!) x) -> ()")
LIBRARY.impl("unknown_", _seven, "CompositeExplicitAutograd")
LIBRARY.define("lent_(Tensor(a!) x) -> Tensor(a!)")
LIBRARY.impl("lent_", _bump, "CompositeExplicitAutograd")


def test_one_without_a_row_is_refused_by_its_name() -> None:
    def function(x: Tensor, y: Tensor, state: Tensor) -> Any:
        z = x * 2
        writes.unknown_(z)
        return z

    assert "writes.unknown_ at" in _refusal(function) and "has no row; --load-plugin loads rows" in _refusal(function)


def test_one_that_returns_what_it_writes_needs_a_tag() -> None:
    def function(x: Tensor, y: Tensor, state: Tensor) -> Any:
        z = x * 2
        w = z.view(-1)
        writes.lent_(z)
        return w

    assert "let it return nothing, -> (), or declare it with tags=(torch.Tag.inplace,)" in _refusal(function)


def test_arguments_that_share_memory_are_refused() -> None:
    def function(x: Tensor, y: Tensor, state: Tensor) -> Any:
        z = x * 2
        writes.swap(z[0:3], z[1:4])
        return z

    assert "writes.swap at" in _refusal(function) and "may share memory; write to a clone() of one of them" in _refusal(function)


def test_an_in_place_operator_is_not_taken_for_that_of_aten() -> None:
    """`writes::relu_` has the name and the arguments of ATen's, and multiplies."""
    context = FlambeauContext()
    text = str(import_program(_exported(_temporary), context))
    assert '"writes.relu_"' in text or "writes.relu_(" in text
    assert "aten.relu" not in text
