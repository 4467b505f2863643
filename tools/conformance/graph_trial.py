"""The trial of one graph: every form of it must compute the results of the graph."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import UnitAttr

from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.contents import origin_of
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import PassError
from flambeau.runtime.interpreter import HardwareOnlyError, InterpreterError, interpret
from flambeau.support.lazy import Array
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.conformance.disagreement import Disagreement
from flambeau.tools.conformance.drawing.graph import RAISES, STAYS, Graph, why_not
from flambeau.tools.conformance.engine_process import EngineProcess
from flambeau.tools.conformance.engine_requests import Reply, Request
from flambeau.tools.conformance.graph_forms import Forms, Payload, whole_program
from flambeau.tools.conformance.payload_corruption import check_decode, check_engine
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of

DECODED = "numpy on the decoded form"


@dataclass(frozen=True)
class Failure:
    """A failed check, in one line."""

    check: str
    """The check."""
    details: str
    seed: int | None = None
    kind: str = ""
    operators: tuple[str, ...] = ()
    """The operators that fail alone; all operators of the graph if none fails alone."""


@dataclass
class Outcome:
    """The outcome of trying a graph. It does not depend on other graphs, and can be sent between processes."""

    operators: Counter[str]
    """The number of operations of each operator that the backend takes."""
    refused: Counter[tuple[str, str]]
    """The number of times that the table refused a drawn operator, by operator and reason."""
    partitions: int = 0
    origins: Counter[str] = field(default_factory=Counter[str])
    """The number of payloads by their state, and the tool that made them."""
    given_back: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """The number of operations that the backend's compiler refused, by operator and reason."""
    failure: Failure | None = None
    passed: list[str] = field(default_factory=list[str])
    """The checks that the graph passed."""
    absent: dict[str, str] = field(default_factory=dict[str, str])
    """Missing engines and compilers of payloads, with the reasons."""
    refusals: dict[str, str] = field(default_factory=dict[str, str])
    """By engine, why it ran neither the whole graph nor the partitioned one."""
    is_example: bool = False
    """Whether the graph was compiled to a program with payloads."""


class Example(NamedTuple):
    """A graph that was compiled to payloads, and its program."""

    graph: Graph
    payloads: Sequence[Payload]
    request: Request


class _Attempt:
    """The steps of trying one graph."""

    def __init__(self, trial: Trial, graph: Graph):
        self.trial = trial
        self.graph = graph
        self.outcome = Outcome(graph.operators, graph.refused)
        self.payloads: Sequence[Payload] = ()
        self.example: Example | None = None
        self.forms = Forms(trial.partitioner, graph.module, graph.context)
        self.at = ""

    def run(self) -> Outcome:
        """Runs the steps, and returns the outcome."""
        if (found := wrong_reason(self.graph)) is not None:
            self.outcome.failure = found
            return self.outcome
        try:
            self.compile()
            if self.payloads:
                self.execute()
        except Exception as error:
            self.outcome.failure = Failure(self.at, in_words(error))
        self.outcome.is_example = self.example is not None
        return self.outcome

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Runs the block as a check, which passes if the block ends without an error."""
        self.at = name
        yield
        self.outcome.passed.append(name)

    def compile(self) -> None:
        """Compiles to payloads and decodes these; numpy runs each form."""
        backend, forms, graph = self.trial.partitioner.backend, self.forms, self.graph
        with self.step("convert"):
            self.outcome.partitions = forms.convert()
        for op in forms.module.walk():
            if isinstance(op, SchemaOp) and (why := self.trial.partitioner.why_refused(op)) is not None:
                self.outcome.given_back[_name_of(op), why] += 1
        with self.step("numpy on the converted form"):
            self.compare(lambda inputs: interpret(forms.module, graph.context).run("forward", inputs))
        if (missing := backend.missing()) is not None:
            self.outcome.absent["encode"] = missing
            return
        with self.step("encode"):
            self.payloads = forms.lower()
        self.outcome.origins.update(str(origin_of(op)) for op in forms.module.body.block.ops if isinstance(op, PayloadOp))
        if backend.simulate is not None or backend.decode is not None:
            self.run_payloads("simulator" if backend.simulate is not None else DECODED)
        else:
            self.outcome.absent[DECODED] = "the backend has neither decode nor simulate"
        if backend.decode is None:
            return
        with self.step("decode of bad payloads"):
            check_decode(backend, self.payloads, random.Random(graph.seed))

    def run_payloads(self, check: str) -> None:
        """Runs the payloads as the interpreter does, unless the simulator is not here. Raises Disagreement, and other errors."""
        try:
            with self.step(check):
                self.compare(lambda inputs: interpret(self.forms.module, self.graph.context, run_payload).run("forward", inputs))
        except HardwareOnlyError as error:
            self.outcome.absent[check] = str(error.__cause__ or error)

    def execute(self) -> None:
        """Runs the program on each engine, beside that of the whole graph."""
        if (whole := _whole_program(self.graph)) is None:
            return
        with self.step("compile"):
            program = self.forms.emit()
        runtime, calls = self.trial.runtime, self.graph.calls
        self.example = Example(self.graph, self.payloads, Request(program, calls))
        judges = [engine for engine in self.trial.engines if self.execute_on(engine, whole, program)]
        if runtime in judges:
            with self.step(f"{runtime.name}, two instances"):
                self.compare_all(runtime.ask(Request(program, calls, instances=2)))
            with self.step(f"{runtime.name}, two threads"):
                self.compare_all(runtime.ask(Request(program, calls, instances=2, threads=True)))
            with self.step(f"{runtime.name}, bad payloads"):
                check_engine(runtime, program, calls, random.Random(self.graph.seed))

    def execute_on(self, engine: EngineProcess, whole: bytes, program: bytes) -> bool:
        """Compares an engine's results for the partitioned and the whole graph. Returns whether the engine can run both."""
        found = engine.ask(Request(program, self.graph.calls))
        if found.absent is not None:
            self.outcome.absent[engine.name] = found.absent
            return False
        expected = engine.ask(Request(whole, self.graph.calls))
        try:
            if expected.error is None:
                with self.step(f"{engine.name}, whole"):
                    self.compare_all(expected)
        except Disagreement as error:
            if engine is self.trial.runtime:
                raise
            why = str(error)
        else:
            why = expected.error if found.error is not None else None
        if why is not None:
            # It is not about the backend: such as sizes that a kernel refuses when they come, or a kernel that is wrong.
            self.outcome.refusals[engine.name] = why
            return False
        with self.step(f"{engine.name}, several partitions" if self.outcome.partitions > 1 else f"{engine.name}, one partition"):
            self.compare_all(found)
        return True

    def compare_all(self, reply: Reply) -> None:
        """Compares the results of every call of every instance. Raises Disagreement."""
        if (wrong := reply.crash or reply.error or reply.absent) is not None:
            raise Disagreement(wrong)
        for results in reply.results:
            left = iter(results)
            self.compare(lambda inputs, left=left: next(left))

    def compare(self, run: Callable[[Sequence[Array]], Sequence[Any]]) -> None:
        """Compares the results of every call. Raises Disagreement."""
        graph = self.graph
        for call, (inputs, expected, steps) in enumerate(zip(graph.calls, graph.expected, graph.steps, strict=True)):
            found = [np.asarray(value) for value in run(inputs)]
            if len(found) != len(expected):
                raise Disagreement(f"{len(found)} outputs instead of {len(expected)}")
            for place, (a, b, step) in enumerate(zip(expected, found, steps, strict=True)):
                if (details := difference_of(a, b, SemanticsOptions(), steps=step)) is not None:
                    raise Disagreement(f"output {place}{' of the second call' if call else ''}: {details}")


