"""The streams and files that flambeau-opt is given, in whatever state they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from flambeau.tools.main import main as flambeau
from flambeau.tools.opt import main

VALID = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n"
CHATTY = """
import sys
from dataclasses import dataclass
from flambeau.dialects.ir.diagnostics import remark
from flambeau.passes.manager import OperationPass

print("loaded")

@dataclass(frozen=True)
class ChatPass(OperationPass):
    name = "chat"

    def apply_to(self, ctx, op):
        print("hello")
        for inner in op.walk():
            if inner.name == "func.return":
                remark(inner, "left alone")
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the tool in a folder with `a.mlir` and a plug-in; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("a.mlir").write_text(VALID)
    Path("chatty.py").write_text(CHATTY)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def with_closed(stream: int, *arguments: str, module: str = "flambeau.tools.opt") -> tuple[int, bytes]:
    """Runs a tool that is started without one of its streams; gives its status, and what comes on the others."""
    command = [sys.executable, "-c", f"import sys; from {module} import main; sys.exit(main())", *arguments]
    process = subprocess.run(
        ["sh", "-c", f'exec "$@" {stream}{"<" if stream == 0 else ">"}&-', "sh", *command], capture_output=True, check=False
    )
    return process.returncode, process.stdout + process.stderr


@pytest.mark.parametrize(
    ("stream", "arguments", "status", "said"),
    [
        (0, ("-",), 1, b"error: <stdin>: Bad file descriptor\n"),
        (1, ("a.mlir",), 1, b"error: <stdout>: Bad file descriptor\n"),
        (1, ("--list-passes",), 1, b"error: <stdout>: Bad file descriptor\n"),
        (1, ("a.mlir", "-o", "out.mlir"), 0, b""),
        (2, ("none.mlir",), 1, b""),
    ],
)
def test_streams_that_are_closed(run: Run, stream: int, arguments: tuple[str, ...], status: int, said: bytes) -> None:
    assert with_closed(stream, *arguments) == (status, said)


def test_flambeau_without_stdout(run: Run) -> None:
    assert with_closed(1, "inspect", "a.mlir", module="flambeau.tools.main") == (1, b"error: <stdout>: Bad file descriptor\n")


@pytest.mark.parametrize(
    "option",
    [
        "-o",
        "--timing-json",
        "--profile-actions",
        "--log-actions-to",
        "--generate-reproducer",
        "--legality-report",
    ],
)
def test_a_full_disk_is_named(run: Run, option: str) -> None:
    status, _, err = run("a.mlir", "-p", "cse", option, "/dev/full")
    assert (status, err) == (1, "error: /dev/full: No space left on device\n")


@pytest.mark.parametrize("option", ["-o", "--timing-json"])
def test_a_pipe_has_no_name(run: Run, option: str) -> None:
    command = [sys.executable, "-c", "import sys; from flambeau.tools.opt import main; sys.exit(main())", "a.mlir", option, "/dev/stdout"]
    process = subprocess.run(command, capture_output=True, check=False)
    assert (process.returncode, process.stderr) == (0, b"")
    assert b"wall" in process.stdout if option == "--timing-json" else process.stdout.decode() == run("a.mlir")[1]


def test_a_full_disk_behind_stdout_is_named(run: Run) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-c", "import sys; from flambeau.tools.opt import main; sys.exit(main())", "a.mlir"]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.stderr == b"error: <stdout>: No space left on device\n"
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"// caf\xe9\n", "a.mlir:1:7: error: the byte 0xe9 is not UTF-8 text"),
        (b"\xef\xbb\xbf// \r\n// \xc3\xa9 \xff", "a.mlir:2:6: error: the byte 0xff is not UTF-8 text"),
        (b"\x00\xff", "error: a.mlir: the file is not text: give a module as a .mlir file"),
    ],
)
def test_bytes_that_are_no_text_have_a_place(run: Run, data: bytes, message: str) -> None:
    Path("a.mlir").write_bytes(data)
    assert run("a.mlir") == (1, "", f"{message}\n")


@pytest.mark.parametrize("text", [VALID, VALID.replace("\n", "\r\n")])
def test_a_byte_order_mark_is_no_part_of_the_text(run: Run, text: str) -> None:
    plain = run("a.mlir")
    Path("a.mlir").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert run("a.mlir") == plain
    command = [sys.executable, "-c", "import sys; from flambeau.tools.opt import main; sys.exit(main())"]
    assert subprocess.run(command, input=b"\xef\xbb\xbf" + text.encode(), capture_output=True, check=False).stdout.decode() == plain[1]


def test_what_passes_print_is_no_ir(run: Run) -> None:
    plain = run("a.mlir")[1]
    assert run("a.mlir", "--load-plugin=chatty.py", "-p", "chat") == (0, plain, "loaded\nhello\n")


def test_what_passes_print_is_no_report_of_flambeau(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert flambeau(["compile", "a.mlir", "-o", "a.pte", "--load-plugin=chatty.py", "--passes=edge:chat", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["output"] == "a.pte"
    assert err == "loaded\nhello\n"
    Path("printing.py").write_text("print('imported')\n\ndef make():\n    print('made')\n    return 1\n")
    assert flambeau(["compile", "printing:make", "-o", "a.pte", "--json"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.startswith("imported\nmade\nerror: printing:make: expected (module, example_inputs)")) == ("", True)


def test_a_trace_can_go_to_stderr(run: Run) -> None:
    status, _, err = run("a.mlir", "-p", "cse", "--profile-actions=-")
    assert (status, err.startswith('{"displayTimeUnit"'), Path("-").exists()) == (0, True, False)


def test_remarks_that_are_expected_are_listened_to(run: Run) -> None:
    text = VALID.replace("f32>\n}", "f32> // expected-remark {{alone}}\n}")
    Path("a.mlir").write_text(text)
    assert run("a.mlir", "--load-plugin=chatty.py", "-p", "chat", "--verify-diagnostics")[0] == 0
    Path("a.mlir").write_text(text.replace("alone", "at home"))
    status, _, err = run("a.mlir", "--load-plugin=chatty.py", "-p", "chat", "--verify-diagnostics")
    assert status == 1 and "unexpected remark: chat: left alone" in err and 'expected remark "at home" was not produced' in err


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_forced(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert "\x1b" not in run("none.mlir")[2]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, "1")
    assert "\x1b[1;31merror:\x1b[0m" in run("none.mlir")[2]
    assert "\x1b" not in run("none.mlir", "--color=0")[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("none.mlir")[2]


def tool(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "import sys; from flambeau.tools.opt import main; sys.exit(main())", *arguments]
    # A shell that runs the tests in the background makes them ignore interrupts, and the tool with them.
    take_interrupts = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ, preexec_fn=take_interrupts)


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    lines = "".join(f"  %{number} = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n" for number in range(3000))
    (tmp_path / "long.mlir").write_text(f"func.func @f(%x: tensor<2xf32>) {{\n{lines}  func.return\n}}")
    process = tool(str(tmp_path / "long.mlir"))
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_an_interrupt_is_one_word() -> None:
    process = tool()
    assert process.stdin is not None and process.stderr is not None
    # This is more than a pipe holds: once it is written, the tool reads.
    process.stdin.write(b"//" * 70000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    # A signal between two reads is noticed after the second.
    process.stdin.close()
    assert process.stderr.read() == b"interrupted\n"
    assert process.wait() == 130


def test_standard_input_that_is_not_text() -> None:
    process = tool()
    out, err = process.communicate(b"\xff\xfe\x00")
    assert (out, err, process.returncode) == (b"", b"error: <stdin>: the file is not text: give a module as a .mlir file\n", 1)
