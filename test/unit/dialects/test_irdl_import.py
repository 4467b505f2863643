"""Dialects from IRDL: what is declared wrongly, plug-ins and Python, and that operations are judged as by `mlir-opt`."""

from __future__ import annotations

import random
import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from fuzz import irdl as random_irdl
from test_mlir_interop import EXPORTED, generic_text, rows_as_functions, with_each_tool
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import Builtin, IntegerAttr, ModuleOp, StringAttr, UnregisteredOp, f32, i64
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.irdl.export import irdl_text
from flambeau.dialects.irdl.load import IrdlDialect, read_irdl
from flambeau.dialects.irdl.names import MLIR_NAMES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.dialects.text.operation_text import PrintingOptions, strict_text
from flambeau.plugins.loader import PluginError, load_plugin, loaded_plugins, plugin_scope
from flambeau.tools.language_server.analysis import analyze
from flambeau.tools.language_server.completion import complete
from flambeau.tools.language_server.hover import hover
from flambeau.tools.main import main as flambeau_main
from flambeau.tools.opt import main
from flambeau.tools.reduction.operand_segments import drop_operands, spare_operands

TINY = Path(__file__).resolve().parents[2] / "filecheck" / "interop" / "tiny.irdl"


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with plugin_scope():
        yield


def around(body: str) -> str:
    return f"irdl.dialect @d {{\n  irdl.operation @o {{\n    %a = irdl.any\n    {body}\n  }}\n}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: error: this declares no dialect: there is no irdl.dialect in it"),
        ("builtin.module {}", "f: error: this declares no dialect: there is no irdl.dialect in it"),
        ("irdl.dialect @d\nirdl.dialect @d", "f:2:1: error: the symbol @d is defined twice"),
        (
            "builtin.module @a { irdl.dialect @d { irdl.type @t } }\nirdl.dialect @d {\n  irdl.type @t\n}",
            "f:3:3: error: the type d.t is declared twice",
        ),
        (around('%b = irdl.base "!builtin.tensr"'), "f:4:5: error: there is no type !builtin.tensr; did you mean '!builtin.tensor'?"),
        (
            around('%b = irdl.base "#builtin.tensor"'),
            "f:4:5: error: there is no attribute #builtin.tensor; did you mean '!builtin.tensor'?",
        ),
        (around('%b = irdl.base "#"'), "f:4:5: error: there is no attribute #"),
        (around('%b = irdl.base "!nowhere.type"'), "f:4:5: error: there is no type !nowhere.type"),
        (
            around("%b = irdl.any_of(%a, %a)"),
            "f:4:5: error: the first choice that fits is taken, so none may be irdl.any, and no two irdl.parametric of one kind",
        ),
        (
            around("".join(f"%{n + 1} = irdl.all_of({'%a' if not n else f'%{n}'})\n" for n in range(60))),
            "f:53:1: error: constraints are nested more than 50 deep here, or are more than 10000",
        ),
        (
            around("".join(f"%{n + 1} = irdl.all_of({', '.join(['%a' if not n else f'%{n}'] * 10)})\n" for n in range(6))),
            "f:7:1: error: constraints are nested more than 50 deep here, or are more than 10000",
        ),
        (around("irdl.operands(%b)"), "f:4:19: error: %b is used, but never defined"),
        (around("irdl.opernds(%a)"), "f:4:5: error: there is no operation irdl.opernds; did you mean 'irdl.operands'?"),
    ],
)
def test_what_is_wrong_in_irdl_is_said_at_its_place(text: str, message: str):
    with pytest.raises(IRError) as raised:
        read_irdl(text, FlambeauContext(), "f")
    assert str(raised.value).replace("error: f: ", "f: error: ") == message


def test_a_type_that_is_declared_twice_is_shown_where_it_was_first():
    with pytest.raises(IRError) as raised:
        read_irdl("builtin.module @a { irdl.dialect @d { irdl.type @t } }\nirdl.dialect @d { irdl.type @t }", FlambeauContext(), "f")
    assert [str(note) for note in raised.value.diagnostic.notes] == ["f:1:39: note: it is declared here first"]


