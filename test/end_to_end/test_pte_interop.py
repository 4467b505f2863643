"""Programs that stock ExecuTorch writes, read as exec IR and written again: stock ExecuTorch computes the same with both."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch import Tensor, nn
from torch._higher_order_ops import map as higher_order_map
from torch.utils._pytree import tree_leaves

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.memory.verify_plan import check_method
from flambeau.runtime.emit import emit_pte, read_pte
from flambeau.runtime.pte import read_program, write_program

# What PyTorch and ExecuTorch leave without types.
map_rows: Any = higher_order_map
untyped: Any = torch
peer: Any = executorch_runtime

Methods = Mapping[str, tuple[nn.Module, tuple[Any, ...]]]


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x)))


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm(self.convolution(x)))
        return torch.softmax(self.last(nn.functional.max_pool2d(y, 2).flatten(1)), -1)


class Nested(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        values, indices = torch.max(x, 1)
        left, right = torch.split(y, [2, 2])
        return {"values": values, "indices": indices, "rest": [left + right, None, 3, True, 2.5]}


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def more(x: Tensor) -> Tensor:
            return x + 1

        def less(x: Tensor) -> Tensor:
            return x * 2 - 1

        return untyped.cond(x.sum() > 0, more, less, [x]) * 2


class RowByRow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def body(row: Tensor, offset: Tensor) -> Tensor:
            return row * 2 + offset

        return map_rows(body, x, x.sum(0))


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count: Tensor
        self.register_buffer("count", torch.full((2,), 5.0))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(x)
        return self.count * 2


class Viewing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, 6).transpose(0, 1).reshape(3, 4)[:, :2]


class Plus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def image() -> Tensor:
    return torch.randn(1, 1, 8, 8)


def default(methods: Methods, **options: Any) -> bytes:
    config = options.pop("config", ExecutorchBackendConfig())
    programs = {name: torch.export.export(module.eval(), inputs, **options) for name, (module, inputs) in methods.items()}
    return to_edge(programs).to_executorch(config).buffer


def delegated(methods: Methods) -> bytes:
    programs = {name: torch.export.export(module.eval(), inputs) for name, (module, inputs) in methods.items()}
    return to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def initialised(methods: Methods) -> bytes:
    passes: list[Any] = [InitializedMutableBufferPass(["count"])]
    return default(methods, config=ExecutorchBackendConfig(passes=passes, emit_mutable_buffer_names=True))


def unplanned(methods: Methods) -> bytes:
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    return default(methods, config=ExecutorchBackendConfig(memory_planning_pass=planning))


def dynamic(methods: Methods) -> bytes:
    return default(methods, dynamic_shapes=({0: torch.export.Dim("n", min=1, max=6)},))


CASES: dict[str, tuple[Callable[[Methods], bytes], Callable[[], Methods]]] = {
    "perceptron": (default, lambda: {"forward": (Perceptron(), (torch.randn(2, 8),))}),
    "convolutional": (default, lambda: {"forward": (Convolutional(), (image(),))}),
    "nested outputs": (default, lambda: {"forward": (Nested(), (torch.randn(3, 4), torch.randn(4, 5)))}),
    "branches": (default, lambda: {"forward": (Branching(), (torch.randn(3),))}),
    "map": (default, lambda: {"forward": (RowByRow(), (torch.randn(3, 4),))}),
    "buffer": (default, lambda: {"forward": (Counting(), (torch.randn(2),))}),
    "buffer with a value": (initialised, lambda: {"forward": (Counting(), (torch.randn(2),))}),
    "views": (default, lambda: {"forward": (Viewing(), (torch.randn(3, 4),))}),
    "two methods": (default, lambda: {"forward": (Perceptron(), (torch.randn(2, 8),)), "plus": (Plus(), (torch.randn(3),))}),
    "unplanned inputs and outputs": (unplanned, lambda: {"forward": (Perceptron(), (torch.randn(2, 8),))}),
    "dynamic shape": (dynamic, lambda: {"forward": (Perceptron(), (torch.randn(2, 8),))}),
    "delegate": (delegated, lambda: {"forward": (Convolutional(), (image(),))}),
}


def run(file: bytes, methods: Methods) -> list[Any]:
    """The leaves of the outputs of two calls of each method, under full verification."""
    program = peer.Runtime.get().load_program(file, verification=peer.Verification.InternalConsistency)
    assert program.method_names == set(methods)
    results: list[Any] = []
    for name, (_, inputs) in sorted(methods.items()):
        method = program.load_method(name)
        for _ in range(2):
            results += [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in method.execute(tuple(tree_leaves(inputs)))]
    return results


def same(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(
        torch.equal(a, b) if isinstance(a, Tensor) else type(a) is type(b) and a == b for a, b in zip(left, right, strict=True)
    )


@pytest.mark.parametrize("case", CASES)
def test_a_program_of_executorch_survives(case: str) -> None:
    untyped.manual_seed(0)
    make, methods_of = CASES[case]
    methods = methods_of()
    theirs = make(methods)
    expected = run(theirs, methods)

    # The records alone.
    assert same(run(b"".join(write_program(read_program(theirs))), methods), expected)

    # As IR, through its text in both forms.
    context = FlambeauContext()
    module = read_pte(theirs, context)
    verify_module(module)
    for generic in (False, True):
        again = parse_module(print_module(module, generic=generic), context).module
        verify_module(again)
        assert equivalent(again, module)
    ours = b"".join(emit_pte(module, context))
    assert same(run(ours, methods), expected)

    # Its plan is right, and from here on nothing changes any more.
    assert [fault for op in module.body.block.ops if isinstance(op, MethodOp) for fault in check_method(op)] == []
    fresh = FlambeauContext()
    assert b"".join(emit_pte(read_pte(ours, fresh), fresh)) == ours


def test_two_conditionals_that_share_memory_are_caught() -> None:
    # ExecuTorch 1.5.1 gives the branches of sibling conditionals the same bytes although a value of the first lives on
    # (findings/executorch_two_conditions.sh).
    class Siblings(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            def sine(x: Tensor) -> Tensor:
                return torch.sin(x + 1)

            def cosine(x: Tensor) -> Tensor:
                return torch.cos(x * 3)

            def less(x: Tensor) -> Tensor:
                return x - 1

            return untyped.cond(x.sum() > 0, sine, less, [x]) + untyped.cond(x.sum() < 9, cosine, less, [x])

    x = torch.ones(3)
    module = read_pte(default({"forward": (Siblings(), (x,))}), FlambeauContext())
    faults = [fault for op in module.body.block.ops if isinstance(op, MethodOp) for fault in check_method(op)]
    assert len(faults) > 0
    assert "over whose bytes" in faults[0]
