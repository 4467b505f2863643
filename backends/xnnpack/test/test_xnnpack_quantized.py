"""Networks of quantized numbers: in one call, in integers, and as stock ExecuTorch computes its own programs of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from shares import drawn
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import flambeau
from flambeau.backends.xnnpack.payload import QuantizedTensorValue, read_payload, write_payload
from flambeau.compiler.edge_program import to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import DelegateCall, read_program, write_program
from flambeau.support.lazy import Array

peer: Any = executorch_runtime


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Cnn(nn.Module):
    """Dense and depthwise convolutions, limits, a sum, pools."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU6(), nn.Conv2d(16, 16, 1))
        self.last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return self.last((x + self.second(x)).relu())


class Mixed(nn.Module):
    """Products, differences, joined images, transposed convolutions, and functions of floats among them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1, bias=False)
        self.larger = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Linear(8 * 4 * 4, 6)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.first(x), self.second(x).sigmoid()
        image = self.larger(torch.cat([a * b, a - b], 1))
        return self.last(torch.flatten(nn.functional.avg_pool2d(image, 4), 1))


class Integers(nn.Module):
    """int8 in and out, by a weight and a kernel with scales for inputs, which XNNPACK lacks."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.register_buffer("scales", torch.rand(4, generator=generator) / 50 + 0.01)
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))
        self.register_buffer("weight", torch.randint(-127, 128, (6, 4), generator=generator, dtype=torch.int8))
        self.register_buffer("kernel", torch.randint(-127, 128, (4, 4, 3, 3), generator=generator, dtype=torch.int8))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        known: Any = torch.ops.quantized_decomposed
        parameters = (self.scales, self.zeros, 1, -127, 127, torch.int8)
        floats = known.dequantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        image = nn.functional.conv2d(floats, known.dequantize_per_channel(self.kernel, *parameters))
        rows = nn.functional.linear(floats[0, :, :, 0].T, known.dequantize_per_channel(self.weight, *parameters))
        return tuple(known.quantize_per_tensor(value, 0.9, -7, -128, 127, torch.int8) for value in (image, rows))


NETWORKS: dict[str, tuple[type[nn.Module], tuple[int, ...], dict[str, int]]] = {
    "mlp": (Mlp, (4, 64), {"convert": 2, "fully_connected": 3}),
    "cnn": (
        Cnn,
        (2, 3, 16, 16),
        {
            "add": 1,
            "conv2d": 2,
            "convert": 2,
            "depthwise_conv2d": 1,
            "fully_connected": 1,
            "global_avg_pooling2d": 1,
            "max_pooling2d": 1,
            "static_reshape": 1,
            "static_transpose": 1,
        },
    ),
    "mixed": (Mixed, (2, 4, 8, 8), {}),
}
"""Networks, the shapes of their inputs, and how many nodes of each kind they become, if all are of integers."""


@dataclass
class Case:
    """A network as it was quantized, and the programs that both compilers make of it."""

    name: str
    ours: bytes
    theirs: bytes
    inputs: list[Tensor]
    step: float
    """How far two quantized results are apart at least."""


@cache
def case_of(name: str, is_per_channel: bool) -> Case:
    seed()
    kind, shape, _ = NETWORKS[name]
    x = torch.randn(shape)
    config: Any = get_symmetric_quantization_config(is_per_channel=is_per_channel)
    prepared: Any = prepare_pt2e(torch.export.export(kind().eval(), (x,)).module(), XNNPACKQuantizer().set_global(config))
    for _ in range(4):
        prepared(torch.randn(shape))
    exported = torch.export.export(convert_pt2e(prepared), (x,))
    (last,) = [node for node in exported.graph.nodes if "dequantize_per_tensor" in str(node.target)][-1:]
    lowered: Any = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    ours = to_edge(exported).to_backend("xnnpack").to_executorch().buffer
    return Case(name, bytes(ours), bytes(lowered.to_executorch().buffer), [x, torch.randn(shape)], last.args[1])


