"""The payload: written and read back, ExecuTorch's own read and run, damaged ones refused."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from models import digits_cnn

from flambeau.backends.xnnpack.decode import decode
from flambeau.backends.xnnpack.encode import encode
from flambeau.backends.xnnpack.payload import INVALID_ID, NODES, Graph, TensorValue, read_payload, write_payload
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row_table import load_rows
from flambeau.passes.delegation.interface import BackendError, BackendOptions
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import Program, read_program

peer: Any = executorch_runtime
CONVERSIONS = ("quantize", "dequantize", "dequantize_channels", "round_rows")
"""Nodes `convert`, whose numbers are those of their values."""
WITHOUT_ROW = {"arg_max_pooling2d", "scaled_dot_product_attention"}
OF_RESULTS = {"output_min", "output_max", "dtype"}
"""The arguments that the format has beside the fields of a node."""


@dataclasses.dataclass
class Stock:
    """A program that ExecuTorch's own flow compiled for XNNPACK, and what it computes."""

    data: bytes
    program: Program
    inputs: list[Any]
    result: Any

    @property
    def payload(self) -> memoryview:
        (delegate,) = self.program.execution_plan[0].delegates
        return delegate.processed

    @property
    def named_data(self) -> dict[str, memoryview]:
        return {item.key: item.data for item in self.program.named_data}


@pytest.fixture(scope="module")
def stock() -> Stock:
    module, inputs = digits_cnn(2)
    lowered: Any = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()])
    data = bytes(lowered.to_executorch().buffer)
    program = peer.Runtime.get().load_program(data)
    (result,) = program.load_method("forward").execute(list(inputs))
    return Stock(data, read_program(data), [tensor.numpy() for tensor in inputs], result.numpy().copy())


def decoded(payload: memoryview, named_data: dict[str, memoryview]) -> tuple[Any, FlambeauContext]:
    context = FlambeauContext()
    return decode(payload, named_data, context.blobs), context


def encoded(module: Any, context: FlambeauContext) -> tuple[memoryview, dict[str, memoryview]]:
    partition = next(op for op in module.walk() if isinstance(op, PartitionOp))
    result = encode(partition, ModuleConstants(context, module), BackendOptions())
    return memoryview(result.data), {key: memoryview(data) for key, data in result.named_data.items()}


def test_the_nodes_are_those_of_the_format():
    text = re.sub(
        r"//.*", "", resources.files("executorch.backends.xnnpack.serialization").joinpath("schema.fbs").read_text(encoding="utf-8")
    )
    tables = {name: re.findall(r"(\w+)\s*:", body) for name, body in re.findall(r"table (\w+) \{(.*?)\}", text, re.DOTALL)}
    (union,) = re.findall(r"union XNodeUnion \{(.*?)\}", text, re.DOTALL)
    members = [(name.removeprefix("XNN").lower(), tables[kind or name]) for name, kind in re.findall(r"(\w+)(?:: (\w+))?,", union)]
    assert [(table.record.__name__.replace("_", ""), list(table.fields)) for table in NODES] == members


def test_the_fields_of_nodes_are_the_arguments_of_rows():
    tables = {table.record.__name__: set(table.fields) for table in NODES}
    rows = {name: row for name, row in load_rows()["xnnpack"].items() if name not in CONVERSIONS}
    assert tables.keys() - rows.keys() == WITHOUT_ROW
    for name, row in rows.items():
        arguments = {f"{argument.name}_id" if argument.type.is_tensor else argument.name for argument in row.schema.arguments}
        fields = tables[name] - {"num_dims", "output_id"}
        assert arguments - OF_RESULTS <= fields
        assert all(name.startswith("concatenate") for _ in fields - (arguments - OF_RESULTS))


def test_a_payload_of_executorch_is_written_as_it_was_read(stock: Stock):
    graph, constants = read_payload(stock.payload)
    assert len(graph.xnodes) == 7 and len(constants) == 0
    assert read_payload(memoryview(write_payload(graph)))[0] == graph


