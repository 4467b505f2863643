"""Where time goes: the tree of phases, pipelines, passes, verification, analyses and patterns; and what passes did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Instrumentation, OperationPass, PassError, PatternPass, Pipeline, count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter
from flambeau.tools.instruments.pass_statistics import PassStatistics
from flambeau.tools.instruments.timing import Timer, TimingNode
from flambeau.tools.opt import main

TEXT = """\
func.func @a() { "test.op"() {n = 0} : () -> () "test.op"() {n = 1} : () -> () func.return }
func.func @b() { "test.op"() {n = 2} : () -> () func.return }
"""


class OddPattern(Pattern):
    roots: ClassVar[tuple[type[Operation], ...]] = (TestOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op.attributes.pop("n", None) is not None and op.next_op is not None and isinstance(op.next_op, TestOp):
            rewriter.insert(TestOp.create())


@dataclass(frozen=True)
class OddPass(PatternPass):
    name = "odd"

    def patterns(self) -> list[Pattern]:
        return [OddPattern()]


@dataclass(frozen=True)
class SweepPass(OperationPass):
    name = "sweep"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        with analysis("uses", op):
            found = [inner for inner in op.walk() if isinstance(inner, TestOp)]
        for inner in found[1:]:
            if may_rewrite(self.name, inner):
                inner.detach()
                count("detached")


@dataclass(frozen=True)
class BreakPass(ModulePass):
    name = "break"

    def apply(self, ctx: Context, op: Operation) -> None:
        with analysis("uses", op):
            raise ValueError("it is broken")


def run(pipeline: Pipeline, *watchers: Instrumentation, verify_each: bool = True) -> None:
    context = FlambeauContext()
    pipeline.run(parse_module(TEXT, context).module, context, watchers, verify_each=verify_each)


NESTED = Pipeline("builtin.module", (Pipeline("func.func", (OddPass(), SweepPass())), SweepPass()))


def shape(node: TimingNode) -> dict[str, Any]:
    """Names and numbers of calls, as a tree."""
    return {f"{child.name} {child.calls}": shape(child) for _, child in node.walk() if child in node.children.values()}


def test_the_tree_is_that_of_the_pipeline():
    timer = Timer()
    with timer.phase("parse"):
        pass
    run(NESTED, timer)
    assert shape(timer.stop()) == {
        "parse 1": {},
        "builtin.module 1": {
            "func.func 2": {
                "odd 2": {"OddPattern 4": {}, "verification 2": {}},
                "sweep 2": {"uses 2": {}, "verification 2": {}},
            },
            "verification 1": {},
            "sweep 1": {"uses 1": {}, "verification 1": {}},
        },
    }


def test_times_of_children_lie_within_those_of_their_parents():
    timer = Timer()
    run(NESTED, timer)
    nodes = [node for _, node in timer.stop().walk()]
    assert len(nodes) == 13
    for node in nodes:
        assert 0 <= node.own <= node.wall
        assert node.wall == node.own + sum(child.wall for child in node.children.values())
    assert timer.attempts == 4
    assert timer.cost_of_watching() > 0


def test_without_verification_none_is_timed():
    timer = Timer()
    run(Pipeline.of([OddPass()]), timer, verify_each=False)
    assert shape(timer.stop()) == {"builtin.module 1": {"odd 1": {"OddPattern 4": {}}}}


def test_a_failure_leaves_a_whole_tree():
    timer = Timer()
    with timer.phase("all"), pytest.raises(PassError):
        run(Pipeline("builtin.module", (OddPass(), BreakPass(), SweepPass())), timer)
    with timer.phase("after"):
        pass
    assert shape(timer.stop()) == {
        "all 1": {"builtin.module 1": {"odd 1": {"OddPattern 4": {}, "verification 1": {}}, "break 1": {"uses 1": {}}}},
        "after 1": {},
    }


def test_an_attempt_that_another_watcher_forbids_takes_no_time():
    timer = Timer()
    run(Pipeline.of([OddPass()]), timer, DebugCounter({"*": CounterRange(0, 1)}))
    assert shape(timer.stop()) == {"builtin.module 1": {"odd 1": {"OddPattern 1": {}, "verification 1": {}}}}


def test_the_table_is_aligned_and_sorted():
    timer = Timer()
    run(NESTED, timer)
    tree = timer.report().splitlines()
    end = tree[0].index("  what")
    assert all(line[:end].strip()[-1].isdigit() and line[end : end + 2] == "  " for line in tree[1:-2])
    assert [line[end + 2 :] for line in tree[1:5]] == ["total", "  pipeline builtin.module", "    pipeline func.func", "      odd"]
    assert "100.0%" in tree[1]
    assert "watching 4 attempts" in tree[-1]
    rows = timer.report("list").splitlines()[1:-2]
    own = [float(row.split()[2].replace(",", "")) for row in rows]
    assert own == sorted(own, reverse=True)
    assert {row[end + 2 :] for row in rows} == {
        *(
            "total",
            "pipeline builtin.module",
            "pipeline func.func",
            "odd",
            "sweep",
            "analysis uses",
            "verification",
            "OddPattern, matched 1",
        ),
    }


def test_the_tree_as_json():
    timer = Timer()
    run(Pipeline.of([OddPass()]), timer)
    found = json.loads(json.dumps(timer.to_json()))
    assert found["version"] == 1
    assert found["peak_bytes"] > 2**20
    (pipeline,) = found["tree"]["children"]
    (odd,) = pipeline["children"]
    pattern = next(child for child in odd["children"] if child["kind"] == "pattern")
    assert (pattern["name"], pattern["calls"], pattern["matched"]) == ("OddPattern", 4, 1)
    assert odd["self_seconds"] == pytest.approx(odd["wall_seconds"] - sum(child["wall_seconds"] for child in odd["children"]))


def test_statistics_of_passes():
    statistics = PassStatistics()
    run(NESTED, statistics)
    assert statistics.report() == (
        "odd on func.func, 2 runs\n"
        "  operations: 5 -> 6 (+1 test.op)\n"
        "  rewrites: OddPattern 1 of 4\n"
        "sweep on func.func, 2 runs\n"
        "  operations: 6 -> 4 (-2 test.op)\n"
        "  rewrites: sweep 2\n"
        "  counters: detached 2\n"
        "sweep\n"
        "  operations: 6 -> 5 (-1 test.op)\n"
        "  rewrites: sweep 1\n"
        "  counters: detached 1\n"
    )
    again = PassStatistics()
    run(Pipeline.of([SweepPass(), SweepPass()]), again)
    assert again.report("list") == (
        "sweep, 2 runs\n"
        "  operations: 12 -> 10 (-2 test.op)\n"
        "  rewrites: sweep 2\n"
        "  counters: detached 2\n"
    )  # fmt: skip
    odd, nested, sweep = json.loads(json.dumps(statistics.to_json()))["passes"]
    assert odd["rewrites"] == {"OddPattern": {"applied": 1, "attempts": 4}}
    assert nested["path"] == ["builtin.module", "func.func"]
    assert sweep["operations"] == {"before": 6, "after": 5, "changes": {"test.op": -1}}


def test_statistics_of_a_pass_that_fails():
    statistics = PassStatistics()
    with pytest.raises(PassError):
        run(Pipeline.of([BreakPass()]), statistics)
    assert statistics.report() == "break, failed\n  operations: 7, as before\n"


def test_the_same_pass_twice_has_two_records():
    statistics = PassStatistics()
    sweep = SweepPass()
    run(Pipeline.of([sweep, sweep]), statistics)
    assert [record.counters["detached"] for record in statistics.records] == [2, 0]


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "in.mlir"
    path.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n")
    return str(path)


def test_reports_go_to_stderr_and_to_files(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    times, numbers = tmp_path / "times.json", tmp_path / "numbers.json"
    arguments = [source, "-p", "cse", "--timing", f"--timing-json={times}", "--pass-statistics", f"--pass-statistics-json={numbers}"]
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert output.out.startswith("builtin.module") and "wall ms" not in output.out
    assert "wall ms" in output.err and "operations: 2, as before" in output.err
    names = [child["name"] for child in json.loads(times.read_text())["tree"]["children"]]
    assert names == ["parse", "verify", "builtin.module", "print"]
    assert json.loads(numbers.read_text())["passes"][0]["pass"] == "cse"


def test_a_run_that_fails_is_reported_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "in.mlir"
    path.write_text(
        "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}\n"
    )
    assert main([str(path), "-p", "cse,convert-core-to-edge,cse", "--timing", "--pass-statistics", "--no-reproducer"]) == 1
    errors = capsys.readouterr().err
    assert "aten.relu" in errors
    assert "convert-core-to-edge, failed\n  operations: 3, as before\n" in errors
    assert "      convert-core-to-edge\n" in errors


def test_nothing_of_one_run_is_left_in_the_next(source: str, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert main([source, "-p", "cse", "--pass-statistics"]) == 0
        assert capsys.readouterr().err == "cse\n  operations: 2, as before\n"
    assert main([source, "-p", "cse"]) == 0
    assert capsys.readouterr().err == ""


def test_a_report_that_cannot_be_written_is_an_error_of_one_line(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main([source, f"--timing-json={tmp_path}/no/times.json"]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path}/no/times.json: there is no folder {tmp_path}/no\n"


def test_each_place_of_a_pass_in_the_pipeline_has_its_own_times():
    module = parse_module(TEXT, FlambeauContext(allow_unregistered=True)).module
    timer = Timer()
    Pipeline.parse("cse,canonicalize,cse,func.func(cse),func.func(cse)").run(module, FlambeauContext(), [timer], verify_each=False)
    tree = timer.stop().children.values()
    assert [[(node.name, node.calls) for node in pipeline.children.values()] for pipeline in tree] == [
        [("cse", 1), ("canonicalize", 1), ("cse", 1), ("func.func", 2), ("func.func", 2)]
    ]