@pytest.fixture(params=drawn(((name, kind) for name in NETWORKS for kind in (True, False)), parts=4), ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*request.param)


def stock_results(program: bytes, inputs: list[Tensor]) -> list[Array]:
    loaded = peer.Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    return [method.execute([x])[0].numpy().copy() for x in inputs]


def nodes_of(program: bytes) -> Counter[str]:
    """The nodes of the only call that a program consists of."""
    plan = read_program(program).execution_plan[0]
    assert [type(item) for item in plan.chains[0].instructions] == [DelegateCall]
    return Counter(type(node.xnode_union).__name__ for node in read_payload(plan.delegates[0].processed)[0].xnodes)


def assert_one_step_at_most(case: Case, found: list[Array], expected: list[Array]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert np.abs(a - b).max() <= case.step * 1.001


def test_it_is_one_call_whose_nodes_are_of_integers(case: Case):
    expected = NETWORKS[case.name][2]
    assert not expected or nodes_of(case.ours) == expected
    assert nodes_of(case.theirs).total() >= nodes_of(case.ours).total()


def test_stock_executorch_computes_what_its_own_program_does(case: Case):
    assert_one_step_at_most(case, stock_results(case.ours, case.inputs), stock_results(case.theirs, case.inputs))


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_numpy_runs_the_payloads(case: Case, whose: str):
    program: bytes = getattr(case, whose)
    context = FlambeauContext()
    interpreted = interpret(read_pte(program, context), context, run_payload)
    found = [np.asarray(interpreted.run("forward", [x.numpy()])[0]) for x in case.inputs]
    assert_one_step_at_most(case, found, stock_results(program, case.inputs))


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_the_c_runtime_runs_the_payloads(case: Case, whose: str):
    program: bytes = getattr(case, whose)
    method = Runtime.get().load_program(program).load_method("forward")
    found = [np.array(method.execute([x.numpy()])[0]) for x in case.inputs]
    assert_one_step_at_most(case, found, stock_results(program, case.inputs))


def test_a_network_whose_ranges_each_run_finds_compiles():
    """What is between two partitions is not what the second one's weights are made of."""
    seed()
    inputs = (torch.randn(1, 3, 8, 8),)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(torch.export.export(Cnn().eval(), inputs).module(), quantizer)
    prepared(*inputs)
    program = torch.export.export(convert_pt2e(prepared), inputs)
    data = bytes(to_edge(program).to_backend("xnnpack").to_executorch().buffer)
    (found,) = Runtime.get().load_program(data).load_method("forward").execute([inputs[0].numpy()])
    expected = program.module()(*inputs).detach().numpy()
    assert np.abs(np.asarray(found) - expected).max() <= 0.02 * np.abs(expected).max()


@cache
def floats_with_integer_weights(rows: int = 4) -> tuple[nn.Module, bytes, list[Tensor]]:
    """A perceptron whose weights alone are integers, its program, and inputs."""
    seed()
    network, inputs = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).eval(), [torch.randn(rows, 64) for _ in range(2)]
    quantized = flambeau.quantize((network, (inputs[0],)), None, "w8").program
    return network, bytes(to_edge(quantized).to_backend("xnnpack").to_executorch().buffer), inputs


