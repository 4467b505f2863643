"""Compares the recipes of `flambeau quantize` with floats: ten models, on both targets and with XNNPACK, in turns on one core.

    python benchmarks/recipes.py ds_cnn tcn
    python benchmarks/recipes.py --json > recipes.json

Weights and samples are random, so that the signal-to-noise ratios compare recipes, not models. Latency is the median over rounds, which
call every program once, of its ratio to the float program of the same target. The arena is the planned memory of the method.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import torch
from delegates import alternate, compare, compile_ours, find_model, run_ours
from torch import Tensor, nn

WEIGHT_NORM: Any = nn.utils.parametrizations.weight_norm
RECIPES = ("int8", "int8-dynamic", "w8")
PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "executorch": ("executorch", ()),
    "flambeau": ("flambeau", ()),
    "xnnpack": ("executorch", ("xnnpack",)),
}
SAMPLES = 4
Model = tuple[nn.Module, tuple[Any, ...]]


class ResidualRows(nn.Module):
    """A block of a temporal convolutional network: causal dilated convolutions with normalised weights, and a residual."""

    def __init__(self, channels: int, dilation: int):
        super().__init__()
        self.padding = 2 * dilation
        self.first = WEIGHT_NORM(nn.Conv1d(channels, channels, 3, padding=self.padding, dilation=dilation))
        self.second = WEIGHT_NORM(nn.Conv1d(channels, channels, 3, padding=self.padding, dilation=dilation))

    def forward(self, x: Tensor) -> Tensor:
        """Returns the result."""
        y = torch.relu(self.first(x)[:, :, : -self.padding])
        y = torch.relu(self.second(y)[:, :, : -self.padding])
        return torch.relu(x + y)


def tcn() -> Model:
    """A temporal convolutional network of 64 channels and 128 steps."""
    blocks = [ResidualRows(64, 1 << level) for level in range(4)]
    return nn.Sequential(nn.Conv1d(16, 64, 1), *blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 10)), (
        torch.randn(1, 16, 128),
    )


class ResidualWave(nn.Module):
    """A residual block of a vocoder."""

    def __init__(self, channels: int):
        super().__init__()
        self.layers = nn.ModuleList(WEIGHT_NORM(nn.Conv1d(channels, channels, 3, padding=d, dilation=d)) for d in (1, 3, 5))

    def forward(self, x: Tensor) -> Tensor:
        """Returns the result."""
        for layer in self.layers:
            x = x + layer(nn.functional.leaky_relu(x, 0.1))
        return x


def vocoder() -> Model:
    """A HiFi-GAN generator: 80 mel bands of 16 frames to 256 samples for each."""
    layers: list[nn.Module] = [WEIGHT_NORM(nn.Conv1d(80, 128, 7, padding=3))]
    for level, (stride, kernel) in enumerate([(8, 16), (8, 16), (4, 8)]):
        channels = 128 >> level
        up = WEIGHT_NORM(nn.ConvTranspose1d(channels, channels // 2, kernel, stride, (kernel - stride) // 2))
        layers += [nn.LeakyReLU(0.1), up, ResidualWave(channels // 2)]
    layers += [nn.LeakyReLU(), WEIGHT_NORM(nn.Conv1d(16, 1, 7, padding=3)), nn.Tanh()]
    return nn.Sequential(*layers), (torch.randn(1, 80, 16),)


def gru() -> Model:
    """Two recurrent layers over 32 steps of 40 numbers, and scores of their last state."""

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.head = nn.GRU(40, 128, 2, batch_first=True), nn.Linear(128, 12)

        def forward(self, x: Tensor) -> Tensor:
            """Returns the result."""
            return self.head(self.layers(x)[0][:, -1])

    return Last(), (torch.randn(1, 32, 40),)


def deberta() -> Model:
    """DeBERTa-v2 of two layers, whose relative positions are integers made in forward; 32 ids."""
    import transformers

    library: Any = transformers

    config = library.DebertaV2Config(
        vocab_size=2048, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=1024, relative_attention=True,
        position_buckets=32, pos_att_type=["p2c", "c2p"], max_position_embeddings=64, type_vocab_size=0,
    )  # fmt: skip

    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = library.DebertaV2Model(config)

        def forward(self, ids: Tensor) -> Tensor:
            """Returns the result."""
            return self.model(ids).last_hidden_state

    return Hidden(), (torch.randint(2048, (1, 32)),)


OWN: dict[str, Callable[[], Model]] = {"tcn": tcn, "vocoder": vocoder, "gru": gru, "deberta": deberta}
MODELS = ("mobilenet_v2", "mobilenet_v3", "resnet18", "ds_cnn", *OWN, "minilm", "lstm_classifier")


def exported(name: str) -> tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]:
    """Returns a float program, an input for its calls, and samples."""
    cast(Any, torch).manual_seed(0)
    module, inputs = OWN[name]() if name in OWN else find_model(name)
    samples = [tuple(torch.randn_like(x) if x.is_floating_point() else x for x in inputs) for _ in range(SAMPLES)]
    return torch.export.export(module.eval(), inputs), inputs, [inputs, *samples]


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Returns all figures of one model, by recipe and place."""
    import flambeau
    from flambeau.frontends.quantization_choices import RecipeError
    from flambeau.runtime.pte import read_program

    with torch.no_grad():
        floats, inputs, samples = exported(name)
        programs, reports = {"float": floats}, dict[str, Any]()
        for recipe in RECIPES:
            try:
                made = flambeau.quantize(floats, samples if recipe == "int8" else [inputs], recipe)
            except RecipeError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            programs[recipe], reports[recipe] = made.program, made.report()
        files = {(r, p): compile_ours(x, *backends, target=target) for r, x in programs.items() for p, (target, backends) in PLACES.items()}
    times = alternate({f"{r} {p}": run_ours(file, inputs) for (r, p), file in files.items()}, rounds)
    return {
        f"{recipe} {place}": {
            "bytes": len(file),
            "arena": sum(read_program(file).execution_plan[0].non_const_buffer_sizes),
            "share": reports[recipe].share_in_integers if recipe in reports else 0.0,
            "decibels": reports[recipe].snr if recipe in reports else None,
            "milliseconds": statistics.median(times[f"{recipe} {place}"]),
            "ratio_to_float": statistics.median(a / b for a, b in zip(times[f"{recipe} {place}"], times[f"float {place}"], strict=True)),
        }
        for (recipe, place), file in files.items()
    }


def rows(result: dict[str, Any]) -> Iterator[Sequence[str]]:
    """Yields the table of a model."""
    yield ".pte, bytes", "arena", "in integers", "dB", "latency, ms", "/ float"
    for key, found in result.items():
        noise = "" if found["decibels"] is None else f"{found['decibels']:.1f}"
        sizes = (str(found["bytes"]), str(found["arena"]), f"{found['share']:.1%}", noise)
        yield key, *sizes, f"{found['milliseconds']:.3f}", f"{found['ratio_to_float']:.2f}"


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares the recipes of quantization with floats.")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of calls")
    return compare(__file__, parser, MODELS, measure, rows)


if __name__ == "__main__":
    sys.exit(main())
