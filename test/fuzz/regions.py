"""Programs with branches and loops inside of each other: every stage and every engine gives what PyTorch gives.

A case is the text of a function. Its inputs follow from their names: `f3x4_0` is a tensor of 3 by 4 floats, `i_1` an integer without
dimensions, `fn_2` a tensor of as many floats as the run says. `own` is the module, whose buffers are its state. The function may write to
its inputs and its state.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import torch
from all_engines import TARGETS, difference, results, wrong_engine
from torch import Tensor, nn
from torch._export.verifier import SpecViolationError
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from flambeau import PassError
from flambeau.frontends.torch_export.import_report import UnsupportedProgramError
from fuzz.campaign import Campaign, Failure
from fuzz.region_operators import PLAIN, TRACED


class Kind(NamedTuple):
    """The type of a value."""

    dtype: str
    shape: tuple[int | str, ...]
    """Extents; `n` is known only when the program runs."""

    @property
    def extents(self) -> str:
        """The shape as an expression."""
        return f"({''.join(f'{extent}, ' for extent in self.shape)})"


_DTYPES = {
    "f": torch.float32,
    "d": torch.float64,
    "e": torch.float16,
    "i": torch.int64,
    "h": torch.int32,
    "s": torch.int16,
    "c": torch.int8,
    "y": torch.uint8,
    "b": torch.bool,
    "g": torch.bfloat16,
    "t": torch.uint16,
    "u": torch.uint32,
    "w": torch.uint64,
    "z": torch.complex64,
    "q": torch.complex128,
    "k": torch.float8_e4m3fn,
    "m": torch.float8_e5m2,
}
_UNORDERED, _UNSIGNED, _STORED = "tuwzq", "tuwy", "km"
"""Of these PyTorch compares no two elements but for equality; these have no negative elements; these are moved and converted only."""
_RARE = (torch.complex64, torch.complex128)
"""Few kernels of stock ExecuTorch take these; a complex result of a loop has none there."""
_NOT_IN_STOCK = ("aten::view_as_complex_copy.out", "and its kernel does not take that", "where a tensor is of")
"""What the target executorch says of programs that only the target flambeau takes."""
_KINDS = "ffffffdeiihscybbgtuwzqkm"
_SHAPES = ((), (3,), (4, 3), (1, 3), (2, 4, 3))
_DYNAMIC = (*_SHAPES, ("n",), ("n", 3), (2, "n"), ("n", 4, 3))
_STATE = (Kind("f", (3,)), Kind("i", ()), Kind("f", (4, 3)))
"""The buffers of the module."""
_SIZES = (4, 2, 7)
"""The values of `n` in the runs of a program; the first is that of the export."""
_MOVES = (
    "torch.where({x}.float() > 0.5, {x}, {y})",
    "torch.stack([{y}, {x}, {y}])[1].clone()",
    "torch.cat([{x}[None], {y}[None]])[1].clone()",
    "torch.nn.functional.pad({x}.reshape(1, -1), (1, 2), value=1.5)[:, 1:-2].reshape({x}.shape).clone()",
)
_SAME: dict[str, tuple[str, ...]] = {
    "f": (
        "{x}.sin()",
        "{x}.tanh() * 1.5",
        "{x} * 0.5 + 0.25",
        "{x}.abs() - 1",
        "{x} * 0.5 - {y} * 0.25",
        "torch.maximum({x}, {y})",
        "-{x}",
    ),
    "d": ("{x}.sin()", "{x} * 0.5 + 1", "{x}.clamp(-2, 2)", "torch.minimum({x}, {y})"),
    "e": ("{x} * 0.5 + 1", "{x}.clamp(-2, 2)", "torch.minimum({x}, {y})", "{x}.neg()"),
    "i": ("({x} + 1) % 7", "{x} % 5 - {y} % 3", "{x}.abs() % 9", "torch.maximum({x}, {y}) % 11"),
    "h": ("({x} + 1) % 7", "{x} % 5 + {y} % 3"),
    "s": ("({x} + 1) % 7", "{x} % 5 + {y} % 3"),
    "c": ("({x} + 1) % 7", "torch.maximum({x}, {y}) % 11"),
    "y": ("({x} + 1) % 7", "torch.minimum({x}, {y}) % 5 + 1"),
    "g": ("{x} * 0.5 + 1", "{x}.clamp(-2, 2)", "torch.maximum({x}, {y})", "{x}.neg()"),
    "t": ("{x} | 3", "{x} ^ {y}", "torch.where({x} == {y}, {x}, {x} * 3)"),
    "u": ("{x} & 5", "{x} ^ {y}", "torch.where({x} != {y}, {x}, {x} * 3)"),
    "w": ("{x} | 3", "{x} ^ {y}", "torch.where({x} == {y}, {x}, {x} * 3)"),
    "z": ("{x} * (0.5 + 0.25j)", "{x} / ({y}.abs() + 1)", "torch.conj_physical({x}) - 1", "torch.where({x} == {y}, {x}, -{x})"),
    "q": ("{x} * (0.5 - 0.25j)", "{x} / ({y}.abs() + 1)", "torch.conj_physical({x}) + 1", "torch.complex({x}.imag, {y}.real)"),
    "k": (*_MOVES, "({x}.float() * 0.5).to(torch.float8_e4m3fn)"),
    "m": (*_MOVES, "({x}.to(torch.float16) + 0.25).to(torch.float8_e5m2)"),
    "b": ("torch.logical_not({x})", "torch.logical_xor({x}, {y})", "torch.logical_and({x}, {y})"),
}
"""Expressions of the type of their operands."""
_TOGETHER = {"f": "torch.maximum(a, b)", "d": "a + b", "i": "a + b", "h": "a * b", "b": "torch.logical_xor(a, b)"}
"""Associative functions of the elements of these types."""


def _full(kind: Kind, value: int) -> str:
    return f"torch.full({kind.extents}, {bool(value % 2) if kind.dtype == 'b' else value}, dtype={_DTYPES[kind.dtype]})"


def _converted(name: str, given: str, wanted: str) -> str:
    if wanted == "b":
        name = f"{name}.float()" if given in _STORED else name
        return f"({name} != 0)" if given in _UNORDERED else f"({name} > 0)"
    if given in "zq" and wanted not in "zq":
        name = f"{name}.{'abs()' if wanted in _UNSIGNED else 'real'}"
    elif wanted in _UNSIGNED and given in "fdegkm":
        name = f"{name}{'.float()' if given in _STORED else ''}.abs()"
    if wanted in _STORED:
        name = f"{name}.to(torch.float32).clamp(-9, 9)"
    return f"{name}.to({_DTYPES[wanted]})"


@dataclass
class _Scope:
    """The values that a function may use."""

    values: dict[str, Kind]
    foreign: set[str] = field(default_factory=set[str])
    """Those that another function has made, and views: a region may only return copies of them."""

    def of(self, kind: Kind) -> list[str]:
        """The values of a type."""
        return [name for name, found in self.values.items() if found == kind]


class _Writer:
    """Writes a function."""

    def __init__(self, chosen: random.Random, shapes: Sequence[tuple[int | str, ...]]):
        self.chosen = chosen
        self.shapes = shapes
        self.lines: list[str] = []
        self.made = 0
        self.state: dict[str, Kind] = {}
        """Names of buffers, which are no operands of regions."""
        self.rounds = 0
        """How many regions of `map` and `scan` there are around; PyTorch lets none of them write."""

    def name(self, kind: Kind) -> str:
        """A new name."""
        self.made += 1
        return f"{kind.dtype}{'x'.join(map(str, kind.shape))}_{self.made - 1}"

    def kind(self, scope: _Scope | None = None) -> Kind:
        """A random type; most often that of a value."""
        if scope is not None and self.chosen.random() < 0.7:
            return self.chosen.choice(list(scope.values.values())[-6:])
        return Kind(self.chosen.choice(_KINDS), self.chosen.choice(self.shapes))

    def add(self, indent: int, line: str) -> None:
        """Writes a line."""
        self.lines.append("    " * indent + line)

    def value(self, scope: _Scope, kind: Kind) -> str:
        """An expression of a type: a value, a conversion of one, or a constant."""
        if (known := scope.of(kind)) and self.chosen.random() < 0.9:
            return self.chosen.choice(known[-4:])
        similar = [name for name, found in scope.values.items() if found.shape == kind.shape and found.dtype != kind.dtype]
        if similar and self.chosen.random() < 0.7:
            name = self.chosen.choice(similar)
            return _converted(name, scope.values[name].dtype, kind.dtype)
        return _full(kind, self.chosen.randrange(4))

    def given(self, scope: _Scope, kinds: Sequence[Kind]) -> str:
        """What a region returns: values of these types, none of them twice or another function's."""
        items: list[str] = []
        for kind in kinds:
            item = self.value(scope, kind)
            items.append(f"{item}.clone()" if item in scope.foreign or item in items else item)
        return ", ".join(items) + ("," if len(items) == 1 else "")

    def body(self, indent: int, scope: _Scope, depth: int) -> None:
        """Some statements."""
        for _ in range(self.chosen.randint(1, 3)):
            if self.state and not self.rounds and self.chosen.random() < 0.15:
                self.store(indent, scope)
            elif depth and self.chosen.random() < 0.55:
                self.chosen.choice((self.branch, self.loop, self.rows, self.steps))(indent, scope, depth)
            else:
                self.operator(indent, scope)

    def store(self, indent: int, scope: _Scope) -> None:
        """Writes to a buffer, or to a part of it, and perhaps reads it."""
        target = self.chosen.choice(list(self.state))
        kind = self.state[target]
        if kind.shape and self.chosen.random() < 0.4:
            self.add(
                indent,
                f"{target}[{self.chosen.randrange(int(kind.shape[0]))}].copy_({self.value(scope, Kind(kind.dtype, kind.shape[1:]))})",
            )
        else:
            self.add(indent, f"{target}.{self.chosen.choice(('copy_', 'copy_', 'sub_'))}({self.value(scope, kind)})")
        if self.chosen.random() < 0.6:
            self.result(indent, scope, kind, f"{target} % 5" if kind.dtype == "i" else f"{target}.clone()")

    def result(self, indent: int, scope: _Scope, kind: Kind, text: str) -> str:
        """Names a value."""
        name = self.name(kind)
        self.add(indent, f"{name} = {text}")
        scope.values[name] = kind
        return name

    def operator(self, indent: int, scope: _Scope) -> None:
        """A call of an operator."""
        name = self.chosen.choice(list(scope.values)[-6:])
        kind = scope.values[name]
        shape = kind.shape
        if shape and self.chosen.random() < 0.35:
            reduced = Kind(kind.dtype, shape[1:])
            options = [(kind, f"{name}.flip(0)"), (reduced, f"{name}[{self.chosen.randrange(2 if shape[0] == 'n' else int(shape[0]))}]")]
            options += [(reduced, f"{name}.amax(0)"), (Kind(kind.dtype, ()), f"{name}.sum()")] if kind.dtype in "fd" else []
            options += [(Kind(kind.dtype, ()), f"{name}.sum()")] if kind.dtype in "zq" else []
            options += [(Kind(kind.dtype, shape[::-1]), f"{name}.permute({', '.join(map(str, range(len(shape))[::-1]))})")]
            options += [(kind, f"{name}.unsqueeze(0).expand(2, {', '.join(map(str, shape))})[1]")]
            found, text = self.chosen.choice(options)
            made = self.result(indent, scope, found, text)
            if text.endswith("]") or ".permute" in text:
                scope.foreign.add(made)
            return
        if shape and shape[0] != "n" and self.chosen.random() < 0.1:
            self.result(indent, scope, kind, self.together(name, kind))
            return
        if shape and self.chosen.random() < 0.15:
            self.change(indent, scope, kind, name)
            return
        text = self.chosen.choice(_SAME[kind.dtype]).format(x=name, y=self.chosen.choice(scope.of(kind)))
        self.result(indent, scope, kind, text)

    def together(self, name: str, kind: Kind) -> str:
        """`associative_scan`, or a flip where the type has no function for it."""
        return f"together(lambda a, b: {_TOGETHER[kind.dtype]}, {name})" if kind.dtype in _TOGETHER else f"{name}.flip(-1)"

    def change(self, indent: int, scope: _Scope, kind: Kind, name: str) -> None:
        """Writes to views of a copy, which the copy and other views of it show."""
        made, row = self.result(indent, scope, kind, f"{name}.clone()"), Kind(kind.dtype, kind.shape[1:])
        self.add(
            indent, f"{made}[{self.chosen.randrange(2 if kind.shape[0] == 'n' else int(kind.shape[0]))}].copy_({self.value(scope, row)})"
        )
        if len(kind.shape) == 2:
            seen = self.result(indent, scope, Kind(kind.dtype, kind.shape[::-1]), f"{made}.permute(1, 0)")
            self.add(indent, f"{made}[:, 0].copy_({seen}[-1])")
            scope.foreign.add(seen)

    def predicate(self, scope: _Scope) -> str:
        """A condition."""
        name = self.chosen.choice(list(scope.values))
        if scope.values[name].dtype == "b":
            return f"{name}.any()" if scope.values[name].shape else name
        if scope.values[name].dtype in _UNORDERED:
            return f"({name} != 1).any()"
        name = f"{name}.float()" if scope.values[name].dtype in _STORED else name
        return f"{name}.sum() > {self.chosen.choice((0.1234, 1.4567, -0.7891, 3.2109))}"

    def region(self, indent: int, scope: _Scope, parameters: Sequence[Kind], results: Sequence[Kind], depth: int, first: str = "") -> str:
        """A function inside of the present one, which may use its values; the name."""
        self.made += 1
        name = f"region_{self.made - 1}"
        names = [self.name(kind) for kind in parameters]
        inner = _Scope({**scope.values, **dict(zip(names, parameters, strict=True))}, {*scope.values, *names})
        self.add(indent, f"def {name}({', '.join(names)}):")
        self.body(indent + 1, inner, depth - 1)
        start = first.format(names[0]) if first else ""
        self.add(indent + 1, f"return {start}{self.given(inner, results)}")
        return name

    def operands(self, scope: _Scope) -> list[str]:
        """Some values."""
        return self.chosen.sample(list(scope.values), self.chosen.randint(1, min(3, len(scope.values))))

    def passed(self, name: str) -> str:
        """An operand; PyTorch refuses a region that also uses it by its name, unless it is a copy."""
        return f"{name}.clone()" if self.chosen.random() < 0.7 else name

    def assign(self, indent: int, scope: _Scope, kinds: Sequence[Kind], text: str) -> None:
        """Names the results of a call."""
        names = [self.name(kind) for kind in kinds]
        self.add(indent, f"{', '.join(names)}, = {text}")
        scope.values.update(zip(names, kinds, strict=True))

    def branch(self, indent: int, scope: _Scope, depth: int) -> None:
        """`torch.cond`."""
        operands = self.operands(scope)
        kinds = [scope.values[name] for name in operands]
        results = [self.kind(scope) for _ in range(self.chosen.randint(1, 3))]
        regions = [self.region(indent, scope, kinds, results, depth) for _ in range(2)]
        self.assign(
            indent, scope, results, f"branch({self.predicate(scope)}, {', '.join(regions)}, ({', '.join(map(self.passed, operands))},))"
        )

    def loop(self, indent: int, scope: _Scope, depth: int) -> None:
        """`while_loop`, which counts to a small number."""
        counter = Kind("i", ())
        operands = self.operands(scope)
        kinds = [scope.values[name] for name in operands]
        names = [f"a{number}" for number in range(len(kinds))]
        self.made += 1
        test = f"test_{self.made - 1}"
        self.add(indent, f"def {test}(n, {', '.join(names)}):")
        self.add(indent + 1, f"return n < {self.chosen.randrange(4)}")
        body = self.region(indent, scope, [counter, *kinds], kinds, depth, "{} + 1, ")
        start = f"(torch.zeros((), dtype=torch.int64), {', '.join(map(self.passed, operands))})"
        self.assign(indent, scope, [counter, *kinds], f"loop({test}, {body}, {start})")

    def rows(self, indent: int, scope: _Scope, depth: int) -> None:
        """`map`."""
        sequences = [name for name, kind in scope.values.items() if kind.shape]
        if not sequences:
            return
        xs = self.chosen.choice(sequences)
        kind = scope.values[xs]
        results = [self.kind(scope) for _ in range(self.chosen.randint(1, 2))]
        self.rounds += 1
        body = self.region(indent, scope, [Kind(kind.dtype, kind.shape[1:])], results, depth)
        self.rounds -= 1
        stacked = [Kind(item.dtype, (kind.shape[0], *item.shape)) for item in results]
        self.assign(indent, scope, stacked, f"rows({body}, {self.passed(xs)})")

    def steps(self, indent: int, scope: _Scope, depth: int) -> None:
        """`scan`."""
        sequences = [name for name, kind in scope.values.items() if kind.shape]
        if not sequences:
            return
        xs, start = self.chosen.choice(sequences), self.chosen.choice(list(scope.values))
        kind, carried = scope.values[xs], scope.values[start]
        result = self.kind(scope)
        self.rounds += 1
        body = self.region(indent, scope, [carried, Kind(kind.dtype, kind.shape[1:])], [carried, result], depth)
        self.rounds -= 1
        stacked = Kind(result.dtype, (kind.shape[0], *result.shape))
        reverse = self.chosen.random() < 0.3
        self.assign(indent, scope, [carried, stacked], f"steps({body}, {self.passed(start)}, {self.passed(xs)}, reverse={reverse})")

    def write(self, scope: _Scope, targets: dict[str, Kind]) -> None:
        """Gives an input or a buffer a new value."""
        target = self.chosen.choice(list(targets))
        self.add(1, f"{target}.copy_({self.value(scope, targets[target])})")


