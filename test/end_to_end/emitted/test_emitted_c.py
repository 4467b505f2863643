"""Programs as C: every compiler takes them, MLIR prints the same C, and methods, state and failures are those of the `.pte`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from all_engines import EMITTED
from control_flow_operators import branch
from models import digits_cnn
from torch import Tensor, nn
from torch.export import Dim, export

import flambeau
from flambeau.compiler.ahead_of_time import CompiledProgram, CompilerError, compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.edge_program import ExecutorchProgramManager
from flambeau.passes.emission.slot_values import c_string
from flambeau.passes.manager import PassError
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import find_library
from flambeau.runtime.emit.c_program import WEIGHTS
from flambeau.runtime.emit.c_program.kernel_sources import needed_sources
from flambeau.runtime.manifest import kernel_rows
from flambeau.tools.main import main

check: Any = cast(Any, torch)._check
MLIR = [name for name in ("mlir-translate", *(f"mlir-translate-{version}" for version in range(19, 23))) if shutil.which(name)]
COMPILERS = [
    *((name, ["-std=c11"]) for name in ("gcc", "clang") if shutil.which(name)),
    *((name, ["-x", "c++", "-std=c++17"]) for name in ("g++", "clang++") if shutil.which(name)),
]


class Counter(nn.Module):
    """State, a dynamic size, a branch, a weight, and a check."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        cast(Any, torch).manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor, limit: Tensor) -> tuple[Tensor, Tensor]:
        check(limit.item() <= 9)
        self.total.add_(x.sum(0))
        y = branch(x.sum() > 0, lambda x: self.linear(x), lambda x: x * 2, (x,))
        return torch.relu(y) + self.total, self.total * 1


