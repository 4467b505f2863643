"""Pipelines as text: what parses, what canonical form is, and what the errors say."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from flambeau.passes.manager import OperationPass, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.manager.pass_options import OptionField, is_textual, option_fields
from flambeau.passes.manager.pipeline import pass_text
from flambeau.passes.manager.registry import PipelineError, all_passes, find_pass, own_pass_names, pipelines, register_pass
from flambeau.passes.targets.interface import target_names
from flambeau.support.tables import declared_by
from flambeau.tools.opt import main


@dataclass(frozen=True)
class EveryOptionPass(OperationPass):
    """Has an option of each kind."""

    name = "every-option"
    number: int
    flag: bool = False
    ratio: float = 0.5
    word: str = "plain"
    choice: Literal["fast", "small"] = "fast"
    level: Literal[1, 2] = 1
    sizes: tuple[int, ...] = (1, 2)
    pair: tuple[int, str] = (1, "a")
    maybe: int | None = None
    either: int | float | str = "x"
    names: tuple[str, ...] | None = None
    made: tuple[int, ...] = field(default_factory=lambda: (7,))

    def apply_to(self, ctx: Context, op: Operation) -> None:
        pass


@dataclass(frozen=True)
class OnlyFunctionsPass(OperationPass):
    """Runs on functions."""

    name = "only-functions"
    anchors = ("func.func",)

    def apply_to(self, ctx: Context, op: Operation) -> None:
        pass


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with declared_by("the test of pipelines") as declared:
        register_pass(EveryOptionPass)
        register_pass(OnlyFunctionsPass)
        yield
    for item in reversed(declared):
        item.undo()


def canonical(text: str) -> str:
    return str(Pipeline.parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "builtin.module()"),
        ("  ", "builtin.module()"),
        ("cse", "builtin.module(cse)"),
        ("builtin.module(cse)", "builtin.module(cse)"),
        (" builtin.module ( cse , canonicalize ) ", "builtin.module(cse,canonicalize)"),
        ("func.func()", "builtin.module(func.func())"),
        ("any(cse)", "builtin.module(cse)"),
        ("any( cse ),canonicalize", "builtin.module(any(cse),canonicalize)"),
        ("builtin.module(any(cse,any(cse)))", "builtin.module(any(cse,any(cse)))"),
        ("any(any(cse),func.func(only-functions))", "builtin.module(any(cse),func.func(only-functions))"),
        ("func.func(only-functions),cse", "builtin.module(func.func(only-functions),cse)"),
        ("plan-memory{}", "builtin.module(plan-memory)"),
        ("plan-memory{alignment=16}", "builtin.module(plan-memory)"),
        ("plan-memory{ arena=2   alignment=64 }", "builtin.module(plan-memory{alignment=64 arena=2})"),
        ("plan", "builtin.module(plan-memory,verify-plan)"),
        (
            "legalize{preserve=gelu,silu}",
            "builtin.module(legalize-operators{preserve=gelu,silu},fold-constants,canonicalize,cse,remove-dead-code)",
        ),
        (
            "delegate{backends=elementwise}",
            "builtin.module(legalize-operators{backends=elementwise},fold-constants,canonicalize,"
            "partition{backends=elementwise are-compiled=true},convert-partitions,cse,lower-partitions,remove-dead-code)",
        ),
        ("every-option{number=1 flag}", "builtin.module(every-option{number=1 flag=true})"),
        ("every-option{number=-3 ratio=2}", "builtin.module(every-option{number=-3 ratio=2.0})"),
        ('every-option{number=1 word="a, \\"b\\"}"}', 'builtin.module(every-option{number=1 word="a, \\"b\\"}"})'),
        ('every-option{number=1 either="5"}', 'builtin.module(every-option{number=1 either="5"})'),
        ("every-option{number=1 either=5}", "builtin.module(every-option{number=1 either=5})"),
        ("every-option{number=1 either=true}", 'builtin.module(every-option{number=1 either="true"})'),
        ("every-option{number=1 word='two \"words\"'}", 'builtin.module(every-option{number=1 word="two \\"words\\""})'),
        ("every-option{number=1 sizes}", "builtin.module(every-option{number=1 sizes})"),
        ("every-option{number=1 made=7}", "builtin.module(every-option{number=1})"),
        ("every-option{number=1 pair=3,true}", 'builtin.module(every-option{number=1 pair=3,"true"})'),
        (
            "mlir-opt[cse]",
            'builtin.module(mlir-opt{arguments="--mlir-print-op-generic","--allow-unregistered-dialect","-p","builtin.module(cse)"})',
        ),
    ],
)
def test_canonical_form(text: str, expected: str):
    assert canonical(text) == expected
    assert canonical(expected) == expected
    assert Pipeline.parse(expected) == Pipeline.parse(text)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("cse,", 5, "expected the name of a pass, a pipeline or an operation"),
        (",cse", 1, "expected the name of a pass, a pipeline or an operation"),
        ("cse canonicalize", 5, "expected ',' or the end"),
        ("func.func(cse", 14, "expected ',' or ')'"),
        ("cse)", 4, "expected ',' or the end"),
        ("func.func(" * 70, 651, "the pipelines are nested too deeply"),
        ("cse,csee", 5, "there is no pass or pipeline 'csee'; did you mean 'cse'?"),
        ("compil", 1, "there is no pass or pipeline 'compil'; did you mean 'compile'?"),
        ("qqqqqqqq", 1, "there is no pass or pipeline 'qqqqqqqq'"),
        ("func.fun(cse)", 1, "there is no operation 'func.fun' to nest passes in; did you mean 'func.func'?"),
        ("cse(canonicalize)", 1, "'cse' is not an operation; the options of a pass stand in braces: {key=value}"),
        ("cse,builtin.module(cse)", 5, "builtin.module(…) must stand alone, around everything else"),
        ("func.func(dce)", 11, "pass 'dce' works on the whole module: write it outside of func.func(…)"),
        ("only-functions", 1, "pass 'only-functions' works on func.func, not on builtin.module"),
        ("cse{x=1}", 5, "pass 'cse' has no option 'x'; it has none"),
        (
            "plan-memory{alignmen=1}",
            13,
            "pass 'plan-memory' has no option 'alignmen'; it has alignment, algorithm, arena, effort, methods, banks, pins; "
            "did you mean 'alignment'?",
        ),
        ("plan-memory{alignment=abc}", 23, "option 'alignment' of pass 'plan-memory' must be an integer, got 'abc'"),
        ("plan-memory{alignment=1,2}", 23, "option 'alignment' of pass 'plan-memory' must be an integer, got '1,2'"),
        ("plan-memory{alignment}", 13, "option 'alignment' of pass 'plan-memory' needs a value: an integer"),
        ("plan-memory{alignment=1 alignment=2}", 25, "option 'alignment' of pass 'plan-memory' is given twice"),
        ("plan-memory{alignment=}", 23, "expected a value: a word, or a string in quotes"),
        ("plan-memory{alignment=1", 24, "expected the '}' that closes the options"),
        ('plan-memory{algorithm="best', 23, "this string does not end"),
        ("plan-memory{algorithm='best}", 23, "this string does not end"),
        ('plan-memory{algorithm="\\q"}', 23, 'a string knows the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX only'),
        ("plan-memory{=1}", 13, "expected the name of an option, as in {key=value other=value}"),
        ('plan-memory{algorithm="a"arena=1}', 26, "expected a space or '}'"),
        ("every-option", 1, "pass 'every-option' needs its option 'number': an integer"),
        ("every-option{number=1 flag=1}", 28, "option 'flag' of pass 'every-option' must be true or false, got '1'"),
        ("every-option{number=1 ratio=x}", 29, "option 'ratio' of pass 'every-option' must be a number, got 'x'"),
        ("every-option{number=1 choice=slow}", 30, "option 'choice' of pass 'every-option' must be one of fast, small, got 'slow'"),
        ("every-option{number=1 level=3}", 29, "option 'level' of pass 'every-option' must be one of 1, 2, got '3'"),
        ("every-option{number=1 sizes=1,b}", 29, "option 'sizes' of pass 'every-option' must be a list of integers, got '1,b'"),
        ("every-option{number=1 pair=1}", 28, "option 'pair' of pass 'every-option' must be a list of 2: an integer, a string, got '1'"),
        ("every-option{number=1 maybe=b}", 29, "option 'maybe' of pass 'every-option' must be an integer, got 'b'"),
        ('every-option{number="1"}', 21, "option 'number' of pass 'every-option' must be an integer, got '1'"),
        ("scf-for-loop-range-folding{x=1}", 28, "pass 'scf-for-loop-range-folding' has no option 'x'; it has none"),
        ("any(only-functions),cse", 5, "pass 'only-functions' works on func.func, not on any operation"),
        ("any(dce),cse", 5, "pass 'dce' works on the whole module: write it outside of any(…)"),
        ("ayn(cse)", 1, "there is no operation 'ayn' to nest passes in; did you mean 'any'?"),
        (
            "cse,elide-views{target=exectorch}",
            24,
            f"there is no target 'exectorch'; there are {', '.join(target_names())}; did you mean 'executorch'?",
        ),
        ("compile{preserve=silu target=xyz}", 30, f"there is no target 'xyz'; there are {', '.join(target_names())}"),
        ("compile{preserve=silu,glu,hardswsh}", 27, "ATen has no operator 'hardswsh'; did you mean 'hardswish'?"),
        ("plan-memory{alignment=3}", 23, "alignment must be a power of two, got 3"),
        ("plan-memory{alignment=x}", 23, "option 'alignment' of pass 'plan-memory' must be an integer, got 'x'"),
        ("plan-memory{arena=0}", 19, "arenas count from 1, got 0"),
        (
            "compile{tarket=x}",
            9,
            "pipeline 'compile' has no option 'tarket'; it has target, preserve, backends, no-delegate, bounds, "
            "tuning, isa, threads, planner, memory, pins, alloc-graph-input, alloc-graph-output; did you mean 'target'?",
        ),
    ],
)
def test_errors_point_at_the_place(text: str, column: int, message: str):
    with pytest.raises(PipelineError) as caught:
        Pipeline.parse(text)
    assert str(caught.value) == f"<pipeline>:1:{column}: error: {message}"


def test_lines_are_counted():
    with pytest.raises(PipelineError, match=r"^<pipeline>:2:3: error: there is no pass"):
        Pipeline.parse("cse,\n  csee")


WORDS = (
    "plain",
    "two words",
    'quo"ted',
    "true",
    "5",
    "-1",
    "a,b",
    "{x=1}",
    "ünï",
    "back\\slash",
    "new\nline",
    "nan",
    "",
    "a.b:c/d",
    "(",
    "=",
)


def random_scalar(kind: Any, random: random.Random) -> Any:
    if get_origin(kind) is Literal:
        return random.choice(get_args(kind))
    return {
        bool: lambda: random.choice((True, False)),
        int: lambda: random.randrange(-(10**12), 10**12),
        float: lambda: random.choice((0.5, -1e30, 1e-9, float("inf"), float(random.randrange(100)))),
        str: lambda: random.choice(WORDS),
    }[kind]()


def random_value(field: OptionField, random: random.Random) -> Any:
    kinds = (
        get_args(field.type) if NoneType in get_args(field.type) or get_origin(field.type) not in (tuple, Literal, None) else [field.type]
    )
    kind = random.choice(list(kinds))
    if kind is NoneType:
        return None
    if get_origin(kind) is tuple:
        items = get_args(kind)
        if items[1:] == (Ellipsis,):
            # An empty list where there may be none at all reads as none at all.
            items = (items[0],) * random.randrange(1 if len(kinds) > 1 else 0, 4)
        return tuple(
            random_scalar(random.choice(get_args(item)) if get_origin(item) not in (None, Literal) else item, random) for item in items
        )
    return random_scalar(kind, random)


def importable_passes() -> list[type[ModulePass]]:
    found: list[type[ModulePass]] = []
    for name in (*all_passes(), "every-option", "partition"):
        try:
            kind = find_pass(name)
        except ImportError:  # some of xDSL's need packages that are not installed
            continue
        assert kind is not None
        assert all(is_textual(option.type) for option in option_fields(kind))
        found.append(kind)
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of passes of xDSL that say so when they are made
def test_random_pipelines_come_back_from_their_text():
    generator = random.Random(7)
    kinds = importable_passes()
    assert len(kinds) > 100

    def instance(kind: type[ModulePass]) -> ModulePass:
        values: dict[str, Any] = {}
        for option in option_fields(kind):
            checked = "Annotated" in str(option.type)
            if option.required or (not checked and generator.random() < 0.5):
                values[option.field] = random_value(option, generator)
        return kind(**values)

    def element(depth: int) -> ModulePass | Pipeline:
        if depth and generator.random() < 0.2:
            return Pipeline("func.func", tuple(nested(depth - 1) for _ in range(generator.randrange(4))))
        while True:
            try:
                return instance(EveryOptionPass if generator.random() < 0.3 else generator.choice(kinds))
            except ValueError:  # a pass may refuse what its types allow
                continue

    def nested(depth: int) -> ModulePass | Pipeline:
        if depth and generator.random() < 0.2:
            return Pipeline("test.region", tuple(nested(depth - 1) for _ in range(generator.randrange(3))))
        return instance(EveryOptionPass)

    for _ in range(300):
        pipeline = Pipeline(MODULE, tuple(element(3) for _ in range(generator.randrange(6))))
        text = str(pipeline)
        again = Pipeline.parse(text)
        assert again == pipeline, text
        assert str(again) == text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_pass_reads_its_defaults_and_prints_nothing_for_them():
    for kind in importable_passes():
        if not any(option.required for option in option_fields(kind)):
            assert pass_text(kind()) == kind.name
            assert Pipeline.parse(kind.name).elements == (kind(),)


def test_no_name_is_a_pass_and_a_pipeline():
    assert not set(pipelines()) & {*own_pass_names(), *all_passes()}


def test_a_pass_that_refuses_its_options_is_named():
    @dataclass(frozen=True)
    class PickyPass(ModulePass):
        name = "picky"
        size: int = 1

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("the size is negative")

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pass

    register_pass(PickyPass)
    with pytest.raises(PipelineError, match=r"^<pipeline>:1:5: error: pass 'picky': the size is negative$"):
        Pipeline.parse("cse,picky{size=-1}")


class UndecoratedPass(ModulePass):
    name = "undecorated"
    limit: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class PathPass(ModulePass):
    name = "path-option"
    path: Path = Path()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class UnknownTypePass(ModulePass):
    name = "unknown-type"
    size: "Nowhere" = 1  # noqa: F821  # pyright: ignore[reportUndefinedVariable]  the mistake to be reported

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (
            UndecoratedPass,
            "undecorated{limit=2}",
            "UndecoratedPass declares it, but is not a dataclass: write @dataclass(frozen=True) above it",
        ),
        (PathPass, "path-option{path=x}", "option 'path' of pass 'path-option' cannot be given as text: it is Path"),
        (UnknownTypePass, "unknown-type", "the types of the options of UnknownTypePass cannot be read: name 'Nowhere' is not defined"),
    ],
)
def test_mistakes_of_those_who_write_passes_are_named(kind: type[ModulePass], text: str, message: str):
    register_pass(kind)
    with pytest.raises(PipelineError, match=re.escape(message)):
        Pipeline.parse(text)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("name", sorted(pipelines()))
def test_every_named_pipeline_can_be_made(name: str, target: str):
    pipeline = Pipeline.parse(f"{name}{{target={target} backends=elementwise}}")
    assert Pipeline.parse(str(pipeline)) == pipeline


@dataclass(frozen=True)
class BreakPass(ModulePass):
    """Leaves a module that is not valid."""

    name = "break-it"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for item in op.walk():
            if item.name == "func.return":
                item.operands = []


@pytest.mark.parametrize(("option", "status"), [((), 1), (("--verify-each",), 1), (("--verify-each=1",), 1), (("--verify-each=0",), 0)])
def test_verification_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...], status: int):
    register_pass(BreakPass)
    source = tmp_path / "m.mlir"
    source.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n")
    assert main([str(source), "--break-it", "--no-reproducer", *option]) == status
    captured = capsys.readouterr()
    assert ("left the module invalid" in captured.err) == bool(status)
    assert ("func.return\n" in captured.out) == (not status)


def test_whatever_is_written_parses_or_is_an_error_at_a_place_of_the_text():
    generator = random.Random(11)
    start = 'builtin.module(func.func(cse,every-option{number=1 word="a\\n" sizes=1,2 flag}),plan-memory{alignment=64},dce)'
    pieces = [*"(){}=,\"'\\ \n-x1é", "cse", "{x", "=1", "func.func(", "mlir-opt[", "]", "number=", "true"]
    errors = 0
    for _ in range(3000):
        text = start
        for _ in range(generator.randrange(1, 4)):
            place = generator.randrange(len(text) + 1)
            text = text[:place] + generator.choice([*pieces, ""]) + text[place + generator.randrange(3) :]
        try:
            pipeline = Pipeline.parse(text)
        except PipelineError as error:
            errors += 1
            assert error.offset is not None and 0 <= error.offset <= len(text)
            assert error.text == text
            assert re.match(r"<pipeline>:\d+:\d+: error: ", str(error))
        else:
            assert Pipeline.parse(str(pipeline)) == pipeline
    assert 500 < errors < 3000
