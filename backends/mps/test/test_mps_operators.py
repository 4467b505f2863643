"""Legality against reality, and payloads: what the table takes is computed by numpy from what is read back, and damage is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from delegated_operators import Trial, program_of, trials_of
from torch import nn
from torch_programs import seed
from vendor_converter import payload_of

from flambeau import to_edge
from flambeau.backends.mps.decode import decode
from flambeau.backends.mps.legality import OPERATORS, table
from flambeau.backends.mps.lower import CONVERTERS
from flambeau.backends.mps.payload import ALIGNMENT, MAGIC, Graph, MinMax, Value, read_payload, write_payload
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError, BackendOptions


def test_there_is_a_converter_for_each_operator_of_the_table() -> None:
    assert OPERATORS.keys() == CONVERTERS.keys()


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_numpy_is_right_about_what_is_taken(name: str) -> None:
    for trial in trials_of(name, table(BackendOptions())).finite():
        program_of(Trial(trial.module, trial.context, trial.inputs, trial.expected), "mps")


def payload() -> bytes:
    """A network with constants, a norm and limits."""
    seed()
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU6(), nn.Flatten(), nn.Linear(144, 8), nn.LayerNorm(8)).eval()
    return payload_of(to_edge(torch.export.export(network, (torch.ones(1, 3, 8, 8),))).to_backend("mps"))


def test_constants_stand_behind_the_graph_at_multiples_of_16_bytes() -> None:
    data = payload()
    zeros, magic, start, size = struct.unpack_from("<4s4sQQ", data)
    assert (zeros, magic, data[28:32], start % ALIGNMENT, start + size) == (bytes(4), MAGIC, MAGIC, 0, len(data))
    graph, constants = read_payload(memoryview(data))
    stored = [graph.mps_values[number] for number in graph.constant_ids]
    assert all(value.segment_offset % ALIGNMENT == 0 and value.constant_buffer_size for value in stored)
    assert sum(-(-value.constant_buffer_size // ALIGNMENT) * ALIGNMENT for value in stored) == len(constants)
    names = [type(node.mpsnode_union).__name__ for node in graph.mps_nodes]
    assert names == ["Conv2D", "HardTanh", "View", "Addmm", "LayerNorm"]
    norm: Any = graph.mps_nodes[-1].mpsnode_union
    numbers: tuple[int, ...] = norm.output1_id, norm.output2_id, norm.output3_id
    found: list[Value] = [graph.mps_values[number] for number in numbers]
    assert [value.dims for value in found] == [(1, 8), (1, 1), (1, 1)]


def with_node(graph: Graph, place: int, **changes: Any) -> Graph:
    """A graph with other fields in one node."""
    nodes = list(graph.mps_nodes)
    nodes[place] = replace(nodes[place], mpsnode_union=replace(nodes[place].mpsnode_union, **changes))
    return replace(graph, mps_nodes=tuple(nodes))


def with_value(graph: Graph, number: int, **changes: Any) -> Graph:
    """A graph with other fields in one value."""
    values = list(graph.mps_values)
    values[number] = replace(values[number], **changes)
    return replace(graph, mps_values=tuple(values))


CHANGES: list[tuple[Callable[[Graph], Graph], str]] = [
    (lambda graph: replace(graph, version="1"), "it is of version '1'"),
    (lambda graph: replace(graph, graph_type=1), "type 1, not of '0' and 0"),
    (lambda graph: replace(graph, output_ids=(99,)), "reads value 99, which nothing before it gives"),
    (lambda graph: with_node(graph, 0, groups=2), "Conv2D, .* does not fit the weight"),
    (lambda graph: with_node(graph, 0, input1_id=-5), "Conv2D, reads value -5"),
    (lambda graph: with_node(graph, 2, num_dims=3), "View, says two lengths of its list"),
    (lambda graph: with_node(graph, 4, output2_id=0), "LayerNorm, has output2_id 0, which is another value"),
    (lambda graph: with_node(graph, 4, output1_id=0), "LayerNorm, gives value 0, which is another one"),
    (lambda graph: with_value(graph, 0, datatype=3), "value 0 is of type 3"),
    (lambda graph: with_value(graph, graph.constant_ids[0], segment_offset=1 << 40), "is no constant of"),
    (
        lambda graph: replace(graph, mps_nodes=(replace(graph.mps_nodes[0], min_max=MinMax(0, 1)), *graph.mps_nodes[1:])),
        "Conv2D, has limits beside it",
    ),
]


@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_a_graph_that_contradicts_itself_is_refused(change: Callable[[Graph], Graph], why: str) -> None:
    graph, constants = read_payload(memoryview(payload()))
    with pytest.raises(BackendError, match=why):
        decode(memoryview(write_payload(change(graph), bytes(constants))), {}, BlobStore())


@pytest.mark.parametrize("data", [b"", b"MP00" * 8, bytes(4) + MAGIC + bytes(16), bytes(4) + MAGIC + struct.pack("<QQ", 24, 8) + bytes(8)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BackendError, match="MPS payload"):
        decode(memoryview(data), {}, BlobStore())
