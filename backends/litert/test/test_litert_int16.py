"""Activations of int16 and weights of int8: networks, versions of operators, and what is too much for the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from litert_files import decoded_results, file_of
from litert_judge import litert
from payload_judges import Comparison
from quantized_kinds import KINDS
from quantized_layers import quantized
from shares import drawn
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed
from xdsl.dialects.builtin import i8, i16, i64

from flambeau import get_delegation_info, quantize, to_edge, to_edge_transform_and_lower
from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.payload import DTYPES, OPERATORS, read
from flambeau.dialects.quantized_decomposed.quantize import RANGES

INT16 = "litert{activations=int16}"
FILE = "{activations=int16}"


class Network(nn.Module):
    """A gate before layers and functions of images that grow, and classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU())
        self.gate = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Sigmoid())
        self.growing = nn.Sequential(nn.ConvTranspose2d(8, 4, 2, 2), nn.Tanh(), nn.Upsample(scale_factor=2), nn.GELU())
        self.classes = nn.Sequential(nn.Linear(4, 5), nn.Softmax(-1))

    def forward(self, image: Tensor) -> Tensor:
        """The probabilities of classes."""
        stem = self.stem(image)
        return self.classes(self.growing(stem * self.gate(stem) - stem).amax((2, 3)))


@cache
def network() -> tuple[nn.Module, Tensor, bytes]:
    """A network, an input, and its file."""
    seed()
    module, samples = Network().eval(), [(torch.randn(1, 3, 16, 16),) for _ in range(4)]
    return module, samples[0][0], file_of(to_edge(quantize((module, samples[0]), samples, backend=INT16).program), FILE)


def test_a_network_is_nearer_to_its_floats_than_weights_of_int8_are_to_theirs() -> None:
    module, x, data = network()
    (found,) = decoded_results(data, [x.numpy()])
    np.testing.assert_allclose(found, module(x).detach(), rtol=0, atol=2e-3)


def test_operators_have_the_versions_of_int16() -> None:
    model = read(memoryview(network()[2]), "the file")
    names = {number: name for name, number in OPERATORS.items()}
    versions = {names[code.builtin_code]: code.version for code in model.operator_codes}
    expected = {"conv_2d": 4, "depthwise_conv_2d": 5, "transpose_conv": 3, "fully_connected": 7, "sub": 5, "mul": 4, "logistic": 3}
    assert versions.items() >= {**expected, "tanh": 3, "gelu": 2, "quantize": 2}.items()
    kinds = [item.type for item in model.subgraphs[0].tensors if item.quantization]
    assert kinds.count(DTYPES[i64]) == 4 and DTYPES[i16] in kinds


@pytest.mark.parametrize("python", installed("litert-test"))
def test_litert_computes_the_network(python: str) -> None:
    _, x, data = network()
    (found,), (expected,) = litert(python).run(data, [x.numpy()]), decoded_results(data, [x.numpy()])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("python", installed("litert-test"))
def test_litert_computes_layers(python: str) -> None:
    comparison = Comparison(litert(python))
    for number in drawn(range(4 * len(KINDS))):
        comparison.layer(KINDS[number % len(KINDS)], number, INT16)
    assert comparison.compared and not comparison.different


class Between(nn.Module):
    """A function between int16, with scales."""

    def __init__(self, function: Any, *scales: float):
        super().__init__()
        self.function, self.scales = function, scales

    def forward(self, x: Tensor) -> Tensor:
        """The values."""
        return quantized(self.function(quantized(x, self.scales[0], 0, torch.int16)), self.scales[1], 0, torch.int16)


def _twice(x: Tensor) -> Tensor:
    return x + x


def _squared(x: Tensor) -> Tensor:
    return x * x


def _probabilities(x: Tensor) -> Tensor:
    return x.softmax(-1)


REFUSED: Sequence[tuple[Any, tuple[float, float], str]] = [
    (F.elu, (1e-4, 1e-4), "the backend has no elu between integers"),
    (torch.sigmoid, (4.0, 2.0**-15), "in steps of 4, which its tables do not take"),
    (_twice, (1.0, 1e-5), "in steps of 1e-05 are too fine for operands in steps of 1 and 1"),
    (_squared, (1.0, 0.5), "in steps of 0.5 are too fine for operands in steps of 1 and 1"),
    (F.hardsigmoid, (4.0, 1e-4), "are too fine for operands in steps of 4 and"),
    (F.gelu, (2.0**-13, 2.0**-17), "lines between 513 of its values are up to 381 steps away, and 128 are taken"),
    (torch.exp, (2.0**-10, 2.0**-5), "lines between 513 of its values are up to"),
    (_probabilities, (2.0**-10, 2.0**-15), "its rows have 66 entries, and those of at most 65 are taken"),
]


@pytest.mark.parametrize(("function", "scales", "reason"), REFUSED)
def test_what_is_too_much_for_a_kernel_stays_with_the_reason(function: Any, scales: tuple[float, float], reason: str) -> None:
    program = torch.export.export(Between(function, *scales), (torch.randn(2, 66),))
    refused = get_delegation_info(to_edge_transform_and_lower(program, partitioner=[INT16])).refused
    assert any(reason in why for _, why in refused), refused


@pytest.mark.parametrize("function", [F.gelu, torch.exp, torch.sigmoid, torch.tanh, F.silu, F.hardsigmoid, F.leaky_relu])
@pytest.mark.parametrize("scales", [(2.0**-13, 2.0**-13), (2.0**-13, 2.0**-17), (2.0**-10, 2.0**-10), (2.0**-10, 2.0**-5)])
def test_functions_are_within_half_a_step_of_int8_of_the_floats(function: Any, scales: tuple[float, float]) -> None:
    _check_distance(Between(function, *scales), torch.arange(-(2**15), 2**15).reshape(256, 256) * scales[0])


@pytest.mark.parametrize("count", [2, 65, 66, 1000])
def test_softmax_of_one_large_number_is_within_half_a_step_of_int8_of_the_floats(count: int) -> None:
    _check_distance(Between(_probabilities, 2.0**-10, 2.0**-15), torch.eye(count) * 30)


def _check_distance(module: Between, x: Tensor) -> None:
    """Compares results of a file with those in floats: half a step of int8 is 2 ** 7 steps of int16."""
    (found,) = decoded_results(file_of(to_edge(torch.export.export(module, (x,))), FILE), [x.numpy()])
    assert np.abs(found - module(x).numpy()).max() <= 2**7 * module.scales[1]


def test_an_integer_layer_that_is_refused_is_of_floats_in_a_file() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Buffer(torch.full((1, 70_000), 127, dtype=torch.int8))

        def forward(self, x: Tensor) -> Tensor:
            kind = 1e-3, 0, *RANGES[i8], torch.int8
            weight = torch.ops.quantized_decomposed.dequantize_per_tensor(self.weight, *kind)
            return quantized(F.linear(quantized(x, 1.0, 0, torch.int8), weight), 100.0, 0, torch.int8)

    x = torch.ones(1, 70_000)
    data = file_of(to_edge(torch.export.export(Wide(), (x,))))
    (found,) = decoded_results(data, [x.numpy()])
    np.testing.assert_array_equal(found, Wide()(x))
    names = {number: name for name, number in OPERATORS.items()}
    operators = [names[code.builtin_code] for code in read(memoryview(data), "the file").operator_codes]
    assert "dequantize" in operators and "fully_connected" in operators


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"activations": "int4"}, "is int8 or int16, not 'int4'"), ({"activations": "int16", "precision": "float32"}, "has no integers")],
)
def test_options_are_checked(options: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        LiteRtOptions(**options)
