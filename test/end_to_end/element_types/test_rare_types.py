"""Unsigned integers of 16 to 64 bits, and float8: what compiles runs, and what is refused for stock ExecuTorch it refuses too."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import disagreement, peer
from row_harness import ROWS, from_torch, samples_of, to_torch
from row_programs import module_of
from shares import drawn
from torch import nn
from torch_programs import Function
from xdsl.utils.exceptions import VerifyException

from flambeau import PassError
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.ir.tensor_types import DTYPES, is_float8
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target, register_target
from flambeau.runtime import FlambeauError, Runtime
from flambeau.support.lazy import Array
from flambeau.support.tables import declared_by
from flambeau.tools.samples.sample_operations import arrays_of, operation

import_module("executorch.kernels.quantized")  # adds them to stock ExecuTorch's
KINDS = ("uint16", "uint32", "uint64", *(row.numpy for row in DTYPES if is_float8(row.element)))


def _in_type(value: Any, kind: str, source: str) -> Any:
    if isinstance(value, list):
        return [_in_type(item, kind, source) for item in cast("list[Any]", value)]
    if not isinstance(value, np.ndarray) or cast(Array, value).dtype.name != source:
        return cast(Any, value)
    found: Any = np.asarray(np.abs(np.nan_to_num(cast(Array, value), nan=0, posinf=9, neginf=9).clip(-99, 99).astype("int64"))).astype(kind)
    return found


def _runs_in_stock(data: bytes, arrays: Sequence[Array]) -> bool:
    """Whether it runs a program, in a process of its own: a refusal may end the process."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency)
            [from_torch(item) for item in loaded.load_method("forward").execute([to_torch(array) for array in arrays])]
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _cases(kind: str, name: str) -> Iterator[tuple[type[SchemaOp], Sequence[Any]]]:
    """Samples of operators of a target with tensors of the type: of those drawn, and of one that it takes and one that it refuses."""
    target = find_target(name)
    always = [ROWS["aten.slice.Tensor"], ROWS["aten.flip"]]
    for row in dict.fromkeys([*always, *drawn(ROWS.values(), key=lambda row: row.name)]):
        seen: set[tuple[str, ...]] = set()
        for sample in samples_of(row) if row.level() in ("aten", "quantized_decomposed") and target.has(row) else ():
            for source in ("int64", "float32"):
                given = tuple(_in_type(value, kind, source) for value in sample)
                types = tuple(array.dtype.name for array in arrays_of(given))
                if kind in types and types not in seen and len(seen) < 4 and all(array.size for array in arrays_of(given)):
                    seen.add(types)
                    yield row, given


def _compiled(row: type[SchemaOp], sample: Sequence[Any], target: str) -> tuple[bytes, set[str]]:
    """The program of a sample, and the kernels that it calls."""
    compilation = Compilation(module_of(*operation(row, sample)), FlambeauContext(), PipelineOptions(target=target))
    data = compilation.emit()
    return data, {op.operator.data for op in compilation.module.walk() if isinstance(op, CallOp)}


@pytest.fixture
def all_types() -> Iterator[str]:
    """A target with the kernels of stock ExecuTorch that refuses no element type."""
    with declared_by("a test") as registered:
        stock = find_target("executorch")
        contracts = {name: replace(rule, lacks=frozenset(), checks=()) for name, rule in stock.contracts.items()}
        register_target(replace(stock, name="all_types", lacks=frozenset(), contracts=contracts))
    yield "all_types"
    for item in registered:
        item.undo()


@pytest.mark.parametrize("kind", KINDS)
def test_what_compiles_runs_and_what_is_refused_does_not(kind: str, all_types: str) -> None:
    wrong: list[str] = []
    taken = refused = 0
    for row, sample in _cases(kind, "executorch"):
        try:
            data, calls = _compiled(row, sample, all_types)
        except (PassError, ValueError, TypeError, VerifyException):
            continue  # the operator does not take the type in any target
        try:
            data, is_refused = _compiled(row, sample, "executorch")[0], False
        except PassError:
            is_refused = True
        refused, taken = refused + is_refused, taken + (not is_refused)
        runs = _runs_in_stock(data, arrays_of(sample))
        if runs == is_refused:
            wrong.append(f"{row.name} {[array.dtype.name for array in arrays_of(sample)]} runs: {runs}, by {sorted(calls)}")
    assert wrong == []
    assert taken and refused


