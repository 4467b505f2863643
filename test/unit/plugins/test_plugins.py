"""Loading plug-ins: files, what is wrong with them, entry points, and the tools' options."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.registry import PipelineError, pipelines, registered_passes
from flambeau.plugins.loader import PluginError, load_plugin, loaded_plugins, plugin_scope
from flambeau.tools.main import main as flambeau_main
from flambeau.tools.opt.driver import main as opt_main

MARK = """
from dataclasses import dataclass
from xdsl.dialects.builtin import UnitAttr
from xdsl.passes import ModulePass

@dataclass(frozen=True)
class MarkPass(ModulePass):
    name = "mark"
    text: str = "marked"

    def apply(self, ctx, op):
        op.attributes[self.text] = UnitAttr()
"""


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with plugin_scope():
        yield


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(pipeline: str, text: str = "builtin.module {}") -> ModuleOp:
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse(pipeline).run(module, context)
    return module


def test_a_pass_in_a_file_runs_until_its_scope_ends(tmp_path: Path):
    with plugin_scope():
        plugin = load_plugin(write(tmp_path, "mark.py", MARK))
        assert plugin.declares == ("pass 'mark'",) and loaded_plugins()[0] is plugin
        assert run("mark,mark{text=again}").attributes == {"marked": UnitAttr(), "again": UnitAttr()}
    assert loaded_plugins() == ()
    with pytest.raises(PipelineError, match="there is no pass or pipeline 'mark'"):
        run("mark")
    assert not [name for name in sys.modules if name.startswith("flambeau_plugins.") and name.endswith(".mark")]


def test_loading_again_is_harmless_and_a_changed_file_takes_the_place_of_the_old_one(tmp_path: Path):
    path = write(tmp_path, "mark.py", MARK)
    first = load_plugin(path)
    assert load_plugin(path) is first and load_plugin(str(path)) is first
    write(tmp_path, "mark.py", MARK.replace('"marked"', '"marker"'))
    second = load_plugin(path)
    assert loaded_plugins() == (second,) and second.digest != first.digest
    assert run("mark").attributes == {"marker": UnitAttr()}


def test_files_beside_a_plugin_are_imported_relatively_and_equal_names_elsewhere_are_others(tmp_path: Path):
    for folder in ("a", "b"):
        write(tmp_path, f"{folder}/helper.py", f'NAME = "from_{folder}"')
        text = MARK.replace('name = "mark"', f'name = "mark-{folder}"').replace('text: str = "marked"', "text: str = NAME")
        write(tmp_path, f"{folder}/mark.py", f"from .helper import NAME\n{text}")
        load_plugin(tmp_path / folder / "mark.py")
    assert run("mark-a,mark-b").attributes == {"from_a": UnitAttr(), "from_b": UnitAttr()}
    digest = loaded_plugins()[0].digest
    write(tmp_path, "a/helper.py", 'NAME = "another"')
    assert load_plugin(tmp_path / "a" / "mark.py").digest != digest
    assert run("mark-a").attributes == {"another": UnitAttr()}


@pytest.mark.parametrize("order", [("ops.py", "uses.ops.py"), ("uses.ops.py", "ops.py")])
def test_a_file_may_be_a_plugin_and_imported_by_another(order: tuple[str, str], tmp_path: Path):
    write(tmp_path, "ops.py", ROW.format("mine", "mine", "same(Tensor x) -> Tensor"))
    write(tmp_path, "uses.ops.py", f"from .ops import MyOp\n{MARK}")
    assert [load_plugin(tmp_path / name).path for name in order] == [tmp_path / name for name in order]
    assert sorted(what for plugin in loaded_plugins() for what in plugin.declares) == ["operator 'mine.same'", "pass 'mark'"]


def test_a_folder_is_a_plugin(tmp_path: Path):
    write(tmp_path, "pack/passes.py", MARK)
    write(tmp_path, "pack/__init__.py", "from .passes import MarkPass")
    assert load_plugin(tmp_path / "pack").declares == ("pass 'mark'",)


def test_what_a_plugin_imports_from_us_or_xdsl_is_not_its_own(tmp_path: Path):
    text = """