def wrong_reason(graph: Graph) -> Failure | None:
    """Returns a failure if the table refuses an operator without a reason in words, or None."""
    for name, reason in graph.refused:
        words = reason.split()
        if reason.startswith(RAISES) or len(words) < 3 or "\n" in reason or "object at 0x" in reason:
            return Failure(
                "reasons for refusals", reason if reason.startswith(RAISES) else f"no reason in words: {reason!r}", operators=(name,)
            )
    return None


def _whole_program(graph: Graph) -> bytes | None:
    """Returns the program of a graph that runs only on the CPU; None if kernels are missing."""
    try:
        return whole_program(graph.module, graph.context)
    except PassError:
        return None


def _name_of(op: SchemaOp) -> str:
    """Returns the name of an operator in tables."""
    return op.schema.name if op.level() == "edge" else op.name


def in_words(error: Exception) -> str:
    """Returns an error as one line, with its class if its message is not for the user."""
    words = " ".join(str(error).split())
    return words if isinstance(error, Disagreement | PassError | BackendError | InterpreterError) and words else in_one_line(error)


class Trial:
    """A backend with the engines on which graphs are tried."""

    def __init__(self, partitioner: Partitioner, runtime: EngineProcess, others: Sequence[EngineProcess]):
        self.partitioner = partitioner
        self.runtime = runtime
        self.engines = [runtime, *others]
        self.example: Example | None = None
        """The first graph that was compiled to a program with payloads."""
        self.has_runtime = True
        """Whether our runtime can run such programs."""

    def run(self, graph: Graph) -> Outcome:
        """Tries a graph. If it fails, finds the operators that fail alone."""
        attempt = _Attempt(self, graph)
        outcome = attempt.run()
        self.example = self.example or attempt.example
        self.has_runtime = self.has_runtime and self.runtime.name not in outcome.absent
        if (found := outcome.failure) is not None:
            guilty = tuple(dict.fromkeys(name for name, alone in self._alone(graph) if _Attempt(self, alone).run().failure is not None))
            operators = found.operators or guilty or tuple(sorted(graph.operators))
            outcome.failure = Failure(found.check, found.details, graph.seed, graph.kind, operators)
        return outcome

    def _alone(self, graph: Graph) -> list[tuple[str, Graph]]:
        """Returns copies of the graph in which the backend may take only one operator, for each that it takes."""
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
            found.append((_name_of(op), replace(graph, module=module)))
        return found

    def _takes(self, op: SchemaOp) -> bool:
        return STAYS not in op.attributes and why_not(self.partitioner.table, op) is None
