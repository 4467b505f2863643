"""One dash or two, our names and those of other tools: what an argument of flambeau-opt stands for."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from flambeau.tools.opt import main
from flambeau.tools.opt.argument_parser import make_parser
from flambeau.tools.opt.foreign_options import ALIASES, HINTS, NOTHING_TO_DO

OPTIONS = {option.lstrip("-") for action in make_parser()._actions for option in action.option_strings}
EVERY_SPELLING = {option.lstrip("-") for option in make_parser()._option_string_actions}


def parsed(*arguments: str) -> dict[str, object]:
    return vars(make_parser().parse_args(arguments))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("-split-input-file", ("--split-input-file",)),
        ("-split-input-file=//", ("--split-input-file=//",)),
        ("-pass-pipeline=builtin.module(cse)", ("-p", "builtin.module(cse)")),
        ("-mlir-print-ir-after-all", ("--print-ir-after-all",)),
        ("--mlir-print-ir-tree-dir=x", ("--dump-dir=x",)),
        ("-profile-actions-to=x=y", ("--profile-actions=x=y",)),
        ("--mlir-timing=true", ("--timing",)),
        ("--timing=1", ("--timing",)),
        ("-timing=false", ()),
        ("-timing=FALSE", ()),
        ("-mlir-disable-threading", ()),
        ("--mlir-disable-threading=1", ()),
        ("-plan-memory=alignment=64", ("--passes=plan-memory{alignment=64}",)),
        ("-optimize-core", ("--passes=optimize-core",)),
        ("-output=x", ("-o", "x")),
        ("-pcse", ("-p", "cse")),
        ("-ox.mlir", ("-o", "x.mlir")),
        ("-pcompile", ("-p", "compile")),
        ("-pcompile,cse", ("-p", "compile,cse")),
        ("-output.mlir", ("-o", "utput.mlir")),
        ("-1", ("--", "-1")),
        ("-", ("--", "-")),
        ("a.mlir", ("--", "a.mlir")),
        ("a-timing", ("--", "a-timing")),
    ],
)
def test_what_an_argument_stands_for(argument: str, expected: tuple[str, ...]):
    assert parsed(argument) == parsed(*expected)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("-optimize-cor", "there is no option or pass 'optimize-cor'; did you mean '--optimize-core'?"),
        ("-print-ir-after-al", "there is no option or pass 'print-ir-after-al'; did you mean '--print-ir-after-all'?"),
        ("-pas-pipeline=cse", "there is no option or pass 'pas-pipeline'; did you mean '--pass-pipeline'?"),
        ("-mlir-timin", "there is no option or pass 'mlir-timin'; did you mean '--timing'?"),
        ("---timing", "there is no option or pass '-timing'"),
        ("-timing=maybe", "argument --timing: expected 0 or 1, got 'maybe'"),
        ("-p", "argument -p/--passes/--pass-pipeline: expected one argument"),
    ],
)
def test_what_an_argument_does_not_stand_for(argument: str, message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parsed(argument)
    assert message in capsys.readouterr().err


def test_of_a_flag_on_and_off_the_last_counts():
    assert parsed("-timing", "a", "--mlir-timing=false", "-print-ir-after-all") == parsed("a", "--print-ir-after-all")
    assert parsed("-timing=0", "-timing") == parsed("--timing")


@pytest.mark.parametrize("argument", ["-emit-bytecode", "--mlir-output-format=json", "-debug", "-print-between-passes"])
def test_options_of_other_tools_are_told_what_there_is_instead(argument: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main([argument])
    name = argument.lstrip("-").partition("=")[0]
    assert f"there is no option {name!r}; {HINTS[name]}\n" in capsys.readouterr().err


def test_the_tables_name_options_that_exist_and_no_option_twice():
    assert set(ALIASES.values()) <= OPTIONS
    names = [*ALIASES, *HINTS, *NOTHING_TO_DO]
    assert len(names) == len(set(names)) and not set(names) & OPTIONS
    assert {word for text in HINTS.values() for word in re.findall(r"--([a-z-]+)", text)} <= OPTIONS


def test_every_general_option_of_mlir_opt_is_known_where_that_is_installed():
    path = shutil.which("mlir-opt-19")
    shown = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout if path is not None else ""
    general = set(
        re.findall(
            r"^  --?((?:mlir|log|profile-actions|load|split|output|pass-p|verify|dump|run|irdl|show|emit-b)[\w-]*)", shown, re.MULTILINE
        )
    )
    foreign = {"verify-region-info", "runtime-counter-relocation"}
    assert general - foreign - EVERY_SPELLING - {*HINTS, *NOTHING_TO_DO} == set()
