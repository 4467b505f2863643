"""A kernel of the C runtime whose result is changed by 1e-2: `flambeau numerics` names it, from the device itself and from its log."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from profiled_models import LAYERS

from flambeau.runtime import find_library, include_folder
from flambeau.tools.main import main

WRONG = """#include "flambeau/runtime.h"

fl_status __real_fl_gelu_out(fl_context *context, fl_value *const *args, size_t count);
fl_status __wrap_fl_gelu_out(fl_context *context, fl_value *const *args, size_t count);

fl_status __wrap_fl_gelu_out(fl_context *context, fl_value *const *args, size_t count) {
  fl_status status = __real_fl_gelu_out(context, args, count);
  float *const out = (float *)args[2]->as.tensor->data;
  for (int64_t i = 0; i < fl_numel(args[2]->as.tensor); ++i) {
    out[i] += 1e-2f;
  }
  return status;
}
"""

RUN = """import torch
from flambeau import to_edge
from flambeau.runtime import Runtime
from network import model

program = to_edge(torch.export.export(*model)).to_executorch()
loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=1 << 16)
loaded.load_method().execute([torch.ones(1, 8)])
loaded.write_etdump_result_to_file("log.etdp", "log.bin")
"""

LINE = next(number for number, line in enumerate(LAYERS.splitlines(), 1) if "self.down(torch.nn.functional.gelu(self.up(x)))" in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and with the log of a run in a runtime whose gelu is wrong."""
    found = tmp_path_factory.mktemp("planted")
    (found / "wrong.c").write_text(WRONG)
    (found / "network.py").write_text(LAYERS)
    archive = find_library().with_suffix(".a")
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", "-Wl,--wrap=fl_gelu_out", "-lm"]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    build = [*compiler, "-shared", "-fPIC", "-I", str(include_folder()), str(found / "wrong.c"), *whole, "-o", str(found / "wrong.so")]
    subprocess.run(build, check=True)
    (found / "run.py").write_text(RUN)
    done = run_with_wrong_kernel(found, "run.py")
    assert done.returncode == 0, done.stderr
    (found / "short.bin").write_bytes(bytes(10))
    return found


def run_with_wrong_kernel(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FLAMBEAU_LIBRARY": str(folder / "wrong.so")}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, text=True, capture_output=True, check=False)


def check(report: dict[str, Any], folder: Path) -> None:
    first = report["first_bad"]
    assert (first["operator"], first["module"], first["line"]) == ("aten::gelu.out", "0", f"{folder / 'network.py'}:{LINE}")
    assert first["difference"] == pytest.approx(1e-2, rel=1e-3)
    assert [row["operator"] for row in report["values"] if row["detail"] is None] == ["aten::linear.out"]


def test_the_device_tells(folder: Path) -> None:
    command = (
        "import sys; from flambeau.tools.main import main; sys.exit(main(['numerics', 'network.py:model', '--stage', 'device', '--json']))"
    )
    done = run_with_wrong_kernel(folder, "-c", command)
    assert done.returncode == 1, done.stderr
    check(json.loads(done.stdout), folder)


def test_its_log_tells(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    assert main(["numerics", "network.py:model", "--etdump", "log.etdp", "--debug-buffer", "log.bin", "--json"]) == 1
    check(json.loads(capsys.readouterr().out), folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--etdump", "log.etdp"], "--etdump and --debug-buffer go together"),
        (["--etdump", "log.etdp", "--debug-buffer", "log.bin", "--target", "flambeau"], "the ETDump is of another program"),
        (["--etdump", "log.etdp", "--debug-buffer", "short.bin"], "or belongs to another ETDump"),
        (["--etdump", "log.bin", "--debug-buffer", "log.bin"], "not an ETDump"),
    ],
)
def test_a_log_that_does_not_fit_is_refused_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    assert main(["numerics", "network.py:model", *arguments]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "Traceback" not in printed
