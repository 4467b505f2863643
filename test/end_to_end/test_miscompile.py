"""A wrong constant in one pattern, planted in a model of a thousand operations: `flambeau bisect` names the one rewrite that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from networks import Network
from shares import drawn

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.layers.activation import HardswishOp, LeakyReluOp, ReluOp, SigmoidOp, SiluOp, TanhOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.layers.norm import LayerNormOp
from flambeau.tools.main import main

ROWS, WIDTH = 4, 8
SLOPE = 0.25

PLUGIN = '''\
"""Activations in terms of simpler operators. The clamp of hardswish, and one slope of leaky_relu, are wrong."""

from dataclasses import dataclass

from flambeau.dialects.aten.layers.activation import (HardswishOp, HardtanhOp, LeakyReluOp, ReluOp, SigmoidOp, SiluOp)
from flambeau.dialects.aten.elementwise.arithmetic import MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.math import NegOp
from flambeau.dialects.schema.namespace import aten
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values


class SiluPattern(Pattern):
    roots = (SiluOp,)

    def rewrite(self, op, rewriter):
        x = op.operands[0]
        replace_with_values(op, [MulTensorOp(x, SigmoidOp(x).result).result], rewriter)


class HardswishPattern(Pattern):
    roots = (HardswishOp,)

    def rewrite(self, op, rewriter):
        x = op.operands[0]
        clamped = HardtanhOp(aten.add.Scalar(x, 3), 0, {clamp}).result
        replace_with_values(op, [aten.div.Scalar(MulTensorOp(x, clamped).result, 6)], rewriter)


class LeakyReluPattern(Pattern):
    roots = (LeakyReluOp,)

    def rewrite(self, op, rewriter):
        x, slope = op.operands[0], op.argument("negative_slope")
        if slope == {slope}:
            slope = {wrong_slope}
        negative = aten.mul.Scalar(ReluOp(NegOp(x).result).result, slope)
        replace_with_values(op, [SubTensorOp(ReluOp(x).result, negative).result], rewriter)


@dataclass(frozen=True)
class SimplifyActivationsPass(PatternPass):
    name = "simplify-activations"

    def patterns(self):
        return [SiluPattern(), HardswishPattern(), LeakyReluPattern()]
'''


def plugin(path: Path, *, clamp: int = 6, wrong_slope: float = SLOPE) -> Path:
    path.write_text(PLUGIN.format(clamp=clamp, slope=SLOPE, wrong_slope=wrong_slope))
    return path


class Model(Network):
    """A network of layers that each look at some of those before."""

    def __init__(self, seed: int, layers: int = 24):
        super().__init__(seed, (ROWS, WIDTH))
        self.values = [self.input]
        self.special = self.random.randrange(layers // 4, layers)
        """The layer with the only leaky_relu of slope SLOPE."""
        for index in range(layers):
            self._add_layer(index)

    def _add_layer(self, index: int) -> None:
        path = f"layers.{index}"
        value = self.add(LayerNormOp(self.values[-1], (WIDTH,)), f"{path}.norm")
        weight, bias = self.weight(f"{path}.weight", (WIDTH, WIDTH), 0.5), self.weight(f"{path}.bias", (WIDTH,), 0.5)
        value = self.add(LinearOp(value, weight, bias), f"{path}.linear")
        kind = self.random.choice([HardswishOp, SiluOp, LeakyReluOp, SigmoidOp, ReluOp, TanhOp])
        arguments = (0.01,) if kind is LeakyReluOp else ()
        if index == self.special:
            kind, arguments = LeakyReluOp, (SLOPE,)
        value = self.add(kind(value, *arguments), f"{path}.act")
        gate = self.add(TanhOp(self.random.choice(self.values[-8:])), f"{path}.gate")
        value = self.add(self.random.choice([AddTensorOp, MulTensorOp, SubTensorOp])(value, gate), f"{path}.mix")
        self.values.append(self.add(AddTensorOp(value, self.values[-1]), f"{path}.residual"))

    def write_normalized(self, path: Path) -> int:
        return self.write(path, self.add(LayerNormOp(self.values[-1], (WIDTH,)), "norm"))


PIPELINE = "canonicalize,func.func(cse,simplify-activations,cse),decompose-aten,canonicalize"


def bisect(model: Model, folder: Path, wrong: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    source = folder / "model.mlir"
    model.write_normalized(source)
    assert main(["bisect", str(source), "-p", PIPELINE, f"--load-plugin={wrong}", "-o", str(folder / "found"), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("seed", drawn([0, 1, 2]))
def test_the_only_wrong_rewrite_is_named(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = Model(seed, layers=126)
    report = bisect(model, tmp_path, plugin(tmp_path / "activations.py", wrong_slope=0.52), capsys)
    assert report["pass"]["name"] == "simplify-activations"
    assert report["rewrite"]["pattern"] == "LeakyReluPattern"
    assert report["rewrite"]["module_path"].startswith(f"layers.{model.special}.act (model.py:")
    assert "negative_slope = 0.25" in report["rewrite"]["operation"]
    assert any(line.startswith("+") and "{other = 0.52}" in line for line in report["rewrite"]["diff"])
    assert sum(1 for _ in model.function.body.block.ops) > 1000
    assert report["judged"] < 20, "binary search, not one after the other"


def test_a_pattern_that_is_always_wrong_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    report = bisect(Model(3), tmp_path, plugin(tmp_path / "activations.py", clamp=5), capsys)
    assert report["rewrite"]["pattern"] == "HardswishPattern"
    assert any(line.startswith("+") and "max_val = 5" in line for line in report["rewrite"]["diff"])


def test_the_case_that_bisect_leaves_is_reduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wrong, reduced = plugin(tmp_path / "activations.py", wrong_slope=0.52), tmp_path / "reduced.mlir"
    report = bisect(Model(4), tmp_path, wrong, capsys)
    before = report["files"]["before pass"]
    assert main(["reduce", before, "-p", report["pass"]["text"], f"--load-plugin={wrong}", "-o", str(reduced), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["operations"] < 10
    assert "negative_slope = 0.25" in reduced.read_text()


def test_a_pipeline_without_a_fault_has_nothing_to_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "model.mlir"
    Model(0).write_normalized(source)
    right = plugin(tmp_path / "activations.py")
    assert main(["bisect", str(source), "-p", PIPELINE, f"--load-plugin={right}"]) == 1
    assert "there is nothing to find: the predicate is that the pipeline changes the result, but" in capsys.readouterr().err
