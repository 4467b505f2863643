"""Reproducers and tracebacks that nobody named: where they are, and that they do not pile up."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from flambeau.tools.opt.driver import main
from flambeau.tools.reproducers.failure_files import KEPT, failure_folder, new_failure_file

FAILS = """
from xdsl.passes import ModulePass

class FailsPass(ModulePass):
    name = "fails"

    def apply(self, ctx, op):
        op.x
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_only_the_newest_failures_stay_each_with_what_belongs_to_it(temporary: Path):
    made: list[Path] = []
    for number in range(KEPT + 5):
        path = new_failure_file("cse", ".mlir")
        weights = path.with_suffix(".safetensors")
        weights.write_bytes(b"w")
        made.append(path)
        for file in (path, weights):
            os.utime(file, (number, number))
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.stem for path in folder.iterdir()} == {path.stem for path in made[-KEPT:]}
    assert len(list(folder.iterdir())) == 2 * KEPT


def test_a_folder_of_someone_else_is_not_used(temporary: Path):
    elsewhere = temporary.parent / "elsewhere"
    elsewhere.mkdir()
    usual = failure_folder()
    usual.rmdir()
    usual.symlink_to(elsewhere)
    path = new_failure_file("cse", ".mlir")
    assert path.parent.parent == temporary and path.parent != usual
    assert not list(elsewhere.iterdir())


def test_a_reproducer_that_nobody_named_is_among_them(temporary: Path, capsys: pytest.CaptureFixture[str]):
    plugin, source = temporary.parent / "fails.py", temporary.parent / "x.mlir"
    plugin.write_text(FAILS)
    source.write_text("builtin.module {}\n")
    assert main([str(source), "--load-plugin", str(plugin), "-p", "fails"]) == 70
    (reproducer,) = failure_folder().glob("fails-*.mlir")
    assert f"flambeau-opt --run-reproducer {reproducer} runs it again" in capsys.readouterr().err