@pytest.mark.parametrize("kind", KINDS)
def test_what_compiles_runs_in_our_runtime(kind: str) -> None:
    wrong: list[str] = []
    taken = 0
    for row, sample in _cases(kind, "flambeau"):
        try:
            data, _ = _compiled(row, sample, "flambeau")
        except (PassError, ValueError, TypeError, VerifyException):
            continue  # it is refused where the line of the model is known
        taken += 1
        try:
            Runtime.get().load_program(data).load_method().execute([np.array(array, order="C") for array in arrays_of(sample)])
        except FlambeauError as error:
            wrong.append(f"{row.name}: {error}")
    assert wrong == []
    assert taken


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def test_arithmetic_of_uint64_is_refused_at_its_line() -> None:
    x = torch.arange(12).view(3, 4).to(torch.uint64)
    context = FlambeauContext()
    with pytest.raises(PassError, match=r"aten::add.out of the target 'flambeau' does not take it: a tensor is of ui64") as refused:
        Compilation(export_module(Twice(), (x,), context), context, PipelineOptions(target="flambeau")).emit()
    assert "test_rare_types.py" in str(refused.value)
    target = find_target("flambeau")
    assert set(target.contracts) <= target.operators


class Kept(nn.Module):
    """A state that is the last input."""

    def __init__(self, kind: torch.dtype):
        super().__init__()
        self.last = nn.Buffer(torch.zeros(3, 4).to(kind))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The last input."""
        before = self.last.clone()
        self.last.copy_(x)
        return before


PLACES = torch.tensor([0, 2])
TAKEN: dict[str, Callable[[torch.Tensor], Any]] = {
    "one list": lambda x: (x[PLACES], x[:, PLACES.int()]),
    "parts that are views": lambda x: (*cast(Any, x).split(2), *x.unbind(0), x.view(4, 3)),
    "a copy": lambda x: x.clone().copy_(x.view(3, 4)),
    "no dropout": lambda x: torch.native_dropout(x, 0.5, False),
    "like it": lambda x: (torch.ones_like(x, dtype=torch.float32), torch.full_like(x, True, dtype=torch.bool)),
}
REFUSED: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "two lists": (lambda x: x[PLACES, PLACES], "argument 'indices' has 2 tensors, and its kernel takes 1 where a tensor is of"),
    "a matrix of places": (
        lambda x: x[PLACES[None]],
        "argument 'indices' has 2 dimensions, and its kernel takes 1 where a tensor is of",
    ),
    "a row that is repeated": (
        lambda x: x.clone().copy_(x[0]),
        r"argument 'src' has shape \[4\], and its kernel takes \[3, 4\], as 'self' has",
    ),
    "another type": (lambda x: x.to(torch.float32), "_to_copy.out of the target 'executorch' does not take it: a tensor is of"),
    "parts that are no views": (
        lambda x: cast(Any, x).split(2, 1),
        "split_with_sizes_copy.out of the target 'executorch' does not take it: a tensor is of",
    ),
    "like it": (lambda x: torch.ones_like(x), "result is of .*, and its kernel takes i1, .* where a tensor is of"),
}


@pytest.mark.parametrize("kind", [torch.uint16, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("name", TAKEN)
def test_a_call_that_stock_takes(name: str, kind: torch.dtype) -> None:
    assert disagreement(Function(TAKEN[name]), [torch.arange(12).view(3, 4).float().to(kind)], targets=("executorch",)) is None


@pytest.mark.parametrize("kind", [torch.uint16, torch.float8_e5m2], ids=str)
def test_a_state_that_stock_keeps(kind: torch.dtype) -> None:
    assert disagreement(Kept(kind), [torch.arange(12).view(3, 4).float().to(kind)], turns=2, targets=("executorch",)) is None


@pytest.mark.parametrize("kind", [torch.uint16, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_stock_refuses(name: str, kind: torch.dtype, all_types: str) -> None:
    function, reason = REFUSED[name]
    x = torch.arange(12).view(3, 4).float().to(kind)
    context = FlambeauContext()
    with pytest.raises(PassError, match=reason):
        Compilation(export_module(Function(function), (x,), context), context, PipelineOptions(target="executorch")).emit()
    data = Compilation(export_module(Function(function), (x,), context), context, PipelineOptions(target=all_types)).emit()
    loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency).load_method("forward")
    with pytest.raises(RuntimeError):
        loaded.execute([x])
