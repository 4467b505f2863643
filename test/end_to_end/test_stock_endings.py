"""No file of the repository ends the process of stock ExecuTorch, or keeps it busy for ever: stock raises an error, or runs it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import stock_endings
from runtime_programs import add_plan, stock, write
from stock_endings import ending, is_well

from flambeau.runtime import pte
from flambeau.runtime.bundled_program import write_bundled_program
from flambeau.runtime.bundled_program.bundle_records import BundledProgram
from flambeau.runtime.etdump import write_etdump
from flambeau.runtime.etdump.etdump_records import ETDump
from flambeau.runtime.flat_tensor import NamedTensor, TensorLayout, write_flat_tensor

ROOT = Path(__file__).parents[2]
READ = {".pte", ".bpte", ".ptd", ".etdp"}
"""The suffixes of the files that ExecuTorch reads."""
UNREAD = {".png", ".safetensors"}
"""The suffixes of files with bytes that are no text, and that ExecuTorch does not read."""


def committed() -> list[Path]:
    """The files that git has or would add, without links."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file() and not path.is_symlink()]


def is_text(path: Path) -> bool:
    data = path.read_bytes()
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def samples(folder: Path) -> dict[Path, str]:
    """A file of each format that ExecuTorch reads, and how it ends; last, a program by hand, which has what ExecuTorch lacks."""
    four = NamedTensor("four", memoryview(bytes(16)), TensorLayout(pte.ScalarType.FLOAT, (4,), (0,)))
    made = {
        "add.pte": (stock("add").read_bytes(), "ran"),
        "add.bpte": (write_bundled_program(BundledProgram(program=memoryview(stock("add").read_bytes()))), "ran"),
        "four.ptd": (write_flat_tensor([four]), "ran"),
        "empty.etdp": (write_etdump(ETDump()), "ran"),
        "cut.ptd": (write_flat_tensor([four])[:20], "raised RuntimeError: "),
        "hand.pte": (write(add_plan()), "raised RuntimeError: Failed to load method forward, error: 0x:20"),
    }
    for name, (data, _) in made.items():
        (folder / name).write_bytes(data)
    return {folder / name: expected for name, (_, expected) in made.items()}


def test_each_committed_file_ends_well(tmp_path: Path):
    files, expected = [path for path in committed() if path.suffix in READ], samples(tmp_path)
    assert len(files) >= len(list(stock("add").parent.glob("*.pte")))
    command = [sys.executable, stock_endings.__file__, *map(str, [*files, *expected])]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stdout=subprocess.PIPE, text=True, check=True
    )
    endings = [json.loads(line) for line in done.stdout.splitlines()]
    assert {item["path"] for item in endings} == {str(path) for path in [*files, *expected]}
    assert [item for item in endings if not is_well(item["ending"])] == []
    assert [item for item in endings if not item["ending"].startswith(expected.get(Path(item["path"]), ""))] == []


def test_no_committed_file_is_of_a_kind_that_is_not_tried():
    """A payload of a backend is tried as a part of a program, which the other test runs."""
    assert [path for path in committed() if path.suffix not in READ | UNREAD and not is_text(path)] == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda: None, "ran"),
        (lambda: int("x"), "raised ValueError: invalid literal for int() with base 10: 'x'"),
        (os.abort, "SIGABRT"),
        (lambda: os._exit(3), "exit 3"),
        (lambda: time.sleep(60), "SIGALRM"),
    ],
)
def test_endings_are_told_apart(action: Callable[[], object], expected: str):
    assert ending(action, seconds=1) == expected
    assert is_well(expected) == (expected[0] == "r")
