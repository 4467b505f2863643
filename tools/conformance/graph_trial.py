"""One graph on trial: every form of it must give what the graph gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnitAttr

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, run_payload
from flambeau.passes.delegation.options import Choice
from flambeau.passes.manager import PassError
from flambeau.runtime.interpreter import InterpreterError, interpret
from flambeau.support.lazy import Array
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.engine_requests import Request
from flambeau.tools.conformance.graph_drawing import STAYS, Graph
from flambeau.tools.conformance.graph_forms import Forms, Payload, whole_program
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of


@dataclass(frozen=True)
class Failure:
    """What is wrong, in one line."""

    check: str
    """What was done: `convert`, `encode`, `decode`, or the engine that ran it."""
    details: str
    seed: int | None = None
    kind: str = ""
    operators: tuple[str, ...] = ()
    """Those that fail alone; all of the graph where none does."""


@dataclass
class Outcome:
    """What became of a graph."""

    graph: Graph
    partitions: int = 0
    payloads: Sequence[Payload] = ()
    failure: Failure | None = None
    program: bytes | None = None
    engines: list[str] = field(default_factory=list[str])
    """What computed the same as the graph."""


class _Wrong(Exception):
    """A form that computes something else."""


def _stored(results: Sequence[Sequence[Array]]) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """A function that gives results that are there, call by call."""
    left = iter(results)
    return lambda inputs: next(left)


def _whole_program(graph: Graph) -> bytes | None:
    """The program of a graph that only the CPU runs; None where it has no kernels for all of it."""
    try:
        return whole_program(graph.module, graph.context)
    except PassError:
        return None


def in_words(error: Exception) -> str:
    """An error in one line, with its class where it is not one for people."""
    words = " ".join(str(error).split())
    return words if isinstance(error, _Wrong | PassError | BackendError | InterpreterError) and words else in_one_line(error)


class Trial:
    """Tries graphs on a backend."""

    def __init__(self, backend: str, choice: Choice, engines: Sequence[EngineProcess]):
        self.backend = backend
        self.choice = choice
        self.engines = list(engines)
        self.absent: dict[str, str] = {}
        """The engines that cannot run such programs here, and why."""

    def run(self, graph: Graph) -> Outcome:
        """Tries a graph. If it fails, finds the operators that fail alone."""
        outcome = self._try(graph)
        if outcome.failure is not None:
            found = outcome.failure
            guilty = tuple(dict.fromkeys(name for name, alone in self._alone(graph) if self._try(alone).failure is not None))
            outcome.failure = Failure(found.check, found.details, graph.seed, graph.kind, guilty or tuple(sorted(graph.operators)))
        return outcome

    def _try(self, graph: Graph) -> Outcome:
        outcome = Outcome(graph)
        step = "convert"
        try:
            forms = Forms(self.backend, graph.module, graph.context)
            outcome.partitions = forms.convert()
            step = "numpy of what is converted"
            self._compare(outcome, step, lambda inputs: interpret(forms.module, graph.context).run("forward", inputs))
            step = "encode"
            outcome.payloads = forms.lower()
            if self.choice.backend.decode is not None:
                step = "numpy of what is decoded"
                self._compare(outcome, step, lambda inputs: interpret(forms.module, graph.context, run_payload).run("forward", inputs))
            step = "compile"
            if outcome.payloads and self.engines and (whole := _whole_program(graph)) is not None:
                outcome.program = forms.emit()
                for engine in list(self.engines):
                    step = engine.name
                    self._run(outcome, engine, whole, outcome.program)
        except Exception as error:
            outcome.failure = Failure(step, in_words(error))
        return outcome

    def _compare(self, outcome: Outcome, engine: str, run: Callable[[Sequence[Array]], Sequence[Any]]) -> None:
        for call, (inputs, expected) in enumerate(zip(outcome.graph.calls, outcome.graph.expected, strict=True)):
            found = [np.asarray(value) for value in run(inputs)]
            if len(found) != len(expected):
                raise _Wrong(f"{len(found)} outputs instead of {len(expected)}")
            for place, (a, b) in enumerate(zip(expected, found, strict=True)):
                if (details := difference_of(a, b, SemanticsOptions())) is not None:
                    raise _Wrong(f"output {place}{' of the second call' if call else ''}: {details}")
        outcome.engines.append(engine)

    def _run(self, outcome: Outcome, engine: EngineProcess, whole: bytes, program: bytes) -> None:
        """Compares the whole graph on an engine, if it runs it, and the partitioned one."""
        calls = outcome.graph.calls
        reply = engine.ask(Request(whole, calls))
        if reply.results:
            self._compare(outcome, f"{engine.name}, whole", _stored(reply.results[0]))
        reply = engine.ask(Request(program, calls))
        if reply.absent is not None:
            self.absent[engine.name] = reply.absent
            self.engines.remove(engine)
        elif (wrong := reply.crash or reply.error) is not None:
            raise _Wrong(wrong)
        else:
            self._compare(outcome, engine.name, _stored(reply.results[0]))

    def _alone(self, graph: Graph) -> list[tuple[str, Graph]]:
        """The graph with each operator of it that the backend takes as the only one that it may take."""
        taken = [index for index, op in enumerate(graph.module.walk()) if isinstance(op, SchemaOp) and self._takes(op)]
        found: list[tuple[str, Graph]] = []
        for index in taken:
            module = graph.module.clone()
            ops = list(module.walk())
            for other in taken:
                if other != index:
                    ops[other].attributes[STAYS] = UnitAttr()
            op = ops[index]
            assert isinstance(op, SchemaOp)
            name = op.schema.name if op.level() == "edge" else op.name
            found.append(
                (name, Graph(graph.seed, graph.kind, module, graph.context, graph.calls, graph.expected, graph.operators, graph.refused))
            )
        return found

    def _takes(self, op: SchemaOp) -> bool:
        return STAYS not in op.attributes and self.choice.table.why_not(op) is None