def test_the_parts_of_a_dialect_may_stand_in_several_modules():
    text = "builtin.module @a { irdl.dialect @d { irdl.type @int } }\nirdl.dialect @d { irdl.operation @int }\nirdl.dialect @e"
    found = read_irdl(text, FlambeauContext())
    assert [(item.name, len(list(item.attributes)), len(list(item.operations))) for item in found] == [("d", 1, 1), ("e", 0, 0)]


@pytest.mark.parametrize(
    ("name", "owner"), [("arith", "xDSL"), ("core", "Flambeau"), ("builtin", "xDSL"), ("irdl", "Flambeau"), ("tiny", "plug-in tiny.irdl")]
)
def test_a_name_that_is_taken_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, owner: str
):
    monkeypatch.chdir(tmp_path)
    Path("tiny.irdl").write_text(TINY.read_text())
    Path("other.mlir").write_text(f"\nirdl.dialect @mine\nirdl.dialect @{name}\n")
    assert main(["--irdl-file=tiny.irdl", "--irdl-file=other.mlir", "--show-dialects"]) == 1
    assert f"other.mlir:3:1: error: plug-in other.mlir declares the dialect {name!r}, but {owner} has one" in capsys.readouterr().err
    load_plugin(TINY)
    assert FlambeauContext().get_optional_dialect("mine") is None, "nothing of the file stays"


def test_every_error_of_a_file_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.mlir"
    path.write_text(around("%b = irdl.base @x\n    %c = irdl.base @y"))
    assert main([f"--irdl-file={path}", "--show-dialects"]) == 1
    found = capsys.readouterr().err
    assert (
        "bad.mlir:4:5: error: there is no irdl.type or irdl.attribute @x" in found
        and "bad.mlir:5:5: error: there is no irdl.type or irdl.attribute @y" in found
    )
    assert "    %b = irdl.base @x\n" in found


def test_a_predicate_in_cpp_is_not_checked_and_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, source = tmp_path / "pred.mlir", tmp_path / "in.mlir"
    path.write_text(around('%b = irdl.c_pred "isa<IntegerType>($_self)"\n    irdl.operands(%b)'))
    source.write_text('%0 = "test.op"() : () -> f32\n"d.o"(%0) : (f32) -> ()')
    assert main([f"--irdl-file={path}", str(source)]) == 0
    assert "pred.mlir:4:5: warning: irdl.c_pred is C++, which is not run here: it accepts everything" in capsys.readouterr().err


def test_a_file_that_has_changed_is_loaded_anew(tmp_path: Path):
    path = tmp_path / "d.mlir"
    path.write_text(around("irdl.operands(%a)"))
    first = load_plugin(path)
    assert load_plugin(path) is first and first.declares == ("dialect 'd'",)
    path.write_text(around("").replace("@o", "@other"))
    second = load_plugin(path)
    assert loaded_plugins() == (second,) and second.digest != first.digest
    assert FlambeauContext().get_optional_op("d.o") is None and FlambeauContext().get_optional_op("d.other") is not None
    path.write_text(around("irdl.nothing"))
    with pytest.raises(PluginError, match=r"d\.mlir:4:5: error: there is no operation irdl\.nothing"):
        load_plugin(path)
    assert loaded_plugins() == () and FlambeauContext().get_optional_op("d.other") is None


def test_other_tools_know_the_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "in.mlir"
    source.write_text('func.func @main(%x: f32) {\n  "tiny.dot"(%x) : (f32) -> ()\n  func.return\n}\n')
    assert flambeau_main(["inspect", str(source), "--load-plugin", str(TINY)]) == 1
    assert "tiny.dot has 2 or 3 operands (lhs, rhs, acc), got 1" in capsys.readouterr().err


