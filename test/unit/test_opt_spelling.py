"""One dash or two, our names and those of other tools: what an argument of flambeau-opt stands for."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from flambeau.tools.opt import main
from flambeau.tools.opt.argument_parser import make_parser
from flambeau.tools.opt.spelling import ALIASES, HINTS, NOTHING_TO_DO, Spelling

OPTIONS = {option.lstrip("-") for action in make_parser()._actions for option in action.option_strings}


def spelling() -> Spelling:
    return Spelling(OPTIONS, {"timing", "print-ir-after-all"}, lambda: ("plan-memory", "plan", "cse", "optimize-core"))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("-split-input-file", "--split-input-file"),
        ("-split-input-file=//", "--split-input-file=//"),
        ("-pass-pipeline=builtin.module(cse)", "--pass-pipeline=builtin.module(cse)"),
        ("-mlir-print-ir-after-all", "--print-ir-after-all"),
        ("--mlir-print-ir-tree-dir=x", "--dump-dir=x"),
        ("-profile-actions-to=x=y", "--profile-actions=x=y"),
        ("--mlir-timing=true", "--timing"),
        ("--timing=1", "--timing"),
        ("-timing=false", None),
        ("-timing=maybe", "--timing=maybe"),
        ("-mlir-disable-threading", None),
        ("-plan-memory=alignment=64", "--plan-memory=alignment=64"),
        ("-optimize-core", "--optimize-core"),
        ("-output=x", "--output=x"),
        ("-pcse", "-pcse"),
        ("-ox.mlir", "-ox.mlir"),
        ("-pplan", "-pplan"),
        ("-pplan,cse", "-pplan,cse"),
        ("-output.mlir", "-output.mlir"),
        ("-optimize-cor", "--optimize-cor"),
        ("-print-ir-after-al", "--print-ir-after-al"),
        ("-pas-pipeline=cse", "--pas-pipeline=cse"),
        ("-p", "-p"),
        ("-", "-"),
        ("-1", "-1"),
        ("a.mlir", "a.mlir"),
        ("a-timing", "a-timing"),
        ("---timing", "---timing"),
    ],
)
def test_what_an_argument_stands_for(argument: str, expected: str | None):
    assert spelling().resolve(argument) == expected


def test_of_a_flag_on_and_off_the_last_counts():
    assert spelling().resolve_all(["-timing", "a", "--mlir-timing=false", "-print-ir-after-all"]) == ["a", "--print-ir-after-all"]
    assert spelling().resolve_all(["-timing=0", "-timing"]) == ["--timing"]


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
    unknown = {name for name in general - foreign if spelling().name_of(name) not in OPTIONS} - {*HINTS, *NOTHING_TO_DO}
    assert unknown == set()
