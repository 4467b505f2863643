"""`flambeau.quantize`: each recipe on small models, compiled and run by the C runtime; what stays in floats, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_programs import seed

import flambeau
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.fused.quantized import QuantizedConv2dOp, QuantizedLinearOp
from flambeau.dialects.fused.quantized_elementwise import QuantizedAddOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.quantization_choices import SCHEMES, RecipeError, Scheme
from flambeau.frontends.torch_export import import_program
from flambeau.frontends.torch_quantization.samples import SamplesError
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime


class Residual(nn.Module):
    """Each operator that has an integer form, in-place ones and a batch norm among them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norm(self.first(x)))
        y = self.relu(y + self.depthwise(y))
        y = nn.functional.relu6(nn.functional.max_pool2d(y, 2))
        return self.head(self.drop(y.flatten(1)))


class Words(nn.Module):
    """An embedding and a layer that share their weight, with a keyword argument and a dict for results."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(100, 32)
        self.head = nn.Linear(32, 100, bias=False)
        self.head.weight = self.table.weight

    def forward(self, words: Tensor, *, scale: Tensor) -> dict[str, Tensor]:
        return {"scores": self.head(self.table(words) * scale)}


class Sum(nn.Module):
    """A sum over runs."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4, 8))
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(self.layer(x))
        return self.layer(self.total)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).eval()


def residual() -> nn.Module:
    return Residual().eval()


MODELS = {"mlp": (mlp, (4, 64)), "residual": (residual, (1, 3, 8, 8))}


def compiled(program: torch.export.ExportedProgram, stage: str = "planned") -> Compilation:
    context = FlambeauContext()
    compilation = Compilation(import_program(program, context), context, PipelineOptions(target="flambeau"))
    compilation.to(stage)
    return compilation


def run(program: torch.export.ExportedProgram, samples: Sequence[tuple[Tensor, ...]]) -> list[np.ndarray]:
    method = Runtime.get().load_program(compiled(program).emit()).load_method("forward")
    return [np.array(method.execute([item.numpy() for item in sample])[0]) for sample in samples]


def decibels(expected: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> float:
    signal, noise = np.array(expected), np.array(actual) - np.array(expected)
    return float(10 * np.log10(np.square(signal).sum() / np.square(noise).sum()))


@pytest.mark.parametrize("recipe", SCHEMES)
@pytest.mark.parametrize("name", MODELS)
def test_each_recipe_agrees_with_the_floats(name: str, recipe: Scheme):
    make, shape = MODELS[name]
    seed()
    model, samples = make(), [(torch.randn(shape),) for _ in range(8)]
    quantized = flambeau.quantize((model, samples[0]), samples, recipe)
    report = quantized.report()
    assert report.snr > 25 and report.bytes_after < report.bytes_before
    assert any(item.scheme == recipe for item in report.operators)
    assert all(item.reason for item in report.operators if item.scheme == "float")
    with torch.no_grad():
        expected = [model(*sample).numpy() for sample in samples]
    assert decibels(expected, run(quantized.program, samples)) > 25


def test_what_is_annotated_is_computed_in_integers():
    seed()
    model, samples = residual(), [(torch.randn(1, 3, 8, 8),) for _ in range(4)]
    quantized = flambeau.quantize((model, samples[0]), samples)
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}
    compilation = compiled(quantized.program, "edge")
    Pipeline.parse("fuse-quantized").run(compilation.module, compilation.context)
    operators = [type(op) for op in compilation.module.walk()]
    assert operators.count(QuantizedConv2dOp) == 2 and operators.count(QuantizedAddOp) == operators.count(QuantizedLinearOp) == 1
    names = [op.name for op in compilation.module.walk()]
    assert sum("dequantize" in name for name in names) == 1


class Mobile(nn.Module):
    """Layers with functions, products and averages of each kind that mobile networks have between them."""

    def __init__(self):
        super().__init__()
        self.stem, self.gate, self.mix = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 1), nn.Conv2d(16, 16, 3, padding=1)
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.stem(x))
        x = x * torch.sigmoid(self.gate(F.adaptive_avg_pool2d(x, 1)))
        x = F.avg_pool2d(F.interpolate(torch.cat((x, F.silu(self.mix(x))), 1), scale_factor=1.5), 2)
        return self.head(x.mean((2, 3)) * 2)