from xdsl.dialects.arith import Arith
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from flambeau.dialects.exec import DIALECT
from flambeau.dialects.fused.linear import FusedLinearOp
from flambeau.passes.transforms.cse import CsePass
from flambeau.passes.manager import PatternPass
"""
    assert load_plugin(write(tmp_path, "imports.py", text + MARK)).declares == ("pass 'mark'",)


PASS = "from xdsl.passes import ModulePass\nclass MyPass(ModulePass):\n    {}\n    def apply(self, ctx, op): pass\n"
DIALECT = "from xdsl.ir import Dialect\nMINE = Dialect({!r}, [], [])\n"
ROW = (
    "from flambeau import row\nfrom flambeau.dialects.schema.row import SchemaOp\n"
    "@row({!r}, {!r}, {!r})\nclass MyOp(SchemaOp):\n    'Mine.'\n    infer = staticmethod(lambda x: x)\n"
)
FUNCTION = "from flambeau import {0}\n@{0}({1!r})\ndef mine(*_): ...\n"
TAKEN = "declares the {}, but {} has one of that name; give it another name"

BAD = {
    "syntax": ("x = (1\n", "1:5: error: SyntaxError: '(' was never closed"),
    "exception": (
        "\nx = 1\ny = x.size\n",
        "3:5: error: AttributeError: 'int' object has no attribute 'size'; FLAMBEAU_DEBUG=1 shows the traceback",
    ),
    "nested exception": ("def f():\n    return 1 / 0\nf()\n", "2:12: error: ZeroDivisionError: division by zero"),
    "exit": ("raise SystemExit(3)\n", "1:1: error: SystemExit: 3"),
    "import": (
        "import beside\n",
        "1:1: error: ModuleNotFoundError: No module named 'beside'; a file beside the plug-in is imported by `from .beside",
    ),
    "nothing": ("x = 1\n", "error: plug-in {} declares nothing: it may hold passes, dialects"),
    "pass": (PASS.format("name = 'cse'"), "2:7: error: plug-in {} " + TAKEN.format("pass 'cse'", "Flambeau")),
    "pass of xDSL": (PASS.format("name = 'dce'"), "2:7: error: plug-in {} " + TAKEN.format("pass 'dce'", "xDSL")),
    "pass as pipeline": (
        PASS.format("name = 'compile'"),
        "2:7: error: plug-in {} declares the pass 'compile', but there is a pipeline of that name",
    ),
    "pass twice": (
        PASS.format("name = 'mine'") + PASS.replace("MyPass", "Another").format("name = 'mine'"),
        "6:7: error: plug-in {} declares the pass 'mine' twice; give it another name",
    ),
    "pass without method": (
        "from flambeau.passes.kit import PatternPass\nclass MyPass(PatternPass):\n    name = 'mine'\n    def pattern(self): return []\n",
        "2:7: error: MyPass lacks a method: def patterns(self), the patterns to apply; pattern is something else",
    ),
    "pass whose method takes too little": (
        PASS.replace("(self, ctx, op)", "(self, op)").format("name = 'mine'"),
        "2:7: error: apply(self, op) of MyPass has the wrong parameters: write def apply(self, ctx, op)",
    ),
    "pass whose method is none": (
        "from flambeau.passes.kit import PatternPass\nclass MyPass(PatternPass):\n    name = 'mine'\n    patterns = []\n",
        "2:7: error: patterns of MyPass is not a method: write def patterns(self), the patterns to apply",
    ),
    "pass of no class": (
        "class MyPass:\n    name = 'mine'\n    def apply(self, ctx, op): pass\n",
        "1:7: error: plug-in {} declares nothing: MyPass is not a pass: derive it from PatternPass, OperationPass or ModulePass",
    ),
    "pass that is not public": (
        PASS.replace("MyPass", "_MyPass").format("name = 'mine'"),
        "2:7: error: plug-in {} declares nothing: _MyPass is not public, for it begins with _",
    ),
    "patterns only": (
        "from flambeau.passes.kit import op, rewrites\n@rewrites(op('aten.relu'))\ndef drop(relu): return relu.operands[0]\n",
        "3:5: error: plug-in {} declares nothing: drop is a pattern: a class derived from PatternPass, whose patterns() gives it, makes",
    ),
    "operation only": (
        "from xdsl.irdl import IRDLOperation, irdl_op_definition\n@irdl_op_definition\nclass MyOp(IRDLOperation):\n    name = 'a.b'\n",
        '3:7: error: plug-in {} declares nothing: MyOp is an operation: a dialect holds it, as in MINE = Dialect("mine", [MyOp], [])',
    ),
    "name that is no text": (PASS.format("name = 3"), "2:7: error: the name of MyPass is 3: it must be a string, such as 'my-pass'"),
    "dataclass that is not frozen": (
        "from dataclasses import dataclass\nfrom flambeau.passes.kit import PatternPass\n@dataclass\nclass MyPass(PatternPass): ...\n",
        "3:2: error: TypeError: cannot inherit non-frozen dataclass from a frozen one; passes do not change: write @dataclass(frozen=True)",
    ),
    "list as default": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Options:\n    sizes: list[int] = []\n",
        "; the values of an option are a tuple: sizes: tuple[int, ...] = (); FLAMBEAU_DEBUG=1 shows the traceback",
    ),
    "misspelt import": (
        "from flambeau.passes.kit import PaternPass\n",
        "1:1: error: ImportError: cannot import name 'PaternPass' from 'flambeau.passes.kit'; did you mean 'PatternPass'?; FLAMB",
    ),
    "misspelt attribute": (
        "from flambeau.passes import kit\nkit.PaternPass\n",
        "2:1: error: AttributeError: module 'flambeau.passes.kit' has no attribute 'PaternPass'; did you mean 'PatternPass'?",
    ),
    "file beside that is not there": (
        "from .gone import x\n",
        "1:1: error: ModuleNotFoundError: No module named '.gone'; there is no gone.py beside the plug-in; FLAMBEAU_DEBUG=1",
    ),
    "decorator without a name": (
        "from flambeau import pipeline\n@pipeline\ndef mine(options): return []\n",
        '2:2: error: @pipeline needs a name: write @pipeline("my-pipeline")',
    ),
    "meaning of no operation": (
        "from flambeau import interprets\n@interprets\ndef mine(op, values): return values\n",
        "2:2: error: @interprets is given a class of operations: write @interprets(MyOp)",
    ),
    "pattern that takes nothing": (
        "from flambeau.passes.kit import op, rewrites\n@rewrites(op('aten.relu'))\ndef drop(): return None\n",
        "2:2: error: ValueError: drop() is given one argument, what matched",
    ),
    "row of no class": (
        ROW.format("mine", "mine", "same(Tensor x) -> Tensor").replace("(SchemaOp)", ""),
        "3:2: error: ValueError: MyOp is not an operator: derive it from SchemaOp",
    ),
    "row whose function has self": (
        ROW.format("mine", "mine", "same(Tensor x) -> Tensor").replace("infer = staticmethod(lambda x: x)", "def infer(self, x): return x"),
        "3:2: error: infer of MyOp takes no self: write @staticmethod above it",
    ),
    "row whose function takes what the schema lacks": (
        ROW.format("mine", "mine", "same(Tensor x, *, float a=1.0) -> Tensor").replace("lambda x: x", "lambda y: y"),
        "3:2: error: infer of MyOp: the parameter y takes no argument of the schema (x, a); name it as the schema does, or write / behind",
    ),
    "row whose function misspells an argument that it has a default for": (
        ROW.format("mine", "mine", "same(Tensor x, *, float alpha=1.0) -> Tensor").replace("lambda x: x", "lambda x, alhpa=1.0: x"),
        "4:7: error: infer of MyOp: the parameter alhpa takes no argument of the schema (x, alpha), so it always has its default; "
        "did you mean 'alpha'?",
    ),
    "row whose function takes too much": (
        ROW.format("mine", "mine", "same(Tensor x, *, float a=1.0) -> Tensor").replace("lambda x: x", "lambda x, a, y, /: x"),
        "3:2: error: infer of MyOp: the parameter y is parameter 3 before /, which takes no argument of the schema (x, a)",
    ),
    "pass without name": (PASS.format("x = 1"), '2:7: error: MyPass has no name: write `name = "my-pass"` in it'),
    "odd name": (PASS.format("name = 'my pass'"), "2:7: error: 'my pass' cannot be the name of a pass: use letters, digits, - and _"),
    "options": (
        PASS.format("name = 'mine'; size: int = 3"),
        "2:7: error: MyPass has options (size) and is not a dataclass: write @dataclass(frozen=True)",
    ),
    "dialect": (DIALECT.format("exec"), "2:1: error: plug-in {} " + TAKEN.format("dialect 'exec'", "Flambeau")),
    "dialect of xDSL": (DIALECT.format("arith"), "2:1: error: plug-in {} " + TAKEN.format("dialect 'arith'", "xDSL")),
    "row": (
        ROW.format("fused", "flambeau", "linear(Tensor x) -> Tensor"),
        "3:2: error: plug-in {} declares the row 'fused.linear', but Flambeau has one of that name",
    ),
    "row of xDSL": (
        ROW.format("arith", "arith", "mine(Tensor x) -> Tensor"),
        "3:2: error: plug-in {} declares the row 'arith.mine', but the dialect 'arith' is",
    ),
    "pipeline": (FUNCTION.format("pipeline", "plan"), "2:2: error: plug-in {} " + TAKEN.format("pipeline 'plan'", "Flambeau")),
    "pipeline as pass": (
        FUNCTION.format("pipeline", "dce"),
        "2:2: error: plug-in {} declares the pipeline 'dce', but there is a pass of that name",
    ),
    "planner": (FUNCTION.format("planner", "greedy"), "2:2: error: plug-in {} " + TAKEN.format("planner 'greedy'", "Flambeau")),
    "front end": (FUNCTION.format("frontend", ".mlir"), "2:2: error: plug-in {} " + TAKEN.format("front end '.mlir'", "Flambeau")),
    "front end's key": (FUNCTION.format("frontend", "onnx"), "2:2: error: 'onnx' cannot be the name of a front end: "),
    "meaning": (
        "from flambeau import interprets\nfrom flambeau.dialects.aten.layers.activation import ReluOp\n"
        "@interprets(ReluOp)\ndef mine(*_): ...\n",
        "3:2: error: plug-in {} declares what 'aten.relu' means to the interpreter, but its row says what it means",
    ),
    "target": (
        "from flambeau.passes.targets.interface import Target\nMINE = Target('executorch', frozenset())\n",
        "2:1: error: plug-in {} " + TAKEN.format("target 'executorch'", "Flambeau"),
    ),
    "target's operators": (
        "from flambeau.passes.targets.interface import Target\nMINE = Target('mine', frozenset({'add'}))\n",
        "2:1: error: target 'mine': 'add' is not a kernel's name; they are like 'aten::add.out'",
    ),
    "backend's identifier": (
        "from dataclasses import replace\nfrom flambeau.passes.delegation.interface import find_backend\n"
        "MINE = replace(find_backend('elementwise'), name='mine')\n",
        "3:1: error: plug-in {} declares the backend 'mine' with the identifier 'FlambeauElementwise', but programs call the backend",
    ),
    "backend": (
        "from dataclasses import replace\nfrom flambeau.passes.delegation.interface import find_backend\n"
        "MINE = replace(find_backend('elementwise'), requires=('mine',))\n",
        "3:1: error: plug-in {} " + TAKEN.format("backend 'elementwise'", "Flambeau"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_plugin_is_one_line_with_its_place(case: str, tmp_path: Path):
    text, expected = BAD[case]
    path = write(tmp_path, "bad.py", text)
    write(tmp_path, "beside.py", "")
    before = (registered_passes(), pipelines(), set(sys.modules))
    with pytest.raises(PluginError) as caught:
        load_plugin(path)
    message = str(caught.value)
    assert expected.format(path) in message and "\n" not in message
    assert message.startswith((f"{path}:", "error: "))
    assert (registered_passes(), pipelines(), loaded_plugins()) == (*before[:2], ())
    assert not [name for name in set(sys.modules) - before[2] if name.endswith(".bad")]


def test_a_class_that_others_complete_is_no_pass(tmp_path: Path):
    base = "from flambeau.passes.kit import PatternPass\nclass Base(PatternPass):\n    def help(self): ...\n"
    done = "class DonePass(Base):\n    name = 'done'\n    def patterns(self): return []\n"
    assert load_plugin(write(tmp_path, "base.py", base + done)).declares == ("pass 'done'",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "from flambeau.passes.kit import PatternPass\nclass MyPass(PatternPass):\n    name = 'mine'\n    def patterns(self): pass\n",
            "mine: patterns() of MyPass gives NoneType, not a list of patterns",
        ),
        (
            "from flambeau import pipeline\n@pipeline('mine')\ndef mine(options): return ['cse']\n",
            "pipeline 'mine': its function gives 'cse' among its passes: it must give instances of passes",
        ),
    ],
)
def test_what_shows_only_when_it_runs_is_one_line_too(text: str, message: str, tmp_path: Path):
    load_plugin(write(tmp_path, "late.py", text))
    with pytest.raises((PassError, PipelineError), match=re.escape(message)):
        run("mine")


def test_what_a_plugin_prints_is_not_among_the_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    load_plugin(write(tmp_path, "talks.py", f"print('hello')\n{MARK}"))
    assert tuple(capsys.readouterr()) == ("", "hello\n")


def test_a_failing_plugin_leaves_nothing_of_what_it_had_declared(tmp_path: Path):
    text = FUNCTION.format("pipeline", "first") + "1 / 0\n"
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        load_plugin(write(tmp_path, "half.py", text))
    assert "first" not in pipelines()


def test_two_plugins_that_clash_are_both_named(tmp_path: Path):
    load_plugin(write(tmp_path, "one.py", MARK))
    with pytest.raises(PluginError, match=r"plug-in .*two\.py declares the pass 'mark', but plug-in .*one\.py has one of that name"):
        load_plugin(write(tmp_path, "two.py", MARK))


@pytest.mark.parametrize(("name", "expected"), [("nope.py", "no such file"), ("folder", "no __init__.py"), ("a.txt", "is a .py file")])
def test_what_is_no_plugin_is_refused(name: str, expected: str, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    write(tmp_path, "a.txt", "")
    with pytest.raises(PluginError, match=expected):
        load_plugin(tmp_path / name)


def test_the_traceback_is_there_for_who_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("FLAMBEAU_DEBUG", "1")
    with pytest.raises(PluginError):
        load_plugin(write(tmp_path, "bad.py", "1 / 0\n"))
    assert "Traceback" in capsys.readouterr().err


# The tools


def test_flambeau_opt_loads_plugins_for_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "mark.py", MARK)
    write(tmp_path, "x.mlir", "builtin.module {}\n")
    assert opt_main(["x.mlir", "--load-plugin", "mark.py", "--load-plugin=mark.py", "-p", "mark"]) == 0
    assert "builtin.module attributes {marked}" in capsys.readouterr().out
    assert opt_main(["x.mlir", "-p", "mark"]) == 1
    assert "there is no pass or pipeline 'mark'" in capsys.readouterr().err
    monkeypatch.setenv("FLAMBEAU_PLUGINS", os.pathsep.join(["mark.py", ""]))
    assert opt_main(["x.mlir", "-p", "mark"]) == 0
    assert "marked" in capsys.readouterr().out
    monkeypatch.setenv("FLAMBEAU_PLUGINS", "gone.py")
    assert opt_main(["x.mlir"]) == 1
    assert capsys.readouterr().err == "error: plug-in gone.py: no such file\n"


def test_flambeau_opt_shows_the_line_of_a_plugin_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "bad.py", "x = 1\nx.size\n")
    assert opt_main(["--load-plugin", "bad.py"]) == 1
    head, line, caret = capsys.readouterr().err.splitlines()
    assert head.startswith("bad.py:2:1: error: AttributeError: 'int' object has no attribute 'size'")
    assert (line, caret) == ("x.size", "^~~~~~")


def test_a_bug_in_a_pass_is_shown_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "mark.py", MARK.replace("= UnitAttr()", "= UnitAttribute()"))
    write(tmp_path, "x.mlir", "builtin.module {}\n")
    assert opt_main(["x.mlir", "--load-plugin", "mark.py", "-p", "mark", "--no-reproducer"]) == 70
    assert "error: mark: internal error: NameError: name 'UnitAttribute' is not defined\n" in (error := capsys.readouterr().err)
    excerpt = "        op.attributes[self.text] = UnitAttribute()\n" + 35 * " " + "^~~~~~~~~~~~~\n"
    assert f"mark.py:12:36: note: raised here\n{excerpt}" in error


def test_flambeau_opt_lists_plugins(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        opt_main(["--load-plugin", str(write(tmp_path, "mark.py", MARK)), "--list-plugins"])
    assert ended.value.code == 0
    assert f"{tmp_path / 'mark.py'}:\n  pass 'mark'\n" in capsys.readouterr().out


USES_SAME = """
func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  %0 = core.relu(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mine.same(%0) : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
"""


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_commands_of_flambeau_load_plugins(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    row = ROW.format("mine", "mine", "same(Tensor x) -> Tensor") + "    numpy = staticmethod(lambda x: x + 1)\n"
    plugin = write(tmp_path, "mine.py", row)
    source = write(tmp_path, "x.mlir", USES_SAME)
    arguments = {"inspect": [], "run": ["--input", str(tmp_path / "x.npy"), "--json"]}[command]
    np.save(tmp_path / "x.npy", np.float32(2))
    assert flambeau_main([command, str(source), *arguments, "--load-plugin", str(plugin)]) == 0
    assert {"inspect": "mine.same", "run": "3.0"}[command] in capsys.readouterr().out
    assert flambeau_main([command, str(source), *arguments]) == 1
    assert "mine.same" in capsys.readouterr().err


PINGING = """
from flambeau.passes.kit import PatternPass, op, rewrites

@rewrites(op("aten.cos"), counter="cosines pinged")
def ping(cos):
    return None

class PingPass(PatternPass):
    name = "NAME"

    def patterns(self):
        return [ping]
"""


@pytest.mark.parametrize("name", ["ping", "own-ping", "hello"])
def test_a_plugins_pass_that_begins_like_a_short_option_takes_two_dashes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    plugin = str(write(tmp_path, "pinging.py", PINGING.replace("NAME", name)))
    write(tmp_path, "x.mlir", "builtin.module {}\n")
    with pytest.raises(SystemExit) as ended:
        opt_main([str(tmp_path / "x.mlir"), "--load-plugin", plugin, f"-{name}"])
    assert ended.value.code == 2
    assert f"write --{name}" in capsys.readouterr().err


def test_the_counters_of_functions_under_rewrites_are_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin = str(write(tmp_path, "pinging.py", PINGING.replace("NAME", "counting-pings")))
    with pytest.raises(SystemExit):
        opt_main(["--load-plugin", plugin, "--help-pass", "counting-pings"])
    assert "statistics:\n  cosines pinged\n" in capsys.readouterr().out
