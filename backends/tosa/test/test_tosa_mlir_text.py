"""The text of graphs for MLIR's tools: tosa-opt takes each operator of the dialect, and writes the same graph again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mlir_tools import through, validated
from op_samples_tosa import SAMPLES
from suite.vendor_tools import installed
from torch import nn
from xdsl.ir import SSAValue

from flambeau import to_edge_transform_and_lower
from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.decode import decode
from flambeau.backends.tosa.encode import encode
from flambeau.backends.tosa.mlir_text import main, mlir_text
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.ir.tensor_types import element_of, is_float
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.tools.samples.sample_operations import arrays_of, operation, type_of, with_tensors
from flambeau.tools.samples.sample_table import bound_samples

ROWS = load_rows()["tosa"]
TOOLS = installed("tosa-tools", "tosa-opt")


def profile_of(row: type[SchemaOp], sample: Sequence[Any]) -> str:
    op, block = operation(row, sample)
    return "fp" if any(is_float(element_of(item.type)) for item in (*block.args, op.result)) else "int"


@cache
def graphs() -> dict[str, memoryview]:
    """For each profile a graph of its samples of each operator."""
    found: dict[str, memoryview] = {}
    for profile in ("int", "fp"):
        samples = [(row, sample) for row in ROWS.values() for sample in bound_samples(SAMPLES[row.name], row)]
        chosen = [(row, sample) for row, sample in samples if profile_of(row, sample) == profile]

        def build(*values: SSAValue, chosen: Sequence[tuple[type[SchemaOp], Sequence[Any]]] = chosen) -> list[SSAValue]:
            given = iter(values)
            return [row(*with_tensors(sample, lambda number, array: next(given))).result for row, sample in chosen]

        module = partition_module("TosaBackend", [type_of(array) for _, sample in chosen for array in arrays_of(sample)], build)
        partition = next(op for op in module.body.block.ops if isinstance(op, PartitionOp))
        found[profile] = memoryview(encode(partition, ModuleConstants(FlambeauContext(), module), TosaOptions()).data)
    return found


def test_every_operator_is_in_the_text() -> None:
    text = mlir_text(graphs())
    assert all(f'"{name}"(' in text for name in (row.name for row in ROWS.values()))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("profile", ["int", "fp"])
def test_tosa_opt_takes_every_operator_and_writes_the_same(tool: str, profile: str) -> None:
    graph = graphs()[profile]
    same = through(tool, profile, graph)
    assert equivalent(decode(same, {}, BlobStore()), decode(graph, {}, BlobStore()))


@pytest.mark.parametrize("tool", TOOLS)
def test_tosa_opt_knows_the_profile(tool: str) -> None:
    with pytest.raises(AssertionError, match=r"'tosa\.\w+' op illegal: requires any of \[pro_fp\] profiles"):
        validated(tool, "int", {"main": graphs()["fp"]})


def test_a_program_has_a_function_for_each_delegate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = torch.export.export(nn.ReLU(), (torch.zeros(2, 3),))
    edge = to_edge_transform_and_lower(program, partitioner=["tosa{profile=fp}"])
    path = tmp_path / "model.pte"
    path.write_bytes(edge.to_executorch().buffer)
    assert main([str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("module {\n  func.func @delegate0(%input_0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {\n")
    clamp = '"tosa.clamp"(%input_0) {nan_mode = #tosa.nan_mode<PROPAGATE>, min_val = 0x00000000 : f32, max_val = 0x7F7FFFFF : f32}'
    assert f" = {clamp} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n" in text


def refusal(*arguments: str) -> str:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert str(error.value).startswith("error: ") and "\n" not in str(error.value)
    return str(error.value)


def test_what_is_no_graph_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "one file is expected, a graph or a program, got 0" in refusal()
    path = tmp_path / "model.pte"
    assert "No such file" in refusal(str(path))
    path.write_bytes(b"12345678")
    assert "model.pte: not a .pte program" in refusal(str(path))
    path.write_bytes(to_edge_transform_and_lower(torch.export.export(nn.ReLU(), (torch.zeros(2),))).to_executorch().buffer)
    assert "it has no delegates of 'TosaBackend': compile it with --backend tosa" in refusal(str(path))


def test_a_damaged_graph_is_refused_or_has_a_text() -> None:
    rng = np.random.default_rng(0)
    for number in range(200):
        graph = bytearray(graphs()[("int", "fp")[number % 2]])
        for place in rng.integers(0, len(graph), 3):
            graph[place] ^= int(rng.integers(1, 256))
        with suppress(BackendError):
            mlir_text({"main": memoryview(graph)})
