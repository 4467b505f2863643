"""The search for the fastest choices: few programs, each with one choice for all operators, that run in turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flambeau.passes.tuning.choices import CHOICES, DEFAULT, ROW_MAJOR
from flambeau.tools.tuning.candidate_programs import Candidate

MARGIN = 0.03
"""The part of the time of the default that a choice has to save: what runs of one program differ by."""

Measure = Callable[[Mapping[str, Candidate]], None]
"""Runs programs in turns, by what to call them while they run, and stores their times."""


@dataclass
class Found:
    """What was found of an operator.

    Attributes:
        count: its instructions in the program.
        seconds: the seconds of one of them, by choice. A choice of layout counts what it adds to the operators around it, if it
            would be the fastest without.
        choice: the fastest, or the default.
    """

    count: int
    seconds: dict[str, float]
    choice: str = DEFAULT


@dataclass
class Result:
    """The choices for a program.

    Attributes:
        operators: what was found, by operator.
        before: the seconds of the whole program as it was.
        after: those of the program with the choices; None if all are the default.
        kept: whether the choices are faster together too; if not, all operators have the default.
    """

    operators: dict[str, Found] = field(default_factory=dict[str, Found])
    before: float = 0.0
    after: float | None = None
    kept: bool = True


def fastest(seconds: Mapping[str, float]) -> str:
    """Returns the choice that takes the least time, if it saves at least MARGIN of the default's; else the default."""
    best = min(seconds, key=lambda name: seconds[name])
    return best if seconds[best] < (1 - MARGIN) * seconds[DEFAULT] else DEFAULT


def search(build: Callable[[Mapping[str, str]], Candidate], observe: Measure, run: Measure) -> Result:
    """Returns the choices for a program.

    Args:
        build: compiles the program with choices.
        observe: measures instructions.
        run: measures whole programs.
    """
    default = build({})
    possible = {item.operator: item.choices for item in default.convolutions.values() if item.choices}
    if not possible:
        run({DEFAULT: default})
        return Result(before=_whole(default))
    programs = {DEFAULT: default}
    for choice in CHOICES[1:]:
        chosen = {operator: choice for operator, choices in possible.items() if choice in choices}
        if chosen:
            programs[choice] = build(chosen)
    observe(programs)
    times = {choice: program.seconds() for choice, program in programs.items()}
    steps = default.steps()
    found: dict[str, Found] = {}
    for operator, choices in possible.items():
        seconds = {choice: times[choice][operator] for choice in choices if operator in times[choice]}
        found[operator] = Found(len(steps[operator]), seconds, fastest(seconds))
    _judge_layouts(found, build, observe)
    result = Result(found)
    chosen = {operator: item.choice for operator, item in found.items() if item.choice != DEFAULT}
    if not chosen:
        run({DEFAULT: default})
        return Result(found, _whole(default))
    tuned = build(chosen)
    run({DEFAULT: default, "tuned": tuned})
    result.before, result.after = _whole(default), _whole(tuned)
    result.kept = result.after <= result.before
    if not result.kept:
        for item in found.values():
            item.choice = DEFAULT
    return result


def _judge_layouts(found: Mapping[str, Found], build: Callable[[Mapping[str, str]], Candidate], observe: Measure) -> None:
    """Tries the operators that are fastest row-major, together and each alone, for the operators around them change too."""
    contenders = [operator for operator, item in found.items() if item.choice == ROW_MAJOR]
    if not contenders:
        return
    for operator in contenders:
        item = found[operator]
        item.choice = fastest({choice: time for choice, time in item.seconds.items() if choice != ROW_MAJOR})
    chosen = {operator: item.choice for operator, item in found.items()}
    base = build(chosen)

    def saved(*operators: str) -> float:
        trial = build({**chosen, **dict.fromkeys(operators, ROW_MAJOR)})
        observe({"packed": base, f"row-major: {operators[0] if len(operators) == 1 else len(operators)}": trial})
        return base.total() - trial.total()

    alone: dict[str, float] = {}
    for operator in contenders:
        item, saving = found[operator], saved(operator)
        item.seconds[ROW_MAJOR] = max(0.0, item.seconds[item.choice] - saving / item.count)
        if saving > MARGIN * item.count * item.seconds[item.choice]:
            alone[operator] = saving
    if len(contenders) > max(1, len(alone)):
        time = sum(found[operator].count * found[operator].seconds[found[operator].choice] for operator in contenders)
        if saved(*contenders) > max(MARGIN * time, sum(alone.values())):
            alone = dict.fromkeys(contenders, 0.0)
    for operator in alone:
        found[operator].choice = ROW_MAJOR


def _whole(program: Candidate) -> float:
    assert program.whole is not None
    return program.whole / 1e9
