"""Payloads that ExecuTorch's partitioner does not write, and those that are wrong: the C adapter computes or refuses them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.serialization import xnnpack_graph_schema as xnn
from payload_graphs import CHAR, LONG, NONE, Graph, random, tensor_of

from flambeau.runtime import FlambeauError, Runtime


def test_nodes_that_the_partitioner_does_not_take():
    graph, x = Graph((4, 6)), random(4, 6)
    graph.node(xnn.XNNELU(0.5, 0, elu := graph.value((4, 6)), 0))
    graph.node(xnn.XNNPReLU(elu, graph.constant(random(6)), prelu := graph.value((4, 6)), 0))
    graph.node(xnn.XNNHardswish(prelu, copied := graph.value((4, 6)), 0))
    graph.node(xnn.XNNConvert(copied, half := graph.value((4, 6)), 0))
    tensor_of(graph, half).datatype = xnn.XNNDatatype.xnn_datatype_fp16
    graph.node(xnn.XNNConvert(half, single := graph.value((4, 6)), 0))
    graph.node(xnn.XNNCopy(single, graph.output((4, 6)), 0))
    slope = torch.tensor(np.frombuffer(bytes(graph.constants[:24]), "float32"))
    expected = F.hardswish(F.prelu(F.elu(torch.tensor(x), 0.5), slope))
    np.testing.assert_allclose(graph.run(x)[0], expected.half().float(), rtol=2e-3, atol=1e-6)


def test_indices_of_maxima_are_widened():
    graph, x = Graph((2, 4, 6, 3)), random(2, 4, 6, 3)
    best, where = graph.output((2, 2, 2, 3)), graph.output((2, 2, 2, 3), LONG)
    graph.node(xnn.XNNArgMaxPooling2d(0, 0, 0, 0, 2, 3, 0, best, where, 0))
    # XNNPACK counts the elements of a window by columns.
    windows = x.reshape(2, 2, 2, 2, 3, 3).transpose(0, 1, 3, 5, 4, 2).reshape(2, 2, 2, 3, 6)
    values, indices = graph.run(x)
    assert indices.dtype == np.int64
    assert np.array_equal(values, windows.max(-1)) and np.array_equal(indices, windows.argmax(-1))


def test_limits_and_images_without_kept_dimensions():
    graph, x = Graph((2, 4, 5, 3)), random(2, 4, 5, 3)
    graph.node(xnn.XNNStaticResizeBilinear2D(7, 9, 0, large := graph.value((2, 7, 9, 3)), 0))
    graph.node(xnn.XNNGlobalAvgPooling2d(large, graph.output((2, 3)), 0), (-0.05, 0.05))
    image = F.interpolate(torch.tensor(x).permute(0, 3, 1, 2), (7, 9), mode="bilinear")
    np.testing.assert_allclose(graph.run(x)[0], image.mean((2, 3)).clamp(-0.05, 0.05), rtol=1e-4, atol=1e-6)


def add(shape: tuple[int, ...] = (2, 3)) -> Graph:
    graph = Graph(shape, shape)
    graph.node(xnn.XNNAdd(0, 1, graph.output(shape), 0))
    return graph


def convolution(filter: tuple[int, ...] = (5, 3, 3, 4), bias: tuple[int, ...] = (5,), **fields: int) -> Graph:
    graph = Graph((1, 6, 6, 4))
    weights, offset = graph.constant(random(*filter)), graph.constant(random(*bias))
    numbers = {"padding_top": 0, "padding_right": 0, "padding_bottom": 0, "padding_left": 0, "kernel_height": 3, "kernel_width": 3}
    numbers |= {"subsampling_height": 1, "subsampling_width": 1, "dilation_height": 1, "dilation_width": 1, "group_input_channels": 4}
    numbers |= {"group_output_channels": 5, "groups": 1, "adjustment_height": 0, "adjustment_width": 0, "flags": 0}
    output = graph.output((1, 4, 4, 5))
    graph.node(xnn.XNNConv2d(**numbers | fields, input1_id=0, filter_id=weights, bias_id=offset, output_id=output))
    return graph


def one(node: Any, shape: tuple[int, ...] = (2, 3), result: tuple[int, ...] = (2, 3)) -> Graph:
    graph = Graph(shape)
    graph.output(result)
    graph.node(node)
    return graph


def changed(graph: Graph, change: Callable[[Graph], object]) -> Graph:
    change(graph)
    return graph


def of_many_bytes() -> Graph:
    """Three values between nodes that are there at a time, of 2 GiB each."""
    graph, large = Graph((1, 1)), (2**14, 2**15)
    first, second, third = (graph.value(large) for _ in range(3))
    graph.node(xnn.XNNStaticConstantPad([0, 0], [2**14 - 1, 2**15 - 1], 0.0, 0, first, 0))
    graph.node(xnn.XNNAbs(first, second, 0))
    graph.node(xnn.XNNAdd(first, second, third, 0))
    graph.node(xnn.XNNStaticSlice(2, [0, 0], [1, 1], third, graph.output((1, 1)), 0))
    return graph


REFUSED: dict[str, Graph] = {
    "node 0 (abs) computes value 2, which nothing reads": changed(
        one(xnn.XNNAbs(0, 2, 0)), lambda g: (g.value((2, 3)), g.node(xnn.XNNAbs(0, 1, 0)))
    ),
    "at node 2 (add2), its values take 6442450944 bytes; this backend takes 4294967296 at most": of_many_bytes(),
    "node 0 (add2) names value 7 of 3": changed(add(), lambda g: setattr(g.nodes[0].xnode_union, "input2_id", 7)),
    "node 0 (add2) reads value 2 before a node computes it": changed(add(), lambda g: setattr(g.nodes[0].xnode_union, "input2_id", 2)),
    "node 0 (add2) writes value 1, which is there already": changed(add(), lambda g: setattr(g.nodes[0].xnode_union, "output_id", 1)),
    "node 0 (add2): operands that do not broadcast: [2, 3] and [2, 4]": changed(add(), lambda g: setattr(tensor_of(g, 1), "dims", [2, 4])),
    "node 0 (add2): value 2 has another shape than it computes": changed(add(), lambda g: setattr(tensor_of(g, 2), "dims", [2, 1])),
    "node 0 (add2) has the flags 1, which this backend does not know": changed(
        add(), lambda g: setattr(g.nodes[0].xnode_union, "flags", 1)
    ),
    "node 0 (add2) limits its results to nothing": changed(
        add(), lambda g: setattr(g.nodes[0], "output_min_max", xnn.OutputMinMax(1.0, 0.0))
    ),
    "node 0 (convolution_2d): XNNPACK refuses it: an invalid parameter": changed(
        convolution(), lambda g: setattr(tensor_of(g, 2), "datatype", xnn.XNNDatatype.xnn_datatype_fp16)
    ),
    "value 1 is no tensor, or its rank or its id are not what they are elsewhere": changed(
        add(), lambda g: setattr(tensor_of(g, 1), "id_out", 0)
    ),
    "value 0 has a list of 7 dimensions, more than 6": changed(add(), lambda g: setattr(tensor_of(g, 0), "dims", [1] * 7)),
    "value 0 has a dimension of 2147483648": changed(add(), lambda g: setattr(tensor_of(g, 0), "dims", [2, 2**31])),
    "value 1 is argument 0, which another one is": changed(add(), lambda g: setattr(tensor_of(g, 1), "external_id", 0)),
    "value 2 is input or output 9 of 3 with flags 2": changed(add(), lambda g: setattr(tensor_of(g, 2), "external_id", 9)),
    "value 1 is of type qcint8, and no such tensor or no constant": changed(
        add(), lambda g: setattr(tensor_of(g, 1), "datatype", xnn.XNNDatatype.xnn_datatype_qcint8)
    ),
    "of 3 arguments, 2 are inputs and 0 outputs": changed(
        add(), lambda g: [setattr(tensor_of(g, 2), n, v) for n, v in (("flags", 0), ("external_id", NONE))]
    ),
    "node 0 (convolution_2d): weights that are not constant or do not fit": convolution(filter=(5, 3, 2, 4)),
    "node 0 (convolution_2d): a bias that is not constant or does not fit the output: [4] and [1, 4, 4, 5]": convolution(bias=(4,)),
    "node 0 (convolution_2d): a kernel, stride or dilation of 0": convolution(subsampling_width=0),
    "node 0 (convolution_2d): the kernel does not fit the input and its padding": convolution(dilation_height=9),
    "node 0 (convolution_2d): groups of channels that do not fit the input": convolution(groups=2),
    "node 0 (static_transpose): no permutation of the input's dimensions": one(xnn.XNNStaticTranspose(2, [0, 0], 0, 1, 0)),
    "node 0 (static_reshape): another number of elements: [2, 3] and [5]": one(xnn.XNNStaticReshape(1, [5], 0, 1, 0)),
    "node 0 (static_reshape): another number of elements: [2, 3] and [0, 0]": one(xnn.XNNStaticReshape(2, [0, 0], 0, 1, 0)),
    "node 0 (static_constant_pad): a padding is out of range": one(xnn.XNNStaticConstantPad([0, 2**32 - 1], [0, 0], 0.0, 0, 1, 0)),
    "node 0 (static_slice): a slice is empty, or begins after the input's end": one(xnn.XNNStaticSlice(2, [0, 3], [2, 1], 0, 1, 0)),
    "node 0 (max_pooling_2d): the kernel visits too many elements": one(
        xnn.XNNMaxPooling2d(2**20, 2**20, 2**20, 2**20, 2**20, 2**20, 1, 1, 1, 1, 0, 1, 0), (1, 2, 2, 1), (1, 2, 2, 1)
    ),
    "node 0 (fully_connected): weights that do not fit the input: [2, 3] and [2, 3, 1]": changed(
        Graph((2, 3), (2, 3, 1)), lambda g: g.node(xnn.XNNFullyConnected(0, 1, NONE, g.output((2, 2)), 0))
    ),
    "node 0 is of kind 36, which this backend does not have": one(xnn.XNNScaledDotProductAttention(0, 0, 0, 0, 0, 1, 0)),
    "value 2 needs 20 bytes at a multiple of 4; constant 2 has 8": changed(convolution(), lambda g: setattr(g.places[2], "size", 8)),
    "constant 1 (720 bytes at 4096) exceeds its 752 bytes of constants": changed(
        convolution(), lambda g: setattr(g.places[1], "offset", 4096)
    ),
    "value 1 has constant 9 of 3": changed(convolution(), lambda g: setattr(tensor_of(g, 1), "constant_buffer_idx", 9)),
    "value 1: the program has no named data 'weights', which holds its weights": changed(
        convolution(), lambda g: setattr(g.places[1], "named_key", "weights")
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_graph_is_refused_in_one_line(message: str):
    graph = REFUSED[message]
    with pytest.raises(
        FlambeauError, match=rf"backend 'XnnpackBackend' (cannot load|refuses) it: (its payload is damaged: )?{re.escape(message)}"
    ):
        Runtime.get().load_program(graph.program()).load_method("forward")


def test_a_wrong_header_is_refused():
    payload = bytearray(add().payload())
    wrong = {
        "it has no header XH00 (20 bytes)": payload[:20],
        "it has no header XH00 (": b"\0\0\0\0XH01" + payload[8:],
        "its flatbuffer (4294967295 bytes at ": payload[:14] + b"\xff\xff\xff\xff" + payload[18:],
        "its constants (18446744073709551615 bytes at ": payload[:22] + b"\xff" * 8 + payload[30:],
        "a part of its graph lies outside of it": payload[: (start := payload[10])] + b"\xf0\xff\xff\x00" + payload[start + 4 :],
    }
    for message, damaged in wrong.items():
        with pytest.raises(FlambeauError, match=rf"refuses it: its payload is damaged: {re.escape(message)}"):
            Runtime.get().load_program(add().program(bytes(damaged))).load_method("forward")
    with pytest.raises(FlambeauError, match="refuses it: its payload is of another version than XN01"):
        Runtime.get().load_program(add().program(bytes(payload).replace(b"XN01", b"XN02"))).load_method("forward")


def test_nothing_is_read_after_a_tensor(run_changed: Callable[[list[bytes], int], list[int]]):
    """Inputs and outputs end where memory ends, and so does a constant at the end of the program; XNNPACK reads further."""
    graph = Graph((1, 4, 5, 3))
    graph.node(xnn.XNNStaticResizeBilinear2D(7, 9, 0, large := graph.value((1, 7, 9, 3)), 0))
    graph.node(xnn.XNNMultiply(large, graph.constant(random(3)), graph.output((1, 7, 9, 3)), 0))
    assert sum(run_changed([graph.program(before=())], 1500)) == 1500


def sum_of(names: Sequence[str], arrays: Mapping[str, Any]) -> Graph:
    graph = Graph((2, 3))
    last = 0
    for number, name in enumerate(names):
        constant = graph.named(name, arrays[name])
        result = graph.output((2, 3)) if number == len(names) - 1 else graph.value((2, 3))
        graph.node(xnn.XNNAdd(last, constant, result, 0))
        last = result
    return graph


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_named_data_are_found_in_any_order(seed: int | None):
    """The order of the program's named data is that of the values, or another; some are not of this payload, and some are read twice."""
    arrays = {f"{number:064x}": random(2, 3) for number in range(90)}
    names = list(arrays)[10:80] + list(arrays)[20:23]
    if seed is not None:
        np.random.default_rng(seed).shuffle(names)
    x = random(2, 3)
    method = Runtime.get().load_program(sum_of(names, arrays).program(named_data=arrays)).load_method("forward")
    np.testing.assert_allclose(method.execute([x])[0], x + sum(arrays[name] for name in names), rtol=1e-4, atol=1e-4)


