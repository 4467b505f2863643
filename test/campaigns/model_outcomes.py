"""What campaigns of whole models share: a model is exported, compiled, run by the C runtime, and compared with eager PyTorch."""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from campaigns.job_options import add_job_options, chosen_executor
from torch.utils import _pytree as pytree

import flambeau
from flambeau.tools.jobs.child_process import LostProcessError
from flambeau.tools.jobs.executors import in_order

Verdict = Literal["taken", "refused", "wrong", "not exported"]
TOLERANCE = 1e-3
"""Of the largest value of an output."""


class Case(NamedTuple):
    """A model, ready to be exported."""

    module: torch.nn.Module
    inputs: Sequence[torch.Tensor]
    """One tensor for each run; the first is that of the export."""
    dims: Mapping[int, Any] | None
    """The dynamic dimensions."""
    strict: bool = False
    """Whether the export reads the model's bytecode rather than running its Python."""


class Outcome(NamedTuple):
    """What became of one model."""

    verdict: Verdict
    reason: str
    seconds: float


def outcome_of(module: str, dynamic: bool, target: str, name: str) -> Outcome:
    """What becomes of one model, which the function `make` of a module makes. Other processes import the module by its name."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    verdict, reason = _judged(partial(import_module(module).make, name, dynamic), target)
    return Outcome(verdict, reason, time.perf_counter() - start)


def _judged(make: Callable[[], Case], target: str) -> tuple[Verdict, str]:
    cast(Any, torch).manual_seed(0)
    try:
        module, inputs, dims, strict = make()
        with torch.no_grad():
            program = torch.export.export(module, (inputs[0],), dynamic_shapes=None if dims is None else (dims,), strict=strict)
            expected = [pytree.tree_leaves(module(item.clone())) for item in inputs]
    except Exception as error:
        return "not exported", _line(error)
    try:
        edge = flambeau.to_edge(program, compile_config=flambeau.EdgeCompileConfig(target=target))
        method = flambeau.Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
        found = [method.execute((item.clone(),)) for item in inputs]
    except Exception as error:
        return "refused", _line(error)
    for item, wanted, actual in zip(inputs, expected, found, strict=True):
        if (reason := _difference(wanted, actual)) is not None:
            return "wrong", f"{reason} for an input of shape {tuple(item.shape)}"
    return "taken", ""


def _difference(expected: Sequence[Any], found: Sequence[Any]) -> str | None:
    if len(expected) != len(found):
        return f"{len(found)} outputs instead of {len(expected)}"
    for index, (wanted, actual) in enumerate(zip(expected, found, strict=True)):
        wanted, actual = np.asarray(wanted), np.asarray(actual)
        if actual.shape != wanted.shape:
            return f"output {index} has the shape {actual.shape}, not {wanted.shape}"
        if not wanted.size:
            continue
        distance = float(np.abs(actual.astype(np.float64) - wanted).max()) / max(float(np.abs(wanted.astype(np.float64)).max()), 1e-6)
        if not distance <= TOLERANCE:
            return f"output {index} differs by {distance:.2g} of the largest value"
    return None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def main(module: str, description: str | None, names: Sequence[str], arguments: Sequence[str]) -> int:
    """Runs a campaign; returns 1 if a result is wrong.

    Args:
        module: the module with the function `make`, which makes a model by its name, with dynamic dimensions or without.
        description: for `--help`.
        names: the models.
        arguments: those of the command line.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *names], help="all of them by default")
    parser.add_argument("--static", action="store_true", help="export with the shapes of the example")
    parser.add_argument("--target", default="executorch")
    add_job_options(parser)
    options = parser.parse_args(arguments)
    counts: Counter[Verdict] = Counter()
    work = partial(outcome_of, module, not options.static, options.target)
    with chosen_executor(options) as executor:
        for name, future in in_order(executor, work, options.models or names):
            try:
                outcome = future.result()
            except LostProcessError as error:
                outcome = Outcome("wrong", str(error), 0.0)
            counts[outcome.verdict] += 1
            print(f"{name}: {outcome.verdict} in {outcome.seconds:.1f} s {outcome.reason}", flush=True)
    exported = sum(count for verdict, count in counts.items() if verdict != "not exported")
    print(f"exported {exported}, " + ", ".join(f"{verdict} {count}" for verdict, count in counts.items()))
    return int(counts["wrong"] > 0)