def test_a_payload_of_executorch_is_read_run_and_written_again(stock: Stock):
    module, context = decoded(stock.payload, stock.named_data)
    module.verify()
    assert sum(op.name.startswith("xnnpack.") for op in module.walk()) == 7
    (found,) = run_payload("XnnpackBackend", stock.payload, stock.named_data, stock.inputs)
    np.testing.assert_allclose(found, stock.result, rtol=1e-5, atol=1e-6)
    payload, named_data = encoded(module, context)
    assert named_data == stock.named_data, "the keys are digests, as ExecuTorch's are"
    again, _ = decoded(payload, named_data)
    assert [str(op) for op in again.walk() if op.name.startswith("xnnpack.")] == [
        str(op) for op in module.walk() if op.name.startswith("xnnpack.")
    ]


def test_a_program_of_executorch_runs_by_the_interpreter(stock: Stock):
    context = FlambeauContext()
    module = read_pte(stock.data, context)
    (found,) = interpret(module, context, run_payload).run("forward", stock.inputs)
    np.testing.assert_allclose(np.asarray(found), stock.result, rtol=1e-5, atol=1e-6)


def test_a_payload_is_decoded_once_for_each_program(stock: Stock, monkeypatch: pytest.MonkeyPatch):
    count = 0

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return decode(*arguments)

    monkeypatch.setattr("flambeau.backends.xnnpack.decode.decode", counting)
    for programs in (1, 2):
        context = FlambeauContext()
        program = interpret(read_pte(stock.data, context), context, run_payload)
        for _ in range(3):
            (found,) = program.run("forward", stock.inputs)
            np.testing.assert_allclose(np.asarray(found), stock.result, rtol=1e-5, atol=1e-6)
        assert count == programs


def test_a_damaged_payload_is_refused_or_runs(stock: Stock):
    """Some mutations change a number and nothing else; none crashes, hangs or raises anything but BackendError."""
    chance = random.Random(5)
    ours, _ = encoded(*decoded(stock.payload, stock.named_data))
    refused = accepted = 0
    for good in (stock.payload, ours):
        for _ in range(400):
            data = bytearray(good)
            for _ in range(chance.randint(1, 3)):
                if chance.random() < 0.1:
                    del data[chance.randrange(len(data)) :]
                elif data:
                    data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 3, 4, 8, 64, 127, 128, 255, chance.randrange(256)))
            try:
                run_payload("XnnpackBackend", memoryview(bytes(data)), stock.named_data, stock.inputs)
            except BackendError as error:
                assert "\n" not in str(error)
                refused += 1
            else:
                accepted += 1
    assert refused > 100 and accepted > 10


def value(graph: Graph, number: int, **fields: Any) -> Graph:
    values = list(graph.xvalues)
    found = values[number]
    assert isinstance(found, TensorValue)
    values[number] = dataclasses.replace(found, **fields)
    return dataclasses.replace(graph, xvalues=tuple(values))


def node(graph: Graph, number: int, **fields: Any) -> Graph:
    nodes = list(graph.xnodes)
    nodes[number] = dataclasses.replace(nodes[number], xnode_union=dataclasses.replace(nodes[number].xnode_union, **fields))
    return dataclasses.replace(graph, xnodes=tuple(nodes))


