"""Measured times of a program's instructions, with the location of each instruction in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from statistics import median, quantiles
from typing import Any, Literal, get_args

from flambeau.compiler.html_table import html_table
from flambeau.compiler.instruction_costs import InstructionCost, instruction_costs
from flambeau.compiler.memory_report import methods_of
from flambeau.dialects.delegate.ops import MODULES
from flambeau.dialects.ir.locations import common_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.contents import modules_in
from flambeau.runtime import Event, EventKind, Runtime, pte
from flambeau.runtime.binding.libraries import with_profile
from flambeau.runtime.emit.pte_reader import from_program

By = Literal["instruction", "operator", "module", "line"]
"""The kinds of rows of a profile."""

BY: tuple[By, ...] = get_args(By)

UNKNOWN_PLACE = "-"
"""The name of the row of instructions that have no line, or no module in common."""


@dataclass
class ProfileRow:
    """The times and costs of the instructions of one group, in each run.

    Attributes:
        name: the common key of the instructions, which names the row.
        calls: the number of executions of the instructions in all runs together.
        times: the total nanoseconds of the instructions in each run.
        flops: the floating-point operations in all runs, at the greatest sizes; None if unknown for some instruction.
        bytes: the bytes of the tensors that the instructions read and wrote in all runs; None if unknown for some instruction.
        operators: the operators of the instructions, or the backends of delegates.
        frames: the locations in the model of the first instruction.
        instruction: the numbers of the chain and the instruction, if the row is a single instruction; else None.
        share: the part of the median times of all rows of one kind, and of the time between instructions: the shares of these add up to 1.
        is_inside: whether it is an operator inside of the delegate in the row before, whose time counts there. The backend measures it.
    """

    name: str
    times: list[int]
    operators: dict[str, None] = field(default_factory=dict[str, None])
    frames: tuple[pte.Frame, ...] = ()
    instruction: tuple[int, int] | None = None
    calls: int = 0
    flops: int | None = 0
    bytes: int | None = 0
    share: float = 0
    is_inside: bool = False

    @property
    def p50(self) -> float:
        """The median of the times in nanoseconds."""
        return median(self.times)

    @property
    def p90(self) -> float:
        """The time in nanoseconds that nine of ten runs do not exceed."""
        return quantiles(self.times, n=10, method="inclusive")[8] if len(self.times) > 1 else self.times[0]


@dataclass
class Part:
    """An operator inside of a delegate.

    Attributes:
        name: what its backend calls it.
        number: the number of the payload's operator that it computes; None if unknown.
        times: its nanoseconds in each run, as the backend measured them.
    """

    name: str
    number: int | None
    times: list[int]


@dataclass(frozen=True)
class Profile:
    """The recorded runs of a method.

    Attributes:
        method: the name of the method.
        runs: the events of each run: the execution, then its instructions.
        frames: the locations in the model of each instruction, by chain and number.
        costs: the cost of each instruction, by chain and number.
        modules: the modules of the operators of each delegate's payload, by chain and number of its call.
    """

    method: str
    runs: Sequence[Sequence[Event]]
    frames: Mapping[tuple[int, int], tuple[pte.Frame, ...]]
    costs: Mapping[tuple[int, int], InstructionCost]
    modules: Mapping[tuple[int, int], Sequence[str]] = field(default_factory=dict[tuple[int, int], Sequence[str]])

    @property
    def times(self) -> ProfileRow:
        """A row with the time of each whole run."""
        whole = ProfileRow(self.method, [run[0].nanoseconds for run in self.runs], calls=len(self.runs))
        rows = [row for row in self.rows() if not row.is_inside]
        whole.bytes = sum(row.bytes or 0 for row in rows)
        counted = [row.flops for row in rows if row.flops is not None]
        whole.flops = sum(counted) if len(counted) == len(rows) else None
        return whole

    @property
    def between(self) -> ProfileRow:
        """A row with the part of the time of each run that no instruction took."""
        between = [run[0].nanoseconds - sum(event.nanoseconds for event in _instructions(run)) for run in self.runs]
        return ProfileRow("between instructions", between)

    def table(self, by: By = "instruction") -> list[ProfileRow]:
        """Returns the rows of one kind, and behind them that of the time between instructions, with their shares."""
        rows = [*self.rows(by), self.between]
        total = sum(row.p50 for row in rows if not row.is_inside)
        for row in rows:
            row.share = row.p50 / max(total, 1)
        return rows

    @cached_property
    def parts(self) -> dict[tuple[int, int], dict[str, Part]]:
        """The operators inside of delegates, by chain and number of a call, then by name."""
        found: dict[tuple[int, int], dict[str, Part]] = {}
        for number, run in enumerate(self.runs):
            for event in run:
                if event.kind is EventKind.OPERATOR:
                    inside = found.setdefault(place_of(event), {})
                    part = inside.setdefault(event.name, Part(event.name, event.number, [0] * len(self.runs)))
                    part.times[number] += event.nanoseconds
        return found

    def _repr_html_(self) -> str:
        """Returns HTML with the instructions, their times and locations, for notebooks."""
        whole = self.times
        rows = [
            (row.name, f"{row.p50 / 1e3:.1f}", percent_of(row), module_of(row.frames), line_of(row.frames)) for row in self.table()[:-1]
        ]
        head = f"<p>method {escape(self.method)}: {len(self.runs)} runs, p50 {whole.p50 / 1e6:.3f} ms, p90 {whole.p90 / 1e6:.3f} ms</p>"
        return head + html_table(("operator", "p50 µs", "share", "module", "line"), rows)

    def flops_of(self, event: Event) -> int | None:
        """Returns the floating-point operations of an executed instruction; None if unknown."""
        return self.costs.get(place_of(event), InstructionCost()).flops

    def bytes_of(self, event: Event) -> int:
        """Returns the number of bytes that an executed instruction read and wrote."""
        return max(0, event.bytes - self.costs.get(place_of(event), InstructionCost()).untouched)

    def rows(self, by: By = "instruction") -> list[ProfileRow]:
        """Returns a row for each instruction in order, or for each operator, module or line of the model, the longest first.

        The row of a delegate's call is followed by rows of the operators inside. The time of a delegate counts for the operators and
        modules inside in proportion to the times that its backend measured.
        """
        rows: dict[object, ProfileRow] = {}
        for number, run in enumerate(self.runs):
            for event in _instructions(run):
                at = place_of(event)
                for name, weight in self._names(event, by):
                    alone = at if by == "instruction" else None
                    if (row := rows.get(alone or name)) is None:
                        frames = self.frames.get(at, ())
                        row = rows[alone or name] = ProfileRow(name, [0] * len(self.runs), frames=frames, instruction=alone)
                    row.operators[event.name] = None
                    row.times[number] += round(event.nanoseconds * weight)
                    row.calls += 1
                    count, moved = (self.flops_of(event), self.bytes_of(event)) if weight == 1 else (None, None)
                    row.flops = None if row.flops is None or count is None else row.flops + count
                    row.bytes = None if row.bytes is None or moved is None else row.bytes + moved
        found = list(rows.values())
        if by != "instruction":
            return sorted(found, key=lambda row: -row.p50)
        found.sort(key=lambda row: row.instruction or ())
        return [item for row in found for item in (row, *self._inside(row))]

    def _names(self, event: Event, by: By) -> list[tuple[str, float]]:
        """Returns the names of the rows for which the time of an instruction counts, each with its part of the time."""
        at = place_of(event)
        parts = list(self.parts.get(at, {}).values())
        own = _KEYS[by](event, self.frames.get(at, ()))
        if not parts or by in ("instruction", "line"):
            return [(own, 1)]
        modules = self.modules.get(at, ())
        whole = common_module(modules) or own
        weights: dict[str, float] = {}
        total = sum(sum(part.times) for part in parts)
        for part in parts:
            module = modules[part.number] if part.number is not None and part.number < len(modules) else ""
            name = f"{event.name}: {part.name.partition(' #')[0]}" if by == "operator" else module or whole
            weights[name] = weights.get(name, 0) + (sum(part.times) / total if total else 1 / len(parts))
        return list(weights.items()) if len(weights) > 1 else [(name, 1) for name in weights]

    def _inside(self, row: ProfileRow) -> list[ProfileRow]:
        """Returns the rows of the operators inside of a delegate."""
        at = row.instruction or (0, 0)
        modules, found = self.modules.get(at, ()), list[ProfileRow]()
        for part in self.parts.get(at, {}).values():
            module = modules[part.number] if part.number is not None and part.number < len(modules) else ""
            inside = ProfileRow(part.name, part.times, frames=(pte.Frame(name=module),) if module else (), instruction=at, is_inside=True)
            inside.calls, inside.flops, inside.bytes = row.calls, None, None
            found.append(inside)
        return found


def percent_of(row: ProfileRow) -> str:
    """Returns the share of a row as text; nothing for a row whose time counts in another one."""
    return "" if row.is_inside else f"{100 * row.share:.1f} %"


def _instructions(run: Sequence[Event]) -> list[Event]:
    return [event for event in run[1:] if event.kind is not EventKind.OPERATOR]


def profile_program(
    data: bytes,
    inputs: Callable[[], Sequence[Any]],
    *,
    method: str = "forward",
    iterations: int = 10,
    backend_options: Mapping[str, Mapping[str, object]] | None = None,
    threads: int = 1,
) -> Profile:
    """Runs a method of a `.pte` once, and then `iterations` times with its events recorded.

    Args:
        data: the bytes of the program.
        inputs: a function that returns the inputs of one run. The run may write to the inputs.
        method: the method to run.
        iterations: the number of runs that are recorded.
        backend_options: the options of backends, by backend.
        threads: how many compute.

    Raises:
        PteError: `data` is not a program.
        FlambeauError: the runtime cannot load or run the program.
    """
    program = pte.read_program(data)
    runtime = Runtime.get() if threads == 1 else Runtime(threads)
    loaded = runtime.load_program(data, backend_options=with_profile(backend_options)).load_method(method)
    with loaded.record_events(capacity=1) as first:
        loaded.execute(inputs())
    # The number of instructions may depend on data; room for twice as many as in the first run is usually enough.
    with loaded.record_events(capacity=2 * iterations * first.total) as recording:
        for _ in range(iterations):
            loaded.execute(inputs())
    runs: list[list[Event]] = []
    for event in recording.events:
        if event.kind is EventKind.EXECUTE:
            runs.append([])
        runs[-1].append(event)
    if recording.lost:
        runs.pop()
    plan = next(plan for plan in program.execution_plan if plan.name == method)
    return Profile(method, runs, _frames(plan), _costs(program, method), _modules(plan))


def place_of(event: Event) -> tuple[int, int]:
    """Returns the chain and the number of an event's instruction."""
    return event.chain or 0, event.instruction or 0