def test_a_mobile_network_is_computed_in_integers():
    seed()
    model, samples = Mobile().eval(), [(torch.randn(1, 3, 10, 10),) for _ in range(6)]
    quantized = flambeau.quantize((model, samples[0]), samples)
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}, quantized.choices
    compilation = compiled(quantized.program, "edge")
    Pipeline.parse("fuse-quantized,propagate-layouts").run(compilation.module, compilation.context)
    names = [op.name for op in compilation.module.walk()]
    assert sum("quantize_per_tensor" in name for name in names) == 2, names
    # The image becomes channels-last; then only the gate's numbers, which lie alike in both, change their layout.
    assert names.count("edge._to_dim_order_copy") == 2
    with torch.no_grad():
        expected = [model(*sample).numpy() for sample in samples]
    assert decibels(expected, run(quantized.program, samples)) > 20


def test_other_samples_tell_what_ranges_miss():
    seed()
    model, small, large = Mobile().eval(), [(torch.zeros(1, 3, 10, 10),)], [(torch.randn(1, 3, 10, 10),) for _ in range(3)]
    quantized = flambeau.quantize((model, small[0]), small)
    assert quantized.report().snr > 25 > quantized.report(large).snr
    with pytest.raises(SamplesError, match="the input takes"):
        quantized.report([(torch.zeros(1, 3, 10, 9),)])


def test_parts_have_schemes_of_their_own():
    seed()
    model = Words().eval()
    samples = {"words": torch.randint(0, 100, (4, 1, 5)), "scale": torch.rand(4, 1)}
    example = (torch.zeros(1, 5, dtype=torch.int64),), {"scale": torch.ones(1)}
    report = flambeau.quantize((model, *example), samples, flambeau.Recipe("int8", {"table": "w8"})).report()
    assert [(item.path, item.operator, item.scheme) for item in report.operators] == [
        ("table", "embedding", "w8"),
        ("", "mul.Tensor", "float"),
        ("head", "linear", "int8"),
    ]
    assert report.snr > 25
    kept = flambeau.quantize((model, *example), samples, flambeau.Recipe("w8", {"linear": "float"})).report()
    assert [item.scheme for item in kept.operators] == ["w8", "float", "float"]
    assert kept.operators[2].reason == "'linear' keeps it"
    assert kept.operators[2].bytes_before == kept.operators[2].bytes_after


@pytest.mark.parametrize("recipe", ["int8", "int8-dynamic", "w8"])
def test_a_weight_that_an_embedding_shares_is_there_once(recipe: Scheme):
    seed()
    model = Words().eval()
    samples = {"words": torch.randint(0, 100, (4, 1, 5)), "scale": torch.rand(4, 1)}
    example = (torch.zeros(1, 5, dtype=torch.int64),), {"scale": torch.ones(1)}
    quantized = flambeau.quantize((model, *example), samples, recipe)
    assert [item.scheme for item in quantized.report().operators if item.path] == ["w8", recipe]
    assert quantized.report().snr > 25
    constants = cast("dict[str, Tensor]", quantized.program.constants)
    assert [value.dtype for value in constants.values() if value.shape == (100, 32)] == []
    assert [value.dtype for value in quantized.program.state_dict.values() if value.shape == (100, 32)] == [torch.int8]
    edge = flambeau.to_edge(quantized.program, compile_config=flambeau.EdgeCompileConfig(target="executorch"))
    assert len(edge.to_executorch().buffer) < 2 * 100 * 32 + 6000
    kept = flambeau.quantize((model, *example), samples, flambeau.Recipe(recipe, {"table": "float"})).report()
    assert [item.scheme for item in kept.operators if item.path] == ["float", recipe]


def test_the_state_keeps_its_first_value_and_is_not_rounded():
    seed()
    samples = [(torch.randn(4, 8),) for _ in range(6)]
    quantized = flambeau.quantize((Sum().eval(), samples[0]), samples)
    report = quantized.report()
    assert report.operators[1].reason == "its result is written to the model's state"
    assert report.snr > 25
    assert float(quantized.program.state_dict["total"].abs().sum()) == 0


