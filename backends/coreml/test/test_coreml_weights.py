"""Weights of integers: what is stored of them, what coremltools makes of them, and what numpy computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from coremltools_judge import PYTHONS, read, unpacked, without_weights, written
from torch import Tensor, nn
from torch_programs import seed
from vendor_converter import payload_of
from xdsl.dialects.builtin import i8

from flambeau import to_edge
from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.decode import decode
from flambeau.backends.coreml.package import STORED_SHORT, flattened, read_package
from flambeau.backends.coreml.palettes import palette
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.protobuf import Record, encode
from flambeau.runtime.protobuf import decode as decoded

OPS: Any = torch.ops.quantized_decomposed
SENTINEL = bytes.fromhex("efbeadde")


class Layers(nn.Module):
    """A convolution and a layer whose weights are integers, with scales of channels, or in blocks of 8."""

    kernels: Tensor
    kernel_scales: Tensor
    rows: Tensor
    row_scales: Tensor
    zeros: Tensor

    def __init__(self, limit: int, *, in_blocks: bool):
        super().__init__()
        self.limit, self.in_blocks = limit, in_blocks
        parameters = (5, 2) if in_blocks else (5,)
        self.register_buffer("kernels", torch.randint(-limit - 1, limit + 1, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("rows", torch.randint(-limit - 1, limit + 1, (5, 16), dtype=torch.int8))
        self.register_buffer("kernel_scales", torch.rand(4) / limit + 0.01)
        self.register_buffer("row_scales", torch.rand(parameters) / limit + 0.01)
        self.register_buffer("zeros", torch.randint(-2, 3, parameters, dtype=torch.int32))

    def weights(self) -> tuple[Tensor, Tensor]:
        """The weights in floats."""
        limits = -self.limit - 1, self.limit, torch.int8
        kernels = OPS.dequantize_per_channel(self.kernels, self.kernel_scales, None, 0, *limits)
        if self.in_blocks:
            return kernels, OPS.dequantize_per_channel_group(self.rows, self.row_scales, self.zeros, *limits, 8, torch.float32)
        return kernels, OPS.dequantize_per_channel(self.rows, self.row_scales, self.zeros, 0, *limits)

    def forward(self, x: Tensor) -> Tensor:
        """Classes of an image."""
        kernels, rows = self.weights()
        return nn.functional.linear(nn.functional.conv2d(x, kernels, stride=2).relu().flatten(1), rows)


CASES = [
    (127, "{target=iOS16 precision=f32}", False),
    (127, "{target=iOS18 precision=f32}", False),
    (127, "{target=iOS17}", False),
    (127, "{target=iOS18 precision=f32}", True),
    (7, "{target=iOS18 precision=f32}", True),
    (7, "{target=iOS18}", True),
]


def lowered(limit: int, options: str, in_blocks: bool) -> tuple[Any, Any, list[Any], Any]:
    """The program, its input, the weights in floats, and what PyTorch computes."""
    seed()
    module, x = Layers(limit, in_blocks=in_blocks).eval(), torch.randn(1, 3, 5, 5)
    with torch.no_grad():
        edge = to_edge(torch.export.export(module, (x,))).to_backend(f"coreml{options}")
        return edge, x.numpy(), [weight.numpy() for weight in module.weights()], module(x).numpy()


@pytest.mark.parametrize(("limit", "options", "in_blocks"), CASES)
def test_numpy_computes_with_weights_of_integers(limit: int, options: str, in_blocks: bool) -> None:
    edge, x, _, expected = lowered(limit, options, in_blocks)
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [x])
    near = 1e-5 if "f32" in options else 5e-3
    assert np.abs(np.asarray(found) - expected).max() <= near * np.abs(expected).max()
    weights = bytes(read_package(memoryview(payload_of(edge)))[1])
    kinds = [weights[place + 4] for place in range(64, len(weights), 64) if weights[place : place + 4] == SENTINEL]
    assert (STORED_SHORT[i8] in kinds) == (limit == 7) and kinds[0] == 4


@pytest.mark.parametrize("python", PYTHONS, ids=lambda _: "coremltools")
def test_coremltools_makes_the_same_weights(python: str, tmp_path: Path) -> None:
    made = [lowered(*case) for case in CASES]
    packages = [unpacked(payload_of(edge), tmp_path / str(number)) for number, (edge, *_) in enumerate(made)]
    found = read(python, packages)
    assert without_weights(found) == [written(package) for package in packages]
    for (*_, operations), (_, _, weights, _), (_, options, _) in zip(found, made, CASES, strict=True):
        arrays = [np.array(digest) for kind, _, digest in operations if kind.startswith("constexpr_")]
        for array, weight in zip(arrays, weights, strict=True):
            np.testing.assert_allclose(array.reshape(weight.shape), weight, rtol=1e-6 if "f32" in options else 2e-3, atol=1e-6)


@pytest.mark.parametrize(("options", "in_blocks"), [("{target=iOS15}", False), ("{target=iOS17}", True)])
def test_a_target_without_such_weights_leaves_them(options: str, in_blocks: bool) -> None:
    edge, *_ = lowered(127, options, in_blocks)
    (payload,) = (op for op in edge.module.body.block.ops if isinstance(op, PayloadOp))
    assert f"dequantize_per_channel{'_group' if in_blocks else ''}" not in str(payload.attributes["operators"])


class Dense(nn.Module):
    """A convolution, a layer and a table of words, whose elements palettes have, and a layer that is too small for one."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels, self.rows, self.words, self.small = nn.Conv2d(9, 30, 3), nn.Linear(31, 67), nn.Embedding(70, 31), nn.Linear(67, 2)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        """Numbers of images and words."""
        return self.small(self.rows(self.words(ids)).tanh()) + self.kernels(x).mean((2, 3))[:, :2]

    def large(self) -> list[Tensor]:
        """The weights that become palettes, in the order of their operators."""
        return [self.words.weight, self.rows.weight, self.kernels.weight]


@cache
def dense(options: str) -> tuple[Any, list[Any], list[Any], Any]:
    """The program, its inputs, the weights as palettes have them, and what PyTorch computes with these."""
    seed()
    module, inputs = Dense().eval(), (torch.randn(1, 9, 5, 5), torch.tensor([3, 69, 0]))
    edge = to_edge(torch.export.export(module, inputs)).to_backend(f"coreml{{weights=palettized4 {options}}}")
    tables = [palette(weight.detach().numpy()) for weight in module.large()]
    with torch.no_grad():
        for weight, (indices, table) in zip(module.large(), tables, strict=True):
            assert (weight - torch.tensor(table[indices])).abs().max() < 0.5 * weight.abs().max()
            weight.copy_(torch.tensor(table[indices]))
        return edge, [value.numpy() for value in inputs], [table[indices] for indices, table in tables], module(*inputs).numpy()


PALETTES = ["target=iOS16 precision=f32", "target=iOS17", "target=iOS18 precision=f32", "target=iOS18"]


@pytest.mark.parametrize("options", PALETTES)
def test_numpy_computes_with_palettes(options: str) -> None:
    edge, inputs, weights, expected = dense(options)
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", inputs)
    near = 1e-5 if "f32" in options else 5e-3
    assert np.abs(np.asarray(found) - expected).max() <= near * np.abs(expected).max()
    assert len(read_package(memoryview(payload_of(edge)))[1]) < sum(weight.size for weight in weights)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda _: "coremltools")
def test_coremltools_makes_weights_of_palettes(python: str, tmp_path: Path) -> None:
    made = [dense(options) for options in PALETTES]
    packages = [unpacked(payload_of(edge), tmp_path / str(number)) for number, (edge, *_) in enumerate(made)]
    found = read(python, packages)
    assert without_weights(found) == [written(package) for package in packages]
    for (*_, operations), (_, _, weights, _), options in zip(found, made, PALETTES, strict=True):
        arrays = [np.array(digest) for kind, _, digest in operations if kind == "constexpr_lut_to_dense"]
        near = 1e-6 if "f32" in options else 2e-3
        for array, weight in zip(sorted(arrays, key=len), sorted(weights, key=np.size), strict=True):
            np.testing.assert_allclose(array.reshape(weight.shape), weight, rtol=near, atol=near)


def test_a_palette_of_few_numbers_has_these() -> None:
    array = np.array([[3.0, -1.5], [-1.5, 7.25]], np.float32)
    indices, table = palette(array)
    assert (table[indices] == array).all() and len(table) == 16


def test_palettes_need_a_target_that_has_them() -> None:
    with pytest.raises(ValueError, match=r"option 'weights' is 'palettized4', which iOS16 has first, and the target is 'iOS15'"):
        CoreMlOptions(target="iOS15", weights="palettized4")


def _other_shape(item: Record) -> None:
    item.attributes["shape"].immediateValue.tensor.bytes.values = np.array([7, 7], np.uint32).tobytes()


def _no_table(item: Record) -> None:
    del item.attributes["lut"]


def _other_places(item: Record) -> None:
    item.attributes["indices"], item.attributes["lut"] = item.attributes["lut"], item.attributes["lut"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_other_shape, r"has \d+ bytes of places, and the shape \[7, 7\]"),
        (_no_table, "has not the operands of a palette of 16"),
        (_other_places, r"has 16 bytes of places, and the shape \[\d+, \d+\]"),
    ],
)
def test_a_palette_that_contradicts_itself_is_refused(change: Callable[[Record], None], why: str) -> None:
    edge, *_ = dense("target=iOS16")
    payload = next(bytes(edge.context.blobs.get(op.data)) for op in edge.module.walk() if isinstance(op, PayloadOp))
    data, weights, said = read_package(memoryview(payload))
    model = decoded(spec.MODEL, data, "a model", BackendError)
    (block,) = model.mlProgram.functions["main"].block_specializations.values()
    change(next(item for item in block.operations if item.type == "constexpr_lut_to_dense"))
    with pytest.raises(BackendError, match=why):
        decode(memoryview(flattened(encode(spec.MODEL, model), bytes(weights), said["inputNames"], said["outputNames"])), {}, BlobStore())
