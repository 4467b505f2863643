"""Checks made once per backend: its README, the operators that its table refuses, missing modules and tools, options."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.passes.vendor_tools.tool import Tool
from flambeau.tools.conformance.absence import check_absence
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.graph_trial import Trial
from flambeau.tools.conformance.operators_in_parts import not_taken_in_parts
from flambeau.tools.conformance.readme_check import folder_of, readme_complaints
from flambeau.tools.conformance.refused_operators import computed_and_refused
from flambeau.tools.conformance.runtime_options import check_absent_library, check_unknown_option

Check = Callable[[Trial], Sequence[str] | None]
"""A function that returns notes, or None if there is nothing to check; raises Disagreement."""


def _readme(trial: Trial) -> Sequence[str] | None:
    folder = folder_of(trial.partitioner.backend.name)
    if folder is None:
        return None
    if missing := readme_complaints(folder):
        raise Disagreement("; ".join(missing))
    return []


def _refused_operators(trial: Trial) -> Sequence[str] | None:
    backend = trial.partitioner.backend
    if (backend.simulate is None and backend.decode is None) or backend.missing() is not None:
        return None
    found = computed_and_refused(trial.partitioner)
    return [f"compiled, and right, where the table says that {why}: {', '.join(names)}" for why, names in found.items()]


def _operators_in_parts(trial: Trial) -> Sequence[str] | None:
    if found := not_taken_in_parts(trial.partitioner):
        raise Disagreement("; ".join(f"{name} is said to be taken in parts, but {why}" for name, why in found.items()))
    return [] if trial.partitioner.table.in_parts else None


def _absent_modules(trial: Trial) -> Sequence[str] | None:
    return _absence(trial, trial.partitioner.backend.requires, ())


def _absent_tools(trial: Trial) -> Sequence[str] | None:
    return _absence(trial, (), trial.partitioner.backend.tools)


def _absence(trial: Trial, modules: Sequence[str], tools: Sequence[Tool]) -> Sequence[str] | None:
    if not (modules or tools) or trial.example is None:
        return None
    check_absence(str(trial.partitioner), modules, tools, trial.example.payloads, trial.example.graph.seed)
    return []


def _unknown_option(trial: Trial) -> Sequence[str] | None:
    if trial.example is None or not trial.has_runtime:
        return None
    check_unknown_option(trial.runtime, trial.example.request)
    return []


def _absent_library(trial: Trial) -> Sequence[str] | None:
    if trial.example is None or not trial.has_runtime:
        return None
    return [] if check_absent_library(trial.runtime, trial.example.request) else None


SINGLE_CHECKS: dict[str, Check] = {
    "README": _readme,
    "refused operators": _refused_operators,
    "operators in parts": _operators_in_parts,
    "absent modules": _absent_modules,
    "absent tools": _absent_tools,
    "unknown option": _unknown_option,
    "absent library": _absent_library,
}
"""The checks, by subject."""