@pytest.mark.parametrize("recipe", ["int8-dynamic", "w8"])
def test_dynamic_sizes_stay_dynamic(recipe: Scheme):
    seed()
    model = mlp()
    shapes: Any = ({0: torch.export.Dim("batch", min=1, max=8)},)
    program = torch.export.export(model, (torch.randn(2, 64),), dynamic_shapes=shapes)
    inputs = [(torch.randn(count, 64),) for count in (1, 3, 8)]
    quantized = flambeau.quantize(program, None, recipe).program
    for sample, found in zip(inputs, run(quantized, inputs), strict=True):
        assert decibels([model(*sample).detach().numpy()], [found]) > 25


def test_a_dynamic_batch_is_computed_in_integers():
    seed()
    model = Mobile().eval()
    shapes: Any = ({0: torch.export.Dim("batch", min=1, max=8)},)
    program = torch.export.export(model, (torch.randn(2, 3, 10, 10),), dynamic_shapes=shapes)
    samples = [(torch.randn(count, 3, 10, 10),) for count in (1, 3, 8)]
    quantized = flambeau.quantize(program, samples)
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}, quantized.choices
    compilation = compiled(quantized.program, "edge")
    Pipeline.parse("fuse-quantized").run(compilation.module, compilation.context)
    assert sum("quantize_per_tensor" in op.name for op in compilation.module.walk()) == 2
    for sample, found in zip(samples, run(quantized.program, samples), strict=True):
        assert decibels([model(*sample).detach().numpy()], [found]) > 20


def test_dynamic_sizes_of_images_stay_in_floats():
    seed()
    shapes: Any = ({2: torch.export.Dim("height", min=4, max=8)},)
    program = torch.export.export(nn.Conv2d(3, 4, 3).eval(), (torch.randn(1, 3, 6, 8),), dynamic_shapes=shapes)
    with pytest.raises(RecipeError, match=r"by the recipe int8: it has dynamic sizes beside that of its first dimension$"):
        flambeau.quantize(program, [(torch.randn(1, 3, 5, 8),)])


def test_linear_layers_of_any_dynamic_sizes_are_computed_in_integers():
    seed()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    shapes: Any = ({1: torch.export.Dim("steps", min=1, max=8)},)
    program = torch.export.export(model, (torch.randn(2, 3, 8),), dynamic_shapes=shapes)
    samples = [(torch.randn(2, count, 8),) for count in (5, 1, 8)]
    quantized = flambeau.quantize(program, samples).program
    compilation = compiled(quantized, "edge")
    Pipeline.parse("fuse-quantized").run(compilation.module, compilation.context)
    assert sum(isinstance(op, QuantizedLinearOp) for op in compilation.module.walk()) == 2
    for sample, found in zip(samples, run(quantized, samples), strict=True):
        assert decibels([model(*sample).detach().numpy()], [found]) > 25


@pytest.mark.parametrize("recipe", ["int8-dynamic", "w8"])
def test_no_samples_at_all_are_as_none(recipe: Scheme):
    program = torch.export.export(mlp(), (torch.ones(4, 64),))
    for empty in cast("list[Any]", [[], (), {}]):
        assert flambeau.quantize(program, empty, recipe).choices.keys() == flambeau.quantize(program, None, recipe).choices.keys()


