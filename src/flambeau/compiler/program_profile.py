"""Measured times of a program's instructions, with the location of each instruction in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from statistics import median, quantiles
from typing import Any, Literal, get_args

from flambeau.compiler.html_table import html_table
from flambeau.compiler.instruction_costs import InstructionCost, instruction_costs
from flambeau.compiler.memory_report import methods_of
from flambeau.dialects.ir.locations import common_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import Event, EventKind, Runtime, pte
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
        bytes: the bytes of the tensors that the instructions read and wrote in all runs.
        operators: the operators of the instructions, or the backends of delegates.
        frames: the locations in the model of the first instruction.
        instruction: the numbers of the chain and the instruction, if the row is a single instruction; else None.
    """

    name: str
    times: list[int]
    operators: dict[str, None] = field(default_factory=dict[str, None])
    frames: tuple[pte.Frame, ...] = ()
    instruction: tuple[int, int] | None = None
    calls: int = 0
    flops: int | None = 0
    bytes: int = 0

    @property
    def p50(self) -> float:
        """The median of the times in nanoseconds."""
        return median(self.times)

    @property
    def p90(self) -> float:
        """The time in nanoseconds that nine of ten runs do not exceed."""
        return quantiles(self.times, n=10, method="inclusive")[8] if len(self.times) > 1 else self.times[0]

    def share_of(self, whole: ProfileRow) -> float:
        """Returns the ratio of the median time to the median time of `whole`."""
        return self.p50 / max(whole.p50, 1)


@dataclass(frozen=True)
class Profile:
    """The recorded runs of a method.

    Attributes:
        method: the name of the method.
        runs: the events of each run: the execution, then its instructions.
        frames: the locations in the model of each instruction, by chain and number.
        costs: the cost of each instruction, by chain and number.
    """

    method: str
    runs: Sequence[Sequence[Event]]
    frames: Mapping[tuple[int, int], tuple[pte.Frame, ...]]
    costs: Mapping[tuple[int, int], InstructionCost]

    @property
    def times(self) -> ProfileRow:
        """A row with the time of each whole run."""
        whole = ProfileRow(self.method, [run[0].nanoseconds for run in self.runs], calls=len(self.runs))
        rows = self.rows("operator")
        whole.bytes = sum(row.bytes for row in rows)
        counted = [row.flops for row in rows if row.flops is not None]
        whole.flops = sum(counted) if len(counted) == len(rows) else None
        return whole

    @property
    def between(self) -> ProfileRow:
        """A row with the part of the time of each run that no instruction took."""
        return ProfileRow("between instructions", [run[0].nanoseconds - sum(event.nanoseconds for event in run[1:]) for run in self.runs])

    def _repr_html_(self) -> str:
        """Returns HTML with the instructions, their times and locations, for notebooks."""
        whole = self.times
        rows = [
            (row.name, f"{row.p50 / 1e3:.1f}", f"{100 * row.share_of(whole):.1f} %", module_of(row.frames), line_of(row.frames))
            for row in self.rows()
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
        """Returns a row for each instruction in order, or for each operator, module or line of the model, the longest first."""
        key = _KEYS[by]
        rows: dict[object, ProfileRow] = {}
        for number, run in enumerate(self.runs):
            for event in run[1:]:
                at = place_of(event)
                frames = self.frames.get(at, ())
                name = key(event, frames)
                alone = at if by == "instruction" else None
                if (row := rows.get(alone or name)) is None:
                    row = rows[alone or name] = ProfileRow(name, [0] * len(self.runs), frames=frames, instruction=alone)
                row.operators[event.name] = None
                row.times[number] += event.nanoseconds
                row.calls += 1
                row.bytes += self.bytes_of(event)
                count = self.flops_of(event)
                row.flops = None if row.flops is None or count is None else row.flops + count
        found = list(rows.values())
        return sorted(found, key=lambda row: row.instruction or ()) if by == "instruction" else sorted(found, key=lambda row: -row.p50)


def profile_program(
    data: bytes,
    inputs: Callable[[], Sequence[Any]],
    *,
    method: str = "forward",
    iterations: int = 10,
    backend_options: Mapping[str, Mapping[str, object]] | None = None,
) -> Profile:
    """Runs a method of a `.pte` once, and then `iterations` times with its events recorded.

    Args:
        data: the bytes of the program.
        inputs: a function that returns the inputs of one run. The run may write to the inputs.
        method: the method to run.
        iterations: the number of runs that are recorded.
        backend_options: the options of backends, by backend.

    Raises:
        PteError: `data` is not a program.
        FlambeauError: the runtime cannot load or run the program.
    """
    program = pte.read_program(data)
    loaded = Runtime.get().load_program(data, backend_options=backend_options).load_method(method)
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
    return Profile(method, runs, _frames(plan), _costs(program, method))


def place_of(event: Event) -> tuple[int, int]:
    """Returns the chain and the number of an event's instruction."""
    return event.chain or 0, event.instruction or 0


def _frames(plan: pte.ExecutionPlan) -> dict[tuple[int, int], tuple[pte.Frame, ...]]:
    return {
        (chain, number): tuple(found.items)
        for chain, steps in enumerate(plan.chains)
        for number, found in enumerate(steps.stacktrace or ())
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
