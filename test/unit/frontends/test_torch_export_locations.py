"""The place in the user's model that operators and inputs carry."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn
from torch_programs import export, imported, text_of

from flambeau.frontends.torch_export.node_locations import place
from flambeau.passes.manager import Pipeline


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Inner(), Inner()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks[:2]:
            x = block(x)
        return x + 1


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor, mask: Tensor, unused: Tensor) -> Tensor:
        x = self.inner(x)
        return x * mask


@pytest.mark.parametrize("strict", [False, True])
def test_operators_carry_module_path_and_the_users_line(strict: bool) -> None:
    ir, _ = imported(export(Outer(), torch.randn(2), strict=strict))
    text = text_of(ir, locations=True)
    line = Inner.forward.__code__.co_firstlineno + 1
    assert f'loc("blocks.0"("{__file__}":{line}:0))' in text
    assert f'loc("blocks.1"("{__file__}":{line}:0))' in text
    assert f'loc("forward"("{__file__}":{Outer.forward.__code__.co_firstlineno + 3}:0))' in text


def test_inputs_carry_their_name_and_the_line_of_the_model_that_uses_them_first() -> None:
    ir, context = imported(export(Masked(), torch.randn(2), torch.randn(2), torch.randn(2)))
    line = Masked.forward.__code__.co_firstlineno + 1
    places = [f'loc("x"("{__file__}":{line}:0))', f'loc("mask"("{__file__}":{line + 1}:0))', 'loc("unused")']
    for pipeline in ("canonicalize", "aten-to-core", "core-to-edge", "edge-to-exec"):
        Pipeline.parse(pipeline).run(ir, context)
        text = text_of(ir, locations=True).replace("(unknown)", "")
        assert all(place in text for place in places), pipeline


def test_operators_of_pytorchs_own_modules_name_their_line_wherever_pytorch_is() -> None:
    text = text_of(imported(export(nn.Sequential(nn.ReLU()), torch.randn(2)))[0], locations=True)
    assert 'loc("0"("torch/nn/modules/activation.py":' in text


@pytest.mark.parametrize("outer", [True, False])
def test_a_call_in_generated_code_is_placed_by_its_own_trace_or_by_its_arguments(outer: bool) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    computed = graph.call_function(torch.relu, (x,))
    called = graph.call_function(torch.relu, (computed,))
    computed.meta["stack_trace"] = 'File "model.py", line 6, in forward'
    called.meta["stack_trace"] = ('File "model.py", line 7, in forward\n' if outer else "") + 'File "<eval_with_key>.5", line 9, in forward'
    assert place(called) == ("model.py:7" if outer else "model.py:6")
