"""Traces and logs of actions: every span and rewrite of a run as an event."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Instrumentation, PassError, Pipeline
from flambeau.passes.rewriting.actions import analysis
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter
from flambeau.tools.instruments.trace_events import ActionLog, TraceWriter
from flambeau.tools.opt import main

TEXT = """\
func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = core.permute(%x) {dims = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("layer"("m.py":3:1))
  %1 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("m.py":4:1)
  %2 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("m.py":5:1)
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""


class FailPass(ModulePass):
    name = "fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with analysis("uses", op):
            raise ValueError("it cannot be done")


def run(pipeline: Pipeline, *watchers: Instrumentation, text: str = TEXT) -> None:
    context = FlambeauContext()
    pipeline.run(parse_module(text, context).module, context, watchers)


def trace(path: Path, pipeline: Pipeline, *others: Instrumentation) -> list[dict[str, Any]]:
    with TraceWriter(path) as writer:
        run(pipeline, *others, writer)
    return events_of(path)


def events_of(path: Path) -> list[dict[str, Any]]:
    """The events of a trace, each checked against the trace-event format."""
    document = json.loads(path.read_text())
    events: list[dict[str, Any]] = document["traceEvents"]
    assert document["displayTimeUnit"] in ("ms", "ns")
    for event in events:
        assert {"name", "cat", "ph", "ts", "pid", "tid"} <= event.keys()
        assert isinstance(event["name"], str) and isinstance(event["cat"], str) and isinstance(event["args"], dict)
        assert event["ts"] >= 0 and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["ph"] in ("M", "X", "i", "C")
        assert ("dur" in event and event["dur"] >= 0) == (event["ph"] == "X")
        assert (event.get("s") == "t") == (event["ph"] == "i")
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == ["flambeau", "passes"]
    return events


def parents(events: Sequence[dict[str, Any]]) -> dict[str, set[str]]:
    """Which spans stand directly inside of which, by name; fails when two overlap without one holding the other."""
    found: dict[str, set[str]] = {}
    stack: list[tuple[float, str]] = []
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        while stack and stack[-1][0] <= start:
            stack.pop()
        assert not stack or end <= stack[-1][0], f"{event['name']} begins within {stack[-1][1]} and ends after it"
        found.setdefault(event["name"], set()).add(stack[-1][1] if stack else "")
        stack.append((end, event["name"]))
    return found


def test_a_trace_is_in_the_trace_event_format_and_nests(tmp_path: Path):
    events = trace(tmp_path / "t.json", Pipeline.parse("func.func(canonicalize),cse"))
    assert parents(events) == {
        "builtin.module": {""},
        "func.func": {"builtin.module"},
        "canonicalize": {"func.func"},
        "cse": {"builtin.module"},
        "verification": {"canonicalize", "cse", "builtin.module"},
        **{e["name"]: {"canonicalize"} for e in events if e["cat"] == "pattern"},
    }
    assert [e["args"].keys() for e in events if e["ph"] == "C"] == [{"MiB"}] * 2


def test_every_attempt_is_an_event_with_its_operation_place_and_outcome(tmp_path: Path):
    events = trace(tmp_path / "t.json", Pipeline.parse("canonicalize"))
    attempts = [(e["name"], e["args"]["op"], e["args"]["matched"], e["args"]["location"]) for e in events if e["cat"] == "pattern"]
    matched = [attempt for attempt in attempts if attempt[2]]
    assert [attempt[1:] for attempt in matched] == [("core.permute", True, "layer (m.py:3)")]
    assert any(attempt[1:] == ("core.relu", False, "m.py:4") for attempt in attempts)


def test_rewrites_of_sweeps_are_instants(tmp_path: Path):
    events = trace(tmp_path / "t.json", Pipeline.parse("cse"))
    assert [(e["name"], e["args"]["op"]) for e in events if e["ph"] == "i"] == [("cse", "core.relu")]


def test_a_forbidden_attempt_is_no_event(tmp_path: Path):
    with TraceWriter(tmp_path / "t.json") as writer:
        run(Pipeline.parse("canonicalize"), writer, DebugCounter({"*": CounterRange(0, 1)}))
    assert len([e for e in events_of(tmp_path / "t.json") if e["cat"] == "pattern"]) == 1


def test_the_trace_of_a_run_that_fails_is_whole(tmp_path: Path):
    path = tmp_path / "t.json"
    with TraceWriter(path) as writer, pytest.raises(PassError):
        run(Pipeline.of([*Pipeline.parse("cse").passes(), FailPass()]), writer)
    events = events_of(path)
    assert parents(events)["uses"] == {"fail"}
    assert {e["name"] for e in events if e["args"].get("failed")} == {"fail", "builtin.module"}


def test_a_trace_is_written_as_it_grows(tmp_path: Path):
    body = "\n".join(f"  %{n} = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>" for n in range(200))
    path = tmp_path / "t.json"
    with TraceWriter(path) as writer:
        run(Pipeline.parse("cse"), writer, text=f"func.func @f(%x: tensor<2xf32>) {{\n{body}\n  func.return\n}}\n")
        assert path.stat().st_size > 8192


def test_the_log_says_what_happened():
    file = io.StringIO()
    log = ActionLog(file)
    with log.phase("work"), pytest.raises(PassError):
        run(Pipeline.of([*Pipeline.parse("cse").passes(), FailPass()]), log)
    log.close()
    assert file.getvalue() == (
        "phase work\n"
        "  pipeline builtin.module on builtin.module\n"
        "    pass cse on builtin.module\n"
        "      rewrite cse on core.relu at m.py:5\n"
        "      verification on builtin.module\n"
        "    pass fail on builtin.module\n"
        "      analysis uses on builtin.module\n"
        "    pass fail: failed\n"
        "  pipeline builtin.module: failed\n"
    )


def test_the_log_of_patterns():
    file = io.StringIO()
    run(Pipeline.parse("canonicalize"), ActionLog(file), DebugCounter({"*": CounterRange(1)}))
    patterns = [line.strip() for line in file.getvalue().splitlines() if "pattern" in line]
    assert patterns[0].endswith("on core.permute at layer (m.py:3): forbidden")
    assert any(line.endswith("on core.permute at layer (m.py:3): matched") for line in patterns)
    assert any(line.endswith("on core.relu at m.py:4: no match") for line in patterns)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "in.mlir"
    path.write_text(TEXT)
    return str(path)


def test_the_tool_writes_traces_and_logs(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, log = tmp_path / "t.json", tmp_path / "log.txt"
    assert main([source, "-p", "canonicalize", f"--profile-actions={path}", f"--log-actions-to={log}"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("builtin.module") and output.err == ""
    assert [name for name, around in parents(events_of(path)).items() if around == {""}] == ["parse", "verify", "builtin.module", "print"]
    assert [line for line in log.read_text().splitlines() if not line.startswith(" ")] == [
        *("phase parse", "phase verify", "pipeline builtin.module on builtin.module", "phase print"),
    ]


def test_the_tool_closes_the_trace_when_parsing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, path = tmp_path / "in.mlir", tmp_path / "t.json"
    source.write_text("func.func @f( {\n")
    assert main([str(source), f"--profile-actions={path}"]) == 1
    assert [e["name"] for e in events_of(path) if e["args"].get("failed")] == ["parse"]


def test_debug_counters_of_the_tool(source: str, capsys: pytest.CaptureFixture[str]):
    assert main([source, "-p", "cse", "--debug-counter=cse-count=0", "--print-debug-counter"]) == 0
    output = capsys.readouterr()
    assert output.out.count("core.relu") == 2
    assert output.err == "*: 1 attempts, 0 let through\ncse: 1 attempts, 0 let through\n"
    assert main([source, "-p", "cse", "--mlir-debug-counter=cze-skip=1"]) == 0
    assert "debug counter 'cze' counted nothing" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([source, "--debug-counter=cse"])
    assert "debug counter 'cse' is neither" in capsys.readouterr().err