def test_the_operands_of_groups_are_dropped_with_their_sizes():
    value = xdsl_test.TestOp(result_types=[f32]).results[0]
    made = tiny("map")(
        operands=[[value, value], [value]], attributes={"mode": StringAttr("fast")}, regions=[Region(Block(arg_types=[f32]))]
    )
    assert list(spare_operands(made)) == [0, 1, 2]
    drop_operands(made, [0, 2])
    made.verify_()
    assert (len(made.inputs), made.extra) == (1, None)


def test_the_language_server_knows_the_dialect():
    load_plugin(TINY)
    text = '%0 = "test.op"() : () -> f32\n%1 = "tiny.dot"(%0, %0) : (f32, f32) -> f32\n'
    found = analyze(text, "in.mlir")
    faults = [fault.diagnostic.message for chunk in found.chunks for fault in chunk.faults]
    assert faults == ["tiny.dot: operand 0 ('lhs') must be !tiny.vec<anything, f32>, got f32"]
    shown = hover(found, found.lines.position(text.index("tiny.dot") + 2))
    assert shown is not None
    words = str(getattr(shown.contents, "value", ""))
    assert "- operands: `lhs`, `rhs`, `acc`" in words and "tiny.irdl:8:3" in words
    typing = analyze(text + "tiny.", "in.mlir")
    assert [item.label for item in complete(typing, typing.lines.position(len(typing.text)))] == ["tiny.dot", "tiny.map"]


# From Python


def tiny(name: str) -> Any:
    load_plugin(TINY)
    return FlambeauContext().get_optional_op(f"tiny.{name}") or FlambeauContext().get_optional_type(f"tiny.{name}")


def test_operations_and_types_are_made_in_python():
    vector = tiny("vec").new([IntegerAttr(4, i64), f32])
    assert str(vector) == "!tiny.vec<4 : i64, f32>"
    assert (vector.length, vector.element) == (IntegerAttr(4, i64), f32)
    assert vector == tiny("vec").new([IntegerAttr(4, i64), f32]) and hash(vector) == hash(tiny("vec").new([IntegerAttr(4, i64), f32]))
    with pytest.raises(VerifyException, match=re.escape("!tiny.vec: parameter 0 ('length') must be any #builtin.integer, got f32")):
        tiny("vec").new([f32, f32])
    values = xdsl_test.TestOp(result_types=[vector, f32])
    dot = tiny("dot")(operands=[values.results[0], values.results[0], [values.results[1]]], result_types=[f32])
    dot.verify()
    assert (dot.lhs, dot.acc, dot.sum.type) == (values.results[0], values.results[1], f32)


def test_the_sizes_of_groups_have_the_name_that_mlir_looks_for():
    value = xdsl_test.TestOp(result_types=[f32]).results[0]
    parts = {"operands": [[value, value], [value]], "attributes": {"mode": StringAttr("fast")}, "regions": [Region(Block(arg_types=[f32]))]}
    for made in (tiny("map")(**parts), tiny("map").build(**(parts | {"regions": [Region(Block(arg_types=[f32]))]}))):
        made.verify_()
        assert set(made.attributes) == {"mode", "operand_segment_sizes"} and not made.properties
        assert (len(made.inputs), made.extra, made.mode) == (2, value, StringAttr("fast"))
        assert len(made.body.blocks) == 1


def test_names_that_python_has_for_something_else_are_kept_apart():
    text = """
irdl.dialect @odd {
  irdl.attribute @parameters { %0 = irdl.any irdl.parameters(name: %0, class: %0, parameters: %0) }
  irdl.operation @operands {
    %0 = irdl.any
    irdl.operands(operands: %0, results: %0)
    irdl.results(parent: %0)
    irdl.attributes {"verify_" = %0, "attributes" = %0}
  }
}
"""
    dialect = read_irdl(text, FlambeauContext())[0]
    kind, op = cast(Any, next(dialect.attributes)), cast(Any, next(dialect.operations))
    made = kind.new([f32, f32, f32])
    assert (made.name, made.name_, made.parameters) == ("odd.parameters", f32, (f32, f32, f32))
    value = xdsl_test.TestOp(result_types=[f32]).results[0]
    found = op(operands=[value, value], result_types=[f32], attributes={"verify_": f32, "attributes": f32})
    found.verify()
    assert (found.operands_, found.parent, len(found.operands)) == (value, None, 2)