def make(chosen: random.Random, parts: int = 3, depths: Sequence[int] = (1, 2, 2, 3)) -> str:
    """A function of a few inputs.

    Args:
        chosen: what decides.
        parts: the most groups of statements.
        depths: how deep regions may lie in each other.
    """
    is_dynamic = chosen.random() < 0.5
    writer = _Writer(chosen, _DYNAMIC if is_dynamic else _SHAPES)
    kinds = [Kind("f", ("n", 3) if is_dynamic else (3,)), *(writer.kind() for _ in range(chosen.randint(1, 3)))]
    names = [writer.name(kind) for kind in kinds]
    writer.add(0, f"def forward({', '.join(names)}):")
    if is_dynamic:
        writer.add(1, f"n = {names[0]}.shape[0]")
    scope = _Scope(dict(zip(names, kinds, strict=True)), set(names))
    buffers = {f"own.{kind.dtype}{'x'.join(map(str, kind.shape))}": kind for kind in chosen.sample(_STATE, chosen.randrange(3))}
    for buffer, kind in buffers.items():
        writer.result(1, scope, kind, f"{buffer}.clone()")
        if chosen.random() < 0.7:
            writer.add(1, f"state_{kind.dtype}{len(kind.shape)} = {buffer}")
            writer.state[f"state_{kind.dtype}{len(kind.shape)}"] = kind
    for _ in range(chosen.randint(1, parts)):
        writer.body(1, scope, chosen.choice(depths))
    outputs = [f"{name}.clone()" for name in list(scope.values)[len(names) :][-5:]]
    if writes := chosen.randrange(3):
        writer.add(1, f"result = {', '.join(outputs)},")
        outputs = ["*result"]
    for _ in range(writes):
        writer.write(scope, dict(zip(names, kinds, strict=True)) | buffers)
    writer.add(1, f"return {', '.join(outputs)},")
    return "\n".join(writer.lines) + "\n"


