"""State that several methods use is one state, with its initial value, on every engine; and applications read and write it by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any, cast

import numpy as np
import pytest
import torch
from engines import peer
from torch import Tensor, nn

import flambeau
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.ir.diagnostics import Diagnostic, listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export.importer import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret


class Account(nn.Module):
    """A total that starts at five, a log of what came in, and a weight; the methods write in different orders."""

    total: Tensor
    log: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((2,), 5.0))
        self.register_buffer("log", torch.zeros(4, 2))
        self.weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

    def put(self, x: Tensor) -> Tensor:
        """Adds to the total, and to the log."""
        self.log.copy_(torch.cat([self.log[1:], x.unsqueeze(0)]))
        self.total.add_(self.weight @ x)
        return self.total * 1

    def show(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The total times something, and the log, which it doubles."""
        before = self.total * x + (self.weight @ x) * 0
        self.log.mul_(2)
        return before, self.log.sum(0)


class Call(nn.Module):
    """A method of a module as a module."""

    def __init__(self, module: nn.Module, name: str) -> None:
        super().__init__()
        self.account = module
        self.name = name

    def forward(self, x: Tensor) -> Any:
        """What the method gives."""
        return getattr(self.account, self.name)(x)


@cache
def programs() -> dict[str, torch.export.ExportedProgram]:
    module = Account().requires_grad_(False)
    return {name: torch.export.export(Call(module, name), (torch.ones(2),)) for name in ("show", "put")}


CALLS = [("put", 1.0), ("show", 2.0), ("put", 3.0), ("put", 4.0), ("show", 5.0)]


def expected() -> list[list[Any]]:
    module = Account().requires_grad_(False)
    results = [getattr(module, name)(torch.full((2,), value)) for name, value in CALLS]
    return [
        [item.clone().numpy() for item in cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))] for found in results
    ]


def check(run: Callable[[str, Tensor], Any]) -> None:
    for (name, value), wanted in zip(CALLS, expected(), strict=True):
        outputs = run(name, torch.full((2,), value))
        for output, item in zip(outputs, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(output), item)


def run_numpy(engine: Any, name: str, x: Tensor) -> Any:
    return engine.run(name, [cast(Any, x).numpy()])


@cache
def compiled(target: str) -> tuple[dict[str, Any], FlambeauContext, bytes]:
    context = FlambeauContext()
    compilation = Compilation(import_program(programs(), context), context, PipelineOptions(target=target))
    stages: dict[str, Any] = {}
    for stage in ("aten", "core", "edge", "exec", "planned"):
        compilation.to(stage)
        stages[stage] = compilation.module.clone()
    return stages, context, compilation.emit()


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_methods_share_state_on_every_engine(target: str) -> None:
    stages, context, program = compiled(target)
    for module in stages.values():
        engine = interpret(module, context)
        check(partial(run_numpy, engine))
    loaded = Runtime.get().load_program(program)
    methods = {name: loaded.load_method(name) for name in ("put", "show")}
    check(lambda name, x: methods[name].execute([x]))
    again = FlambeauContext()
    engine = interpret(read_pte(program, again), again)
    check(partial(run_numpy, engine))
    if target == "executorch":
        stock = peer.Runtime.get().load_program(program)
        theirs = {name: stock.load_method(name) for name in ("put", "show")}
        check(lambda name, x: theirs[name].execute((x,)))


def test_a_method_that_is_loaded_late_finds_the_state_as_it_is() -> None:
    program = compiled("executorch")[2]
    loaded = Runtime.get().load_program(program)
    loaded.load_method("put").execute([torch.ones(2)])
    show = loaded.load_method("show")
    np.testing.assert_array_equal(show.state["account.total"], [8, 12])
    np.testing.assert_array_equal(show.state["account.log"][-1], [1, 1])
    # Another loading of the program has a state of its own.
    np.testing.assert_array_equal(Runtime.get().load_program(program).load_method("show").state["account.total"], [5, 5])
    # ExecuTorch gives first values at each loading, but zeros.
    stock = peer.Runtime.get().load_program(program)
    stock.load_method("put").execute((torch.ones(2),))
    output = stock.load_method("show").execute((torch.ones(2),))[1]
    np.testing.assert_array_equal(output.numpy(), [2, 2])


class Other(Call):
    """The same, where the module has another name."""

    def __init__(self, module: nn.Module, name: str) -> None:
        super().__init__(module, name)
        del self.account
        self.bank = module

    def forward(self, x: Tensor) -> Any:
        """What the method gives."""
        return getattr(self.bank, self.name)(x)


@pytest.mark.parametrize("way", ["other names", "files"])
def test_a_buffer_is_one_state_by_its_memory_or_its_name(way: str, tmp_path: Path) -> None:
    if way == "files":
        for name, program in programs().items():
            torch.export.save(program, tmp_path / f"{name}.pt2")
        given = {name: torch.export.load(tmp_path / f"{name}.pt2") for name in programs()}
    else:
        module = Account().requires_grad_(False)
        given = {name: torch.export.export(kind(module, name), (torch.ones(2),)) for name, kind in (("show", Call), ("put", Other))}
    loaded = Runtime.get().load_program(flambeau.to_edge(given).to_executorch().buffer)
    methods = {name: loaded.load_method(name) for name in ("put", "show")}
    check(lambda name, x: methods[name].execute([x]))


