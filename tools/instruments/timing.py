"""The time of a run, as a tree of phases, pipelines, passes, verification, analyses and patterns."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp

from flambeau.passes.manager.instrumentation import Instrumentations
from flambeau.passes.rewriting.actions import Action
from flambeau.tools.instruments.spans import Outcome, Span, SpanInstrumentation, SpanKind

JSON_VERSION = 1
"""The version of the form that `Timer.to_json` gives."""


@dataclass(eq=False)
class TimingNode:
    """All events of one kind and name at one place of the tree and of the pipeline."""

    kind: SpanKind
    name: str
    calls: int = 0
    matched: int = 0
    """The number of attempts of a pattern that rewrote something."""
    wall: int = 0
    """The wall time in nanoseconds."""
    cpu: int = 0
    """The processor time of all threads, in nanoseconds."""
    peak_growth: int = 0
    """The growth of the process's peak resident memory in bytes; not measured for patterns."""
    children: dict[tuple[SpanKind, str, object], TimingNode] = field(default_factory=dict[tuple[SpanKind, str, object], "TimingNode"])

    @property
    def own(self) -> int:
        """The wall time in nanoseconds outside of all children."""
        return self.wall - sum(child.wall for child in self.children.values())

    def child(self, kind: SpanKind, name: str, place: object = None) -> TimingNode:
        """Returns the child of this kind and name at this place of the pipeline, and creates it if needed."""
        found = self.children.get((kind, name, place))
        if found is None:
            found = self.children[kind, name, place] = TimingNode(kind, name)
        return found

    def add(self, other: TimingNode) -> None:
        """Adds the counts of `other`, without its children."""
        self.calls += other.calls
        self.matched += other.matched
        self.wall += other.wall
        self.cpu += other.cpu
        self.peak_growth += other.peak_growth

    def walk(self, depth: int = 0) -> Iterator[tuple[int, TimingNode]]:
        """Yields this node and those below it with their depths: in the order of first runs, patterns last and by their time."""
        yield depth, self
        for node in sorted(self.children.values(), key=lambda node: -node.wall if node.kind == "pattern" else -sys.maxsize):
            if node.calls:
                yield from node.walk(depth + 1)