def _input(name: str, seed: int, size: int) -> Tensor:
    """The value of an input of this name."""
    kind, generator = name.partition("_")[0], torch.Generator().manual_seed(seed)
    shape = [size if extent == "n" else int(extent) for extent in kind[1:].split("x") if extent]
    dtype = _DTYPES[kind[0]]
    return (
        torch.randn(shape, generator=generator).to(dtype)
        if dtype.is_floating_point
        else torch.randint(0, 4, shape, generator=generator).to(dtype)
    )


class _Program(nn.Module):
    """The function of a text."""

    def __init__(self, text: str, operators: dict[str, Callable[..., Any]]):
        super().__init__()
        for kind in _STATE:
            self.register_buffer(
                f"{kind.dtype}{'x'.join(map(str, kind.shape))}", torch.full(cast(Any, kind.shape), 2, dtype=_DTYPES[kind.dtype])
            )
        names: dict[str, Any] = {"torch": torch, "own": self, **operators}
        exec(compile(text, "<regions>", "exec"), names)
        self.function: Callable[..., Any] = names["forward"]

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def _dynamic_shapes(names: Sequence[str]) -> Any:
    size = torch.export.Dim("n", min=2, max=9)
    shapes = [name.partition("_")[0][1:].split("x") for name in names]
    return {"inputs": tuple({dim: size for dim, extent in enumerate(shape) if extent == "n"} for shape in shapes)}