def test_a_state_of_one_method_is_each_loadings_own() -> None:
    account = Account().requires_grad_(False)
    program = torch.export.export(Call(account, "put"), (torch.ones(2),))
    edge = flambeau.to_edge({"put": program, "add": torch.export.export(nn.ReLU(), (torch.ones(2),))}, constant_methods={"size": 3})
    loaded = Runtime.get().load_program(edge.to_executorch().buffer)
    first, second = loaded.load_method("put"), loaded.load_method("put")
    first.execute([np.ones(2, np.float32)])
    np.testing.assert_array_equal(first.state["account.total"], [8, 12])
    np.testing.assert_array_equal(second.state["account.total"], [5, 5])


class Counted(nn.Module):
    """A state that one method writes and another reads, each with a constant of its own."""

    def __init__(self, factor: float, *, is_writer: bool, weight: Tensor):
        super().__init__()
        self.count, self.weight = nn.Buffer(torch.zeros(2)), nn.Buffer(weight)
        self.factor, self.is_writer = factor, is_writer

    def forward(self, x: Tensor) -> Tensor:
        """What the method gives."""
        if self.is_writer:
            self.count.add_(x)
        return self.count + x * torch.tensor([self.factor, 1.0]) * self.weight.nan_to_num(self.factor)


def _counted(weights: Sequence[Tensor]) -> Any:
    """A program of two methods whose parts come from files."""
    given: dict[str, Any] = {}
    for name, is_writer, weight in (("put", True, weights[0]), ("show", False, weights[1])):
        file = BytesIO()
        model = Counted(2.0 if is_writer else 3.0, is_writer=is_writer, weight=weight)
        torch.export.save(torch.export.export(model, (torch.ones(2),)), file)
        given[name] = torch.export.load(BytesIO(file.getvalue()))
    constants = {"sizes": torch.arange(3.0), "flag": torch.tensor([True])}
    loaded = Runtime.get().load_program(flambeau.to_edge(given, constant_methods=constants).to_executorch().buffer)
    return [loaded.load_method(name) for name in ("put", "show")]


def test_constants_and_what_is_not_a_number_do_not_part_states_from_files() -> None:
    put, show = _counted([torch.tensor([1.0, float("nan")])] * 2)
    np.testing.assert_array_equal(put.execute([np.ones(2, np.float32)])[0], [3, 3])
    np.testing.assert_array_equal(show.execute([np.ones(2, np.float32)])[0], [4, 4])


def test_states_of_other_models_from_files_are_apart_and_a_warning_says_so() -> None:
    found: list[Diagnostic] = []
    with listening(found.append, ["warning"]):
        put, show = _counted([torch.ones(2), torch.zeros(2)])
    put.execute([np.ones(2, np.float32)])
    np.testing.assert_array_equal(show.execute([np.ones(2, np.float32)])[0], [0, 0])
    assert [item.message for item in found] == ["it is not the state 'count' that another method writes, where 'weight' is another tensor"]


def test_state_is_read_and_written_by_name(tmp_path: Path) -> None:
    loaded = Runtime.get().load_program(compiled("flambeau")[2])
    put, show = loaded.load_method("put"), loaded.load_method("show")
    assert dict(put.state).keys() == {"account.total", "account.log"} == set(show.state)
    put.state["account.total"] = torch.tensor([1.0, 2.0])
    np.testing.assert_array_equal(show.state["account.total"], [1, 2])
    np.testing.assert_array_equal(put.execute([np.ones(2, np.float32)])[0], [4, 9])
    saved = dict(put.state)
    np.savez(tmp_path / "state.npz", **cast(Any, saved))
    put.execute([np.ones(2, np.float32)])
    assert not np.array_equal(put.state["account.total"], saved["account.total"])
    with np.load(tmp_path / "state.npz") as file:
        show.state.update(file)
    np.testing.assert_array_equal(put.execute([np.zeros(2, np.float32)])[0], [4, 9])
    show.reset()
    np.testing.assert_array_equal(put.state["account.total"], [5, 5])
    np.testing.assert_array_equal(put.state["account.log"], np.zeros((4, 2)))
    with pytest.raises(KeyError, match=r"method 'put' has no state 'account.totl'.*total"):
        put.state["account.totl"]
    with pytest.raises(FlambeauError, match=r"method 'put', state 'account.total': expected float32\[2\], got float64\[2\]"):
        put.state["account.total"] = np.ones(2)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del put.state["account.total"]
    with pytest.raises(ValueError, match="read-only"):
        put.state["account.total"][0] = 9


def test_methods_that_share_state_take_turns() -> None:
    loaded = Runtime.get().load_program(compiled("flambeau")[2])
    put, show = loaded.load_method("put"), loaded.load_method("show")
    with loaded.shared_lock, pytest.raises(FlambeauError, match=r"another that shares its state.*load the program once per thread"):
        show.execute([np.ones(2, np.float32)])
    thread = Thread(target=put.execute, args=([np.ones(2, np.float32)],))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(show.state["account.total"], [8, 12])


def test_weights_of_methods_are_stored_once() -> None:
    module = nn.Linear(64, 64).requires_grad_(False)
    one = torch.export.export(module, (torch.ones(1, 64),))
    two = torch.export.export(module, (torch.ones(5, 64),))
    alone = len(flambeau.to_edge({"one": one}).to_executorch().buffer)
    both = len(flambeau.to_edge({"one": one, "two": two}).to_executorch().buffer)
    assert both - alone < 64 * 64 * 4 / 4
