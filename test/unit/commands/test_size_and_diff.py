"""What `flambeau size` says of the bytes of programs, `flambeau memory` of those of RAM, and `flambeau diff` of two programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runtime_programs import call, plan, stock, tensor, write
from torch import nn

from flambeau import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from flambeau.compiler.program_size import SIZE_BY, program_sizes
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program
from flambeau.tools.main import main


class Tower(nn.Module):
    """Two layers that share nothing, and a buffer that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        self.seen.add_(y.sum(0))
        return y * self.seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, the same with fused operators, and with a delegate."""
    found = tmp_path_factory.mktemp("programs")
    exported = torch.export.export(Tower().eval(), (torch.zeros(2, 8),))
    to_edge(exported).to_executorch().save(found / "plain.pte")
    to_edge(exported, compile_config=EdgeCompileConfig(target="flambeau")).to_executorch().save(found / "fused.pte")
    to_edge_transform_and_lower(exported, partitioner="xnnpack").to_executorch().save(found / "delegated.pte")
    return found


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("by", SIZE_BY)
@pytest.mark.parametrize("name", ["plain", "fused", "delegated"])
def test_the_rows_sum_up_to_the_file(by: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = output(capsys, "size", folder / f"{name}.pte", "--by", by)
    assert report["file_bytes"] == (folder / f"{name}.pte").stat().st_size == sum(row["bytes"] for row in report["rows"])
    assert all(row["bytes"] > 0 for row in report["rows"])


def test_a_weight_counts_for_the_module_and_the_operator_that_read_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_module = {row["name"]: row for row in output(capsys, "size", folder / "plain.pte", "--by", "module")["rows"]}
    first, second = 4 * (8 * 16 + 16), 4 * (16 * 4 + 4)
    assert by_module["layers.0"]["weights"] == first and by_module["layers.2"]["weights"] == second
    by_operator = {row["name"]: row for row in output(capsys, "size", folder / "plain.pte", "--by", "operator")["rows"]}
    assert by_operator["aten::linear.out"]["weights"] == first + second
    assert by_operator["aten::add.out"]["weights"] == 4 * 4, "the first value of the buffer"


def test_what_flambeau_notes_is_not_named_data_of_delegates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [row["name"] for row in output(capsys, "size", folder / "plain.pte")["rows"]]
    assert "names and memory of methods" in names and "named data" not in names


def test_the_named_data_that_a_payload_reads_counts_for_its_delegate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {row["name"]: row["bytes"] for row in output(capsys, "size", folder / "delegated.pte")["rows"]}
    owned = {row["name"]: row for row in output(capsys, "size", folder / "delegated.pte", "--by", "operator")["rows"]}
    assert parts["payloads of delegates"] < owned["XnnpackBackend"]["delegates"] <= parts["payloads of delegates"] + parts["named data"]
    assert owned["XnnpackBackend"]["delegates"] > 4 * 8 * 16


def test_weights_in_another_file_are_none_of_this_one(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.export.save(torch.export.export(Tower().eval(), (torch.zeros(2, 8),)), tmp_path / "a.pt2")
    assert main(["compile", str(tmp_path / "a.pt2"), "-o", str(tmp_path / "a.pte"), "--external-constants", "w"]) == 0
    capsys.readouterr()
    rows = {row["name"]: row for row in output(capsys, "size", tmp_path / "a.pte", "--by", "operator")["rows"]}
    assert "aten::linear.out" not in rows and "aten::add.out" in rows
    found = output(capsys, "diff", folder / "plain.pte", tmp_path / "a.pte", "--data-path", tmp_path / "w.ptd")
    assert "bytes of weights" not in {row["name"] for row in found["differences"]}


def test_places_are_what_a_stripped_program_lacks(folder: Path, tmp_path: Path) -> None:
    rows = {row.name: row.bytes for row in program_sizes((folder / "plain.pte").read_bytes())}
    exported = torch.export.export(Tower().eval(), (torch.zeros(2, 8),))
    torch.export.save(exported, tmp_path / "a.pt2")
    assert main(["compile", str(tmp_path / "a.pt2"), "-o", str(tmp_path / "a.pte"), "--strip-debug"]) == 0
    stripped = {row.name for row in program_sizes((tmp_path / "a.pte").read_bytes())}
    assert rows["places in the model"] > 100 and "places in the model" not in stripped


def test_the_library_has_the_kernels_of_the_program_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = output(capsys, "size", folder / "plain.pte", "--library")["library"]
    kernels = {operator.full_name for operator in read_program((folder / "plain.pte").read_bytes()).execution_plan[0].operators}
    assert set(found["alone"]) == kernels and found["absent"] == []
    assert 20_000 < found["core"] < 200_000
    assert max(found["alone"].values()) <= found["kernels"] < sum(found["alone"].values()), "kernels share code"
    assert main(["size", str(folder / "plain.pte"), "--library"]) == 0
    assert f"the C library: {found['core'] + found['kernels']} bytes, {found['core']} of them without a kernel" in capsys.readouterr().out


def test_operators_without_a_kernel_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = plan([tensor(2, at=0), tensor(2, at=16)], [call(0, 0, 1, 1)], ["mine::twice.out"], [0], [1])
    (tmp_path / "a.pte").write_bytes(write(made))
    found = output(capsys, "size", tmp_path / "a.pte", "--library")["library"]
    assert (found["kernels"], found["alone"], found["absent"]) == (0, {}, ["mine::twice.out"])


def test_without_a_compiler_the_library_has_no_size(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert main(["size", str(folder / "plain.pte"), "--library"]) == 1
    error = "error: the size of the library is found with a C compiler and `size`, and there is no no-such-compiler\n"
    assert capsys.readouterr().err == error


def test_people_get_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", str(folder / "plain.pte"), "--by", "module"]) == 0
    first, heads, *rows = capsys.readouterr().out.splitlines()
    assert first == f"{(folder / 'plain.pte').stat().st_size} bytes"
    assert heads.split() == ["module", "bytes", "share", "weights", "delegates", "items"]
    assert rows[0].split()[0] == "layers.0" and rows[-1].strip().startswith("everything else")
    assert main(["diff", str(folder / "plain.pte"), str(folder / "fused.pte")]) == 0
    out = capsys.readouterr().out
    assert "forward: aten::linear.out" in out and "forward: flambeau::linear.out" in out and "+2" in out


def test_a_program_does_not_differ_from_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "diff", folder / "plain.pte", folder / "plain.pte", "--ir")["differences"] == []
    assert main(["diff", str(folder / "plain.pte"), str(folder / "plain.pte")]) == 0
    assert capsys.readouterr().out == "no difference in inputs, outputs, operators, memory and bytes\n"


def test_differences_are_told_by_what_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = output(capsys, "diff", folder / "plain.pte", folder / "delegated.pte", "--latency", 3)
    rows = {row["name"]: (row["a"], row["b"]) for row in found["differences"]}
    assert rows["forward: aten::linear.out"] == (2, None)
    assert rows["delegate delegate0: xnnpack.fully_connected"] == (None, 2)
    assert rows["bytes of the file"] == tuple((folder / f"{name}.pte").stat().st_size for name in ("plain", "delegated"))
    assert all(time > 0 for time in rows["latency, ms (p50)"])
    assert "forward: input x" not in rows


def test_other_inputs_and_the_ir_are_compared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
    (tmp_path / "a.mlir").write_text(text)
    (tmp_path / "b.mlir").write_text(text.replace("4xf32", "5xf32"))
    found = output(capsys, "diff", tmp_path / "a.mlir", tmp_path / "b.mlir", "--ir")
    assert {"name": "forward: input input_0", "a": "float32 [4]", "b": "float32 [5]"} in found["differences"]
    assert any(line.startswith("-") and "aten.relu" in line for line in found["ir"])


COMPILE = "flambeau compile net.py:Net -o model.pte writes one"
OF_MODELS = [["size", "net.py:Net"], ["run", "net.py:Net"], ["profile", "net.py:Net"]]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["size", "absent.pte"], "error: no such file: absent.pte\n"),
        (["size", "x.npy"], "error: x.npy: not a .pte program: bytes 4 to 7 are b'PY\\x01\\x00', not b'ET12'\n"),
        (["diff", "absent.pte", "x.npy"], "error: no such file: absent.pte\n"),
        *((arguments, f"error: net.py:Net is a model, and this command takes a program: {COMPILE}\n") for arguments in OF_MODELS),
    ],
)
def test_what_is_no_program_is_one_line(
    arguments: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones(4))
    assert main(arguments) == 1
    assert capsys.readouterr().err == error


def test_wrong_options_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", str(stock("add")), "--by", "modul"]) == 1
    assert capsys.readouterr().err == "error: --by modul; did you mean 'module'?: the kinds of rows are part, module, operator\n"
    assert main(["diff", str(stock("add")), str(stock("add")), "--latency", "2", "--method", "x"]) == 1
    assert capsys.readouterr().err == f"error: {stock('add')}: --latency runs planned programs, and this one has no planned method 'x'\n"


def test_memory_is_what_the_runtime_asks_for(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = torch.export.export(Tower().eval(), (torch.zeros(2, 8),))
    config = ExecutorchBackendConfig(memory_planning_pass="best{banks=sram:128,dram}")
    to_edge(exported).to_executorch(config).save(tmp_path / "banked.pte")
    for path, arenas in ((folder / "plain.pte", ["arena 1"]), (tmp_path / "banked.pte", ["bank sram", "bank dram"])):
        memory = Runtime.get().load_program(path).metadata("forward").memory
        told = output(capsys, "memory", path)["methods"]["forward"]
        assert list(told) == [*arenas, "records", "kernels", "total"]
        assert {name: sizes["64"] for name, sizes in told.items()} == dict(
            zip(told, [*memory.arenas, memory.method, memory.scratch, memory.total], strict=True)
        )
        described = json.loads(bytes(read_program(path.read_bytes()).named_data[-1].data))["methods"]["forward"]
        assert told["records"]["32"] == described["memory"]["method_32"]
        assert all(memory.arenas)


def test_memory_of_delegates_is_known_for_this_machine_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = Runtime.get().load_program(folder / "delegated.pte").metadata("forward").memory
    told = output(capsys, "memory", folder / "delegated.pte")["methods"]["forward"]
    assert told["delegates"]["32"] is told["total"]["32"] is None
    assert told["records"]["64"] + told["delegates"]["64"] == memory.method and told["total"]["64"] == memory.total
    assert main(["memory", str(folder / "delegated.pte")]) == 0
    assert "unknown" in capsys.readouterr().out


def test_memory_is_planned_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "early.mlir").write_text("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n")
    assert main(["memory", str(tmp_path / "early.mlir")]) == 1
    assert "has no planned method: compile it to a .pte, or to the stage planned" in " ".join(capsys.readouterr().err.split())