class Shown(nn.Module):
    """Another method with the state of a counter, and a loop."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.counter.total * x)


@pytest.fixture(scope="module")
def program() -> ExecutorchProgramManager:
    counter = Counter().requires_grad_(False)
    rows = Dim("rows", min=1, max=6)
    methods = {
        "forward": export(counter, (torch.rand(4, 3), torch.tensor(2)), dynamic_shapes=({0: rows}, None)),
        "show": export(Shown(counter), (torch.ones(3),)),
    }
    return flambeau.to_edge(cast(Mapping[str, Any], methods)).to_executorch()


@pytest.fixture(scope="module")
def files(program: ExecutorchProgramManager) -> dict[str, bytes]:
    return Compilation(program.module.clone(), program.context).emit_c("net")


@pytest.fixture
def compiled(program: ExecutorchProgramManager) -> CompiledProgram:
    return compile_module(program.module, program.context, program.buffer, cache_dir=EMITTED)


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@pytest.mark.parametrize(("compiler", "language"), COMPILERS, ids=[name for name, _ in COMPILERS])
def test_compilers_take_it_without_a_warning(files: dict[str, bytes], tmp_path: Path, compiler: str, language: list[str]) -> None:
    _write(files, tmp_path)
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only"]
    sources = ["net.c", "net_weights.c"] + (["main.c"] if language == ["-std=c11"] else [])
    for source in sources:
        call = [compiler, *language, *warnings, "-Iflambeau/include", "-I.", source]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_runs_use_no_heap_and_no_library_but_memory_and_mathematics(files: dict[str, bytes], tmp_path: Path) -> None:
    _write(files, tmp_path)
    call = ["cc", "-O2", "-c", "-ffreestanding", "-Iflambeau/include", "-I.", "net.c", "flambeau/emitted/emitted.c", "-Iflambeau"]
    subprocess.run(call, cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "-u", "net.o", "emitted.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    known = {"memcpy", "memset", "fl_resize", *(row.run for row in kernel_rows().values())}
    outside = {line.split()[-1] for line in symbols.splitlines() if " U " in line}
    assert {name for name in outside if not name.startswith(("net_", "fl_emitted_", "_GLOBAL_OFFSET"))} <= known


@pytest.mark.parametrize("tool", MLIR)
def test_mlir_prints_the_same_calls(program: ExecutorchProgramManager, files: dict[str, bytes], tmp_path: Path, tool: str) -> None:
    module = program.module.clone()
    flambeau.Pipeline.parse("fuse-loops,convert-exec-to-emitc{program=net}").run(module, program.context)
    for op in module.body.block.ops:
        op.attributes.clear()
    path = tmp_path / "net.mlir"
    path.write_text(str(module))
    call = [tool, "--mlir-to-cpp", "--declare-variables-at-top", str(path)]
    printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout

    def statements(text: str) -> set[str]:
        return {
            line.strip() for line in text.splitlines() if line.strip().startswith(("FL_CALL", "FL_MOVE", "loop_0(", "memcpy", "memset"))
        }

    assert statements(printed) == statements(files["net.c"].decode())


def test_methods_share_state_and_start_again(program: ExecutorchProgramManager, compiled: CompiledProgram) -> None:
    loaded = Runtime.get().load_program(program.buffer)
    theirs = {name: loaded.load_method(name) for name in program.methods}
    for turn in range(2):
        for rows in (4, 1, 6):
            given = [torch.rand(rows, 3) - 0.5, torch.tensor(turn)]
            for found, wanted in zip(compiled.methods["forward"].execute(given), theirs["forward"].execute(given), strict=True):
                assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
            assert compiled.methods["show"](torch.ones(3))[0].tobytes() == theirs["show"](torch.ones(3))[0].tobytes()
        compiled.methods["forward"].reset()
        theirs["forward"].reset()
    assert compiled.methods["show"](torch.ones(3))[0].tolist() == [1, 2, 3]


def test_texts_are_literals_of_the_same_bytes(tmp_path: Path) -> None:
    text = 'a "quoted" ??/ \\ path, é, \t and 8 after \x01'
    (tmp_path / "text.c").write_text(f"#include <stdio.h>\nint main(void) {{ fputs({c_string(text + '8')}, stdout); return 0; }}\n")
    subprocess.run(["cc", "-Wall", "-Werror", "-trigraphs", "text.c", "-o", "text"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "text"], capture_output=True, check=True).stdout == f"{text}8".encode()


_APPLICATION = """
#include <stdio.h>
#include "net.h"
int main(void) {
  const int32_t given[2] = {2, 3}, many[2] = {7, 3};
  net_init();
  if (net_forward_input_x_resize(many) == FL_OK || net_forward_input_x_resize(given) != FL_OK) {
    return 1;
  }
  for (int i = 0; i < 6; ++i) {
    net_forward_input_x()[i] = (float)i;
  }
  net_forward_input_limit()[0] = 3;
  if (net_forward() != FL_OK || net_forward_output_0_sizes()[0] != 2) {
    return 2;
  }
  return fwrite(net_forward_output_0(), sizeof(float), 6, stdout) != 6;
}
"""


def test_an_application_in_c_sets_sizes(program: ExecutorchProgramManager, files: dict[str, bytes], tmp_path: Path) -> None:
    _write(files, tmp_path)
    (tmp_path / "application.c").write_text(_APPLICATION)
    library = find_library().with_name("libflambeau.a")
    call = [
        "cc",
        "-std=c11",
        "-Iflambeau/include",
        "-I.",
        "application.c",
        "net.c",
        "net_weights.c",
        str(library),
        "-lm",
        "-o",
        "application",
    ]
    subprocess.run(call, cwd=tmp_path, check=True)
    wanted = Runtime.get().load_program(program.buffer).load_method("forward")(torch.arange(6.0).reshape(2, 3), torch.tensor(3))[0]
    assert subprocess.run([tmp_path / "application"], capture_output=True, check=True).stdout == wanted.tobytes()


def test_no_method_runs_within_another(compiled: CompiledProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.methods["forward"], "_run", lambda: compiled.methods["show"](torch.ones(3)))
    with pytest.raises(FlambeauError, match="'show', or another that shares its state, is being executed"):
        compiled.methods["forward"](torch.ones(2, 3), torch.tensor(0))


def test_two_loads_have_memory_of_their_own(program: ExecutorchProgramManager, compiled: CompiledProgram) -> None:
    other = compile_module(program.module, program.context, program.buffer, cache_dir=EMITTED)
    compiled.methods["forward"](torch.ones(2, 3), torch.tensor(0))
    assert other.methods["show"](torch.ones(3))[0].tolist() == [1, 2, 3]
    assert compiled.methods["show"](torch.ones(3))[0].tolist() == [3, 4, 5]


def test_a_failure_has_its_message_and_the_next_run_is_right(compiled: CompiledProgram) -> None:
    with pytest.raises(FlambeauError, match=r"method 'forward', instruction \d+: input 'limit' must be 9 or less"):
        compiled.methods["forward"](torch.ones(2, 3), torch.tensor(10))
    for rows, message in ((7, "at most 6"), (0, "1 to 6")):
        with pytest.raises(FlambeauError, match=message):
            compiled.methods["forward"](torch.ones(rows, 3), torch.tensor(0))
    with pytest.raises(FlambeauError, match="expected int64 of 0 dimensions, got float32 of 0 dimensions"):
        compiled.methods["forward"](torch.ones(2, 3), torch.tensor(0.0))
    assert compiled.methods["forward"](torch.ones(2, 3), torch.tensor(0))[1].tolist() == [3, 4, 5]


def test_kernels_that_are_not_called_are_left_out(files: dict[str, bytes]) -> None:
    names = {name.rpartition("/")[2] for name in files}
    assert {"linear.c", "activation.c"} <= names
    assert not {"convolution.c", "attention.c", "fft.c"} & names
    every = needed_sources([row.run for row in kernel_rows().values()])
    assert sum(name.startswith("kernels/") and name.endswith(".c") for name in every) > 50


def test_what_cannot_be_c_is_listed(tmp_path: Path) -> None:
    model, inputs = digits_cnn()
    edge = flambeau.to_edge_transform_and_lower(export(model, inputs), partitioner=[flambeau.Partitioner("elementwise{least=1}")])
    with pytest.raises(PassError, match="delegates cannot be called from C"):
        flambeau.aot(edge.to_executorch(), cache_dir=tmp_path)


def test_a_compiler_that_is_missing_or_fails_is_named(
    program: ExecutorchProgramManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerError, match="there is no C compiler no-such-compiler: install one, or name it by CC"):
        flambeau.aot(program, cache_dir=tmp_path)
    monkeypatch.setenv("CC", "cc --no-such-option")
    with pytest.raises(CompilerError, match=r"cc cannot compile the program: .*no-such-option"):
        flambeau.aot(program, cache_dir=tmp_path)


def test_a_program_is_compiled_once(program: ExecutorchProgramManager, tmp_path: Path) -> None:
    first = flambeau.aot(program, cache_dir=tmp_path)
    written = first.library.stat().st_mtime_ns
    assert flambeau.aot(program, cache_dir=tmp_path).library.stat().st_mtime_ns == written
    assert [path.name for path in tmp_path.iterdir()] == [first.library.name]


@pytest.mark.parametrize("form", WEIGHTS)
def test_main_gives_the_results_of_the_file(form: str, tmp_path: Path) -> None:
    model = digits_cnn()
    made = flambeau.to_edge(export(*model)).to_executorch()
    files = Compilation(made.module.clone(), made.context).emit_c("net", form)
    _write(files, tmp_path)
    for call in (["cmake", "-B", "build", "-DCMAKE_C_FLAGS=-Werror"], ["cmake", "--build", "build", "--parallel", "2"]):
        subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    given = [tensor.numpy() for tensor in model[1]]
    for index, array in enumerate(given):
        (tmp_path / f"{index}.bin").write_bytes(array.tobytes())
    arguments = [*(["net_weights.bin"] if form == "blob" else []), *(f"{index}.bin" for index in range(len(given)))]
    found = subprocess.run(["build/net_main", *arguments], cwd=tmp_path, check=True, capture_output=True).stdout
    (wanted,) = Runtime.get().load_program(made.buffer).load_method()(*given)
    np.testing.assert_allclose(np.frombuffer(found, wanted.dtype).reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)
    if form == "blob":
        for arguments in ([], ["0.bin"]):
            said = subprocess.run(["build/net_main", *arguments], cwd=tmp_path, capture_output=True, text=True)
            assert said.returncode == 2 and "bytes of the weights" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "file"], "file is a file, and --emit c writes a folder"),
        (["-o", "other"], "other has other files: name a new folder"),
        (["-o", "none/net"], "there is no folder none"),
        (["-o", "net.c"], "net.c is the name of a file, and --emit c writes a folder"),
        (["-o", "net", "--weights", "file"], "--weights is array, incbin or blob, and for --emit c; not 'file' for c"),
        (["-o", "net", "--external-constants", "w"], "--external-constants is for a .pte"),
    ],
)
def test_outputs_that_cannot_be_written(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("other").mkdir()
    (Path("other") / "mine.c").touch()
    Path("model.mlir").write_text("exec.method @forward {arenas = []} {\n  exec.return\n}\n")
    assert main(["compile", "model.mlir", "--emit", "c", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "mine.c", "model.mlir", "other"]