DAMAGES: list[tuple[Callable[[Graph], Graph], str]] = [
    (lambda g: dataclasses.replace(g, num_externs=3), "its 1 inputs and 1 outputs are not the 3 arguments of a call"),
    (lambda g: dataclasses.replace(g, num_externs=2**32 - 1), "its 1 inputs and 1 outputs are not the 4294967295 arguments of a call"),
    (lambda g: dataclasses.replace(g, input_ids=(5,)), "it lists 1 values as its inputs, which are not the 1 that are declared so"),
    (lambda g: dataclasses.replace(g, xnodes=g.xnodes[:-1]), "no node gives the output, value 13"),
    (lambda g: dataclasses.replace(g, xnodes=g.xnodes[1:]), "node 0, depthwise_conv2d, reads value 1, which no earlier node gives"),
    (lambda g: dataclasses.replace(g, constant_data=g.constant_data[:1]), "value 2 is constant 1 of 1"),
    (lambda g: value(g, 2, datatype=3), "value 2 is of datatype 3; supported here are 1 \\(f32\\), 2 \\(f16\\)"),
    (lambda g: value(g, 2, dims=(1, 3, 3, 8)), "value 2 takes 288 bytes, and its constant has 576"),
    (lambda g: value(g, 2, dims=(1, 3, 48)), "value 2 has 4 dimensions and 3 sizes"),
    (lambda g: value(g, 2, dims=(1,) * 90, num_dims=90), "value 2 has 90 dimensions and 90 sizes; there are up to 6"),
    (lambda g: value(g, 2, dims=(1, 3, 3, 0)), r"value 2 is of the sizes \[1, 3, 3, 0\], and XNNPACK has no empty tensors"),
    (lambda g: node(g, 5, num_dims=90, new_shape=(1,) * 90), r"node 5, static_reshape, has lists of \[90, 90\] numbers; they have one"),
    (lambda g: value(g, 2, id_out=1), "value 1 is declared twice"),
    (lambda g: value(g, 2, external_id=0, flags=1), "value 2 with flags 1 is not one of an input"),
    (lambda g: value(g, 3, external_id=1, flags=2), "two values are argument 1 of the call"),
    (lambda g: value(g, 6, dims=(2, 8, 8, 16)), r"node 2, conv2d, gives \[2, 8, 8, 32\], and value 6 has the sizes \[2, 8, 8, 16\]"),
    (lambda g: node(g, 0, num_dims=3), r"node 0, static_transpose, has lists of \[3, 4\] numbers"),
    (lambda g: node(g, 0, perm=(0, 2, 3, 3)), r"node 0, static_transpose: .*perm \[0, 2, 3, 3\] is no order of 4 dimensions"),
    (lambda g: node(g, 1, flags=4), "node 1, depthwise_conv2d: .*flags 0x4 have no meaning here"),
    (lambda g: node(g, 1, filter_id=INVALID_ID), "node 1, depthwise_conv2d: .*needs the tensor 'filter'"),
    (lambda g: node(g, 1, output_id=1), "node 1, depthwise_conv2d, gives value 1, which is not declared, or known already"),
    (lambda g: node(g, 2, subsampling_height=0), "node 2, conv2d: .*must not be negative, and the sizes, steps"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGES)
def test_each_field_is_checked(stock: Stock, change: Callable[[Graph], Graph], message: str):
    graph, _ = read_payload(stock.payload)
    with pytest.raises(BackendError, match=f"^XNNPACK payload: {message}"):
        decoded(memoryview(write_payload(change(graph))), stock.named_data)


def test_kinds_without_a_row_are_refused_by_name(stock: Stock):
    graph, _ = read_payload(stock.payload)
    pool = next(table for table in NODES if table.record.__name__ == "arg_max_pooling2d")
    nodes = (dataclasses.replace(graph.xnodes[0], xnode_union=pool.record(*(1,) * len(pool.fields))), *graph.xnodes[1:])
    with pytest.raises(BackendError, match=r"^XNNPACK payload: node 0, arg_max_pooling2d, is not supported here"):
        decoded(memoryview(write_payload(dataclasses.replace(graph, xnodes=nodes))), stock.named_data)
    assert find_op("xnnpack.arg_max_pooling2d") is None


def test_weights_that_the_program_lacks_are_an_error(stock: Stock):
    with pytest.raises(BackendError, match=r"^XNNPACK payload: the program has no named data 'a619fadd"):
        decoded(stock.payload, {})
    short = {key: data[:-4] for key, data in stock.named_data.items()}
    with pytest.raises(BackendError, match="value 2 takes 576 bytes, and its constant has 572"):
        decoded(stock.payload, short)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has 0 bytes; its header alone takes 30"),
        (bytes(40), "it starts with"),
        (bytes(4) + b"XH00" + bytes(40), "its graph should be at bytes 0 to 0"),
        (bytes(4) + b"XH00\x1e\0\x20\0\0\0\xff\0\0\0" + bytes(40), "its graph should be at bytes 32 to 287 of 58"),
        (bytes(4) + b"XH00\x1e\0\x20\0\0\0\x08\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0" + bytes(34), "its graph is of format b'"),
    ],
)
def test_what_is_no_payload_is_refused(data: bytes, message: str):
    with pytest.raises(BackendError, match=f"^XNNPACK payload: {message}"):
        read_payload(memoryview(data))
