"""`flambeau.quantize` for a backend: the numbers of a program are those that the backend's table asks for, and it takes what is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import ir_backend
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn
from torch_programs import seed
from xdsl.dialects.builtin import i8, i16

import flambeau
from flambeau import to_edge, to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.tensor_types import element_of, f32, ui8
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.quantization_choices import RecipeError
from flambeau.frontends.torch_quantization.post_training import QuantizedProgram
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import backend_names, register_backend
from flambeau.runtime import Runtime
from flambeau.support.tables import declared_by

FUNCTIONS = ("relu", "sigmoid", "cat", "max_pool2d_with_indices", "view_copy", "quantized_decomposed.quantize_per_tensor")
LAYER = Rule(constants=("weight", "bias"), dequantized=("weight",))
INTEGERS = {"convolution": LAYER, "linear": LAYER, **dict.fromkeys(FUNCTIONS, Rule())}
SAMPLES = [(torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(number)),) for number in range(6)]


class Gated(nn.Module):
    """Convolutions with a function and an average with padding between them, or with `middle` in place of the average."""

    def __init__(self, middle: Callable[[Tensor], Tensor] = lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)):
        super().__init__()
        self.first, self.norm, self.second, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1), nn.Linear(72, 4)
        self.middle = middle

    def forward(self, x: Tensor) -> Tensor:
        """The classes of an image."""
        x = torch.sigmoid(self.norm(self.first(x)))
        return self.head(torch.relu(self.second(self.middle(x))).flatten(1))


class Joined(nn.Module):
    """A function whose results lie between 0 and 1, beside numbers that do not."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)
        self.layer.weight.data *= 10

    def forward(self, x: Tensor) -> Tensor:
        """Twice the channels of the layer."""
        x = self.layer(x)
        return torch.cat((torch.sigmoid(x), x), 1)


@pytest.fixture
def toy() -> Iterator[Callable[..., None]]:
    """What makes the backend `toy`, with integers, of arguments of its table."""
    with declared_by("a test") as registered:

        def make(**arguments: Any) -> None:
            table = OperatorTable({}, Limit(dtypes=(f32,)), integers=INTEGERS, **arguments)
            register_backend(replace(ir_backend.BACKEND, name="toy", identifier="Toy", table=table))

        yield make
    for item in registered:
        item.undo()


def quantized_for(backend: str | None, module: nn.Module, samples: Sequence[tuple[Tensor, ...]] = SAMPLES) -> QuantizedProgram:
    return flambeau.quantize((module.eval(), samples[0]), samples, backend=backend)


def calls(quantized: QuantizedProgram, name: str) -> list[tuple[Any, ...]]:
    """Returns the arguments of each call of a quantized operator, without its first one."""
    nodes: list[fx.Node] = [*quantized.program.graph.nodes]
    return [node.args[1:] for node in nodes if str(node.target).startswith(f"quantized_decomposed.{name}.")]


def test_a_network_with_a_padded_average_is_one_partition_of_tosa() -> None:
    seed()
    quantized = quantized_for("tosa", Gated())
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}, quantized.choices
    assert quantized.report().snr > 30
    edge = to_edge_transform_and_lower(quantized.program, partitioner=["tosa"])
    (payload,) = (op for op in edge.module.body.block.ops if isinstance(op, PayloadOp))
    kind = payload.function_type
    assert kind is not None and {element_of(item) for item in (*kind.inputs, *kind.outputs)} == {i8}
    outside = [op.name for op in edge.module.walk() if isinstance(op, SchemaOp)]
    assert outside == ["quantized_decomposed.quantize_per_tensor", "quantized_decomposed.dequantize_per_tensor"]


def test_what_a_table_has_not_between_integers_stays_in_floats() -> None:
    seed()
    module = Gated(lambda x: torch.cumsum(F.avg_pool2d(x, 2, 2, 0), 1))
    choices = quantized_for("tosa", module).choices
    assert choices["cumsum"].reason == "for tosa: the backend has no cumsum between integers"
    assert {name for name, choice in choices.items() if choice.scheme == "float"} == {"cumsum"}
    choices = quantized_for("tosa", Gated(lambda x: F.avg_pool2d(x, 3, 2, 1))).choices
    assert choices["avg_pool2d"].reason == "for tosa: its means count the padding"
    assert quantized_for(None, Gated(lambda x: F.avg_pool2d(x, 3, 2, 1))).choices["avg_pool2d"].scheme == "int8"
    softmax = Gated(lambda x: torch.softmax(F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), 1))
    assert quantized_for("openvino", softmax).choices["softmax"].reason == "softmax.int has no form of int8"


@pytest.mark.parametrize("backend", ["xnnpack", "openvino"])
def test_backends_with_quantization_of_their_own_take_everything(backend: str) -> None:
    seed()
    quantized = quantized_for(backend, Gated())
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}, quantized.choices
    assert not to_edge(quantized.program).survey(backend).refused
    assert len(calls(quantized, "dequantize_per_channel")) == 3