def test_arguments_in_each_others_place_are_refused():
    example = (torch.zeros(1, 4),)
    swapped: Any = "w8"
    with pytest.raises(SamplesError, match=r"the second argument holds the samples; name the recipe: recipe='w8'$"):
        flambeau.quantize((nn.Linear(4, 4), example), swapped)
    alone: Any = nn.Linear(4, 4)
    with pytest.raises(SamplesError, match=r"give \(Linear\(…\), \(inputs, …\)\)$"):
        flambeau.quantize(alone, [example])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (None, "the recipe int8 needs samples, from which ranges follow"),
        ([], "there are no samples: ranges follow from at least one"),
        ({"y": torch.ones(2, 4, 64)}, "the program has no input 'y'; it has input (arg0): float32 [4, 64]"),
        ({}, "there are no samples for the input 'input'; the program has input (arg0): float32 [4, 64]"),
        ({"input": torch.ones(2, 4, 64), "arg0": torch.ones(2, 4, 64)}, "there are samples twice, as input and arg0,"),
        ({"input": torch.ones(4, 64)}, "'input' has the shape [4, 64], and N samples for this input have the shape [N, 4, 64]"),
        ({"arg0": np.ones((2, 4, 64))}, "'arg0' has float64 samples, and the input takes float32"),
        ({"arg0": torch.full((2, 4, 64), torch.nan)}, "'arg0' has samples with NaN or infinite numbers, from which no range follows"),
        ({"arg0": torch.full((2, 4, 64), torch.inf)}, "'arg0' has samples with NaN or infinite numbers, from which no range follows"),
        ({"arg0": torch.ones(0, 4, 64)}, "there are no samples: ranges follow from at least one"),
        ({"arg0": "x"}, "'arg0' is not an array of numbers"),
        ([(torch.ones(4, 64), torch.ones(1))], "sample 0 has 2 arguments, and the program takes 1"),
        ([(torch.ones(4, 63),)], "sample 0, input 'input', has the shape [4, 63], and the input takes [4, 64]"),
    ],
)
def test_samples_that_do_not_fit_are_refused(samples: Any, message: str):
    with pytest.raises(SamplesError) as raised:
        flambeau.quantize((mlp(), (torch.ones(4, 64),)), samples)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)


def test_inputs_differ_in_how_many_samples_they_have():
    example = (torch.zeros(1, 5, dtype=torch.int64),), {"scale": torch.ones(1)}
    samples = {"words": torch.zeros(3, 1, 5, dtype=torch.int64), "scale": torch.ones(2, 1)}
    with pytest.raises(SamplesError, match="the inputs differ in how many samples they have: words 3, scale 2"):
        flambeau.quantize((Words().eval(), *example), samples)


@pytest.mark.parametrize(
    ("model", "recipe", "message"),
    [
        (mlp().half(), "w8", "nothing of the program can be quantized by the recipe w8: it computes float16, not float32"),
        (Residual().train(), "w8", "the program trains, with batch_norm of norm: call the module's eval() before"),
    ],
)
def test_programs_that_are_refused(model: nn.Module, recipe: Scheme, message: str):
    shape = (1, 3, 8, 8) if isinstance(model, Residual) else (4, 64)
    with pytest.raises(RecipeError) as raised:
        flambeau.quantize((model, (torch.ones(shape, dtype=next(model.parameters()).dtype),)), None, recipe)
    assert str(raised.value) == message


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16])
def test_inputs_of_another_type_become_floats_before_they_are_quantized(dtype: torch.dtype) -> None:
    class Images(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(3, 4, 3)

        def forward(self, images: Tensor) -> Tensor:
            return self.layer(images.permute(0, 3, 1, 2).float())

    seed()
    images = torch.randint(0, 255, (1, 8, 8, 3)).to(dtype)
    quantized = flambeau.quantize((Images().eval(), (images,)), [(images,)]).program
    (found,) = Runtime.get().load_program(compiled(quantized).emit()).load_method("forward").execute([images])
    np.testing.assert_allclose(np.array(found), quantized.module()(images).detach().numpy(), atol=1e-6)


class Quiet(nn.Module):
    """A network whose numbers are small at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 3, 3, bias=False)
        self.last.weight.data *= 1e-4

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.last(torch.relu(self.first(x))))


@pytest.mark.parametrize("backend", [None, "xnnpack", "tosa"])
def test_numbers_that_integers_cannot_tell_apart_stay_in_floats(backend: str | None):
    seed()
    model, samples = Quiet().eval(), [(torch.randn(1, 3, 8, 8),) for _ in range(4)]
    quantized = flambeau.quantize((model, samples[0]), samples, backend=backend)
    report = quantized.report()
    assert report.snr > 20
    assert "in floats: last, tanh: its numbers, from " in str(report) and " steps of the scale " in str(report)
    assert quantized.choices["conv2d"].scheme == "int8"


def test_numbers_that_integers_cannot_tell_apart_are_quantized_if_asked():
    seed()
    model, samples = Quiet().eval(), [(torch.randn(1, 3, 8, 8),) for _ in range(4)]
    asked = flambeau.Recipe("int8", {"tanh": "int8", "last": "int8"})
    quantized = flambeau.quantize((model, samples[0]), samples, asked, backend="tosa")
    assert quantized.choices["tanh"].scheme == "int8" and quantized.report().snr < 15
