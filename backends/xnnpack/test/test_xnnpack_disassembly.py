"""Programs with payloads, ours and ExecuTorch's, are shown, run and compiled again in terms of the nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import to_edge_transform_and_lower
from models import digits_cnn

from flambeau import to_edge
from flambeau.tools.main import main
from flambeau.tools.opt import main as opt

NODES = {"static_transpose": 2, "conv2d": 1, "depthwise_conv2d": 1, "fully_connected": 1, "max_pooling2d": 1, "static_reshape": 1}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `stock.pte`, which ExecuTorch compiled, `ours.pte`, `x.npy` and `y.npy`."""
    folder = tmp_path_factory.mktemp("programs")
    module, (x,) = digits_cnn(2)
    exported = torch.export.export(module, (x,))
    stock: Any = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()])
    (folder / "stock.pte").write_bytes(stock.to_executorch().buffer)
    to_edge(exported).to_backend("xnnpack").to_executorch().save(folder / "ours.pte")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", module(x).detach().numpy())
    return folder


def run(program: Path, engine: str) -> np.ndarray:
    output = program.with_suffix(".npz")
    arguments = ["--engine", engine, "--input", str(program.with_name("x.npy")), "--output", str(output)]
    assert main(["run", str(program), *arguments]) == 0
    return np.load(output)["output_0"]


@pytest.mark.parametrize("name", ["stock", "ours"])
def test_a_program_is_disassembled_parsed_run_and_compiled_again(programs: Path, name: str):
    shown, compiled = programs / f"{name}.mlir", programs / f"{name}.again.mlir"
    assert opt([str(programs / f"{name}.pte"), "-p", "disassemble-payloads", "-o", str(shown)]) == 0
    text = shown.read_text()
    assert "delegate.partition @delegate0" in text and "delegate.payload" not in text
    assert opt([str(shown), "-o", str(compiled)]) == 0
    assert compiled.read_text() == text
    assert opt([str(shown), "-p", "lower-partitions", "-o", str(compiled)]) == 0
    assert main(["compile", str(compiled), "-o", str(programs / f"{name}.again.pte")]) == 0
    expected = np.load(programs / "y.npy")
    for program, engine in ((f"{name}.pte", "numpy"), (f"{name}.mlir", "numpy"), (f"{name}.again.pte", "c")):
        np.testing.assert_allclose(run(programs / program, engine), expected, rtol=1e-4, atol=1e-5)


class Twice(torch.nn.Module):
    """Two delegates, whose weights have one number in each."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.cumsum(self.first(x), 0))


def test_weights_of_two_payloads_are_written_to_one_file(tmp_path: Path):
    x = torch.rand(2, 4)
    to_edge(torch.export.export(Twice(), (x,))).to_backend("xnnpack").to_executorch().save(tmp_path / "m.pte")
    assert opt([str(tmp_path / "m.pte"), "-p", "disassemble-payloads", "-o", str(tmp_path / "m.mlir")]) == 0
    assert (tmp_path / "m.mlir").read_text().count("delegate.partition @") == 2


def test_a_partition_of_a_planned_program_says_how_it_is_compiled(programs: Path, capsys: pytest.CaptureFixture[str]):
    path = str(programs / "partition.mlir")
    assert opt([str(programs / "ours.pte"), "-p", "disassemble-payloads", "-o", path]) == 0
    assert main(["inspect", path]) == 0
    assert "xnnpack.conv2d" in capsys.readouterr().out
    assert main(["compile", path, "-o", str(programs / "none.pte")]) == 1
    expected = "error: delegate.partition @delegate0 is not compiled for its backend: the pass lower-partitions does it\n"
    assert capsys.readouterr().err.endswith(expected)


def test_inspect_counts_nodes_and_bytes(programs: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", "--json", str(programs / "stock.pte")]) == 0
    found = json.loads(capsys.readouterr().out)["delegates"]["delegate0"]
    assert found["backend"] == "XnnpackBackend" and found["bytes"] > 1000
    assert found["nodes"] == {f"xnnpack.{node}": count for node, count in NODES.items()}
    assert found["constant_bytes"] == sum(found["named_data"].values()) == 39720
    assert main(["inspect", str(programs / "stock.pte")]) == 0
    out = capsys.readouterr().out
    assert f"delegate delegate0 (XnnpackBackend), {found['bytes']} bytes" in out
    assert "named data 39720 bytes, 6 entries" in out and " xnnpack.static_transpose  2 " in out


def test_a_damaged_payload_is_one_line_and_the_rest_is_shown(programs: Path, capsys: pytest.CaptureFixture[str]):
    data = (programs / "ours.pte").read_bytes()
    assert data.count(b"XN01") == 1
    damaged = programs / "damaged.pte"
    damaged.write_bytes(data.replace(b"XN01", b"XN99"))
    why = "XNNPACK payload: its graph is of format b'XN99'; b'XN01' is the one known"
    assert main(["inspect", str(damaged)]) == 0
    out = capsys.readouterr().out
    assert f"  not disassembled: {why}\n" in out and "method forward: 1 instructions" in out
    assert main(["inspect", "--json", str(damaged)]) == 0
    assert json.loads(capsys.readouterr().out)["delegates"]["delegate0"]["unread"] == why
    assert opt([str(damaged), "-p", "disassemble-payloads"]) == 0
    out, err = capsys.readouterr()
    assert "delegate.payload @delegate0" in out and "exec.method @forward" in out
    assert f"warning: disassemble-payloads: @delegate0 stays a payload: {why}\n" in err
