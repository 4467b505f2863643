"""Exchange with MLIR: our IR through `mlir-opt` and back, and our dialects as IRDL, by which it checks our IR.

What needs `mlir-opt` runs with each one that is found.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from models import digits_cnn
from row_harness import ROWS, samples_of
from torch_programs import export, imported
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.irdl.export import IrdlError, for_irdl, irdl_text
from flambeau.dialects.irdl.load import read_irdl
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row_table import dialect_names
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.dialects.text.operation_text import PrintingOptions, strict_text
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.plugins.loader import load_plugin, plugin_scope
from flambeau.runtime.emit import emit_pte
from flambeau.tools.opt import main
from flambeau.tools.samples.sample_operations import operation

TOOLS = [name for name in ("mlir-opt", *(f"mlir-opt-{version}" for version in range(19, 40))) if shutil.which(name)]
FILECHECK = Path(__file__).resolve().parents[2] / "filecheck"
EXPORTED = tuple(sorted(set(dialect_names()) - {*get_all_dialects()}))
GENERIC = ("--mlir-print-op-generic", "--mlir-print-local-scope", "--mlir-print-debuginfo")
with_each_tool = pytest.mark.parametrize("tool", TOOLS)


def run_tool(tool: str, text: str, *options: str) -> str:
    """What mlir-opt prints for a text. Raises when it fails."""
    done = subprocess.run([tool, "--allow-unregistered-dialect", *options], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def through(tool: str, text: str) -> list[str]:
    """The parts of a text, as mlir-opt prints them in the generic form."""
    return run_tool(tool, text, "--split-input-file", *GENERIC).split("// -----\n")


def refusal(tool: str, text: str, irdl: Path) -> str:
    """The first error of mlir-opt, which must refuse the text."""
    done = subprocess.run([tool, f"--irdl-file={irdl}"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stdout
    return next(line for line in done.stderr.splitlines() if "error:" in line)


def read(text: str, context: FlambeauContext | None = None) -> ModuleOp:
    parsed = parse_module(text, context or FlambeauContext())
    verify_parsed(parsed)
    return parsed.module


def places(module: ModuleOp) -> list[str]:
    found = [str(op.location) for op in module.walk()]
    blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
    return found + [str(argument.location) for block in blocks for argument in block.args]


def assert_same(found: ModuleOp, expected: ModuleOp) -> None:
    assert equivalent(found, expected)
    assert places(found) == places(expected)


FILES = (path for folder in (*dialect_names(), "passes") for path in (FILECHECK / folder).rglob("*.mlir"))
NAMES = sorted(str(path.relative_to(FILECHECK).with_suffix("")) for path in FILES)


@cache
def modules_of(name: str) -> list[ModuleOp]:
    """The valid modules in a FileCheck test of a dialect or a pass."""
    found: list[ModuleOp] = []
    for part in (FILECHECK / f"{name}.mlir").read_text().split("// -----\n"):
        try:
            module = read(part)
        except IRError:
            continue
        if module.body.block.ops:
            found.append(module)
    return found


def levels(module: ModuleOp) -> set[str]:
    return {op.name.partition(".")[0] for op in module.walk()}


def take_additions(module: ModuleOp) -> None:
    """Takes out of a module what the form for IRDL adds."""
    for op in list(module.walk()):
        for what in ("operand", "result"):
            op.attributes.pop(f"{what}_segment_sizes", None)
        if op.name == "llvm.unreachable":
            Rewriter.erase_op(op)


def read_back(text: str) -> ModuleOp:
    """A module in the form for IRDL, without what that adds."""
    parsed = parse_module(text, FlambeauContext())
    take_additions(parsed.module)
    verify_parsed(parsed)
    return parsed.module


def generic_text(modules: Iterable[ModuleOp], *, irdl: bool = False) -> str:
    options = PrintingOptions(generic=True, locations=True, irdl=for_irdl if irdl else None)
    return "// -----\n".join(strict_text(module, options) for module in modules)


def test_every_dialect_is_among_the_tests():
    found = set[str]().union(*(levels(module) for name in NAMES for module in modules_of(name)))
    assert found >= {*dialect_names()} - {"flambeau"}


@with_each_tool
@pytest.mark.parametrize("name", NAMES)
def test_the_generic_form_comes_back_from_mlir(tool: str, name: str):
    modules = modules_of(name)
    for part, module in zip(through(tool, generic_text(modules)) if modules else (), modules, strict=True):
        assert_same(read(part), module)


@with_each_tool
@pytest.mark.parametrize(
    "options", [(), ("--mlir-print-debuginfo",), ("--mlir-print-debuginfo", "--mlir-print-op-generic")], ids=["short", "aliases", "generic"]
)
def test_the_other_forms_of_mlir_come_back_too(tool: str, options: tuple[str, ...]):
    module = read(LOCATIONS)
    found = read(run_tool(tool, generic_text([module]), *options))
    assert equivalent(found, module)
    assert not options or places(found) == places(module)


LOCATIONS = """
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
func.func @f(%x: tensor<2xf32> loc("x")) -> tensor<2xf32> attributes {flambeau.inputs = [{name = "x"}]} {
  %w = ml_program.global_load_const @w : tensor<2xf32> loc("w"("m.py":1:2))
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused["a.py":1:2, "b"])
  %1 = core.add.Tensor(%0, %w) {alpha = 3} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc(callsite("n" at "b.py":3:4))
  %2 = core.relu(%1) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<"pass">["a.py":1:2])
  func.return %2 : tensor<2xf32>
} loc("layers.0"("m.py":9:1))
"""


@cache
def stages() -> tuple[dict[str, ModuleOp], FlambeauContext]:
    """A small model at every stage, part of it with a backend, and the context with its weights."""
    model, inputs = digits_cnn()
    module, context = imported(export(model, *inputs))
    compilation = Compilation(module, context, PipelineOptions(backends=(Partitioner("elementwise"),)))
    found: dict[str, ModuleOp] = {}
    for stage in STAGES:
        compilation.to(stage)
        found[stage] = compilation.module.clone()
    return found, context


@with_each_tool
@pytest.mark.parametrize("stage", STAGES)
def test_a_model_comes_back_from_mlir_at_every_stage(tool: str, stage: str):
    module = stages()[0][stage]
    assert_same(read(run_tool(tool, generic_text([module]), *GENERIC)), module)


@with_each_tool
def test_what_comes_back_from_mlir_makes_the_same_program(tool: str):
    modules, context = stages()
    planned = modules["planned"]
    found = read(run_tool(tool, generic_text([planned]), *GENERIC), context.clone())
    assert b"".join(emit_pte(found, context)) == b"".join(emit_pte(planned, context))


def rows_as_functions(level: str) -> ModuleOp:
    """A function for each row of a level, around an operation on one of its samples that is valid there."""
    functions: list[Operation] = []
    for name, row in sorted(ROWS.items()):
        op = row if level == name.partition(".")[0] else row.at(level) if level in ("core", "edge") and (row.core or row.keep) else None
        if op is None:
            continue
        for sample in samples_of(row):
            try:
                made, block = operation(op, sample)
                made.verify()
            except (ValueError, TypeError, VerifyException):
                continue
            block.add_ops([made, ReturnOp(*made.results)])
            functions.append(FuncOp(f"f{len(functions)}", FunctionType.from_lists(block.arg_types, made.result_types), Region(block)))
            break
    return ModuleOp(functions)


@pytest.fixture(scope="module")
def irdl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("irdl") / "flambeau.irdl.mlir"
    path.write_text(irdl_text(EXPORTED))
    return path


@with_each_tool
@pytest.mark.parametrize("level", ["aten", "core", "edge", "fused", "quantized_decomposed"])
def test_every_row_satisfies_its_irdl(tool: str, irdl: Path, level: str):
    module = rows_as_functions(level)
    assert len(module.body.block.ops) >= {"aten": 400, "core": 150, "edge": 150, "fused": 3, "quantized_decomposed": 15}[level]
    found = run_tool(tool, generic_text([module], irdl=True), f"--irdl-file={irdl}", *GENERIC)
    assert_same(read_back(found), module)


@with_each_tool
def test_the_modules_of_the_tests_satisfy_the_irdl(tool: str, irdl: Path):
    """All are in one module, because mlir-opt reads the IRDL again for each part of a file."""
    modules = [module for name in NAMES for module in modules_of(name)]
    assert len(modules) > 60
    text = generic_text(modules, irdl=True).replace("// -----\n", "")
    printed = run_tool(tool, f'"builtin.module"() ({{\n{text}}}) : () -> ()', f"--irdl-file={irdl}", *GENERIC)
    whole = parse_module(printed, FlambeauContext()).module
    take_additions(whole)
    for found, module in zip(whole.body.block.ops, modules, strict=True):
        assert isinstance(found, ModuleOp)
        assert_same(found, module)


@with_each_tool
@pytest.mark.parametrize("stage", STAGES)
def test_a_model_satisfies_the_irdl_at_every_stage(tool: str, irdl: Path, stage: str):
    module = stages()[0][stage]
    assert_same(read_back(run_tool(tool, generic_text([module], irdl=True), f"--irdl-file={irdl}", *GENERIC)), module)


@with_each_tool
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"exec.tensor"()', '"exec.tensors"()', "exec.tensors"),
        ("global_name = @layers.3.weight", 'global_name = "layers"', "but got 'builtin.string'"),
        ('operator = "', 'operation = "', 'attribute "operator" is expected but not provided'),
        ("value = 1 : i64", "value = 1.0 : f64", "builtin.integer"),
        ("exec.constant", "exec.int", '"value" is expected'),
        ("operand_segment_sizes = array<i32: ", "operand_segment_sizes = array<i32: 9, ", "must have 32 elements, but got 33"),
        ("-> !exec.int_list", "-> !exec.list", "expected dynamic type"),
        ('"llvm.unreachable"() : () -> ()', "", "block with no terminator"),
    ],
)
def test_mlir_refuses_what_breaks_the_irdl_of_planned_programs(tool: str, irdl: Path, old: str, new: str, words: str):
    text = strict_text(stages()[0]["planned"], PrintingOptions(irdl=for_irdl))
    assert old in text
    assert words in refusal(tool, text.replace(old, new, 1), irdl)


ROW = ", ".join(["%x"] * 40)


@with_each_tool
def test_lists_of_one_type_may_be_long(tool: str, irdl: Path):
    kinds = ", ".join([T] * 40)
    module = read(
        f"func.func @f(%x: {T}) -> ({kinds}) {{\n  %0 = aten.cat([{ROW}]) {{dim = 0}} : ({kinds}) -> tensor<80x3xf32>\n"
        f"  func.return {ROW} : {kinds}\n}}\n"
    )
    text = generic_text([module], irdl=True)
    assert text.count("segment_sizes") == text.count("operand_segment_sizes = array<i32: 40, 0") == 1
    assert_same(read_back(run_tool(tool, text, f"--irdl-file={irdl}", *GENERIC)), module)


def test_lists_of_many_types_need_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, irdl = tmp_path / "in.mlir", tmp_path / "aten.irdl.mlir"
    kinds = [f"tensor<{size}x3xf32>" for size in range(1, 41)]
    arguments = ", ".join(f"%a{index}: {kind}" for index, kind in enumerate(kinds))
    values = ", ".join(f"%a{index}" for index in range(len(kinds)))
    source.write_text(
        f"func.func @f({arguments}) -> tensor<820x3xf32> {{\n"
        f"  %0 = aten.cat([{values}]) {{dim = 0}} : ({', '.join(kinds)}) -> tensor<820x3xf32>\n"
        "  func.return %0 : tensor<820x3xf32>\n}\n"
    )
    assert main([str(source), "--print-for-irdl"]) == 1
    error = capsys.readouterr().err
    assert "in.mlir:2:3: error: the list 'tensors' of aten.cat has operands of 40 types in turn" in error
    assert "use --irdl-runs=40 here and with --emit-irdl" in error
    assert main([str(source), "--print-for-irdl", "--irdl-runs=40"]) == 0
    text = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--irdl-runs=40", "--emit-irdl=aten"])
    irdl.write_text(capsys.readouterr().out)
    for tool in TOOLS:
        assert equivalent(read_back(run_tool(tool, text, f"--irdl-file={irdl}", *GENERIC)), read(source.read_text()))


FUNCTION = """"func.func"() <{{sym_name = "f", function_type = (tensor<2x3xf32>, i64) -> ()}}> ({{
^bb0(%x: tensor<2x3xf32>, %n: i64):
  {}
  "func.return"() : () -> ()
}}) : () -> ()
"""
T = "tensor<2x3xf32>"


@with_each_tool
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'%0 = "core.relu"(%x, %x) : ({T}, {T}) -> {T}', "exactly 1 operands, but got 2"),
        (f'%0 = "core.relu"() : () -> {T}', "exactly 1 operands, but got 0"),
        (f'%0 = "core.relu"(%n) : (i64) -> {T}', "expected base type 'builtin.tensor' but got 'builtin.integer'"),
        ('%0 = "core.relu"(%x) : (tensor<2x3xf32>) -> i64', "expected base type 'builtin.tensor'"),
        (f'%0:2 = "core.relu"(%x) : ({T}) -> ({T}, {T})', "exactly 1 results, but got 2"),
        (f'%0 = "core.permute"(%x) : ({T}) -> {T}', "dims"),
        (f'%0 = "core.permute"(%x) {{dims = 3 : i64}} : ({T}) -> {T}', "builtin.dense_array"),
        (f'%0 = "core.clone"(%x, %x) : ({T}, {T}) -> {T}', "exactly 1 operands, but got 2"),
        (f'%0 = "core.full"(%x) {{size = array<i64: 2>, fill_value = 1.0 : f64}} : ({T}) -> {T}', "exactly 0 operands, but got 1"),
        ('%0 = "core.full"() {size = array<i64: 2>, fill_value = "one"} : () -> tensor<2xf32>', "does not satisfy"),
        (f'%0, %1 = "aten.max.dim"(%x) {{dim = 0.5 : f64}} : ({T}) -> ({T}, {T})', "builtin.integer"),
        (f'%0 = "core.convolution"(%x) : ({T}) -> {T}', "at least 2 operands, but got 1"),
        (f'%0 = "core.rellu"(%x) : ({T}) -> {T}', "core.rellu"),
        (f'%0 = "fused.rms_norm"(%x, %x) {{normalized_shape = array<i64: 3>, eps = 1.0 : f64}} : ({T}, {T}) -> {T}', "segment_sizes"),
        ('%0 = "edge.relu"(%x) {} : (tensor<2x3xf32>) -> tensor<2x3xf32, #edge.layout<[0, 1]>>', "expected"),
        ('%0 = "edge.relu"(%x) {} : (tensor<2x3xf32>) -> tensor<2x3xf32, #edge.layout<0, []>>', "builtin.array"),
        ('"test.op"() {a = #flambeau.blob<"w", 3>} : () -> ()', "builtin.string"),
    ],
)
def test_mlir_refuses_what_breaks_the_irdl(tool: str, irdl: Path, text: str, words: str):
    assert words in refusal(tool, FUNCTION.format(text), irdl)


@pytest.mark.parametrize("name", EXPORTED)
def test_the_irdl_of_a_dialect_is_a_module(name: str):
    head, *operations = irdl_text([name]).split("    irdl.operation")
    chosen = [*operations[:-1][:100], *operations[:-1][100::50], *operations[-1:]]  # of ATen's thousands, a part is enough
    text = "    irdl.operation".join([head, *chosen])
    names = [op.name for op in read(text).body.block.ops]
    assert names in (["irdl.dialect"], ["builtin.module", "irdl.dialect"])


@with_each_tool
@pytest.mark.parametrize("name", EXPORTED)
def test_mlir_loads_the_irdl_of_every_dialect(tool: str, tmp_path: Path, name: str):
    path = tmp_path / "d.irdl.mlir"
    path.write_text(irdl_text([name]))
    run_tool(tool, "module {}", f"--irdl-file={path}")


def test_the_irdl_names_every_operation():
    text = irdl_text(["core", "exec", "delegate"])
    assert "irdl.operation @add.Tensor {" in text
    assert "irdl.operation @partition {" in text
    assert "irdl.type @int\n" in text and "irdl.operation @int {" in text


PLUGIN = """
from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, var_operand_def

