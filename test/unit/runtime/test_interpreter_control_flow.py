"""Random programs of loops, branches and calls mean what Python means by them, and still do after passes over `scf` and `cf`."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed
from flambeau.passes.manager import Pipeline
from flambeau.runtime.interpreter import interpret

PROGRAMS = 16
TENSOR = "tensor<3xi32>"
TYPES = {"s": "i32", "t": TENSOR}
"""Of the variables, by the first letter of their names."""

Values = dict[str, Any]
"""What variables hold: an integer, or a tuple of three."""


def parse(text: str) -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    parsed = parse_module(text, context)
    verify_parsed(parsed)
    return parsed.module, context


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


SCALAR: Mapping[str, Callable[[int, int], int]] = {
    "addi": lambda x, y: wrap(x + y),
    "subi": lambda x, y: wrap(x - y),
    "muli": lambda x, y: wrap(x * y),
    "xori": lambda x, y: x ^ y,
    "maxsi": max,
    "minui": lambda x, y: wrap(min(x % 2**32, y % 2**32)),
}
TENSORS: Mapping[str, Callable[[int, int], int]] = {"add.Tensor": SCALAR["addi"], "mul.Tensor": SCALAR["muli"], "minimum": min}
CONDITIONS: Mapping[str, Callable[[int, int], bool]] = {
    "slt": lambda x, y: x < y,
    "eq": lambda x, y: x == y,
    "uge": lambda x, y: x % 2**32 >= y % 2**32,
}


@dataclass
class Writer:
    """The text of a function, and what each variable is called at the moment."""

    lines: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    made: int = 0

    def fresh(self) -> str:
        self.made += 1
        return f"%v{self.made}"

    def add(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def index(self, value: int) -> str:
        return self.add(f"arith.constant {value} : index")

    def block(self, statements: Sequence[Statement], changed: Sequence[str], names: Mapping[str, str], count: str = "") -> None:
        """The inside of a region, which ends by yielding the variables that change, behind a counter if there is one."""
        outer = self.names
        self.names = {**outer, **names}
        for statement in statements:
            statement.write(self)
        yielded = [*([count] if count else []), *(self.names[name] for name in changed)]
        kinds = [*(["i32"] if count else []), *([types(changed)] if changed else [])]
        if yielded:
            self.lines.append(f"scf.yield {', '.join(yielded)} : {', '.join(kinds)}")
        self.names = outer

    def results(self, changed: Sequence[str]) -> str:
        """The left side of an operation whose results are new values of variables."""
        names = [self.fresh() for _ in changed]
        self.names |= dict(zip(changed, names, strict=True))
        return f"{', '.join(names)} = " if names else ""


def types(names: Sequence[str]) -> str:
    return ", ".join(TYPES[name[0]] for name in names)


class Statement(ABC):
    """A statement of a small language, which is run and written."""

    changes: frozenset[str] = frozenset()

    @abstractmethod
    def run(self, values: Values) -> None: ...

    @abstractmethod
    def write(self, writer: Writer) -> None: ...


def changed_by(*bodies: Sequence[Statement]) -> list[str]:
    return sorted({name for body in bodies for statement in body for name in statement.changes})


def run_all(body: Sequence[Statement], values: Values) -> None:
    for statement in body:
        statement.run(values)


class Compute(Statement):
    """`s0 = s1 + s2`, also of tensors."""

    def __init__(self, target: str, operation: str, left: str, right: str):
        self.changes = frozenset({target})
        self.target, self.operation, self.left, self.right = target, operation, left, right

    def run(self, values: Values) -> None:
        x, y = values[self.left], values[self.right]
        if self.target[0] == "s":
            values[self.target] = SCALAR[self.operation](x, y)
        else:
            values[self.target] = tuple(TENSORS[self.operation](a, b) for a, b in zip(x, y, strict=True))

    def write(self, writer: Writer) -> None:
        x, y = writer.names[self.left], writer.names[self.right]
        scalar = f"arith.{self.operation} {x}, {y} : i32"
        tensor = f"aten.{self.operation}({x}, {y}) : ({TENSOR}, {TENSOR}) -> {TENSOR}"
        writer.names[self.target] = writer.add(scalar if self.target[0] == "s" else tensor)


class Extract(Statement):
    """`s0 = t0[1]`, or the other way round."""

    def __init__(self, scalar: str, tensor: str, index: int, inserts: bool):
        self.changes = frozenset({tensor if inserts else scalar})
        self.scalar, self.tensor, self.index, self.inserts = scalar, tensor, index, inserts

    def run(self, values: Values) -> None:
        if self.inserts:
            held = list(values[self.tensor])
            held[self.index] = values[self.scalar]
            values[self.tensor] = tuple(held)
        else:
            values[self.scalar] = values[self.tensor][self.index]

    def write(self, writer: Writer) -> None:
        scalar, tensor, index = writer.names[self.scalar], writer.names[self.tensor], writer.index(self.index)
        if self.inserts:
            writer.names[self.tensor] = writer.add(f"tensor.insert {scalar} into {tensor}[{index}] : {TENSOR}")
        else:
            writer.names[self.scalar] = writer.add(f"tensor.extract {tensor}[{index}] : {TENSOR}")


class If(Statement):
    """`if s0 < s1: … else: …`."""

    def __init__(self, predicate: str, left: str, right: str, then: Sequence[Statement], other: Sequence[Statement]):
        self.changes = frozenset(changed_by(then, other))
        self.predicate, self.left, self.right, self.then, self.other = predicate, left, right, then, other

    def run(self, values: Values) -> None:
        run_all(self.then if CONDITIONS[self.predicate](values[self.left], values[self.right]) else self.other, values)

    def write(self, writer: Writer) -> None:
        condition = writer.add(f"arith.cmpi {self.predicate}, {writer.names[self.left]}, {writer.names[self.right]} : i32")
        changed = sorted(self.changes)
        before = dict(writer.names)
        left = writer.results(changed)
        writer.lines.append(f"{left}scf.if {condition}{f' -> ({types(changed)})' if changed else ''} {{")
        writer.block(self.then, changed, before)
        writer.lines.append("} else {")
        writer.block(self.other, changed, before)
        writer.lines.append("}")


class Switch(Statement):
    """`match s0: case 0: … case 1: … case _: …`."""

    def __init__(self, flag: str, bodies: Sequence[Sequence[Statement]]):
        self.changes = frozenset(changed_by(*bodies))
        self.flag, self.bodies = flag, bodies

    def run(self, values: Values) -> None:
        flag = values[self.flag]
        run_all(self.bodies[flag if 0 <= flag < len(self.bodies) - 1 else -1], values)

    def write(self, writer: Writer) -> None:
        flag = writer.add(f"arith.index_cast {writer.names[self.flag]} : i32 to index")
        changed = sorted(self.changes)
        before = dict(writer.names)
        left = writer.results(changed)
        writer.lines.append(f"{left}scf.index_switch {flag}{f' -> {types(changed)}' if changed else ''}")
        for case, body in enumerate(self.bodies):
            writer.lines.append("default {" if case == len(self.bodies) - 1 else f"case {case} {{")
            writer.block(body, changed, before)
            writer.lines.append("}" if changed else "scf.yield\n}")


class For(Statement):
    """`for s0 in range(…): …`, of constants."""

    def __init__(self, variable: str, bounds: tuple[int, int, int], body: Sequence[Statement]):
        self.changes = frozenset(changed_by(body)) | {variable}
        self.variable, self.bounds, self.body = variable, bounds, body

    def run(self, values: Values) -> None:
        for index in range(*self.bounds):
            values[self.variable] = index
            run_all(self.body, values)

    def write(self, writer: Writer) -> None:
        low, high, step = (writer.index(bound) for bound in self.bounds)
        changed = sorted(self.changes)
        carried = {name: writer.fresh() for name in changed}
        given = ", ".join(f"{carried[name]} = {writer.names[name]}" for name in changed)
        index = writer.fresh()
        left = writer.results(changed)
        writer.lines.append(f"{left}scf.for {index} = {low} to {high} step {step} iter_args({given}) -> ({types(changed)}) {{")
        variable = writer.add(f"arith.index_cast {index} : index to i32")
        writer.block(self.body, changed, {**carried, self.variable: variable})
        writer.lines.append("}")


class While(Statement):
    """`while s0 < s1 and count < limit: …`, with a counter of its own."""

    def __init__(self, predicate: str, left: str, right: str, limit: int, body: Sequence[Statement]):
        self.changes = frozenset(changed_by(body))
        self.predicate, self.left, self.right, self.limit, self.body = predicate, left, right, limit, body

    def run(self, values: Values) -> None:
        count = 0
        while CONDITIONS[self.predicate](values[self.left], values[self.right]) and count < self.limit:
            run_all(self.body, values)
            count += 1

    def write(self, writer: Writer) -> None:
        zero, one, limit = (writer.add(f"arith.constant {value} : i32") for value in (0, 1, self.limit))
        changed = sorted(self.changes)
        kinds = ", ".join(["i32", *(TYPES[name[0]] for name in changed)])
        count, inner = writer.fresh(), writer.fresh()
        before = {name: writer.fresh() for name in changed}
        after = {name: writer.fresh() for name in changed}
        given = ", ".join(f"{new} = {old}" for new, old in ((count, zero), *((before[name], writer.names[name]) for name in changed)))
        outer = dict(writer.names)
        left = f"{writer.fresh()}, {writer.results(changed)}" if changed else f"{writer.fresh()} = "
        writer.lines.append(f"{left}scf.while ({given}) : ({kinds}) -> ({kinds}) {{")
        seen = outer | before
        more = writer.add(f"arith.cmpi {self.predicate}, {seen[self.left]}, {seen[self.right]} : i32")
        few = writer.add(f"arith.cmpi slt, {count}, {limit} : i32")
        both = writer.add(f"arith.andi {more}, {few} : i1")
        writer.lines.append(f"scf.condition({both}) {', '.join([count, *before.values()])} : {kinds}")
        arguments = ", ".join(f"{name}: {kind}" for name, kind in zip((inner, *after.values()), kinds.split(", "), strict=True))
        writer.lines.append(f"}} do {{\n^bb0({arguments}):")
        next_count = writer.add(f"arith.addi {inner}, {one} : i32")
        writer.block(self.body, changed, after, next_count)
        writer.lines.append("}")


class Call(Statement):
    """`t0 = helper(t1, s0)`."""

    changes = frozenset({"t0"})

    def run(self, values: Values) -> None:
        values["t0"] = tuple(wrap(a * 2) if values["s0"] < 0 else a for a in values["t1"])

    def write(self, writer: Writer) -> None:
        given = f"{writer.names['t1']}, {writer.names['s0']}"
        writer.names["t0"] = writer.add(f"func.call @helper({given}) : ({TENSOR}, i32) -> {TENSOR}")


HELPER = f"""
func.func private @helper(%t: {TENSOR}, %s: i32) -> {TENSOR} {{
  %zero = arith.constant 0 : i32
  %c = arith.cmpi slt, %s, %zero : i32
  cf.cond_br %c, ^twice, ^end(%t : {TENSOR})
^twice:
  %d = aten.add.Tensor(%t, %t) : ({TENSOR}, {TENSOR}) -> {TENSOR}
  cf.br ^end(%d : {TENSOR})
^end(%r: {TENSOR}):
  func.return %r : {TENSOR}
}}
"""
VARIABLES = ("s0", "s1", "s2", "t0", "t1")


def random_body(choice: random.Random, depth: int, whiles: bool) -> list[Statement]:
    def scalar() -> str:
        return choice.choice(("s0", "s1", "s2"))

    def tensor() -> str:
        return choice.choice(("t0", "t1"))

    def nested() -> list[Statement]:
        return random_body(choice, depth - 1, whiles)

    def statement() -> Statement:
        kind = choice.random() if depth else 0.6 + 0.4 * choice.random()
        if kind < 0.15:
            return If(choice.choice(list(CONDITIONS)), scalar(), scalar(), nested(), nested() if choice.random() < 0.7 else [])
        if kind < 0.35:
            return For(scalar(), (choice.randrange(3), choice.randrange(6), choice.randrange(1, 3)), nested())
        if kind < 0.5 and whiles:
            return While(choice.choice(list(CONDITIONS)), scalar(), scalar(), choice.randrange(4), nested())
        if kind < 0.6:
            return Switch(scalar(), [nested() for _ in range(choice.randrange(1, 4))])
        if kind < 0.65:
            return Call()
        if kind < 0.75:
            return Extract(scalar(), tensor(), choice.randrange(3), choice.random() < 0.5)
        if kind < 0.85:
            return Compute(tensor(), choice.choice(list(TENSORS)), tensor(), tensor())
        return Compute(scalar(), choice.choice(list(SCALAR)), scalar(), scalar())

    return [statement() for _ in range(choice.randrange(1, 4))]


def write_function(body: Sequence[Statement]) -> str:
    writer = Writer(names={name: f"%{name}" for name in VARIABLES})
    for statement in body:
        statement.write(writer)
    arguments = ", ".join(f"%{name}: {TYPES[name[0]]}" for name in VARIABLES)
    returned = ", ".join(writer.names[name] for name in VARIABLES)
    kinds = types(VARIABLES)
    lines = "\n".join(writer.lines)
    return f"{HELPER}func.func @main({arguments}) -> ({kinds}) {{\n{lines}\nfunc.return {returned} : {kinds}\n}}\n"


def inputs(choice: random.Random) -> Values:
    def number() -> int:
        return choice.choice((choice.randrange(-3, 4), choice.randrange(-(2**31), 2**31)))

    return {name: number() if name[0] == "s" else tuple(number() for _ in range(3)) for name in VARIABLES}


def evaluate(module: ModuleOp, context: FlambeauContext, values: Values) -> Values:
    given = [np.array(values[name], np.int32) for name in VARIABLES]
    results: list[Any] = [np.asarray(result).tolist() for result in interpret(module, context).run("main", given)]
    return {name: result if name[0] == "s" else tuple(result) for name, result in zip(VARIABLES, results, strict=True)}


PIPELINES = (
    "canonicalize,cse",
    "scf-for-loop-unroll,canonicalize",
    "licm,remove-dead-code",
    "scf-for-loop-range-folding,cse",
    "convert-arith-to-varith,varith-fuse-repeated-operands",
    "control-flow-hoist",
)
TO_BLOCKS = ("convert-scf-to-cf", "convert-scf-to-cf,canonicalize,cse")
"""These leave scf.while as it is, whose regions have one block."""


@pytest.mark.filterwarnings("ignore:Use .erase:DeprecationWarning")  # in a pass of xDSL
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs_mean_the_same_to_python_and_after_passes(seed: int):
    choice = random.Random(seed)
    whiles = seed % 2 == 0
    body = random_body(choice, 3, whiles)
    text = write_function(body)
    module, context = parse(text)
    samples = [inputs(choice) for _ in range(3)]
    expected: list[Values] = []
    for values in samples:
        expected.append(dict(values))
        run_all(body, expected[-1])
    assert [evaluate(module, context, values) for values in samples] == expected, text
    for pipeline in PIPELINES if whiles else (*PIPELINES, *TO_BLOCKS):
        module, context = parse(text)
        Pipeline.parse(pipeline).run(module, context)
        assert [evaluate(module, context, values) for values in samples] == expected, (pipeline, text)
