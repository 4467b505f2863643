"""`torch.compile(model, backend="flambeau")`."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from all_engines import EMITTED
from torch import Tensor, nn
from torch.nn import functional as F

from flambeau.compiler.compilation import Compilation

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


@pytest.mark.parametrize("options", [None, {"target": "executorch"}, {"aot": True}, {"target": "executorch", "aot": True}])
def test_a_compiled_module_gives_what_eager_gives(options: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(EMITTED))
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
    trained: Any = torch_compile(nn.Dropout(), backend="flambeau")
    with torch.no_grad(), pytest.raises(Exception, match=r"dropout is in training mode: call eval\(\) on the model first") as caught:
        trained(torch.ones(3, 2))
    assert str(caught.value).startswith("backend='flambeau' raised:\nCaptureError: ")
    assert "output_graph.py" not in {entry.path.name for entry in caught.traceback if isinstance(entry.path, Path)}
    torch.compiler.reset()
    unknown: Any = torch_compile(cast(Any, torch).igamma, backend="flambeau")
    with (
        torch.no_grad(),
        pytest.raises(Exception, match=r"aten\.igamma: Flambeau knows this operator's schema but not its meaning"),
    ):
        unknown(torch.ones(3), torch.ones(3))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": "reduce-overhead"}, r"the backend flambeau has no mode 'reduce-overhead'; options={'target': 'executorch'} takes"),
        ({"options": {"depth": 1, 3: 4}}, r"the backend flambeau has the options 'target' and 'aot', not 'depth', 3"),
        ({"options": {"target": 3}}, r"the option 'target' of the backend flambeau is a name, not 3"),
        ({"options": {"aot": "yes"}}, r"the option 'aot' of the backend flambeau is True or False, not 'yes'"),
        ({"options": {"target": "gpu"}}, r"there is no target 'gpu'; there are cadence, executorch, flambeau"),
        ({"options": ["target"]}, r"the backend flambeau takes options in a dict, not \['target'\]"),
    ],
)
def test_what_torch_compile_is_given_and_the_backend_lacks_is_refused(given: dict[str, Any], words: str) -> None:
    torch.compiler.reset()
    compiled: Any = torch_compile(nn.ReLU(), backend="flambeau", **given)
    with torch.no_grad(), pytest.raises(Exception, match=words):
        compiled(torch.ones(2))


def test_the_default_mode_is_none() -> None:
    torch.compiler.reset()
    compiled: Any = torch_compile(nn.ReLU(), backend="flambeau", mode="default")
    with torch.no_grad():
        torch.testing.assert_close(compiled(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))


class Writing(nn.Module):
    """Writes to its input and to its state, and gives numbers too."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.seen: Tensor
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Tensor, n: int) -> dict[str, Any]:
        x.add_(1)
        y: Tensor = self.linear(x).view(x.shape[0] * 3) * n
        self.seen.add_(y.view(-1, 3).sum(0))
        return {"y": y, "seen": self.seen * 2, "numbers": (x.shape[0], n)}