def test_attributes_may_be_optional_and_names_be_of_other_letters():
    text = """
irdl.dialect @odd {
  irdl.type @t { %0 = irdl.any %1 = irdl.any irdl.parameters(a.b: %0, a_b: %1) }
  irdl.operation @o {
    %0 = irdl.any
    %1 = irdl.is f32
    irdl.operands(x$y: %0, x_y: %0)
    irdl.attributes {"must" = %1, "may" = optional %1}
  }
}
"""
    module = parse_module(text, FlambeauContext()).module
    again = strict_text(module, PrintingOptions(generic=True))
    assert module.is_structurally_equivalent(parse_module(strict_text(module, PrintingOptions()), FlambeauContext()).module)
    assert module.is_structurally_equivalent(parse_module(again, FlambeauContext()).module)
    dialect = read_irdl(again, FlambeauContext())[0]
    kind, op = cast(Any, next(dialect.attributes)), cast(Any, next(dialect.operations))
    assert (kind.new([f32, i64]).a_b, kind.new([f32, i64]).a_b_) == (f32, i64)
    values = xdsl_test.TestOp(result_types=[f32, i64]).results
    found = op(operands=[values[0], values[0]], attributes={"must": f32})
    found.verify_()
    assert (found.x_y_, found.may) == (values[0], None)
    found.may = i64
    with pytest.raises(VerifyException, match="attribute 'may' must be f32, got i64"):
        found.verify_()


# As MLIR judges


def judged_by(tool: str, irdl: Path, chunks: Sequence[str]) -> list[bool]:
    """Which of the texts `mlir-opt` accepts."""
    text = random_irdl.MARKER.join(chunks)
    command = [tool, f"--irdl-file={irdl}", "--split-input-file", "-o", "/dev/null"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr[:2000]
    starts = [1]
    for chunk in chunks[:-1]:
        starts.append(starts[-1] + chunk.count("\n") + 1)
    errors = [line for line in done.stderr.splitlines() if re.match(r"(?!\s).*: error: ", line)]
    places = [re.match(r"within split at <stdin>:(\d+) offset", line) for line in errors]
    assert all(places), errors  # others are about the dialect
    refused = {bisect_right(starts, int(place[1]) + 1) - 1 for place in places if place is not None}
    return [index not in refused for index in range(len(chunks))]


def is_valid(text: str, dialects: Sequence[IrdlDialect]) -> bool:
    """Whether our tools accept a text when they know no dialect of ours."""
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    for dialect in dialects:
        context.register_dialect(dialect.name, lambda dialect=dialect: dialect)
    for name in ("builtin", "func"):
        context.load_registered_dialect(name)
    try:
        verify_parsed(parse_module(text, context))
    except IRError:
        return False
    return True


@with_each_tool
@pytest.mark.parametrize("seed", range(4))
def test_random_operations_are_judged_as_by_mlir(tool: str, seed: int, tmp_path: Path):
    rng = random.Random(seed)
    operations = [random_irdl.RandomOperation(rng, f"o{number}") for number in range(16)]
    operations = [operation for operation in operations if random_irdl.is_accepted(operation)]
    path = tmp_path / "d.mlir"
    path.write_text(random_irdl.declared(operations))
    dialects = read_irdl(path.read_text(), FlambeauContext())
    chunks = [operation.instance() for operation in operations for _ in range(8)]
    found = [is_valid(chunk, dialects) for chunk in chunks]
    assert found == judged_by(tool, path, chunks)
    assert 0.2 < sum(found) / len(found) < 0.8


@with_each_tool
def test_random_declarations_are_refused_as_by_mlir(tool: str, tmp_path: Path):
    rng = random.Random(3)
    operations = [random_irdl.RandomOperation(rng, "o") for _ in range(40)]
    refused = [operation for operation in operations if not random_irdl.is_accepted(operation)]
    assert len(refused) > 3
    path = tmp_path / "d.mlir"
    for operation in refused:
        path.write_text(random_irdl.declared([operation]))
        done = subprocess.run([tool, f"--irdl-file={path}"], input="module {}", capture_output=True, text=True, check=False)
        assert "any_of constraints are not in the correct form" in done.stderr


@with_each_tool
def test_mlir_has_the_names_of_kinds(tool: str, tmp_path: Path):
    later = {"!builtin.f4E2M1FN", "!builtin.f6E2M3FN", "!builtin.f6E3M2FN", "!builtin.f8E3M4", "!builtin.f8E8M0FNU"}
    bases = "\n".join(f'%{index} = irdl.base "{name}"' for index, name in enumerate(sorted(set(MLIR_NAMES) - later)))
    path = tmp_path / "d.mlir"
    path.write_text(around(bases))
    assert judged_by(tool, path, ["module {}\n"]) == [True]
    read_irdl(path.read_text(), FlambeauContext())


# Our own dialects, there and back


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[IrdlDialect, ...]]:
    names = [name for name in EXPORTED if name != "aten"]  # its thousands of operators take seconds, and are no others
    path = tmp_path_factory.mktemp("irdl") / "own.mlir"
    path.write_text(irdl_text(names))
    return path, read_irdl(path.read_text(), FlambeauContext(), str(path))


