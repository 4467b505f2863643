"""`torch.compile(model, backend="flambeau")`."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

torch_compile: Any = cast(Any, torch).compile


class Net(nn.Module):
    """Takes tensors in a list, and gives several values."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.shift: Tensor
        self.register_buffer("shift", torch.ones(3))

    def forward(self, xs: list[Tensor], scale: float = 1.0) -> dict[str, Any]:
        y: Tensor = self.linear(xs[0]).relu() + self.shift * scale
        return {"y": y, "first": y[0], "x": xs[1], "n": 3}


@pytest.mark.parametrize("options", [None, {"target": "executorch"}])
def test_a_compiled_module_gives_what_eager_gives(options: dict[str, Any] | None) -> None:
    torch.compiler.reset()
    module = Net().eval()
    compiled: Any = torch_compile(module, backend="flambeau", dynamic=False, options=options)
    with torch.no_grad():
        for batch in (2, 5, 2):
            xs = [torch.randn(batch, 4), torch.randn(3)]
            torch.testing.assert_close(compiled(xs, scale=2.0), module(xs, scale=2.0))


def test_what_cannot_be_compiled_says_why() -> None:
    torch.compiler.reset()
    compiled: Any = torch_compile(nn.Linear(2, 2), backend="flambeau", dynamic=False)
    with pytest.raises(Exception, match=r"for inference: call the compiled module under torch\.no_grad"):
        compiled(torch.ones(1, 2))
    torch.compiler.reset()
    other: Any = torch_compile(nn.Linear(2, 2), backend="flambeau", dynamic=True)
    with torch.no_grad(), pytest.raises(Exception, match=r"give torch\.compile dynamic=False"):
        other(torch.ones(3, 2))