def test_weights_of_integers_stay_integers_in_layers_of_floats():
    network, program, inputs = floats_with_integer_weights()
    assert nodes_of(program) == {"fully_connected": 2, "add": 2}
    assert len(program) < len(bytes(to_edge(torch.export.export(network, (inputs[0],))).to_backend("xnnpack").to_executorch().buffer)) / 2
    context = FlambeauContext()
    ours = Runtime.get().load_program(program).load_method("forward")
    for x, theirs in zip(inputs, stock_results(program, inputs), strict=True):
        expected = network(x).detach().numpy()
        (found,) = ours.execute([x.numpy()])
        (computed,) = interpret(read_pte(program, context), context, run_payload).run("forward", [x.numpy()])
        assert np.array_equal(np.asarray(found), theirs)
        assert np.allclose(np.asarray(computed), np.asarray(found), atol=1e-5)
        assert np.abs(found - expected).max() <= 0.02 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("rows", "float_rows", "is_float"), [(15, None, False), (16, None, True), (16, 17, False), (16, 0, False), (1, 1, True)]
)
def test_weights_become_floats_when_they_are_loaded_for_many_rows(rows: int, float_rows: int | None, is_float: bool):
    _, program, (x, _) = floats_with_integer_weights(rows)
    options = {} if float_rows is None else {"float_rows": float_rows}
    (found,) = Runtime.get().load_program(program, backend_options={"xnnpack": options}).load_method("forward").execute([x.numpy()])
    (theirs,) = stock_results(program, [x])
    assert np.array_equal(np.asarray(found), theirs) != is_float, "sums are rounded otherwise, some of them"
    np.testing.assert_allclose(np.asarray(found), theirs, rtol=0, atol=1e-5)


def test_an_integer_weight_that_layers_of_both_kinds_read_stays():
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.layer(x), self.layer(x[:1])

    seed()
    x = torch.randn(32, 32)
    quantized = flambeau.quantize((Both().eval(), (x,)), None, "w8").program
    program = bytes(to_edge(quantized).to_backend("xnnpack").to_executorch().buffer)
    found = Runtime.get().load_program(program).load_method("forward").execute([x.numpy()])
    for a, b in zip(found, peer.Runtime.get().load_program(program).load_method("forward").execute([x]), strict=True):
        assert np.array_equal(np.asarray(a), b.numpy())


def test_layers_of_floats_take_weights_with_a_scale_for_each_output_alone():
    _, program, _ = floats_with_integer_weights()
    graph = read_payload(read_program(program).execution_plan[0].delegates[0].processed)[0]
    weight = next(number for number, value in enumerate(graph.xvalues) if isinstance(value, QuantizedTensorValue))
    damaged = changed_in(program, weight, {}, {"channel_dim": 1})
    with pytest.raises(FlambeauError, match=r"node 0 \(fully_connected\): value \d is of a type that it does not take"):
        Runtime.get().load_program(damaged).load_method("forward")


def changed(number: int, fields: Mapping[str, Any], meaning: Mapping[str, Any]) -> bytes:
    """The program of ExecuTorch for the perceptron, in whose payload a value has other fields, or stands for other numbers."""
    return changed_in(case_of("mlp", True).theirs, number, fields, meaning)


def changed_in(file: bytes, number: int, fields: Mapping[str, Any], meaning: Mapping[str, Any]) -> bytes:
    """A program in whose only payload a value has other fields, or stands for other numbers."""
    program = read_program(file)
    plan = program.execution_plan[0]
    graph = read_payload(plan.delegates[0].processed)[0]
    values: list[Any] = list(graph.xvalues)
    tensor = replace(values[number].tensor_value, **fields)
    values[number] = replace(values[number], tensor_value=tensor, quant_params=replace(values[number].quant_params, **meaning))
    payload = memoryview(write_payload(replace(graph, xvalues=tuple(values))))
    plans = (replace(plan, delegates=(replace(plan.delegates[0], processed=payload),)),)
    return b"".join(write_program(replace(program, execution_plan=plans)))


