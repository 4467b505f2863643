"""Tools: programs of vendors that are found, asked for their version, ended when they run too long, and whose results are kept."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.passes.delegation.interface import Backend, BackendError, Encoded, one_by_one, register_backend
from flambeau.passes.vendor_tools import kept_results
from flambeau.passes.vendor_tools.kept_results import results_folder
from flambeau.passes.vendor_tools.tool import Tool, ToolError
from flambeau.support.tables import declared_by
from flambeau.tools.opt import help

COMPILER = """import os, sys, time
words = sys.argv[1:]
with open(LOG, "a") as file:
    file.write(" ".join(words) + "\\n")
if words == ["--version"]:
    print("vela compiler, version 4.2.0")
    sys.exit()
text = open(words[0]).read()
if text == "slow":
    if os.fork() == 0:
        time.sleep(1.5)
        open(LOG, "a").write("outlives it\\n")
    print("at work", flush=True)
    time.sleep(60)
if text == "bad":
    print("loading")
    print("\\x1b[31mError: no\\tresize\\x1b[0m\\n0 errors\\nbye", file=sys.stderr)
    sys.exit(3)
if text == "wrong":
    sys.exit("it is\\nno graph")
if text == "raises":
    print("a warning", flush=True)
    raise RuntimeError("no kernel")
if text == "crash":
    os.abort()
if text == "nothing":
    sys.exit()
