"""`flambeau bisect` as a command: what it prints and writes, and that what it says can be seen again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from chains import chain

from flambeau.tools.main import main
from flambeau.tools.opt.driver import main as opt

STATEFUL = """\
from flambeau.passes.kit import *

Tanh, Neg = op("aten.tanh"), op("aten.neg")
seen = []


@rewrites(Tanh)
def third(found):
    seen.append(found)
    return Neg(found.operands[0]) if len(seen) % 3 == 0 else None


class ThirdPass(PatternPass):
    \"\"\"Every third one is wrong.\"\"\"

    name = "third"

    def patterns(self):
        return [third]
"""


def test_a_rewrite_that_a_new_process_does_not_show_is_not_blamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, model = tmp_path / "stateful.py", tmp_path / "model.mlir"
    plugin.write_text(STATEFUL)
    model.write_text(chain("tanh", "neg", "tanh", "neg", "tanh", "neg"))
    status = main(["bisect", str(model), "-p", "cse,third", f"--load-plugin={plugin}", "-o", str(tmp_path / "found"), "--json"])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    report = json.loads(shown.out)
    assert (report["pass"]["name"], report["rewrite"]) == ("third", None)
    assert "not reproducible" in report["reason"] or "in a new process" in report["reason"]
    assert opt(shlex.split(report["replay"])[1:]) == 1


LOADS_ONCE = """\
from pathlib import Path

from flambeau.passes.kit import *

mark = Path(__file__).with_suffix(".loaded")
if mark.exists():
    raise ValueError("it was loaded before")
mark.touch()


@rewrites(op("aten.tanh"))
def refuse(found):
    raise ValueError("no good")


class RefusePass(PatternPass):
    \"\"\"Fails.\"\"\"

    name = "refuse"

    def patterns(self):
        return [refuse]
"""


def test_a_new_process_that_fails_otherwise_confirms_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, model = tmp_path / "loads_once.py", tmp_path / "model.mlir"
    plugin.write_text(LOADS_ONCE)
    model.write_text(chain("tanh"))
    status = main(["bisect", str(model), "-p", "refuse", "--crash", f"--load-plugin={plugin}", "-o", str(tmp_path / "found")])
    error = capsys.readouterr().err
    assert status == 1
    assert "seemed guilty, but fails differently in a new process: " in error and "it was loaded before" in error


PLUGIN = """\
from dataclasses import dataclass

from flambeau.dialects.aten.layers.activation import TanhOp
from flambeau.dialects.schema.namespace import aten
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


class ScalePattern(Pattern):
    roots = (TanhOp,)

    def rewrite(self, op, rewriter):
        if op.parent_op().sym_name.data == "second":
            replace_with_values(op, [aten.mul.Scalar(op.operands[0], 2)], rewriter)


@dataclass(frozen=True)
class ScalePass(PatternPass):
    name = "scale"
    factor: int = 2

    def patterns(self):
        return [ScalePattern()]
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    plugin, model = tmp_path / "scale.py", tmp_path / "model.mlir"
    plugin.write_text(PLUGIN)
    model.write_text(chain("tanh", "tanh") + chain("relu", "tanh", "tanh", function="second"))
    return plugin, model


def test_the_replay_shows_it_and_one_rewrite_less_does_not(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, model = files
    folder = tmp_path / "found"
    arguments = [
        "bisect",
        str(model),
        "-p",
        "func.func(cse,scale{factor=3})",
        f"--load-plugin={plugin}",
        "-o",
        str(folder),
        "--seed=3",
    ]
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["pass"] == {
        "name": "scale",
        "text": "scale{factor=3}",
        "number": 2,
        "first_number": 2,
        "total": 2,
        "on": "@second",
    }
    assert report["rewrite"]["number"] == 1
    tool, *replay = shlex.split(report["replay"])
    assert tool == "flambeau-opt"
    assert opt(replay) == 1
    assert "scale: " in (error := capsys.readouterr().err)
    assert "changes the result: output 0 of @second differs" in error
    count = report["rewrite"]["attempt"]
    assert replay[-1].endswith(f"count={count}")
    assert opt([*replay[:-1], replay[-1].removesuffix(str(count)) + str(count - 1)]) == 0
    for name in ("before-pass", "before-rewrite", "after-rewrite"):
        assert opt([str(folder / f"{name}.mlir")]) == 0
    first = capsys.readouterr().out
    assert "aten.mul.Scalar" in first

    assert main([*arguments, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {**again, "seconds": 0} == {**report, "seconds": 0}

    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "pass 2 of 2: scale{factor=3} on @second" in shown
    assert "rewrite 1 of 2: ScalePattern, attempt" in shown
    assert f"replay: {report['replay']}" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-p", "cse"],
            "there is nothing to find: the predicate is that the pipeline changes the result, but the results are the same",
        ),
        (
            ["-p", "cse", "--crash"],
            "there is nothing to find: the predicate is that the pipeline fails, but it does not",
        ),
        (["-p", "cse", "--crash", "--script", "true"], "give one predicate only"),
        (["-p", "cse", "--not"], "--not is for --filecheck and --script"),
        (["-p", "cse", "--error", "("], "--error '(' is not a regular expression"),
        (["-p", "nothing"], "there is no pass or pipeline 'nothing'"),
        ([], "give a pipeline (-p)"),
        (["--script", "true"], "the pipeline has no passes to choose from"),
        (
            ["-p", "cse", "--script", "no-such-command"],
            "the script 'no-such-command' cannot be run",
        ),
        (["-p", "cse", "--inputs", "none.npz"], "none.npz: No such file or directory"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(
    arguments: list[str],
    message: str,
    files: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
):
    assert main(["bisect", str(files[1]), *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) <= 3


LATER = """\
from flambeau.passes.kit import *

Tanh, Abs = op("aten.tanh"), op("aten.abs")


class TogetherPass(ModulePass):
    \"\"\"Changes all results of tanh in two sweeps: between them the IR is invalid. Then it puts abs in the place of the last.\"\"\"

    name = "together"

    def apply(self, ctx, op):
        found = [inner for inner in op.walk() if isinstance(inner, Tanh)]
        kind = found[0].results[0].type
        for inner in found[:-1]:
            if may_rewrite(self.name, inner):
                Rewriter.replace_value_with_new_type(inner.results[0], tensor(f64, (16,)))
        for inner in found[:-1]:
            if may_rewrite(self.name, inner):
                Rewriter.replace_value_with_new_type(inner.results[0], kind)
        if may_rewrite(self.name, found[-1]):
            PatternRewriter(found[-1]).replace(found[-1], Abs(found[-1].operands[0]))


from xdsl.dialects.builtin import f64
from xdsl.rewriter import Rewriter
"""


def test_a_rewrite_among_forms_that_are_not_valid_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plugin, model = tmp_path / "later.py", tmp_path / "model.mlir"
    plugin.write_text(LATER)
    model.write_text(chain("tanh", "tanh", "tanh"))
    assert main(["bisect", str(model), "-p", "together", f"--load-plugin={plugin}", "-o", str(tmp_path / "found"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rewrite"]["number"], report["rewrite"]["operation"].split(" = ")[1][:9]) == (5, "aten.tanh")