def check(case: str, targets: Sequence[str] = TARGETS, memory: tuple[str, ...] = ()) -> str:
    """Raises Failure when an engine of these targets refuses the program, planned in these banks, or gives something else than PyTorch."""
    names = case.partition("(")[2].partition(")")[0].split(", ")
    is_dynamic = "n = " in case
    given = [tuple(_input(name, seed, size) for seed, name in enumerate(names)) for size in (_SIZES if is_dynamic else (0, 0))]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            program = _Program(case, PLAIN)
            turns = [(inputs, results(lambda given: program(*given), inputs)) for inputs in given]
            shapes = _dynamic_shapes(names) if is_dynamic else None
            exported = torch.export.export(_Program(case, TRACED), given[0], dynamic_shapes=shapes, strict=False)
        except Exception as error:
            return f"refused by PyTorch: {type(error).__name__}"
        try:
            word, wrong = _on_all_engines(exported, turns, targets, memory)
        except UnsupportedProgramError as error:
            if not _is_beyond_functionalization(exported):
                raise Failure("the import refuses the program", str(error)) from error
            return "refused: views of written memory enter a region, which PyTorch does not write out of place either"
        except Exception as error:
            raise Failure(f"an engine fails: {type(error).__name__}", str(error)) from error
        if wrong is not None and _exports_something_else(exported, turns):
            return "exported by PyTorch as something else"
    if wrong is not None:
        raise Failure(f"{wrong.partition(',')[0]}: a wrong result", wrong)
    return word