def test_a_search_for_named_data_that_would_take_long_is_refused():
    """The order is the opposite of the values', so that each search goes through all names."""
    arrays = {f"{number:x}": np.array([number], "float32") for number in range(4000)}
    names = list(arrays)[:300]
    graph = sum_of(names[::-1], arrays)
    with pytest.raises(
        FlambeauError, match=r"finding '.*' among 4000 named data takes too long: put named data in the order of the values"
    ):
        Runtime.get().load_program(graph.program(named_data=arrays)).load_method("forward")
    Runtime.get().load_program(sum_of(names, arrays).program(named_data=arrays)).load_method("forward")


def test_arguments_that_are_not_those_of_the_payload_are_refused():
    graph, other = add(), add((2, 3, 1))
    with pytest.raises(FlambeauError, match="XnnpackBackend: argument 0 is not the tensor of 2 dimensions that its payload says"):
        Runtime.get().load_program(other.program(graph.payload())).load_method("forward").execute([random(2, 3, 1)] * 2)
    with pytest.raises(FlambeauError, match="XnnpackBackend: the call has more or fewer arguments than its payload"):
        Runtime.get().load_program(one(xnn.XNNAbs(0, 1, 0)).program(graph.payload())).load_method("forward").execute([random(2, 3)])


def of_integers(node: str, scale: float, result: float, zero_point: int = 0) -> Graph:
    """One node on images of int8: the scale of its inputs, and the scale and the zero point of its result."""
    makers: dict[str, Callable[[int], Any]] = {
        "add2": lambda out: xnn.XNNAdd(0, 1, out, 0),
        "subtract": lambda out: xnn.XNNSubtract(0, 1, out, 0),
        "multiply2": lambda out: xnn.XNNMultiply(0, 1, out, 0),
        "global_average_pooling_2d": lambda out: xnn.XNNGlobalAvgPooling2d(0, out, 64),
        "convert": lambda out: xnn.XNNConvert(0, out, 0),
        "clamp": lambda out: xnn.XNNClamp(0, out, 0),
        "copy": lambda out: xnn.XNNCopy(0, out, 0),
        "static_transpose": lambda out: xnn.XNNStaticTranspose(4, [0, 2, 1, 3], 0, out, 0),
        "static_reshape": lambda out: xnn.XNNStaticReshape(4, [1, 4, 4, 3], 0, out, 0),
        "static_slice": lambda out: xnn.XNNStaticSlice(4, [0, 0, 0, 0], [1, 4, 4, 3], 0, out, 0),
        "max_pooling_2d": lambda out: xnn.XNNMaxPooling2d(0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 0, out, 0),
        "concatenate2": lambda out: xnn.XNNConcatenate2(
            axis=3, input1_id=0, input2_id=1, input3_id=NONE, input4_id=NONE, input5_id=NONE, output_id=out, flags=0
        ),
        "sigmoid": lambda out: xnn.XNNSigmoid(0, out, 0),
        "leaky_relu": lambda out: xnn.XNNLeakyReLU(0.1, 0, out, 0),
        "divide": lambda out: xnn.XNNDiv(0, 1, out, 0),
        "elu": lambda out: xnn.XNNELU(1.0, 0, out, 0),
    }
    shapes = {"global_average_pooling_2d": (1, 1, 1, 3), "max_pooling_2d": (1, 2, 2, 3), "concatenate2": (1, 4, 4, 6)}
    inputs = 2 if node in ("add2", "subtract", "multiply2", "concatenate2", "divide") else 1
    graph = Graph(*[(1, 4, 4, 3)] * inputs)
    out = graph.integers(graph.output(shapes.get(node, (1, 4, 4, 3)), CHAR), result, zero_point)
    for index in range(inputs):
        graph.integers(index, scale)
    graph.node(makers[node](out))
    return graph