def test_numbers_without_signs_and_weights_of_7_bits(toy: Callable[..., None]) -> None:
    seed()
    toy(activations=(ui8,), numbers=NumberFormat(weight_limit=63))
    quantized = quantized_for("toy", Gated(lambda x: F.max_pool2d(x, 2)))
    assert {choice.scheme for choice in quantized.choices.values()} == {"int8"}, quantized.choices
    assert {args[2:] for args in calls(quantized, "quantize_per_tensor")} == {(0, 255, torch.uint8)}
    assert {args[3:] for args in calls(quantized, "dequantize_per_channel")} == {(-63, 63, torch.int8)}
    weights = [value for value in quantized.program.state_dict.values() if value.dtype == torch.int8]
    assert weights and all(int(value.abs().max()) == 63 for value in weights)
    assert quantized.report().snr > 25
    assert {name for name, _ in to_edge(quantized.program).survey("toy").refused} == {
        "quantized_decomposed.quantize_per_tensor",
        "quantized_decomposed.dequantize_per_tensor",
    }


def test_symmetric_ranges_and_weights_of_one_scale(toy: Callable[..., None]) -> None:
    seed()
    toy(numbers=NumberFormat(symmetric=True, scale_per_output=False))
    quantized = quantized_for("toy", Gated(lambda x: F.max_pool2d(x, 2)))
    assert {args[1:] for args in calls(quantized, "quantize_per_tensor")} == {(0, -128, 127, torch.int8)}
    assert not calls(quantized, "dequantize_per_channel")
    assert {args[2] for args in calls(quantized, "dequantize_per_tensor")} == {-128, -127}
    assert quantized.report().snr > 25


def test_activations_of_16_bits_are_computed_as_pytorch_does(toy: Callable[..., None]) -> None:
    seed()
    toy(activations=(i16,), numbers=NumberFormat(symmetric=True))
    quantized = quantized_for("toy", Gated(lambda x: F.max_pool2d(x, 2)))
    scales = calls(quantized, "quantize_per_tensor")
    assert {args[1:] for args in scales} == {(0, -32768, 32767, torch.int16)} and all(args[0] < 2**-12 for args in scales)
    assert quantized.report().snr > 30
    content = to_edge_transform_and_lower(quantized.program).to_executorch().buffer
    (found,) = Runtime.get().load_program(bytes(content)).load_method("forward").execute([SAMPLES[0][0].numpy()])
    assert torch.equal(torch.tensor(found), quantized.program.module()(*SAMPLES[0]))


def test_element_types_that_no_program_is_quantized_to_are_refused(toy: Callable[..., None]) -> None:
    toy(activations=(f32,))
    with pytest.raises(RecipeError, match=r"^the backend's numbers are of f32, and a program is quantized to i8, ui8, i16, ui16$"):
        quantized_for("toy", Gated())


def test_a_result_with_a_fixed_scale_is_quantized_once(toy: Callable[..., None]) -> None:
    seed()
    toy(numbers=NumberFormat(fixed={"sigmoid": (1 / 256, -128)}))
    quantized = quantized_for("toy", Gated(lambda x: F.max_pool2d(x, 2)))
    scales = [args[:2] for args in calls(quantized, "quantize_per_tensor")]
    # The image, the first convolution, the function and what the pool keeps of it, the second one, the view behind it and the head.
    assert scales.count((1 / 256, -128)) == 2 and len(scales) == 7
    assert quantized.report().snr > 30


def test_numbers_beside_those_of_a_fixed_scale_are_not_cut_off(toy: Callable[..., None]) -> None:
    seed()
    toy(numbers=NumberFormat(fixed={"sigmoid": (1 / 256, -128)}))
    quantized = quantized_for("toy", Joined())
    assert quantized.choices["sigmoid"].scheme == quantized.choices["cat"].scheme == "int8"
    assert quantized.report().snr > 25


def test_numbers_below_the_steps_of_a_fixed_scale_stay_in_floats(toy: Callable[..., None]) -> None:
    seed()
    toy(numbers=NumberFormat(fixed={"sigmoid": (1 / 2, -128)}))
    quantized = quantized_for("toy", Gated())
    assert quantized.choices["sigmoid"].is_lost
    assert {choice.scheme for name, choice in quantized.choices.items() if name.startswith("conv")} == {"int8"}
    report = quantized.report()
    assert " steps of the scale 0.5" in str(report) and report.snr > 25


def test_the_program_of_the_user_stays_as_it_was() -> None:
    program = torch.export.export(Gated().eval(), SAMPLES[0])
    before = [dict(node.meta) for node in program.graph.nodes]
    flambeau.quantize(program, SAMPLES, backend="tosa")
    assert [node.meta.keys() for node in program.graph.nodes] == [meta.keys() for meta in before]


FLOATS = ("coreml", "elementwise", "mps", "vulkan")
QUANTIZED = ", ".join((*(name for name in backend_names() if name not in FLOATS), "cadence"))


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("elementwise", f"the backend 'elementwise' takes no quantized numbers (with quantized numbers: {QUANTIZED})"),
        ("tosa{profile=fp}", f"the backend 'tosa{{profile=fp}}' takes no quantized numbers (with quantized numbers: {QUANTIZED})"),
        ("tossa", f"there is no backend 'tossa'; there are {', '.join(backend_names())}; did you mean 'tosa'? (with qua"),
    ],
)
def test_backends_without_quantized_numbers_are_refused(backend: str, message: str) -> None:
    with pytest.raises(RecipeError) as raised:
        quantized_for(backend, Gated())
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)
