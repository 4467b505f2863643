"""`flambeau.quantize` of layers that are written in several operators: normalised weights, recurrent layers, numbers made in forward."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_programs import seed

import flambeau
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.fused.quantized import QuantizedConv2dOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.quantization_choices import Scheme
from flambeau.frontends.torch_export import import_program
from flambeau.frontends.torch_quantization.recurrent_cells import gru_cell, lstm_cell
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime

PARAMETRIZATIONS: Any = nn.utils.parametrizations


class Rows(nn.Module):
    """Convolutions of one dimension with normalised weights, as vocoders and networks of sequences have them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = PARAMETRIZATIONS.weight_norm(nn.Conv1d(8, 16, 3, padding="same", dilation=2))
        self.grouped = PARAMETRIZATIONS.spectral_norm(nn.Conv1d(16, 16, 3, stride=2, padding=1, groups=16))
        self.up = PARAMETRIZATIONS.weight_norm(nn.ConvTranspose1d(16, 8, 4, 2, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.up(torch.relu(self.grouped(torch.relu(self.first(x)))))


class Steps(nn.Module):
    """Recurrent layers, and a product with numbers that forward makes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.GRU(8, 16, batch_first=True), nn.LSTM(16, 16, batch_first=True)
        self.third, self.head = nn.RNN(16, 8, batch_first=True), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.head(self.third(self.second(self.first(x)[0])[0])[0])
        return y * torch.sign(torch.arange(8)[:, None] - torch.arange(8))[1]


class Even(nn.Module):
    """Layers that have no form of integers, for reasons of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(4, 4, 2, padding="same"), nn.ConvTranspose1d(4, 4, 3), nn.Conv1d(4, 8, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def rows() -> tuple[nn.Module, tuple[int, ...]]:
    return Rows().eval(), (1, 8, 12)


def steps() -> tuple[nn.Module, tuple[int, ...]]:
    return Steps().eval(), (1, 2, 8)


Made = Callable[[], tuple[nn.Module, tuple[int, ...]]]


@cache
def quantized(make: Made, recipe: Scheme) -> tuple[nn.Module, list[tuple[Tensor]], Any]:
    seed()
    model, shape = make()
    samples = [(torch.randn(shape),) for _ in range(6)]
    return model, samples, flambeau.quantize((model, samples[0]), samples, recipe)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("recipe", ["int8", "w8"])
@pytest.mark.parametrize("make", [rows, steps])
def test_layers_are_quantized_whatever_they_are_written_in(make: Made, recipe: Scheme, target: str):
    model, samples, found = quantized(make, recipe)
    report = found.report()
    floats = ["up"] if recipe == "int8" and make is rows else []
    assert [item.path for item in report.layers_in_floats] == floats, report
    assert report.share_in_integers > (0.4 if floats else 0.8)
    config = flambeau.EdgeCompileConfig(target=target)
    program = flambeau.to_edge(found.program, compile_config=config).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for sample in samples:
        expected, actual = model(*sample).detach().numpy(), np.array(method.execute([*sample])[0])
        assert 10 * np.log10(np.square(expected).sum() / np.square(actual - expected).sum()) > 25


def test_convolutions_of_one_dimension_are_computed_in_integers():
    _, _, found = quantized(rows, "int8")
    context = FlambeauContext()
    compilation = Compilation(import_program(found.program, context), context, PipelineOptions(target="flambeau"))
    compilation.to("edge")
    Pipeline.parse("fuse-quantized").run(compilation.module, context)
    assert sum(isinstance(op, QuantizedConv2dOp) for op in compilation.module.walk()) == 2


def test_layers_in_floats_are_told_with_their_reasons():
    seed()
    samples = [(torch.randn(1, 4, 12),)]
    report = flambeau.quantize((Even().eval(), samples[0]), samples).report()
    told = str(report).splitlines()
    assert told[0].startswith("weights: ") and f"{report.bytes_before} bytes before and {report.bytes_after} after; outputs: " in told[0]
    assert told[1:] == [
        "in floats: layers.0: of convolutions, only those that are padded alike on both sides have an integer form",
        "in floats: layers.1: conv_transpose1d has no form of int8",
    ]
    assert report.share_in_integers == pytest.approx(96 / (96 + 36 + 48 + 16), abs=0.05)


def test_numbers_that_forward_makes_are_not_observed():
    _, _, found = quantized(steps, "int8")
    reasons = [choice.reason for choice in found.choices.values() if "operand" in choice.reason]
    assert any("is of int64, not float32" in reason for reason in reasons)


def test_a_layer_of_constants_is_folded_and_not_in_the_report():
    class Positions(nn.Module):
        places: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("places", torch.arange(4))
            self.table, self.layer = nn.Embedding(16, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(self.table(self.places)) + x

    seed()
    samples = [(torch.randn(1, 4, 8),)]
    report = flambeau.quantize((Positions().eval(), samples[0]), samples, "int8").report()
    assert [(item.path, item.scheme) for item in report.operators if item.path] == [("layer", "int8")]
    assert report.snr > 30


def test_weights_that_change_from_run_to_run_are_no_constants():
    class Changed(nn.Module):
        scale: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.ones(1))
            self.layer, self.fixed = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            self.scale.mul_(2)
            return self.fixed(nn.functional.linear(x, self.layer.weight * self.scale))

    seed()
    samples = [(torch.randn(2, 8),)]
    choices = flambeau.quantize((Changed().eval(), samples[0]), samples).choices
    assert [choice.reason for choice in choices.values() if "constant" in choice.reason] == ["its weight is not a constant"]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell])
def test_a_cell_is_a_layer_for_each_gate(kind: type[nn.GRUCell | nn.LSTMCell], bias: bool) -> None:
    seed()
    cell, x, states = kind(5, 4, bias), torch.randn(3, 5), tuple(torch.randn(3, 4) for _ in range(2))
    numbers = (cell.weight_ih, cell.weight_hh, *((cell.bias_ih, cell.bias_hh) if bias else ()))
    if isinstance(cell, nn.GRUCell):
        torch.testing.assert_close(gru_cell(x, states[0], *numbers), cell(x, states[0]))
    else:
        torch.testing.assert_close(lstm_cell(x, [*states], *numbers), cell(x, states))
