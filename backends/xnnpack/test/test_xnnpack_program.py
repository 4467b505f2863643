"""Models compiled for XNNPACK: one call each, right in stock ExecuTorch and by numpy at every stage."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from models import digits_cnn
from torch import Tensor, nn
from torch.nn import functional as F

from flambeau.compiler.edge_program import EdgeCompileConfig, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import read_program
from flambeau.tools.main import main

peer: Any = executorch_runtime
TOLERANCE = 1e-4
"""The largest difference, in units of the largest value."""


class Images(nn.Module):
    """Every kind of convolution, a gate per channel, pools, and movements of images."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 4, 3, 2, 1, output_padding=1)
        self.grouped_up = nn.ConvTranspose2d(4, 6, (2, 3), (2, 1), groups=2, bias=False)
        self.depthwise = nn.Conv2d(6, 12, 3, padding=(1, 2), groups=6, dilation=(1, 2))
        self.grouped = nn.Conv2d(12, 6, 1, groups=3, bias=False)
        self.squeeze, self.excite = nn.Conv2d(6, 2, 1), nn.Conv2d(2, 6, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.grouped(self.depthwise(self.grouped_up(self.up(x))))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        y = F.gelu(F.hardswish(y)) * torch.arange(1.0, 7.0).reshape(6, 1, 1)
        y = torch.cat([y, y * 2, y + 1], 1)
        y = F.avg_pool2d(y, 2, padding=1, count_include_pad=False)
        y = F.interpolate(F.pad(y, (1, 1, 2, 2), value=0.5), scale_factor=2.0, mode="bilinear")
        return F.elu(F.leaky_relu(y, 0.1)), y.mean((2, 3)), F.max_pool2d(y, 3, 2, 1)[:, 1:-1]


class Vectors(nn.Module):
    """Products and functions of each element; an input and one value that are returned twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8, bias=False)
        self.weight = nn.Parameter(torch.linspace(-1, 1, 24).reshape(8, 3))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        z = self.second(torch.tanh(self.first(x))) + y
        scores = torch.softmax(z @ z.transpose(-1, -2), -1)
        some = [scores @ z, torch.maximum(z, -y), torch.minimum(z, y).abs(), z.square() - 1, torch.sigmoid(z) / 3, z[:, 1:3]]
        rest = torch.rsqrt(z.abs() + 1) + z.exp().log().sin().cos().floor().ceil()
        return torch.cat([*some, rest], 1), torch.mm(z[0], self.weight), x, z, z, z.unsqueeze(0).clamp(max=0.5).sqrt().isnan()


class Lines(nn.Module):
    """Convolutions of lines, whose images of height 1 stay images from the first to the last."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(3, 8, 3, 2, 1), nn.Conv1d(8, 8, 5, padding=2, groups=8)
        self.up = nn.ConvTranspose1d(8, 4, 4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        return torch.tanh(self.up(y + F.hardswish(self.second(y))))


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    "images": lambda: (Images(), (torch.rand(1, 3, 8, 8),)),
    "vectors": lambda: (Vectors(), (torch.rand(2, 4, 8), torch.rand(2, 4, 8))),
    "lines": lambda: (Lines(), (torch.rand(2, 3, 16),)),
    "digits_cnn": lambda: digits_cnn(2),
}
CALLS = {"vectors": 2}
"""The number of instructions, where it is not one: only `isnan` stays in `vectors`."""


def check(found: Any, expected: tuple[Tensor, ...]) -> None:
    for a, b in zip(found, expected, strict=True):
        actual, wanted = np.asarray(a).astype("float32"), b.detach().numpy().astype("float32")
        assert np.abs(actual - wanted).max() <= TOLERANCE * max(1e-3, np.abs(wanted).max())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_is_one_call_and_right_everywhere(name: str):
    cast(Any, torch).manual_seed(0)
    module, inputs = MODELS[name]()
    module = module.eval()
    with torch.no_grad():
        result: Any = module(*inputs)
    expected: tuple[Tensor, ...] = (result,) if isinstance(result, Tensor) else result
    arrays = [tensor.numpy() for tensor in inputs]
    edge = to_edge(torch.export.export(module, inputs))
    converted = edge.transform("partition{backends=xnnpack},convert-partitions,cse")
    check(interpret(converted.module, converted.context).run("forward", arrays), expected)
    delegated = edge.to_backend("xnnpack")
    check(interpret(delegated.module, delegated.context, run_payload).run("forward", arrays), expected)
    compiled = delegated.to_executorch()
    program = read_program(compiled.buffer)
    (plan,) = program.execution_plan
    assert [delegate.id for delegate in plan.delegates] == ["XnnpackBackend"]
    assert len(plan.chains[0].instructions) == CALLS.get(name, 1)
    context = FlambeauContext()
    again = read_pte(compiled.buffer, context)
    check(interpret(again, context, run_payload).run("forward", arrays), expected)
    data = bytes(compiled.buffer)
    loaded = peer.Runtime.get().load_program(data)
    check(loaded.load_method("forward").execute(list(inputs)), expected)


def test_two_partitions_share_a_weight():
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(torch.acos(self.linear(x).clamp(-1, 1)))

    x = torch.rand(2, 8)
    module = Shared().eval()
    compiled = to_edge(torch.export.export(module, (x,))).to_backend("xnnpack").to_executorch()
    program = read_program(compiled.buffer)
    assert len(program.execution_plan[0].delegates) == 2
    assert len([item for item in program.named_data if len(item.data) in (256, 32)]) == 2, "the weight and the bias, once each"
    data = bytes(compiled.buffer)
    loaded = peer.Runtime.get().load_program(data)
    check(loaded.load_method("forward").execute([x]), (module(x),))


def test_a_target_with_forms_of_its_own_is_no_obstacle_to_what_is_left():
    x = (torch.rand(2, 8), torch.rand(2, 8))

    class Sum(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return torch.relu(x + y) * 2

    edge = to_edge(torch.export.export(Sum(), x), compile_config=EdgeCompileConfig(target="flambeau")).to_backend("xnnpack")
    check(interpret(edge.module, edge.context, run_payload).run("forward", [tensor.numpy() for tensor in x]), (Sum()(*x),))


def test_what_stays_says_why():
    class Stays(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return F.avg_pool2d(x, 2, padding=1), torch.softmax(x, 1), x.double() * 2, F.max_pool2d(x, 2, return_indices=True)[1]

    survey = to_edge(torch.export.export(Stays(), (torch.rand(1, 3, 4, 4),))).survey("xnnpack")
    assert survey.num_delegated_nodes == 0
    assert {name: why for (name, why) in survey.refused} == {
        "edge.avg_pool2d": "its mean counts the padding (count_include_pad)",
        "edge._softmax": "it is along another dimension than the last",
        "edge._to_copy": "a tensor is of f64, and its kernel takes f32, f16",
        "edge.mul.Scalar": "a tensor is of f64, and its kernel takes f32, f16",
        "edge.max_pool2d_with_indices": "a tensor is of i64, and its kernel takes f32, f16",
    }


def test_a_transposed_convolution_in_half_stays():
    module, x = nn.ConvTranspose2d(3, 4, 3).half(), torch.rand(1, 3, 4, 4).half()
    survey = to_edge(torch.export.export(module, (x,))).survey("xnnpack")
    assert (survey.num_delegated_nodes, set(survey.refused)) == (0, {("edge.convolution", "it is transposed and of f16")})


def test_sizes_that_only_the_run_knows_may_be_too_many():
    class Sizes(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            flat, channels = x.flatten(1), x.mean(1)
            image = F.interpolate(x, scale_factor=2.0, mode="bilinear"), F.adaptive_avg_pool2d(x, 2)
            moved = x[:, :, 1:], x.mean((1, 2)), x.sum((2, 3)), x[:, :, 0], x[:, :, :1].expand(-1, -1, x.shape[3], -1)
            return flat, channels, *image, *moved, x[x[:, 0, 0, 0].long()]

    sizes = {
        0: torch.export.Dim("batch", min=0, max=8),
        2: 2 * torch.export.Dim("h", min=1, max=4),
        3: 2 * torch.export.Dim("w", min=1, max=4),
    }
    some = {**sizes, 0: torch.export.Dim("batch", min=1, max=8)}
    program = torch.export.export(Sizes(), (torch.rand(2, 3, 4, 6),), dynamic_shapes=(some,))
    refused = {f"{name.removeprefix('edge.')}: {why}" for name, why in to_edge(program).survey("xnnpack").refused}
    assert refused >= {
        "view_copy: the run decides more than one of its sizes",
        "mean.dim: the run decides more than one of its sizes",
        "mean.dim: the number of elements that it reduces is known when it runs only",
        "sum.dim_IntList: the number of elements that it reduces is known when it runs only",
        "upsample_bilinear2d.vec: the size of the image is known when it runs only",
        "_adaptive_avg_pool2d: the size of the image is known when it runs only",
        "slice_copy.Tensor: the size that it divides is known when it runs only",
        "select_copy.int: the size that it divides is known when it runs only",
        "expand_copy: it grows to a size that is known when it runs only",
    }
    program = torch.export.export(nn.ReLU(), (torch.rand(2, 3, 4, 6),), dynamic_shapes=(sizes,))
    assert set(to_edge(program).survey("xnnpack").refused) == {
        ("edge.relu", "a tensor may have no elements; sizes that are never 0 are exported with Dim(…, min=1)")
    }


def test_the_command_line_compiles_for_it(tmp_path: Path):
    source, target = tmp_path / "model.py", tmp_path / "model.pte"
    source.write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),)\n")
    assert main(["compile", f"{source}:make", "--backend", "xnnpack", "-o", str(target)]) == 0
    program = peer.Runtime.get().load_program(str(target))
    (found,) = program.load_method("forward").execute([torch.ones(1, 4)])
    assert found.shape == (1, 2)


SMAPS = Path("/proc/self/smaps")


def test_the_pages_of_a_file_are_given_back(tmp_path: Path):
    layers = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
    x = torch.rand(3, 512)
    path = tmp_path / "m.pte"
    to_edge(torch.export.export(layers, (x,))).to_backend("xnnpack").to_executorch().save(path)

    def resident() -> int:
        found = re.search(rf"{path}\n(?:.*\n)*?Rss: +(\d+) kB", SMAPS.read_text(encoding="utf-8"))
        return int(found[1]) * 1024 if found else 0

    program = Runtime.get().load_program(path)
    method = program.load_method("forward")
    if SMAPS.exists():  # Linux tells which pages of a file are in memory
        before = resident()
        program.release_pages()
        assert before > 8e6 and resident() < before / 10
        method.execute([x.numpy()])
        assert resident() < before / 2, "the run reads what is packed"
    program.release_pages()
    (found,) = method.execute([x.numpy()])
    np.testing.assert_allclose(found, layers(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ops", ["relu(%0), clamp(%0) {min = 0}", "squeeze_copy.dim(%x) {dim = 0}, squeeze_copy.dim(%1) {dim = 1}"])
def test_two_results_that_are_computed_alike_are_two_outputs(ops: str):
    context, (first, second), kind = FlambeauContext(), ops.split(", "), "tensor<5x2xf32>"
    module = parse_module(
        f"""func.func @forward(%x: {kind}) -> ({kind}, {kind}) {{
          %0 = edge.neg(%x) : ({kind}) -> {kind}
          %1 = edge.{first} : ({kind}) -> {kind}
          %2 = edge.{second} : ({kind}) -> {kind}
          func.return %1, %2 : {kind}, {kind}
        }}""",
        context,
    ).module
    x = np.arange(-5, 5, dtype="float32").reshape(5, 2)
    expected = tuple(torch.tensor(array) for array in interpret(module, context).run("forward", [x]))
    Pipeline.parse("delegate{backends=xnnpack}").run(module, context)
    check(interpret(module, context, run_payload).run("forward", [x]), expected)
