"""The times of XNNPACK's operators: events in an ETDump as in stock's, and modules to which a delegate's time counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import torch
from executorch.runtime import Runtime as StockRuntime

from flambeau import ExecutorchBackendConfig, to_edge
from flambeau.compiler.program_profile import profile_program
from flambeau.runtime import Runtime
from flambeau.runtime.etdump import read_etdump_file


class Net(torch.nn.Module):
    """Modules in two delegates; XNNPACK computes the clamp with the layer before it, and has an operator fewer than the payload."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.first, self.second = torch.nn.Conv2d(3, 8, 3), torch.nn.Linear(288, 64), torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(torch.relu(self.conv(x)).flatten(1)).clamp(-1, 1)
        return torch.softmax(self.second(torch.cumsum(y, 1)), -1)


X = torch.linspace(-1, 1, 192).reshape(1, 3, 8, 8)


@pytest.fixture(scope="module")
def data() -> bytes:
    program = torch.export.export(Net().eval(), (X,))
    return bytes(to_edge(program).to_backend("xnnpack").to_executorch().buffer)


def inside(path: Path) -> list[tuple[int, str | None]]:
    """The operators inside of delegates in the last run: the instruction, and what they are called."""
    events = [event.profile_event for event in read_etdump_file(path).run_data[-1].events]
    return [(event.instruction_id, event.delegate_debug_id_str) for event in events if event is not None and event.delegate_debug_id_str]


def test_an_etdump_has_the_operators_that_stocks_has(data: bytes, tmp_path: Path):
    ours, stocks = tmp_path / "ours.etdp", tmp_path / "stocks.etdp"
    program = Runtime.get().load_program(data, enable_etdump=True)
    program.load_method("forward").execute([X.numpy()])
    program.write_etdump_result_to_file(ours)
    stock = cast(Any, StockRuntime.get()).load_program(data, enable_etdump=True)
    stock.load_method("forward").execute((X,))
    stock.write_etdump_result_to_file(str(stocks), str(tmp_path / "values.bin"))
    assert len(inside(ours)) > 5 and inside(ours) == inside(stocks)
    calls = [event.profile_event for event in read_etdump_file(ours).run_data[-1].events]
    names = [event.name for event in calls if event is not None and event.name]
    assert names == ["DELEGATE_CALL", "native_call_cumsum.out", "DELEGATE_CALL", "Method::execute"]


def test_the_time_of_a_delegate_counts_for_its_modules(data: bytes):
    profile = profile_program(data, lambda: [X.numpy()], iterations=4)
    modules = {row.name for row in profile.rows("module")}
    assert {"conv", "first", "second"} <= modules and "-" not in modules
    rows = profile.rows()
    places = {row.name.partition(" (")[0]: row.frames[0].name for row in rows if row.is_inside and row.frames}
    assert places["Convolution"] == "conv" and places["Softmax"] == "forward"
    for by in ("instruction", "operator", "module", "line"):
        shown = [row for row in profile.table(by) if not row.is_inside]
        assert sum(row.share for row in shown) == pytest.approx(1)
    for run in range(4):
        whole = sum(row.times[run] for row in rows if not row.is_inside)
        assert sum(row.times[run] for row in profile.rows("module")) == pytest.approx(whole, abs=20)


def test_a_stripped_program_does_not_say_modules():
    program = torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(1, 4),))
    edge = to_edge(program).to_backend("xnnpack")
    for keeps in (True, False):
        config = ExecutorchBackendConfig(emit_stacktrace=keeps)
        assert (b"flambeau.modules" in bytes(edge.to_executorch(config).buffer)) is keeps


def test_times_are_measured_only_on_request(data: bytes):
    for options, count in (({}, 0), ({"profile": 0}, 0), ({"profile": 1}, 1)):
        method = Runtime.get().load_program(data, backend_options={"xnnpack": options}).load_method("forward")
        with method.record_events() as recording:
            method.execute([X.numpy()])
        assert (sum(event.kind.name == "OPERATOR" for event in recording.events) > 0) == count