X, WEIGHT, BIAS, RESULT = 1, 2, 3, 4
DAMAGES: list[tuple[int, Mapping[str, Any], Mapping[str, Any], str, str]] = [
    (X, {}, {"zero_point": 128}, "zero point 128 is no integer of 8 bits", "value 1: XNNPACK refuses it"),
    (X, {}, {"scale": -0.5}, "scales must be normal positive numbers", "value 1: XNNPACK refuses it"),
    (X, {}, {"scale": float("nan")}, "scales must be normal positive numbers", "value 1: XNNPACK refuses it"),
    (X, {"datatype": 5}, {}, "value 1 is of datatype 5, and no constant", "value 1 is of type qint32, and no such tensor or no constant"),
    (
        X,
        {"datatype": 6},
        {},
        "value 1 is of datatype 6 with PerTensorQuant",
        "value 1 is of type qcint8, and no such tensor or no constant",
    ),
    (X, {"datatype": 1}, {}, "value 1 is of datatype 1 with PerTensorQuant", "value 1 is of type fp32, and no such tensor or no constant"),
    (WEIGHT, {"datatype": 3}, {}, "value 2 is of datatype 3 with PerChannelQuant", "value 2 is of type qint8 with quantization 1"),
    (WEIGHT, {}, {"channel_dim": 1}, "a float32 for each entry of dimension 1", "value 2 has 48 scales for dimension 1"),
    (WEIGHT, {}, {"channel_dim": 7}, "a float32 for each entry of dimension 7", "value 2 has 48 scales for dimension 7"),
    (WEIGHT, {}, {"num_scales": 47}, "takes 188 bytes, and its constant has 192", "value 2 has 47 scales for dimension 0"),
    (WEIGHT, {}, {"scale_buffer_idx": 99}, "value 2 is constant 99 of", "value 2 has constant 99 of"),
    (BIAS, {"datatype": 6}, {}, "value 3 takes 48 bytes, and its constant has 192", "value 3 is of a type that it does not take"),
]


@pytest.mark.parametrize(("number", "fields", "meaning", "here", "there"), DAMAGES)
def test_what_integers_stand_for_is_checked(number: int, fields: Mapping[str, Any], meaning: Mapping[str, Any], here: str, there: str):
    program = changed(number, fields, meaning)
    context = FlambeauContext()
    with pytest.raises(ValueError, match=f"XNNPACK payload: .*{re.escape(here)}"):
        interpret(read_pte(program, context), context, run_payload).run("forward", [np.zeros((4, 64), np.float32)])
    with pytest.raises(FlambeauError, match=re.escape(there)):
        Runtime.get().load_program(program).load_method("forward")


def test_a_layer_takes_no_scales_out_of_range():
    for scale in (1e-9, 2.0**-126):
        with pytest.raises(
            FlambeauError, match=r"node 1 \(fully_connected\): it does not compute with integers, or not with ones of these scales"
        ):
            Runtime.get().load_program(changed(RESULT, {}, {"scale": scale})).load_method("forward")


def test_a_damaged_program_is_refused_or_runs(run_changed: Callable[[list[bytes], int], list[int]]):
    programs = [case_of(name, kind).theirs for name, kind in drawn(product(NETWORKS, (True, False)), parts=5)]
    programs += [floats_with_integer_weights(rows)[1] for rows in (4, 32)]
    assert sum(run_changed(programs, 500)) == 500 * len(programs)


def test_integers_go_in_and_out_and_other_scales_become_floats():
    network = Integers().eval()
    x = torch.randint(-128, 128, (1, 4, 5, 5), generator=torch.Generator().manual_seed(1), dtype=torch.int8)
    program = bytes(to_edge(torch.export.export(network, (x,))).to_backend("xnnpack").to_executorch().buffer)
    expected = [value.numpy().astype(int) for value in network(x)]
    assert nodes_of(program)["convert"] == 4, "two images to floats, two results to integers"
    loaded = peer.Runtime.get().load_program(program)
    context = FlambeauContext()
    for found in (
        loaded.load_method("forward").execute([x]),
        Runtime.get().load_program(program).load_method("forward").execute([x.numpy()]),
        interpret(read_pte(program, context), context, run_payload).run("forward", [x.numpy()]),
    ):
        for a, b in zip(found, expected, strict=True):
            assert np.abs(np.asarray(a).astype(int) - b).max() <= 1


def test_the_program_is_as_small(case: Case):
    # Of methods, inputs and source files, and the places and modules of all operators of a delegate, which ExecuTorch does not keep.
    names = 600
    assert len(case.ours) <= 1.01 * len(case.theirs) + names