def peak_memory() -> int:
    """Returns the most resident memory that this process ever had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Timer(SpanInstrumentation):
    """A timer of nested spans; the root of its tree lasts from its creation to `stop`."""

    def __init__(self) -> None:
        super().__init__()
        self.root = TimingNode("phase", "total", calls=1)
        self.attempts = 0
        self._nodes = [self.root]
        self._starts: list[tuple[int, int]] = []
        self._begin_wall, self._begin_cpu, self._begin_peak = time.perf_counter_ns(), time.process_time_ns(), peak_memory()

    def began(self, span: Span) -> None:
        """Records the clocks."""
        self._nodes.append(self._nodes[-1].child(span.kind, span.name, span.place))
        self._starts.append((time.process_time_ns(), 0 if span.kind == "pattern" else peak_memory()))

    def ended(self, span: Span, end: int, outcome: Outcome) -> None:
        """Adds the elapsed times and the memory growth of the span to its node."""
        node = self._nodes.pop()
        cpu, peak = self._starts.pop()
        if outcome == "skipped":
            return
        node.calls += 1
        node.wall += end - span.start
        node.cpu += time.process_time_ns() - cpu
        if span.kind == "pattern":
            self.attempts += 1
            node.matched += outcome == "matched"
        else:
            node.peak_growth += peak_memory() - peak

    def stop(self) -> TimingNode:
        """Ends the open spans and the root, and returns the tree. Calling it again brings the tree up to date."""
        self.close()
        self.root.wall = time.perf_counter_ns() - self._begin_wall
        self.root.cpu = time.process_time_ns() - self._begin_cpu
        self.root.peak_growth = peak_memory() - self._begin_peak
        return self.root

    def cost_of_watching(self) -> int:
        """Returns about how many nanoseconds it took to announce and time the attempts, extrapolated from some idle ones."""
        return self.attempts * cost_of_an_attempt()

    def to_json(self) -> dict[str, Any]:
        """Returns the tree for programs: times in seconds, memory in bytes."""
        root = self.stop()
        return {
            "version": JSON_VERSION,
            "peak_bytes": peak_memory(),
            "attempts": self.attempts,
            "watching_seconds": self.cost_of_watching() / 1e9,
            "tree": _json_of(root, root.wall),
        }

    def report(self, display: Literal["tree", "list"] = "tree") -> str:
        """Returns the tree as a table, or the totals by name with the longest own time first."""
        root = self.stop()
        lines = [f"{'wall ms':>10} {'share':>6} {'self ms':>10} {'cpu ms':>10} {'peak +MiB':>9} {'calls':>8}  what"]
        if display == "tree":
            lines += [_row(node, root.wall, node.own, depth) for depth, node in root.walk()]
        else:
            lines += [_row(node, root.wall, own, 0) for node, own in _by_name(root)]
        lines.append(
            f"peak +MiB is by how much the peak of the resident memory grew meanwhile; in the end it was {peak_memory() / 2**20:.1f} MiB"
        )
        if self.attempts:
            cost = self.cost_of_watching()
            lines.append(
                f"watching {self.attempts:,} attempts to rewrite took about {cost / 1e6:.2f} ms ({cost / root.wall:.1%} of the total), "
                "most of it in the self times of passes"
            )
        return "\n".join(lines) + "\n"


def cost_of_an_attempt(repetitions: int = 1000) -> int:
    """Returns the overhead in nanoseconds of announcing one attempt to a timer."""
    timer = Timer()
    watchers = Instrumentations((timer,))
    op = ModuleOp([])
    costs: list[int] = []
    for _ in range(3):
        start = time.perf_counter_ns()
        for _ in range(repetitions):
            action = Action("pattern", "idle", op)
            watchers.before_action(action)
            watchers.after_action(action, False)
        costs.append((time.perf_counter_ns() - start) // repetitions)
    return min(costs)


def _by_name(root: TimingNode) -> list[tuple[TimingNode, int]]:
    totals: dict[tuple[SpanKind, str], TimingNode] = {}
    own: dict[tuple[SpanKind, str], int] = {}
    for _, node in root.walk():
        key = (node.kind, node.name)
        totals.setdefault(key, TimingNode(node.kind, node.name)).add(node)
        own[key] = own.get(key, 0) + node.own
    return [(totals[key], own[key]) for key in sorted(totals, key=lambda key: -own[key])]


def _label(node: TimingNode) -> str:
    match node.kind:
        case "pattern":
            return f"{node.name}, matched {node.matched:,}"
        case "pipeline" | "analysis":
            return f"{node.kind} {node.name}"
        case _:
            return node.name


def _row(node: TimingNode, total: int, own: int, depth: int) -> str:
    growth = "" if node.kind == "pattern" else f"{node.peak_growth / 2**20:.1f}"
    share = node.wall / total if total else 0.0
    return (
        f"{node.wall / 1e6:>10.2f} {share:>6.1%} {own / 1e6:>10.2f} {node.cpu / 1e6:>10.2f} {growth:>9} {node.calls:>8,}  "
        f"{'  ' * depth}{_label(node)}"
    )


def _json_of(node: TimingNode, total: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": node.kind,
        "name": node.name,
        "calls": node.calls,
        "wall_seconds": node.wall / 1e9,
        "self_seconds": node.own / 1e9,
        "cpu_seconds": node.cpu / 1e9,
        "share": node.wall / total if total else 0.0,
    }
    if node.kind == "pattern":
        found["matched"] = node.matched
    else:
        found["peak_growth_bytes"] = node.peak_growth
    found["children"] = [_json_of(child, total) for child in node.children.values() if child.calls]
    return found