@cache
def functions(level: str) -> tuple[str, ...]:
    """A module for every third row, with an operation on one of its samples."""
    return tuple(generic_text([ModuleOp([op.clone()])], irdl=True) for op in tuple(rows_as_functions(level).body.block.ops)[::3])


@pytest.mark.parametrize("level", ["core", "edge", "fused", "quantized_decomposed"])
def test_rows_satisfy_the_irdl_that_is_loaded(exported: tuple[Path, tuple[IrdlDialect, ...]], level: str):
    texts = functions(level)
    assert texts
    assert [text for text in texts if not is_valid(text, exported[1])] == []


def spoiled(text: str, rng: random.Random) -> str:
    """The text of a function whose operation has one thing more, less or other."""
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Func):
        context.load_dialect(dialect)
    module = parse_module(text, context).module
    function, op = (next(op for op in module.walk() if isinstance(op, kind)) for kind in (FuncOp, UnregisteredOp))
    assert isinstance(function, FuncOp)
    names = sorted(set(op.attributes) - {"op_name__"})
    change = rng.randrange(5)
    if change == 0 and op.operands:
        op.operands = op.operands[: rng.randrange(len(op.operands))]
    elif change == 1 and op.operands:
        op.operands = [*op.operands, rng.choice(op.operands)]
    elif change == 2 and function.args:
        Rewriter.replace_value_with_new_type(rng.choice(function.args), rng.choice((f32, i64)))
        function.update_function_type()
    elif change == 3 and names:
        del op.attributes[rng.choice(names)]
    else:
        op.attributes[rng.choice([*names, "more"])] = rng.choice((StringAttr("x"), IntegerAttr(1, i64), f32))
    return strict_text(module, PrintingOptions(generic=True))


@with_each_tool
@pytest.mark.parametrize("level", ["core", "edge"])
def test_spoiled_operations_are_judged_as_by_mlir(exported: tuple[Path, tuple[IrdlDialect, ...]], tool: str, level: str):
    rng = random.Random(0)
    path, dialects = exported
    chunks = [spoiled(text, rng) for text in functions(level)]
    found = [is_valid(chunk, dialects) for chunk in chunks]
    assert found == judged_by(tool, path, chunks)
    assert 0.2 < sum(found) / len(found) < 0.8
