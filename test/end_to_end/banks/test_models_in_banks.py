"""A program whose memory lies in banks computes, on every engine, the bits of the same program in one arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import EMITTED, leaves
from engines import build, peer
from fuzz.campaign import run
from fuzz.regions import BANKED
from shares import drawn
from torch import Tensor, nn
from torch_programs import export
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.runtime import Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret

Turns = list[tuple[str, list[Any]]]
"""The methods to run one after the other, each with its inputs."""


class Counter(nn.Module):
    """A total and a history, which both methods use, and steps that only one has."""

    total: Tensor
    history: Tensor
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((8,), 5.0))
        self.register_buffer("history", torch.zeros(64, 8))
        self.register_buffer("steps", torch.zeros(1))

    def put(self, x: Tensor) -> Tensor:
        """Adds to all."""
        self.history.copy_(torch.cat([self.history[1:], x.unsqueeze(0)]))
        self.total.add_(x)
        self.steps.add_(1)
        return torch.relu(self.history @ x).sum() + torch.exp(self.total) / self.steps

    def show(self, x: Tensor) -> Tensor:
        """What the history and the total say of something."""
        return torch.softmax(self.history * x, 0) @ self.total


class Method(nn.Module):
    """A method of a counter as a module."""

    def __init__(self, counter: Counter, name: str) -> None:
        super().__init__()
        self.counter = counter
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, getattr(self.counter, self.name)(x))


def of_model(name: str) -> tuple[Any, Turns]:
    module, inputs = build(name)
    return export(module, *inputs), [("forward", [item.numpy() for item in inputs])] * 2


def of_methods() -> tuple[Any, Turns]:
    counter = Counter()
    numbers = np.random.default_rng(0)
    programs = {name: export(Method(counter, name), torch.ones(8)) for name in ("put", "show")}
    return programs, [(name, [numbers.standard_normal(8).astype(np.float32)]) for name in ("put", "show", "put", "put", "show")]


def planned(programs: Any, target: str, **options: Any) -> Compilation:
    context = FlambeauContext()
    compilation = Compilation(import_program(programs, context), context, PipelineOptions(target=target, **options))
    compilation.to("planned")
    return compilation


def banks_for(module: ModuleOp) -> tuple[str, ...]:
    """Three banks, of which the first two have room for a part of the largest method."""
    most = max(sum(method.arena_sizes or ()) for method in methods_of(module))
    return f"tcm:{most // 6}", f"sram:{most // 3}", "dram"


def engines(compilation: Compilation, names: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What runs the methods, by the name of the engine."""
    interpreted = interpret(compilation.module.clone(), compilation.context)
    yield "numpy", {name: partial(interpreted.run, name) for name in names}
    data = compilation.emit()
    context = FlambeauContext()
    again = interpret(read_pte(data, context), context)
    yield "numpy, of the .pte", {name: partial(again.run, name) for name in names}
    program = Runtime.get().load_program(data)
    yield "C runtime", {name: program.load_method(name).execute for name in names}
    emitted = compile_module(compilation.module, compilation.context, data, cache_dir=EMITTED)
    yield "emitted C", {name: emitted.load_method(name).execute for name in names}
    if compilation.options.target == "executorch":
        loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency)
        yield "stock ExecuTorch", {name: loaded.load_method(name).execute for name in names}


def copies(engine: str, given: list[Any]) -> list[Any]:
    """The inputs as an engine takes them."""
    return [torch.tensor(array) if engine == "stock ExecuTorch" else np.copy(array) for array in given]


def bits(compilation: Compilation, turns: Turns) -> dict[str, list[bytes]]:
    """What each engine gives."""
    names = list(dict.fromkeys(name for name, _ in turns))
    found: dict[str, list[bytes]] = {}
    for engine, methods in engines(compilation, names):
        outputs = [item for name, given in turns for item in leaves(methods[name](copies(engine, given)))]
        found[engine] = [np.asarray(item).tobytes() for item in outputs]
    return found


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("mobilenet_v2", "flambeau"),
        ("minilm", "executorch"),
        ("lstm_classifier", "flambeau"),
        ("digits_cnn", "executorch"),
        ("two methods", "executorch"),
        ("two methods", "flambeau"),
    ],
)
def test_banks_change_no_bit(name: str, target: str) -> None:
    programs, turns = of_methods() if name == "two methods" else of_model(name)
    whole = planned(programs, target)
    options = banks_for(whole.module)
    parts = planned(programs, target, memory=options)
    limits = {text.partition(":")[0]: int(text.partition(":")[2] or 2**31) for text in options}
    for method in methods_of(parts.module):
        arenas = list(zip(method.bank_names or (), method.arena_sizes or (), strict=True))
        used = {bank: sum(size for other, size in arenas if other == bank) for bank, _ in arenas}
        assert all(used[bank] <= limits[bank] for bank in used)
        assert list(used) == list(limits) and all(used[bank] for bank in limits)
    assert bits(parts, turns) == bits(whole, turns)


def test_random_programs_in_banks_give_what_pytorch_gives() -> None:
    assert run(BANKED, drawn(range(200, 224))).failures == {}