MOVERS = ("clamp", "copy", "static_transpose", "static_reshape", "static_slice", "max_pooling_2d", "concatenate2")
FITS: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(("add2", "subtract"), ((2.0**-10, 1.0), (255.0, 1.0))),
    "multiply2": ((2.0**-8, 1.0), (15.0, 1.0)),
    "global_average_pooling_2d": ((2.0**-8, 1.0), (255.0, 1.0)),
    "convert": ((2.0**-8, 1.0), (100.0, 1.0)),
    "elu": ((0.1, 0.2),),
    **dict.fromkeys(MOVERS, ((0.1, 0.1),)),
}
"""Scales of the inputs and of the result that XNNPACK takes."""
DOES_NOT_FIT: dict[str, tuple[tuple[float, float, int], ...]] = {
    **dict.fromkeys(("add2", "subtract"), ((2.0**-11, 1.0, 0), (256.0, 1.0, 0))),
    "multiply2": ((2.0**-9, 1.0, 0), (16.0, 1.0, 0)),
    "global_average_pooling_2d": ((2.0**-9, 1.0, 0), (256.0, 1.0, 0)),
    "convert": ((2.0**-9, 1.0, 0), (256.0, 1.0, 0)),
    **dict.fromkeys(("sigmoid", "leaky_relu", "divide"), ((0.1, 0.1, 0),)),
    **dict.fromkeys(MOVERS, ((0.1, 0.2, 0), (0.1, 0.1, 1))),
}


@pytest.mark.parametrize("node", FITS)
def test_integers_of_scales_that_fit_are_taken(node: str):
    for scale, result in FITS[node]:
        Runtime.get().load_program(of_integers(node, scale, result).program()).load_method("forward")


@pytest.mark.parametrize("node", DOES_NOT_FIT)
def test_integers_of_other_scales_are_refused(node: str):
    for scale, result, zero_point in DOES_NOT_FIT[node]:
        with pytest.raises(FlambeauError, match=rf"node 0 \({node}\): it does not compute with integers, or not with ones of these scales"):
            Runtime.get().load_program(of_integers(node, scale, result, zero_point).program()).load_method("forward")
