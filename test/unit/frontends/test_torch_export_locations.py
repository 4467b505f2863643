"""The place in the user's model that operators and inputs carry."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_programs import export, imported, text_of

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