def _frames(plan: pte.ExecutionPlan) -> dict[tuple[int, int], tuple[pte.Frame, ...]]:
    return {
        (chain, number): tuple(found.items)
        for chain, steps in enumerate(plan.chains)
        for number, found in enumerate(steps.stacktrace or ())
    }


def _modules(plan: pte.ExecutionPlan) -> dict[tuple[int, int], list[str]]:
    said = [
        next((modules_in(str(spec.value, "utf-8", "replace")) for spec in delegate.compile_specs if spec.key == MODULES), list[str]())
        for delegate in plan.delegates
    ]
    return {
        (chain, number): said[step.delegate_index]
        for chain, steps in enumerate(plan.chains)
        for number, step in enumerate(steps.instructions)
        if isinstance(step, pte.DelegateCall)
    }


def _costs(program: pte.Program, method: str) -> dict[tuple[int, int], InstructionCost]:
    context = FlambeauContext()
    try:
        module = from_program(program, context)
    except pte.PteError:
        return {}
    return {(0, number): cost for number, cost in enumerate(instruction_costs(module, context, methods_of(module)[method]))}


def module_of(frames: Sequence[pte.Frame]) -> str:
    """Returns the path of the innermost module of the model that contains all frames; `UNKNOWN_PLACE` if there is none."""
    return common_module(frame.name for frame in frames if frame.name) or UNKNOWN_PLACE


def line_of(frames: Sequence[pte.Frame]) -> str:
    """Returns the first line of a file among the frames, `model.py:12`, and a mark if there are more: `model.py:12, …`."""
    lines = list(dict.fromkeys(f"{frame.filename}:{frame.lineno}" for frame in frames if frame.filename))
    return f"{lines[0]}, …" if len(lines) > 1 else lines[0] if lines else UNKNOWN_PLACE


_KEYS: dict[By, Callable[[Event, Sequence[pte.Frame]], str]] = {
    "instruction": lambda event, _: event.name,
    "operator": lambda event, _: event.name,
    "module": lambda _, frames: module_of(frames),
    "line": lambda _, frames: line_of(frames),
}
