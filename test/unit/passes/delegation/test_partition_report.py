"""The report of what backends took: the places, reasons and work of operators."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from flambeau import quantize, to_edge
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.torch_export import import_program
from flambeau.passes.analysis.cost import flops, traffic
from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner, partitioners
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.tools.main import main

PROGRAM = """func.func @forward(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.mm(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("layers.0"("m.py":1:1))
  %1 = aten.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("layers.1"("m.py":2:1))
  %2 = aten.tanh(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("layers.1"("m.py":2:1))
  %3 = aten.sin(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("layers.2"("m.py":3:1))
  func.return %3 : tensor<2x4xf32>
}"""


class Products(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(4, 6, 3, groups=2)
        self.transposed = nn.ConvTranspose2d(6, 4, 2)
        self.linear = nn.Linear(7, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.transposed(self.convolution(x)).view(1, 4, 7, 7)).permute(0, 1, 3, 2)


def test_the_work_of_products_is_counted_and_movement_is_none():
    module = to_edge(torch.export.export(Products().eval(), (torch.rand(1, 4, 8, 8),))).module
    found = [(op.name, flops(op)) for op in module.walk() if isinstance(op, SchemaOp)]
    convolution, transposed = 2 * (6 * 6 * 6) * (2 * 3 * 3), 2 * (6 * 6 * 6) * (4 * 2 * 2)
    counts = [count for name, count in found if name == "edge.convolution"]
    assert counts == [convolution, transposed]
    assert ("edge.linear", 2 * (4 * 7 * 5) * 7) in found
    assert ("edge.permute_copy", 0) in found
    linear = next(op for op in module.walk() if isinstance(op, SchemaOp) and op.name == "edge.linear")
    assert traffic(linear) == 4 * (4 * 7 * 7 + 5 * 7 + 5 + 4 * 7 * 5)


def test_a_lookup_computes_nothing_however_large_its_table_is():
    class Lookup(nn.Module):
        def forward(self, table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            return nn.functional.embedding(ids, table) + table[ids]

    module = to_edge(torch.export.export(Lookup(), (torch.rand(1000, 4), torch.arange(2)))).module
    counts = {op.name: flops(op) for op in module.walk() if isinstance(op, SchemaOp)}
    assert counts == {"edge.embedding": 0, "edge.index.Tensor": 0, "edge.add.Tensor": 8}


def test_each_operator_has_a_place_and_a_reason():
    partition = PartitionPass(partitioners("elementwise", "xnnpack{least=2}"), no_delegate=("permute_copy",))
    edge = to_edge(torch.export.export(Products().eval(), (torch.rand(1, 4, 8, 8),)))
    partition.apply(edge.context, edge.module)
    rows = {(row.operator, row.backend): row for row in partition.report(edge.module, edge.context).rows}
    assert rows["edge.permute_copy", None].reason == "no-delegate 'permute_copy' keeps it"
    assert rows["edge.linear", "xnnpack"].count == 1 and rows["edge.linear", "xnnpack"].reason == ""
    assert sum(row.count for row in rows.values()) == sum(isinstance(op, SchemaOp) for op in edge.module.walk())


def test_a_layer_whose_weight_is_dequantized_elsewhere_stays():
    program = quantize((nn.Conv2d(2, 8, 1).eval(), (torch.rand(1, 2, 4, 4),)), None, "w8").program
    edge, partition = to_edge(program), PartitionPass(partitioners("xnnpack"), no_delegate=("dequantize_per_channel",))
    partition.apply(edge.context, edge.module)
    (row,) = (row for row in partition.report(edge.module, edge.context).rows if row.operator == "edge.convolution")
    why = "its constant 'weight' is dequantized elsewhere: no-delegate 'dequantize_per_channel' keeps it"
    assert row.backend is None and row.reason == why


def test_the_command_line_tells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("x.mlir").write_text(PROGRAM)
    given = ["compile", "x.mlir", "--backend", "elementwise{least=2}, xnnpack{least=3}", "--explain-partitions"]
    assert main(given) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and "edge.tanh  elementwise  1" in shown.err and "argument" in shown.err
    assert main([*given, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["partitions"]
    assert [(row["operator"], row["backend"], row["count"], row["flops"], row["bytes"]) for row in rows] == [
        ("edge.mm", None, 1, 64, 128),
        ("edge.sin", None, 1, 8, 64),
        ("edge.relu", "elementwise", 1, 8, 64),
        ("edge.tanh", "elementwise", 1, 8, 64),
    ]
    assert rows[0]["reason"] == "elementwise: the backend has no such operator; xnnpack: argument 'mat2' is not a constant"
    form = "a backend is a name, perhaps with options in braces, as in xnnpack{least=3}"
    commas = f"{form}; a comma comes between two, and a space between options"
    for options, message in (
        (["--no-delegate", "relu"], "error: --no-delegate is for --backend"),
        (["--explain-partitions"], "error: --explain-partitions is for --backend"),
        (
            ["--backend", "xnnpack{lest=1}"],
            "error: --backend xnnpack{lest=1}: backend 'xnnpack' has no option 'lest'; it has least, methods, strict; did you",
        ),
        (
            ["--backend", ""],
            f"error: --backend '': {form}, not ''; there ",
        ),
        (["--backend", "xnnpack,"], f"error: --backend xnnpack,: {commas}, not 'xnnpack,'\n"),
        (["--backend", "xnnpack{least"], f"error: --backend xnnpack{{least: {commas}, not 'xnnpack{{least': "),
        (["--backend", "xnnpack{least=1,strict=true}"], f"error: --backend xnnpack{{least=1,strict=true}}: {commas}, not "),
        (["--backend", "xnnpack,xnnpack"], "error: --backend xnnpack,xnnpack: backend 'xnnpack' is chosen twice; "),
        (["--backend", "xnnpack", "--backend", "xnnpack{least=2}"], "error: backend 'xnnpack' is chosen twice; "),
        (
            ["--backend", "xnnpack{least=0}"],
            "error: --backend xnnpack{least=0}: option 'least', the fewest operators of a delegate, is 1 or",
        ),
    ):
        assert main(["compile", "x.mlir", *options]) == 1
        assert capsys.readouterr().err.startswith(message)


def test_a_report_that_goes_into_a_file_is_whole(tmp_path: Path):
    (tmp_path / "x.mlir").write_text(PROGRAM)
    code = "from flambeau.tools.main import main; main(['compile', 'x.mlir', '--backend', 'elementwise,xnnpack', '--explain-partitions'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "60"})
    (line,) = (line for line in done.stderr.splitlines() if line.startswith(" edge.mm"))
    assert line.rstrip().endswith("elementwise: the backend has no such operator; xnnpack: argument 'mat2' is not a constant")


def test_compiling_says_where_the_program_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("x.mlir").write_text(PROGRAM)
    notes = {
        "xnnpack": [],
        "openvino": ["ExecuTorch cannot run the delegates of openvino in this program: the models that it holds are compiled when "],
    }
    for backend, expected in (
        notes | {"elementwise": ["ExecuTorch cannot run the delegates of elementwise in this program: it has no such"]}
    ).items():
        assert main(["compile", "x.mlir", "--backend", backend, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["notes"]
        assert len(found) == len(expected) and all(map(str.startswith, found, expected))
        assert main(["compile", "x.mlir", "--backend", backend]) == 0
        assert capsys.readouterr().err.count("\nnote: ExecuTorch cannot run ") == len(expected)


def test_compiling_says_that_a_backend_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("x.mlir").write_text(PROGRAM)
    for options in ([], ["--to", "edge", "-o", "y.mlir"]):
        options = ["--backend", "elementwise{least=50},xnnpack", *options]
        assert main(["compile", "x.mlir", *options]) == 0
        said = capsys.readouterr().err
        assert said.count("note: elementwise has no operator of this program; --explain-partitions says why\n") == 1, said


def test_what_was_kept_for_a_backend_and_stays_is_what_the_target_runs():
    x = torch.rand(4)  # a line, which the kernel of `linear` does not take
    context = FlambeauContext()
    module = import_program(torch.export.export(nn.Linear(4, 2).eval(), (x,)), context)
    Compilation(module, context, PipelineOptions(backends=(Partitioner("xnnpack"),), no_delegate=("linear",))).emit()
