"""A wrong constant in one decomposition, planted in a model of a thousand operations, comes out as a handful of operations."""

import json
from pathlib import Path

import pytest
from networks import Network
from shares import drawn
from xdsl.ir import SSAValue

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp
from flambeau.dialects.aten.layers.activation import GeluOp, ReluOp, SeluOp, SigmoidOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.layers.norm import LayerNormOp
from flambeau.dialects.aten.movement.shape import ViewOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import read_module
from flambeau.tools.main import main

ROWS, WIDTH = 6, 8

PLANTED = """\
from flambeau.dialects.aten.layers.activation import EluOp, SeluOp
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.registry import pipeline


def decompose(x, /):
    return EluOp(x, 1.6732632423543772, 1.5070098735548049).result  # two digits of the scale have changed places


SeluOp.decompose = staticmethod(decompose)


@pipeline("nothing")
def nothing():
    return Pipeline.of([])
"""


def add_block(network: Network, before: SSAValue, index: int, activation: type[SchemaOp]) -> SSAValue:
    """Norm, view, linear, activation, view back, joined with what came before."""
    path = f"blocks.{index}"
    value = network.add(LayerNormOp(before, (WIDTH,)), path)
    value = network.add(ViewOp(value, (ROWS // 2, 2, WIDTH)), path)
    weight, bias = network.weight(f"w{index}", (WIDTH, WIDTH), 0.3), network.weight(f"b{index}", (WIDTH,), 0.3)
    value = network.add(LinearOp(value, weight, bias), path)
    value = network.add(activation(value), path)
    return network.add(AddTensorOp(before, network.add(ViewOp(value, (ROWS, WIDTH)), path)), path)


@pytest.mark.parametrize("seed", drawn([0, 1]))
def test_a_wrong_constant_among_a_thousand_operations(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    network = Network(seed, (ROWS, WIDTH))
    bad = network.random.randrange(20, 105)
    value = network.input
    for index in range(126):
        value = add_block(network, value, index, SeluOp if index == bad else network.random.choice([ReluOp, GeluOp, SigmoidOp]))
    source, reduced = tmp_path / "model.mlir", tmp_path / "reduced.mlir"
    assert network.write(source, value) > 1000

    plugin = tmp_path / "planted.py"
    plugin.write_text(PLANTED)
    monkeypatch.setattr(SeluOp, "decompose", SeluOp.decompose)  # which the plug-in replaces
    assert main(["reduce", str(source), "-p", "decompose-aten,cse", f"--load-plugin={plugin}", "-o", str(reduced), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["operations"] < 10
    assert report["tests"] < 100
    module = read_module(reduced, FlambeauContext()).module
    assert [op.name for op in module.walk() if isinstance(op, SchemaOp)] == ["aten.selu"]
    assert not reduced.with_suffix(".safetensors").exists(), "the weights have nothing to do with it"