def _exports_something_else(exported: torch.export.ExportedProgram, turns: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> bool:
    """Whether PyTorch's own run of the graph differs from the module: it drops a branch whose results nobody uses, with what it writes."""
    module = exported.module()
    return any(difference(results(lambda given: module(*given), inputs), expected) is not None for inputs, expected in turns)


def _is_beyond_functionalization(exported: torch.export.ExportedProgram) -> bool:
    try:
        cast(Any, exported).run_decompositions({})
    except RuntimeError as error:
        return "might be aliasing the input or the output" in str(error)
    except SpecViolationError:
        # A write in a branch stays one, in PyTorch's form without writes too.
        return True
    return False


def _on_all_engines(
    exported: torch.export.ExportedProgram, turns: Sequence[Any], targets: Sequence[str], memory: tuple[str, ...]
) -> tuple[str, str | None]:
    graphs = [module.graph for module in exported.graph_module.modules() if isinstance(module, GraphModule)]
    values = [leaf for graph in graphs for node in graph.nodes for leaf in pytree.tree_leaves(node.meta.get("val"))]
    is_rare = any(isinstance(value, Tensor) and value.dtype in _RARE for value in values)
    try:
        return "right on all engines", wrong_engine(exported, turns, targets, peer_may_refuse=is_rare, memory=memory)
    except PassError as error:
        if not any(reason in str(error) for reason in _NOT_IN_STOCK):
            raise
        return "right on the engines of one target", wrong_engine(exported, turns, ("flambeau",), memory=memory)


CAMPAIGN = Campaign(make, check, limit=120)
SMALL = Campaign(lambda chosen: make(chosen, 1, (1,)), check, limit=120)
"""Programs of a few lines."""
SMALL_STOCK = Campaign(SMALL.make, lambda case: check(case, ("executorch",)), limit=120)
"""The same for one target, whose programs every engine runs: two thirds of the time."""
BANKED = Campaign(SMALL.make, lambda case: check(case, ("executorch",), ("tcm:64", "sram:256", "dram")), limit=120)
"""The same with tensors in three banks of memory."""