def _compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the programs that are compiled from now on."""
    sizes: list[int] = []
    emit = Compilation.emit

    def noted(compilation: Compilation) -> bytes:
        data = emit(compilation)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(Compilation, "emit", noted)
    return sizes


def test_dynamic_sizes_state_and_written_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    programs = _compilations(monkeypatch)
    module = Writing().eval()
    eager = deepcopy(module)
    compiled: Any = torch_compile(module, backend="flambeau", dynamic=True)
    with torch.no_grad():
        for turn, (batch, wanted) in enumerate(((5, 1), (6, 1), (16, 1), (40, 2), (7, 2), (5, 2))):
            x = torch.randn(batch, 4)
            given = x.clone()
            torch.testing.assert_close(compiled(x, 3 + turn), eager(given, 3 + turn))
            assert torch.equal(x, given)
            assert len(programs) == wanted
        for model in (module, eager):
            model.linear.weight.mul_(2)
        x = torch.randn(5, 4)
        torch.testing.assert_close(compiled(x.clone(), 2), eager(x.clone(), 2))
        assert len(programs) == 3


def test_parameters_are_in_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    programs = _compilations(monkeypatch)
    module = nn.Linear(64, 64)
    compiled: Any = torch_compile(module, backend="flambeau")
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(2, 64)
            torch.testing.assert_close(compiled(x), module(x))
    assert len(programs) == 1 and programs[0] > 64 * 64 * 4


def test_a_marked_dimension_has_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    programs = _compilations(monkeypatch)

    def product(x: Tensor) -> Tensor:
        return x @ x.T

    compiled: Any = torch_compile(product, backend="flambeau")
    x = torch.randn(5, 4)
    cast(Any, torch)._dynamo.mark_dynamic(x, 0, min=2, max=64)
    for value in (x, torch.randn(64, 4), torch.randn(2, 4)):
        torch.testing.assert_close(compiled(value), product(value))
    assert len(programs) == 1


def test_graph_breaks_and_sizes_that_are_numbers() -> None:
    def broken(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        y = x * 2
        return (y.sum(0) if y.sum() > 0 else y.mean(0)), torch.zeros(n) + x[0, 0]

    torch.compiler.reset()
    compiled: Any = torch_compile(broken, backend="flambeau")
    for batch, n in ((3, 2), (4, 3), (5, 4)):
        x = torch.randn(batch, 2)
        torch.testing.assert_close(compiled(x, n), broken(x, n))


@pytest.mark.parametrize("module", [nn.LayerNorm(3), nn.BatchNorm1d(3, eps=0.5), nn.Dropout(0.2), nn.LeakyReLU(0.2)], ids=repr)
def test_modules_with_floats_have_dynamic_sizes(module: nn.Module) -> None:
    with torch.no_grad():
        torch.compiler.reset()
        compiled: Any = torch_compile(module.eval(), backend="flambeau", dynamic=True)
        for rows in (2, 5):
            x = torch.randn(rows, 3)
            torch.testing.assert_close(compiled(x), module(x))


def test_zeros_of_both_signs_are_two_numbers() -> None:
    def divided(x: Tensor, by: float) -> Tensor:
        return x / by

    with torch.no_grad():
        torch.compiler.reset()
        compiled: Any = torch_compile(divided, backend="flambeau")
        for by in (1.0, 2.0, 0.0, -0.0, 0.0):
            torch.testing.assert_close(compiled(torch.ones(2), by), torch.ones(2) / by)


def test_a_float_that_changes_is_computed_with() -> None:
    def scaled(x: Tensor, factor: float, power: float) -> Tensor:
        return F.leaky_relu(x, factor) * power + (0.5 if factor > 1 else 0)

    with torch.no_grad():
        torch.compiler.reset()
        compiled: Any = torch_compile(scaled, backend="flambeau")
        for factor, power in ((0.1, 1.0), (0.2, 1.0), (0.3, 2.5), (1.5, 2.5), (0.2, 0.0)):
            x = torch.randn(4)
            torch.testing.assert_close(compiled(x, factor, power), scaled(x, factor, power))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_view_of_an_input_lies_in_its_memory(dynamic: bool) -> None:
    def changed(x: Tensor, n: int) -> Tensor:
        views = x[1:], x.t(), x[:, n].unsqueeze(0)
        cast(Any, torch)._dynamo.graph_break()
        for view in views:
            view.mul_(2)
        return x

    with torch.no_grad():
        torch.compiler.reset()
        compiled: Any = torch_compile(changed, backend="flambeau", dynamic=dynamic)
        for rows, place in ((3, 1), (5, 2), (4, 0)):
            x = torch.randn(rows, 6)
            given = x.clone()[:, 1:5], x.clone()[:, 1:5]
            torch.testing.assert_close(compiled(given[0], place), changed(given[1], place))
