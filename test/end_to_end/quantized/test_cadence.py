"""The target `cadence`: programs of 8-bit integers whose kernels ExecuTorch's runtime for HiFi has."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module, resources
from typing import Any

import numpy as np
import pytest
import torch
from quantized_programs import tensor_of
from row_harness import ROWS, samples_of
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

import flambeau
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import memory_reports
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.schema import parse_schema
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

NAMES = sorted(name for name in ROWS if name.startswith("cadence."))
"""The rows of the dialect."""


@cache
def kernels() -> frozenset[str]:
    """The kernels of ExecuTorch's build for HiFi, in whose list those of ATen stand without a namespace."""
    text = resources.files("executorch.backends.cadence.aot").joinpath("functions_hifi.yaml").read_text()
    names = re.findall(r"^- (?:op|func): ([\w:.]+)", text, re.MULTILINE)
    return frozenset(name if "::" in name else f"aten::{name}" for name in names)


@cache
def registered(name: str) -> Any:
    """An operator of ExecuTorch, which computes as its reference does."""
    import_module("executorch.backends.cadence.aot.ops_registrations")
    import_module("executorch.backends.cadence.aot.ref_implementations")
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.cadence, base), overload or "default")


def test_every_kernel_of_the_target_is_one_of_executorch() -> None:
    assert len(find_target("cadence").operators) > 70
    assert find_target("cadence").operators - kernels() == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_the_schema_of_executorch(name: str) -> None:
    theirs, ours = registered(name.removeprefix("cadence."))._schema, ROWS[name].schema
    assert [(item.name, str(item.type)) for item in parse_schema(str(theirs).removeprefix("cadence::"), "cadence").arguments] == [
        (item.name, str(item.type)) for item in ours.arguments
    ]
    out = out_variant(ours)
    assert out is not None and out.qualified_name in kernels() & find_target("cadence").operators


def reference(name: str, arguments: list[Any]) -> Any:
    """What ExecuTorch's reference computes. That of operators with a ratio only takes its negative for `out_multiplier`."""
    row = ROWS[name]
    names = [item.name for item in row.schema.arguments]
    given = [tensor_of(item) if isinstance(item, np.ndarray) else item for item in arguments]
    if "out_multiplier" in names and "bias_scale" not in names:
        given[names.index("out_multiplier")] *= -1
    if "bias_scale" in names:  # it reads these instead of the ratio
        at = names.index("out_multiplier")
        given[names.index("bias_scale")] = given[at] * 2.0 ** (given[at + 1] - 31) * given[names.index("out_scale")]
    return registered(name.removeprefix("cadence."))(*given).numpy()


@pytest.mark.parametrize("name", [name for name in NAMES if "quantized_" in name])
def test_numpy_differs_from_the_reference_by_a_step_at_most(name: str) -> None:
    row, tried = ROWS[name], 0
    for sample in samples_of(row):
        if "fully_connected" in name and sample[0].shape[0] != 1:
            continue
        ours = row.call("numpy", sample).astype(np.int64)
        theirs = reference(name, list(sample)).astype(np.int64)
        assert ours.shape == theirs.shape and np.abs(ours - theirs).max() <= ("quantized_add" not in name)
        assert len(np.unique(ours)) > min(ours.size, 8) // 2
        tried += 1
    assert tried


class Residual(nn.Module):
    """Convolutions, dense and depthwise, with a sum, an activation that int8 does not imply, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        y = self.point(nn.functional.relu6(self.depthwise(x)))
        return self.head(torch.relu(x + y).mean((2, 3)))


class Rows(nn.Module):
    """Convolutions of rows, as of sound."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(4, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=2, dilation=2), nn.ReLU()
        )
        self.head = nn.Conv1d(8, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x))


class Moved(nn.Module):
    """A network whose input and result have their channels last."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x.movedim(-1, 1)).movedim(1, -1)


def images() -> nn.Module:
    """Convolutions of images: dense, depthwise, depthwise with several outputs for each input, dilated, in groups, and of points."""
    return Moved(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1, groups=8),
            nn.ReLU6(),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=16),
            nn.Conv2d(16, 12, 1),
            nn.ReLU(),
            nn.Conv2d(12, 6, (1, 3), groups=2),
        )
    )


def sound() -> nn.Module:
    """Convolutions of rows: dense, strided, in groups and depthwise."""
    layers = nn.Conv1d(4, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv1d(8, 8, 3, groups=2), nn.Conv1d(8, 8, 3, groups=8, dilation=2)
    return nn.Sequential(*layers)


class Skip(nn.Module):
    """A sum of convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        return torch.relu(x + self.second(x))


class Recurrent(nn.Module):
    """An LSTM, which becomes linear layers and functions in floats."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class Attention(nn.Module):
    """A block of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.query, self.key = nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.wide, self.narrow = nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        weights = torch.softmax(torch.matmul(self.query(y), self.key(y).transpose(-1, -2)) * 0.25, -1)
        return x + self.narrow(torch.relu(self.wide(torch.matmul(weights, y))))