@irdl_op_definition
class GoOp(IRDLOperation):
    name = "mine.go"
    x = operand_def(i32)
    rest = var_operand_def(i32)
    y = result_def(i32)
    how = prop_def(StringAttr)

MINE = Dialect("mine", [GoOp], [])
"""


@with_each_tool
def test_the_dialect_of_a_plug_in_is_exported_and_checked(tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, source, irdl = tmp_path / "mine.py", tmp_path / "in.mlir", tmp_path / "mine.irdl.mlir"
    plugin.write_text(PLUGIN)
    source.write_text('%0 = "test.op"() : () -> i32\n%1 = "mine.go"(%0, %0) {how = "fast"} : (i32, i32) -> i32\n')
    with pytest.raises(SystemExit):
        main(["--load-plugin", str(plugin), "--emit-irdl=mine"])
    irdl.write_text(capsys.readouterr().out)
    assert main(["--load-plugin", str(plugin), str(source), "--print-for-irdl"]) == 0
    text = capsys.readouterr().out
    run_tool(tool, text, f"--irdl-file={irdl}")
    assert "expected 'i32' but got 'i64'" in refusal(tool, text.replace("-> i32", "-> i64").replace("(i32, i32)", "(i64, i64)"), irdl)
    assert '"how" is expected' in refusal(tool, text.replace("how", "haw"), irdl)


NESTED = """
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def

