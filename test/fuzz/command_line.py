"""`flambeau-opt` with random options, pipelines, files and inputs: an exit status that is documented, IR alone on stdout, no traceback.

A case is a text: a line for each argument, a line of dashes, and what stands on stdin.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import cast
from unittest.mock import patch

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module
from flambeau.dialects.text.source_text import Source
from flambeau.passes.manager.registry import own_pass_names
from flambeau.passes.pipelines import PIPELINES
from flambeau.tools.opt.argument_parser import SPLIT_MARKER, make_parser
from flambeau.tools.opt.driver import main
from flambeau.tools.opt.foreign_options import ALIASES, HINTS, NOTHING_TO_DO
from flambeau.tools.opt.input import split
from fuzz.campaign import Campaign, Failure
from fuzz.mutation import ROOT, changed, mutated, original, piece

_BREAK = "-" * 40
_SHOWS = (
    "--help",
    "-h",
    "--help-pass",
    "--list-passes",
    "--show-dialects",
    "--list-targets",
    "--list-backends",
    "--list-plugins",
    "--emit-irdl",
    "--version",
)
_FILES = (
    "a.mlir",
    "new.txt",
    "folder",
    "folder/new",
    "missing/new",
    "/proc/nothing",
    "",
    "plugin.py",
    "broken.py",
    "a.npz",
    "binary",
    "-",
)
_NUMBERS = ("0", "1", "2", "5", "-1", "1e3", "nan", "inf", "9" * 30, "9" * 5000, "x", "", "0x1", "1.5", "٣")
_XDSL = ("convert-scf-to-cf", "dce", "mlir-opt", "lower-affine", "convert-arith-to-riscv", "control-flow-hoist")
_EXPECTATIONS = (
    *("expected-error {{x}}", "expected-error", "expected-error {{", "expected-error-re {{{{(}}}}", "expected-error @+1 {{type}}"),
    *("expected-error @+99999999999999999999 {{}}", "expected-note@above {{a}} expected-remark @below {{b}}", "expected-nothing {{a}}"),
    *(
        "expected-warning @unknown {{}}",
        "expected-error@ {{a}}",
        "expected-error @-5 {{a}}",
        "expected-error-re {{a}} }}",
        "expected-error-re {{{{a}}",
    ),
    "expected-error @+" + "9" * 5000 + " {{a}}",
)
_PLUGIN = (ROOT / "test" / "filecheck" / "plugins" / "double.py").read_text()
_BROKEN = (
    "import nothing_of_this_name",
    "def f(:",
    "raise KeyboardInterrupt",
    "raise SystemExit(3)",
    "1 / 0",
    "x = 1",
    "class P: name = 'p'",
)


def _pipeline(chosen: random.Random, depth: int = 0) -> str:
    elements: list[str] = []
    for _ in range(chosen.choice((1, 1, 2, 3))):
        if depth < 3 and chosen.random() < 0.2:
            anchor = chosen.choice(("builtin.module", "func.func", "any", "exec.method", "delegate.partition", "nothing", "func"))
            elements.append(f"{anchor}({_pipeline(chosen, depth + 1)})")
            continue
        element = chosen.choice((*own_pass_names(), *PIPELINES, chosen.choice(_XDSL)))
        if chosen.random() < 0.2:
            key = chosen.choice(("alignment", "max-iterations", "target", "file", "patterns", "x", "top-down"))
            element += f"{{{key}={chosen.choice((*_NUMBERS, 'true', 'portable', '[1,2]', 'a.mlir'))}}}"
        elements.append(element)
    text = ",".join(elements)
    if chosen.random() < 0.1:
        at = chosen.randrange(len(text) + 1)
        text = text[:at] + chosen.choice(("{", "}", "(", ")", ",", "=", '"', " ", "é", "\n", "-", "{a=")) + text[at + chosen.randrange(2) :]
    return text


@cache
def _parser() -> argparse.ArgumentParser:
    return make_parser()


def _options() -> list[argparse.Action]:
    return [action for action in _parser()._actions if action.option_strings]


def _name_of(argument: str) -> str:
    """Our name of the option that an argument is, without dashes; else the argument."""
    name = argument.partition("=")[0]
    action = _parser()._option_string_actions.get(name)
    return (name if action is None else action.option_strings[-1]).lstrip("-")


_SHOWN = {name.lstrip("-") for name in _SHOWS}


def _value(action: argparse.Action, chosen: random.Random) -> str:
    if action.choices and chosen.random() < 0.9:
        return chosen.choice([str(item) for item in cast("list[object]", action.choices)])
    match action.metavar:
        case "PASS,…" | "NAME" | "DIALECT,…":
            return chosen.choice((*own_pass_names(), *PIPELINES, "aten", "core,edge", "nothing", "", ",", "cse,canonicalize"))
        case "NAME-skip=N,NAME-count=N":
            name = chosen.choice(("*", "cse", "canonicalize", "x", "", "FoldConstants", "ReluPattern"))
            return ",".join(f"{name}-{chosen.choice(('skip', 'count', 'x'))}={chosen.choice(_NUMBERS)}" for _ in range(chosen.randrange(3)))
        case "MARKER":
            return chosen.choice(("// -----", "", "//", "\n", "{", " ", "(", "func", "é"))
        case "REGEX":
            return chosen.choice((".", "", "(", "[", "cse", "(?P<x>", "*", "a{99999999999}"))
        case "PIPELINE":
            return _pipeline(chosen)
        case "0|1" | "TOLERANCE" | "N":
            return chosen.choice(_NUMBERS)
        case _:
            return chosen.choice(_FILES)


def _spelt(name: str, chosen: random.Random) -> str:
    """A name of an option as others write it."""
    names = [name] * 4
    if name.startswith("--"):
        names += [name[1:], f"--mlir-{name[2:]}", *(f"--{alias}" for alias, ours in ALIASES.items() if name == f"--{ours}")]
    return chosen.choice(names)


def _arguments(chosen: random.Random) -> list[str]:
    arguments: list[str] = []
    for _ in range(chosen.choice((0, 1, 1, 2, 3, 5))):
        action = chosen.choice(_options())
        if action.option_strings[0] in _SHOWS and chosen.random() < 0.7:
            continue
        name = _spelt(chosen.choice(action.option_strings), chosen)
        if action.nargs == 0:
            arguments.append(name)
        elif action.nargs == "?":
            arguments.append(name if chosen.random() < 0.5 else f"{name}={_value(action, chosen)}")
        else:
            value = _value(action, chosen)
            arguments += [f"{name}={value}"] if chosen.random() < 0.5 and name.startswith("--") else [name, value]
    if chosen.random() < 0.6:
        arguments += ["-p", _pipeline(chosen)]
    elif chosen.random() < 0.3:
        arguments.append(
            "--" + chosen.choice((*own_pass_names(), "nothing", "cse=", "plan-memory=alignment=64", "plan-memory=alignment=x", ""))
        )
    if chosen.random() < 0.05:
        arguments.append(f"-{chosen.choice(('', '-'))}{chosen.choice((*HINTS, *NOTHING_TO_DO))}")
    if chosen.random() < 0.1:
        arguments.append(chosen.choice(_FILES))
    if chosen.random() < 0.3:
        arguments.append("--allow-unregistered-dialect")
    chosen.shuffle(arguments) if chosen.random() < 0.1 else None
    return arguments


def make(chosen: random.Random) -> str:
    """Arguments and a text."""
    text = mutated(chosen) if chosen.random() < 0.3 else original(chosen)
    if chosen.random() < 0.2:
        text += "// -----\n" + original(chosen)
    if chosen.random() < 0.15:
        lines = text.split("\n")
        lines[chosen.randrange(len(lines))] += f" // {chosen.choice(_EXPECTATIONS)}"
        text = "\n".join(lines)
        if chosen.random() < 0.3:
            text = changed(text, chosen)
    if chosen.random() < 0.1:
        header = "// configuration: --passes 'cse' --verify-each=1\n"
        text = (changed(header, chosen) if chosen.random() < 0.7 else header) + text
    arguments = _arguments(chosen)
    if chosen.random() < 0.05 and arguments:
        arguments[chosen.randrange(len(arguments))] = piece(chosen)
    lines = [argument.replace("\n", " ").replace("\r", " ") for argument in arguments]
    return "\n".join([f"{chosen.randrange(len(_BROKEN))}", *lines, _BREAK, text])


class _Input:
    def __init__(self, text: str):
        self.buffer = io.BytesIO(text.encode("utf-8", "surrogatepass"))


def _run(arguments: list[str], text: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    with patch.object(sys, "stdin", _Input(text)), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 2
    return status, stdout.getvalue(), stderr.getvalue()


def check(case: str) -> str:
    """Runs the tool in a folder of its own."""
    head, found, text = case.partition(f"\n{_BREAK}\n")
    first, *arguments = head.split("\n")
    if not found or not first.isdecimal():
        return "no case"
    folder = Path(tempfile.mkdtemp())
    try:
        with chdir(folder):
            Path("folder").mkdir()
            Path("a.mlir").write_text(original(random.Random(len(text))))
            Path("plugin.py").write_text(_PLUGIN)
            Path("broken.py").write_text(_BROKEN[int(first) % len(_BROKEN)])
            Path("a.npz").write_bytes(b"PK\x03\x04 this is no archive")
            Path("binary").write_bytes(bytes(range(256)))
            status, stdout, stderr = _run(arguments, text)
    finally:
        shutil.rmtree(folder)
    what = f"status {status}\n{stderr[-3000:]}"
    if "Traceback" in stderr:
        raise Failure("traceback on stderr", what)
    if status == 70:
        lines = [line for line in stderr.splitlines() if "internal error" in line]
        raise Failure(f"internal error: {lines[0].partition('error:')[2] if lines else ''}", what)
    if status not in (0, 1, 2, 130):
        raise Failure(f"exit status {status}", what)
    if status and not stderr:
        raise Failure("an error without a word", what)
    if any(_name_of(argument) in _SHOWN for argument in arguments):
        return "shown"
    if status == 2 and stdout:
        raise Failure("usage error with output", what + stdout[:500])
    _check_output(arguments, stdout, what)
    return {0: "valid", 1: "error", 2: "usage"}.get(status, "interrupted")


def _check_output(arguments: list[str], stdout: str, what: str) -> None:
    names = {_name_of(argument) for argument in arguments}
    odd = ("print-for-irdl", "run-reproducer", "output-split-marker")
    if any(name.startswith(odd) for name in names) or any("split-input-file=" in argument for argument in arguments):
        return
    for part in split(Source(stdout), SPLIT_MARKER) if "split-input-file" in names else [Source(stdout)]:
        if not part.text.strip():
            continue
        try:
            parse_module(part.text, FlambeauContext(allow_unregistered=True))
        except IRError as error:
            if "is not registered" not in str(error) and "plugin.py" not in what and "there is no dialect" not in str(error):
                raise Failure("stdout is not IR", f"{what}\n{error}\n{part.text[:3000]}") from error


os.environ.pop("FLAMBEAU_DEBUG", None)
CAMPAIGN = Campaign(make, check)