def ours(network: nn.Module, samples: list[tuple[Tensor]]) -> torch.export.ExportedProgram:
    """The network as Flambeau quantizes it."""
    return flambeau.quantize((network, samples[0]), samples, backend="cadence").program


def theirs(network: nn.Module, samples: list[tuple[Tensor]]) -> torch.export.ExportedProgram:
    """The network as ExecuTorch quantizes it for Cadence."""
    functions = import_module("executorch.backends.cadence.aot.compiler_funcs")
    quantizer = import_module("executorch.backends.cadence.aot.quantizer.quantizer").CadenceWithLayerNormQuantizer()
    kept = quantizer.get_ops_to_preserve_from_decomposition()
    prepared = functions.prepare(functions.trace(network, samples[0], ops_to_keep=kept, strict=True), quantizer)
    for sample in samples:
        prepared(*sample)
    return torch.export.export(convert_pt2e(prepared), samples[0])


CONVOLUTION, LAST, CONV1D, CONV1D_LAST = (f"{name}.per_tensor_out" for name in ("conv2d_nchw", "conv2d_nhwc", "conv1d_ncl", "conv1d_nlc"))
LINEAR, ROW = "linear.per_tensor_out", "fully_connected.per_tensor_out"
Quantizing = Callable[[nn.Module, list[tuple[Tensor]]], torch.export.ExportedProgram]
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Quantizing, tuple[str, ...]]] = {
    "residual": (Residual, (1, 3, 12, 12), ours, (CONVOLUTION, ROW, "add_asym8sxasym8s_asym8s.per_tensor_out")),
    "rows": (Rows, (1, 4, 40), ours, (CONV1D,)),
    "grouped rows": (sound, (2, 4, 40), theirs, (CONV1D, CONVOLUTION)),
    "channels last": (images, (2, 12, 12, 3), theirs, (LAST, LINEAR)),
    "rows, channels last": (lambda: Moved(sound()), (2, 40, 4), theirs, (CONV1D_LAST, LAST)),
    "a sum, channels last": (lambda: Moved(Skip()), (2, 12, 12, 3), ours, (LAST, "add_asym8sxasym8s_asym8s.per_tensor_out")),
    "recurrent": (Recurrent, (1, 5, 6), ours, (ROW,)),
    "attention": (Attention, (2, 7, 16), theirs, (LINEAR, "matmul.out", "layer_norm.per_tensor_out", "relu.per_tensor_out")),
}
"""A network, its input, what quantizes it, and kernels that it calls."""


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_of_kernels_of_executorch_and_equal_to_numpy(name: str) -> None:
    make, shape, quantized, called = NETWORKS[name]
    torch.manual_seed(7)  # pyright: ignore[reportUnknownMemberType]  PyTorch does not say what it returns
    network, samples = make().eval(), [(torch.randn(shape),) for _ in range(8)]
    context = FlambeauContext()
    compilation = Compilation(import_program(quantized(network, samples), context), context, PipelineOptions(target="cadence"))
    program = compilation.emit()
    loaded = Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    assert {*method.metadata.operator_names} - kernels() == set()
    assert {f"cadence::quantized_{name}" for name in called} - {*method.metadata.operator_names} == set()
    assert ("aten::permute_copy.out" in method.metadata.operator_names) == (name == "attention")
    assert not {"aten::mm.out", "aten::bmm.out", "aten::native_layer_norm.out"} & {*method.metadata.operator_names}
    for (x,) in samples:
        (given,) = method.execute([x.numpy()])
        (expected,) = interpret(compilation.module, context).run("forward", [x.numpy()])
        np.testing.assert_array_equal(given, expected)
        wanted = network(x).detach().numpy()
        assert np.abs(given - wanted).max() < 0.1 * np.abs(wanted).max()


def test_a_program_lies_in_the_banks_of_the_target() -> None:
    layers = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 1))
    x = torch.ones(1, 3, 64, 64)
    program = flambeau.quantize((layers.eval(), (x,)), [(x,)], backend="cadence").program
    plans: dict[tuple[str, ...], list[int]] = {}
    for memory in ((), ("dram0:96K", "sysmem")):
        context = FlambeauContext()
        compilation = Compilation(import_program(program, context), context, PipelineOptions(target="cadence", memory=memory))
        compilation.to("planned")
        told = memory_reports(compilation.module, context)["forward"]
        plans[told.banks or ()] = list(told.arenas)
        (expected,) = interpret(compilation.module, context).run("forward", [x.numpy()])
        (given,) = Runtime.get().load_program(compilation.emit()).load_method("forward").execute([x.numpy()])
        np.testing.assert_array_equal(given, expected)
    assert list(plans) == [("dram0", "dram1", "sysmem"), ("dram0", "sysmem")]
    assert all(size <= 64 << 10 for size in plans["dram0", "dram1", "sysmem"][:2]) and plans["dram0", "sysmem"][0] <= 96 << 10
    assert all(size > 0 for sizes in plans.values() for size in sizes[:2])