@irdl_attr_definition
class InnerType(ParametrizedAttribute, TypeAttribute):
    name = "nest.inner"

@irdl_attr_definition
class WordsAttr(ParametrizedAttribute):
    name = "nest.words"

@irdl_attr_definition
class OuterAttr(ParametrizedAttribute):
    name = "nest.outer"
    words: WordsAttr

@irdl_op_definition
class UseOp(IRDLOperation):
    name = "nest.use"
    x = operand_def(InnerType)

NEST = Dialect("nest", [UseOp], [InnerType, WordsAttr, OuterAttr])
"""


def test_attributes_of_a_dialect_refer_to_each_other_in_irdl(tmp_path: Path):
    with plugin_scope():
        plugin, irdl = tmp_path / "nest.py", tmp_path / "nest.irdl.mlir"
        plugin.write_text(NESTED)
        load_plugin(plugin)
        irdl.write_text(irdl_text(["nest"]))
        assert "base_ref = @nest::@words" in irdl.read_text() and "base_ref = @types::@nest::@inner" in irdl.read_text()
        assert [len(list(dialect.attributes)) for dialect in read_irdl(irdl.read_text(), FlambeauContext())] == [3]
        for tool in TOOLS:
            text = '"test.op"() {a = #nest.outer<#nest.words>} : () -> ()\n'
            run_tool(tool, text, f"--irdl-file={irdl}")
            assert "nest.words" in refusal(tool, text.replace("<#nest.words>", "<3>"), irdl)


@pytest.mark.parametrize(
    ("name", "words"), [("arith", "a dialect of MLIR"), ("ml_program", "a dialect of MLIR"), ("edg", "there is no dialect 'edg'")]
)
def test_what_is_not_ours_is_not_exported(capsys: pytest.CaptureFixture[str], name: str, words: str):
    with pytest.raises(IrdlError, match=words):
        irdl_text([name])
    assert main([f"--emit-irdl={name}"]) == 1
    assert words in capsys.readouterr().err


def test_the_tool_prints_irdl_and_what_goes_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(["--emit-irdl=flambeau, edge"])
    assert end.value.code == 0
    assert capsys.readouterr().out == irdl_text(["flambeau", "edge"])
    path = tmp_path / "in.mlir"
    path.write_text("func.func private @f(tensor<?x3xf32, #edge.layout<[1, 0], sizes = [? in [0, 8], 3]>>)\n")
    assert main([str(path), "--print-for-irdl"]) == 0
    text = capsys.readouterr().out
    assert '#edge.layout<[1, 0], ["? in [0, 8]", 3]>' in text and "<{" not in text
    assert_same(read(text), read(path.read_text()))
