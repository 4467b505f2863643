"""A profile as a table for the user, and as data for programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from flambeau.compiler.program_profile import By, Profile, ProfileRow, line_of, module_of, percent_of
from flambeau.runtime import EventKind
from flambeau.tools.profiling.machine import Machine


def profile_table(profile: Profile, by: By, machine: Machine | None = None) -> Table:
    """Returns a table of the rows, and of the time between instructions; with a machine, the share of its peak that each row reaches."""
    *rows, rest = profile.table(by)
    heads = ("p50 µs", "p90 µs", "share", "MFLOP", "kB", "GFLOP/s", "GB/s", *(("of peak", "of bandwidth") if machine else ()))
    names = ("#", "operator") if by == "instruction" else (by, "calls")
    table = Table(*names, box=None, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column("module" if by == "instruction" else "" if by == "operator" else "operators")
    if by == "instruction":
        table.add_column("line")
    for row in rows:
        table.add_row(*_names(row, by, len(profile.runs)), *_figures(row, machine), *_places(row, by))
    table.add_row(*(("", rest.name) if by == "instruction" else (rest.name, "")), *_times(rest))
    return table


def headline(profile: Profile) -> str:
    """Returns one line about all runs together: their number, times and work."""
    whole, count = profile.times, len(profile.runs)
    flops = None if whole.flops is None else whole.flops / count
    work = "" if flops is None else f", {flops / 1e6:.3f} MFLOP, {flops / max(whole.p50, 1):.2f} GFLOP/s"
    instructions = sum(event.kind not in (EventKind.EXECUTE, EventKind.OPERATOR) for run in profile.runs for event in run) // count
    times = f"p50 {whole.p50 / 1e6:.3f} ms, p90 {whole.p90 / 1e6:.3f} ms"
    runs = f"{count} run{'' if count == 1 else 's'} of {instructions} instruction{'' if instructions == 1 else 's'}"
    return f"method {profile.method}: {runs}, {times}{work}"


def profile_data(profile: Profile, by: By, machine: Machine | None = None) -> dict[str, Any]:
    """Returns the profile for JSON; times in nanoseconds, work and bytes per run."""
    whole, count = profile.times, len(profile.runs)
    report: dict[str, Any] = {"method": profile.method, "runs": count, "by": by, **_data(whole, count)}
    report["share"] = 1.0
    report["times_ns"] = whole.times
    if machine is not None:
        report["machine"] = {"flops_per_second": machine.flops, "bytes_per_second": machine.bandwidth}
    report["rows"] = [_row(row, count) for row in profile.table(by)[:-1]]
    return report


def _row(row: ProfileRow, runs: int) -> dict[str, Any]:
    data: dict[str, Any] = {"name": row.name, **_data(row, runs), "operators": list(row.operators)}
    if row.is_inside:
        data["inside"] = True
    if row.instruction is not None:
        data["chain"], data["instruction"] = row.instruction
        data["places"] = [{"module": frame.name, "file": frame.filename, "line": frame.lineno} for frame in row.frames]
    return data


def _data(row: ProfileRow, runs: int) -> dict[str, Any]:
    return {
        "calls": row.calls / runs,
        "p50_ns": row.p50,
        "p90_ns": row.p90,
        "share": row.share,
        "flops": None if row.flops is None else row.flops / runs,
        "bytes": None if row.bytes is None else row.bytes / runs,
    }


def _names(row: ProfileRow, by: By, runs: int) -> tuple[str, str]:
    if row.is_inside:
        return "", f"  {row.name}"
    return (str((row.instruction or (0, 0))[1]), row.name) if by == "instruction" else (row.name, f"{row.calls / runs:g}")


def _figures(row: ProfileRow, machine: Machine | None) -> list[str]:
    if row.is_inside:
        return [*_times(row), *("" for _ in range(6 if machine else 4))]
    runs, time = len(row.times), max(row.p50, 1)
    flops, moved = None if row.flops is None else row.flops / runs, None if row.bytes is None else row.bytes / runs
    figures = [*_times(row), "?" if flops is None else f"{flops / 1e6:.3f}", "?" if moved is None else f"{moved / 1e3:.1f}"]
    figures += ["?" if flops is None else f"{flops / time:.2f}", "?" if moved is None else f"{moved / time:.2f}"]
    if machine is not None:
        figures.append("?" if flops is None else _percent(flops * 1e9 / time / machine.flops))
        figures.append("?" if moved is None else _percent(moved * 1e9 / time / machine.bandwidth))
    return figures


def _times(row: ProfileRow) -> list[str]:
    return [f"{row.p50 / 1e3:.1f}", f"{row.p90 / 1e3:.1f}", percent_of(row)]


def _places(row: ProfileRow, by: By) -> list[str]:
    if by == "instruction":
        return [module_of(row.frames), line_of(row.frames)]
    return [] if by == "operator" else [", ".join(row.operators)]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