os.makedirs("out", exist_ok=True)
open("out/a.npz", "w").write(text.upper() + " ".join(words[1:]))
print("done")
"""


class Vela:
    """A compiler in a folder of its own; `calls` are those of its command lines."""

    def __init__(self, folder: Path):
        self.log = folder / "log"
        self.path = folder / "bin" / "vela"
        self.tool = Tool("vela", "FLAMBEAU_TEST_VELA", "pip install vela")
        self.path.parent.mkdir()
        self.write(f"#!{sys.executable}\nLOG = {str(self.log)!r}\n{COMPILER}")

    def write(self, text: str) -> None:
        self.path.write_text(text)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    @property
    def calls(self) -> Sequence[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def compile(self, text: str, *arguments: str, **fields: float | str) -> bytes:
        tool = replace(self.tool, **fields)
        return tool.run(["in.tosa", *arguments], {"in.tosa": text.encode()}, ["out/*.npz"]).file


@pytest.fixture
def vela(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vela:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Vela(tmp_path)
    monkeypatch.setenv("PATH", f"{found.path.parent}{os.pathsep}{os.environ['PATH']}")
    return found


def test_a_result_is_kept_by_what_it_is_made_of(vela: Vela) -> None:
    assert vela.compile("graph", "-O") == b"GRAPH-O" == vela.compile("graph", "-O")
    assert vela.calls == ["--version", "in.tosa -O"]
    assert vela.compile("graph", "-O", "2") == b"GRAPH-O 2" and vela.compile("graphs", "-O") == b"GRAPHS-O"
    assert vela.calls[2:] == ["in.tosa -O 2", "in.tosa -O"]
    for text in (b"graph", b"new"):
        for _ in range(2):
            result = vela.tool.run(["in.tosa", "-O"], {"in.tosa": text}, ["out/*.npz"], is_kept=False)
            assert (result.files, result.printed) == ({"out/a.npz": text.upper() + b"-O"}, "done\n")
    assert len(vela.calls) == 8
    assert not os.listdir(tempfile.gettempdir())


def test_another_program_has_results_of_its_own(vela: Vela, monkeypatch: pytest.MonkeyPatch) -> None:
    vela.compile("graph")
    os.utime(vela.path, (1, 1))  # as if it were compiled again
    vela.compile("graph")
    newer = vela.path.with_name("vela-4.3")
    newer.write_text(vela.path.read_text().replace("4.2.0", "4.3"))
    newer.chmod(0o700)
    os.utime(newer, (1, 1))
    monkeypatch.setenv("FLAMBEAU_TEST_VELA", "vela-4.3")
    vela.compile("graph")
    assert vela.calls == ["--version", "in.tosa"] * 3
    assert vela.tool.find().label == "vela 4.3"


def test_what_a_tool_says_is_one_line(vela: Vela) -> None:
    for text, message in {
        "bad": r"vela 4.2.0 fails with status 3: Error: no\tresize",
        "wrong": "vela 4.2.0 fails with status 1: no graph",
        "raises": "vela 4.2.0 fails with status 1: RuntimeError: no kernel",
        "crash": "vela 4.2.0 is ended by SIGABRT",
        "nothing": "vela 4.2.0 writes no out/*.npz",
    }.items():
        for _ in range(2):  # failures are not kept
            with pytest.raises(BackendError) as raised:
                vela.compile(text)
            assert str(raised.value) == message
    assert vela.calls.count("in.tosa") == 10 and not os.listdir(tempfile.gettempdir())
    with pytest.raises(ToolError) as error:
        vela.compile("bad")
    assert error.value.output == "Error: no\tresize\n0 errors\nbye\nloading\n"


def test_a_tool_that_runs_too_long_is_ended_with_what_it_started(vela: Vela) -> None:
    vela.tool.find()
    started = time.monotonic()
    with pytest.raises(BackendError, match=r"^vela 4.2.0 was ended, because it ran longer than 0.5 s: at work$"):
        vela.compile("slow", seconds=0.5)
    assert time.monotonic() - started < 30
    time.sleep(1.5)
    assert vela.calls == ["--version", "in.tosa"]
    assert not os.listdir(tempfile.gettempdir())


def test_a_tool_that_is_absent_or_old(vela: Vela, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vela.tool.missing() is None and replace(vela.tool, at_least="4.2").missing() is None
    old = f"vela 4.2.0 at {vela.path} is too old, as 4.10 or newer is needed: install it (pip install vela), or set FLAMBEAU_TEST_VELA"
    assert (replace(vela.tool, at_least="4.10").missing() or "").startswith(old)
    silent = replace(vela.tool, version=("in.tosa",))
    assert "does not say its version" in (silent.missing() or "") and "pip install vela" in (silent.missing() or "")
    vela.path.unlink()
    why = "vela is not on PATH, and FLAMBEAU_TEST_VELA is not set: install vela (pip install vela), or set FLAMBEAU_TEST_VELA to the path"
    with pytest.raises(BackendError, match=re.escape(why)):
        vela.compile("graph")
    monkeypatch.setenv("FLAMBEAU_TEST_VELA", str(vela.path))
    assert vela.tool.missing() == f"FLAMBEAU_TEST_VELA is {str(vela.path)!r}, where no program is; it is the path of vela"
    encode = one_by_one(lambda partition, constants, options: Encoded(b""))
    backend = Backend("npu", "Npu", OperatorTable({"tanh": Rule()}), encode, tools=(vela.tool,))
    assert (backend.missing() or "").startswith("backend 'npu' needs a tool: FLAMBEAU_TEST_VELA is ")


def test_the_list_of_backends_says_where_tools_are(vela: Vela, request: pytest.FixtureRequest) -> None:
    encode = one_by_one(lambda partition, constants, options: Encoded(b""))
    tools = (vela.tool, replace(vela.tool, at_least="5"))
    with declared_by("a test") as registered:
        register_backend(Backend("npu", "Npu", OperatorTable({"tanh": Rule()}), encode, tools=tools))
    request.addfinalizer(lambda: [item.undo() for item in registered])
    lines = help.backends().splitlines()
    place = lines.index("npu")
    assert lines[place + 1] == f"  vela 4.2.0: {vela.path}"
    assert lines[place + 2].startswith(f"  vela: vela 4.2.0 at {vela.path} is too old")


def test_a_file_without_an_interpreter_is_no_tool(vela: Vela) -> None:
    vela.write("\x00")
    with pytest.raises(BackendError, match=re.escape(f"{vela.path} cannot be run: Exec format error")):
        replace(vela.tool, version=()).run([], {})


def test_the_variable_goes_before_the_path(vela: Vela, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    moved = vela.path.rename(tmp_path / "other" / "vela-5")
    moved.write_text(moved.read_text().replace("4.2.0", "5.0"))
    vela.write("#!/bin/false")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLAMBEAU_TEST_VELA", "other/vela-5")
    assert vela.compile("graph") == b"GRAPH" and vela.tool.find().label == "vela 5.0"


def test_a_program_of_another_python(vela: Vela, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "compiler.py"
    script.write_text(f"import sys\nassert 'PYTHONPATH' not in __import__('os').environ\nLOG = {str(vela.log)!r}\n{COMPILER}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for python in ((str(script),), ("-c", "import runpy, sys; runpy.run_path(sys.argv.pop(1))", str(script))):
        tool = replace(vela.tool, python=python)
        monkeypatch.delenv("FLAMBEAU_TEST_VELA", raising=False)
        why = "FLAMBEAU_TEST_VELA is not set: install vela (pip install vela), or set FLAMBEAU_TEST_VELA to the path of the Python that has"
        assert tool.missing() == f"{why} vela"
        monkeypatch.setenv("FLAMBEAU_TEST_VELA", sys.executable)
        assert tool.run(["in.tosa"], {"in.tosa": b"graph"}, ["out/*.npz"]).file == b"GRAPH" and tool.find().label == "vela 4.2.0"
    nowhere = replace(vela.tool, python=("-m", "no_such_vela")).missing() or ""
    assert f"vela does not say its version: {sys.executable} fails" in nowhere and "No module named no_such_vela" in nowhere


def test_results_are_complete_and_bounded(vela: Vela, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(vela.compile, ["graph"] * 16)) == {b"GRAPH"}
    (one,) = results_folder().iterdir()
    one.write_bytes(one.read_bytes()[:-30])
    before = len(vela.calls)
    assert vela.compile("graph") == b"GRAPH" and len(vela.calls) == before + 1
    monkeypatch.setattr(kept_results, "MOST_BYTES", 2 * one.stat().st_size + 100)
    vela.compile("second")
    os.utime(one, (1, 1))
    assert vela.compile("graph") == b"GRAPH"  # used again, so that it is not the oldest one
    for path in set(results_folder().iterdir()) - {one}:
        os.utime(path, (2, 2))
    vela.compile("third")
    assert len(list(results_folder().iterdir())) == 2 and one.exists()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert vela.compile("graph") == b"GRAPH"
