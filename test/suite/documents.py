"""Tests the code in the pages of docs/: the language and the title of a fenced block say how it is tested.

* A block with `title="file"` is written to that file, in a temporary folder of the page.
* `python` is executed; the blocks of a page share their names.
* `mlir` is parsed, verified and printed; the printed text must parse back to the same IR.
* `console`: each `$ command` runs in bash, in that folder. Its stdout and stderr together must equal the text below it, in which `...`
  matches any text. A command that must fail ends with `# fails`.
  A block that uses a tool of MLIR (`mlir-opt-19`), a cross compiler or QEMU is skipped if this tool is not installed.
* `text`, `json`, `toml` and others without a title are not tested.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from command_server import command_path
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.region import Region

_INFO = re.compile(r"(?P<language>[\w+-]+)?(?:[ \t]+(?P<attributes>[^\n]*))?[ \t]*\n?")
_OPTIONAL_TOOL = re.compile(r"\bmlir-opt-[0-9]+\b|\baarch64-linux-gnu-gcc\b|\bqemu-aarch64\b")
_TITLE = re.compile(r'title="([^"]+)"')
_run_python = PythonEvaluator()


class BlockParser:
    """Finds the fenced blocks of a page that are tested."""

    def __init__(self) -> None:
        self._lexer = RawFencedCodeBlockLexer(_INFO)

    def __call__(self, document: Document) -> list[Region]:
        """Returns the blocks, each with its evaluator."""
        found: list[Region] = []
        for region in self._lexer(document):
            title = _TITLE.search(region.lexemes["attributes"] or "")
            language = region.lexemes["language"]
            evaluator = _write_file if title else {"python": _run_python, "mlir": _check_ir, "console": _run_console}.get(language)
            if evaluator is not None:
                region.parsed = region.lexemes["source"]
                region.evaluator = evaluator
                region.lexemes["title"] = title[1] if title else None
                found.append(region)
        return found


def _write_file(example: Example) -> None:
    path = Path(example.region.lexemes["title"])
    assert not path.is_absolute(), path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(example.parsed)
    sys.modules.pop(path.stem, None)  # another test may have loaded a module of that name


def _check_ir(example: Example) -> None:
    from flambeau.dialects.ir.equivalence import equivalent
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.dialects.text.module_text import parse_module, print_module, verify_parsed

    parsed = parse_module(example.parsed, FlambeauContext(), f"{example.path}:{example.line}")
    verify_parsed(parsed)
    printed = print_module(parsed.module)
    assert equivalent(parse_module(printed, FlambeauContext()).module, parsed.module)


def commands_of(text: str) -> list[tuple[str, str]]:
    """The commands of a console session, each with the output that follows it. A line that begins with `> ` continues a command."""
    commands: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], ""))
        elif not commands:
            raise ValueError(f"a console session begins with '$ ', not with {line!r}")
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1] = (f"{commands[-1][0]}\n{line[2:]}", "")
        else:
            command, output = commands[-1]
            commands[-1] = (command, f"{output}{line}\n")
    return commands


def matches(expected: str, actual: str) -> bool:
    """Whether the output matches the page, except for spaces at the ends of lines."""
    pattern = ".*?".join(re.escape(part) for part in _without_trailing_space(expected).split("..."))
    return re.fullmatch(pattern, _without_trailing_space(_PROGRESS.sub("", actual)), re.DOTALL) is not None


_PROGRESS = re.compile(r"^(bisecting|reducing|comparing targets for .*|compiling .*|reporting .*|testing .*|tuning .*): .*\n", re.MULTILINE)
"""Lines of progress, which commands print once a second: a page shows none, and a slow machine prints more of them."""


def _without_trailing_space(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _run_console(example: Example) -> None:
    if any(shutil.which(tool) is None for tool in _OPTIONAL_TOOL.findall(example.parsed)):
        return
    environment = os.environ | {
        "PATH": command_path(),
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "TMPDIR": os.getcwd(),  # files that tools leave behind are deleted with the folder of the page
    }
    for command, expected in commands_of(example.parsed):
        done = subprocess.run(
            ["bash", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        fails = re.search(r"#\s*fails\s*$", command) is not None
        assert (done.returncode != 0) == fails, f"$ {command}\nreturned {done.returncode}:\n{done.stdout}"
        assert matches(expected, done.stdout), f"$ {command}\nprinted:\n{done.stdout}\nthe page expects:\n{expected}"


def _enter(namespace: dict[str, Any]) -> None:
    from flambeau.plugins.loader import plugin_scope
    from flambeau.support.tables import declared_by

    namespace["_before"] = os.getcwd()
    namespace["_plugins"] = ExitStack()
    namespace["_plugins"].enter_context(plugin_scope())
    namespace["_declared"] = namespace["_plugins"].enter_context(declared_by("a page"))
    namespace["_folder"] = tempfile.TemporaryDirectory(prefix="flambeau-docs-")
    os.chdir(namespace["_folder"].name)
    sys.path.insert(0, os.getcwd())


def _leave(namespace: dict[str, Any]) -> None:
    folder = os.getcwd()
    namespace["_plugins"].close()
    for registration in reversed(namespace["_declared"]):
        registration.undo()
    sys.path.remove(folder)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(folder):
            del sys.modules[name]
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


def documents_in(folder: Path) -> Callable[..., Any]:
    """The value of `pytest_collect_file` in a conftest.py that tests the pages in `folder`."""
    excludes = ["reference/passes.md"]  # the examples are tested in the folders of the passes
    return Sybil(parsers=[BlockParser()], path=str(folder), patterns=["*.md"], excludes=excludes, setup=_enter, teardown=_leave).pytest()
