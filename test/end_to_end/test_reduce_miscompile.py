"""A wrong constant in one decomposition, planted in a model of a thousand operations, comes out as a handful of operations."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from flambeau.dialects.aten.activation import EluOp, GeluOp, ReluOp, SeluOp, SigmoidOp
from flambeau.dialects.aten.arithmetic import AddTensorOp
from flambeau.dialects.aten.matmul import LinearOp
from flambeau.dialects.aten.norm import LayerNormOp
from flambeau.dialects.aten.view import ViewOp
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.row import SchemaOp
from flambeau.dialects.text import print_module, read_module, save_weights
from flambeau.dialects.types import f32, tensor
from flambeau.tools.main import main

ROWS, WIDTH = 6, 8


class Builder:
    """A residual network, one operation after the other."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.context = FlambeauContext()
        self.function = FuncOp("forward", ([tensor(f32, (ROWS, WIDTH))], []))
        self.module = ModuleOp([self.function])
        self.value: SSAValue = self.function.args[0]

    def add(self, op: SchemaOp) -> SSAValue:
        self.function.body.block.add_op(op)
        return op.result

    def weight(self, name: str, shape: tuple[int, ...], scale: float) -> SSAValue:
        array = self.numbers.standard_normal(shape).astype(np.float32) * np.float32(scale)
        kind = tensor(f32, shape)
        self.module.body.block.insert_op_before(GlobalOp(name, kind, self.context.blobs.add(name, array.data)), self.function)
        load = GlobalLoadConstantOp(SymbolRefAttr(name), kind)
        self.function.body.block.add_op(load)
        return load.result

    def block(self, index: int, activation: type[SchemaOp]) -> None:
        """Norm, view, linear, activation, view back, joined with what came before."""
        value = self.add(LayerNormOp(self.value, (WIDTH,)))
        value = self.add(ViewOp(value, (ROWS // 2, 2, WIDTH)))
        weight = self.weight(f"w{index}", (WIDTH, WIDTH), 0.3)
        value = self.add(LinearOp(value, weight, self.weight(f"b{index}", (WIDTH,), 0.3)))
        value = self.add(activation(value))
        value = self.add(ViewOp(value, (ROWS, WIDTH)))
        self.value = self.add(AddTensorOp(self.value, value))

    def finish(self, path: Path) -> int:
        self.function.body.block.add_op(ReturnOp(self.value))
        self.function.update_function_type()
        path.write_text(print_module(self.module))
        save_weights(self.module, self.context.blobs, path.with_suffix(".safetensors"))
        return sum(1 for _ in self.function.body.block.ops)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_wrong_constant_among_a_thousand_operations(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    builder = Builder(seed)
    bad = builder.random.randrange(20, 105)
    for index in range(126):
        builder.block(index, SeluOp if index == bad else builder.random.choice([ReluOp, GeluOp, SigmoidOp]))
    source, reduced = tmp_path / "model.mlir", tmp_path / "reduced.mlir"
    assert builder.finish(source) > 1000

    def decompose(x: SSAValue) -> SSAValue:
        return EluOp(x, 1.6732632423543772, 1.5070098735548049).result  # two digits of the scale have changed places

    monkeypatch.setattr(SeluOp, "decompose", staticmethod(decompose))
    assert main(["reduce", str(source), "-p", "decompose-aten,cse", "-o", str(reduced), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["operations"] < 10
    assert report["tests"] < 100
    module = read_module(reduced, FlambeauContext()).module
    assert [op.name for op in module.walk() if isinstance(op, SchemaOp)] == ["aten.selu"]
    assert not reduced.with_suffix(".safetensors").exists(), "the weights have nothing to do with it"
