"""The backend by the name that users of ExecuTorch know: what it takes is what ExecuTorch's own takes."""

from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.devtools.backend_debug import get_delegation_info as stock_info
from executorch.exir import to_edge_transform_and_lower as stock_lower

from flambeau import CompileSpec, Partitioner, get_delegation_info, to_edge, to_edge_transform_and_lower
from flambeau.backends.xnnpack import BACKEND, XnnpackPartitioner
from flambeau.runtime import Runtime


class Mixed(torch.nn.Module):
    """Two convolutions with something between them that neither backend takes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.cumsum(torch.relu(self.first(x)), 1)) * 2


X = torch.randn(1, 3, 8, 8)


def test_delegates_are_those_of_executorch():
    module = Mixed().eval()
    exported = torch.export.export(module, (X,))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    info = get_delegation_info(edge)
    lowered: Any = stock_lower(exported, partitioner=[StockPartitioner()])
    stock = stock_info(lowered.exported_program().graph_module)
    assert info.num_delegated_subgraphs == stock.num_delegated_subgraphs == 2
    assert info.num_non_delegated_nodes == 1
    rows = {name: (row.delegated, row.non_delegated) for name, row in info.delegation_by_operator.items()}
    assert rows["edge.cumsum"] == (0, 1) and rows["edge.convolution"] == (2, 0) and rows["edge.relu"] == (1, 0)
    (found,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method().execute([X])
    torch.testing.assert_close(torch.from_dlpack(found), module(X).detach(), rtol=1e-4, atol=1e-5)


def test_nodes_of_a_payload_are_counted_where_nothing_else_is_known():
    edge = to_edge(torch.export.export(Mixed().eval(), (X,))).transform("delegate{backends=xnnpack}")
    assert get_delegation_info(edge).delegation_by_operator["edge.convolution"].delegated == 2
    for op in edge.module.body.block.ops:
        op.attributes.pop("operators", None)
    assert get_delegation_info(edge).delegation_by_operator["xnnpack.conv2d"].delegated == 2


def test_it_is_the_backend_with_options():
    partitioner = XnnpackPartitioner([CompileSpec("least", b"2")])
    assert isinstance(partitioner, Partitioner) and (partitioner.backend, partitioner.options.least) == (BACKEND, 2)
    make: Any = XnnpackPartitioner
    with pytest.raises(TypeError, match="XnnpackPartitioner has no argument 'per_op_mode', which ExecuTorch has: leave it out"):
        make(per_op_mode=True)
