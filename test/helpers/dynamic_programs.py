"""Programs for XNNPACK whose sizes only the run knows, in float32, in float16 and with quantized numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import torch
from device_models import Case, images_of_any_number, llama_of_any_length, rows_of_any_number
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torch import Tensor, nn
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

Tensors = tuple[Tensor, ...]
TYPES = ("float32", "float16", "int8")


class Means(nn.Module):
    """Means and sums of images, between layers and as results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.last = nn.Conv2d(3, 24, 3, padding=1), nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensors:
        y = self.conv(x).relu()
        mean = y.mean((2, 3), keepdim=True)
        return self.last(F.adaptive_avg_pool2d(y, 1).flatten(1)), mean, x.mean((2, 3)), y + mean


class SumsOfRows(nn.Module):
    """Means and sums over other dimensions than the last."""

    def forward(self, x: Tensor) -> Tensors:
        return x.mean(1) * 2, x.sum(1, keepdim=True) + x, (x * x).mean((1, 2), keepdim=True)


class MeansAndProducts(nn.Module):
    """Two sizes, each of which decides on the memory of another operator: a mean, and a product of matrices."""

    def forward(self, x: Tensor, y: Tensor, factor: Tensor) -> Tensors:
        factor = torch.sigmoid(factor)
        return (x * factor).mean((2, 3), keepdim=True) * 2, torch.bmm(y * factor, y.transpose(1, 2))


class Broadcasts(nn.Module):
    """Rows that are added to one row: with one of them, both have the same sizes."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(torch.relu(y) + x * 2) * torch.sigmoid(y)


class Layers(nn.Module):
    """Convolutions and pools."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU6(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, groups=4))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Joined(nn.Module):
    """Joined operands."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x + y, x * 2.0], 0)


def _dim(name: str, least: int, most: int) -> Any:
    return torch.export.Dim(name, min=least, max=most)


def _case(module: nn.Module, inputs: Tensors, *sizes: Any) -> Case:
    return Case(module.eval(), [inputs], sizes)


def _images(module: nn.Module) -> Case:
    sizes = {0: _dim("batch", 1, 40), 2: 2 * _dim("h", 4, 6), 3: 2 * _dim("w", 4, 6)}
    return _case(module, (torch.randn(2, 3, 8, 10),), sizes)


_ROWS = {0: _dim("rows", 1, 64)}
CASES: dict[str, Callable[[], Case]] = {
    "images": images_of_any_number,
    "llama": llama_of_any_length,
    "rows": rows_of_any_number,
    "means": lambda: _images(Means()),
    "layers": lambda: _images(Layers()),
    "sums of rows": lambda: _case(SumsOfRows(), (torch.randn(3, 4, 6),), {0: _dim("planes", 1, 64)}),
    "means and products": lambda: _case(
        MeansAndProducts(),
        (torch.randn(3, 8, 4, 4), torch.randn(2, 5, 6), torch.randn(1)),
        {0: _dim("images", 1, 32)},
        {1: _dim("length", 1, 48)},
        None,
    ),
    "broadcasts": lambda: _case(Broadcasts(), (torch.randn(3, 40), torch.randn(1, 40)), _ROWS, None),
    "joined": lambda: _case(Joined(), (torch.randn(3, 6), torch.randn(3, 6)), _ROWS, _ROWS),
    "perceptron": lambda: _case(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)), (torch.randn(5, 8),), _ROWS),
}


@dataclass
class DynamicProgram:
    """A program, and calls at the least, middle and greatest of its sizes."""

    exported: torch.export.ExportedProgram
    module: nn.Module
    calls: list[Tensors]


def programs() -> list[tuple[str, str]]:
    """The programs, as a name and an element type. Without layers, nothing is quantized; the quantizer takes no indices as in `llama`."""
    plain = ("sums of rows", "broadcasts", "means and products", "llama")
    return [(name, kind) for name, kind in product(CASES, TYPES) if kind != "int8" or name not in plain]


def dynamic_program(name: str, kind: str) -> DynamicProgram:
    """Exports a program in an element type."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  PyTorch does not say what it returns
    case = CASES[name]()
    module, inputs = case.module, case.calls[0]
    if kind == "float16":
        module, inputs = module.half(), tuple(_half(x) for x in inputs)
    with torch.no_grad():
        exported = torch.export.export(module, inputs, dynamic_shapes=case.dynamic_shapes)
        if kind == "int8":
            quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
            prepared: Any = prepare_pt2e(exported.module(), quantizer)
            for call in (inputs, *case.calls):
                prepared(*call)
            module = convert_pt2e(prepared)
            exported = torch.export.export(module, inputs, dynamic_shapes=case.dynamic_shapes)
    return DynamicProgram(exported, module, _calls(exported, inputs))


def _half(x: Tensor) -> Tensor:
    return x.half() if x.is_floating_point() else x


def _calls(exported: torch.export.ExportedProgram, inputs: Tensors) -> list[Tensors]:
    """Inputs at the least, middle and greatest of each size; if there are more than two sizes, of all of them at once."""
    nodes = {node.name: node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder"}
    shapes: list[list[Any]] = [list(nodes[name].shape) for name in exported.graph_signature.user_inputs if isinstance(name, str)]
    dynamic: list[Any] = [size.node.expr for shape in shapes for size in shape if not isinstance(size, int)]
    symbols: list[Any] = sorted({symbol for expression in dynamic for symbol in expression.free_symbols}, key=str)
    constraints: Any = cast(Any, exported).range_constraints
    ranges: list[Any] = [constraints[symbol] for symbol in symbols]
    levels = [(int(r.lower), (int(r.lower) + int(r.upper)) // 2, int(r.upper)) for r in ranges]
    points = product(*levels) if len(levels) <= 2 else zip(*levels, strict=True)
    calls: list[Tensors] = []
    for point in points:
        known = dict(zip(symbols, point, strict=True))
        sizes = [[size if isinstance(size, int) else int(size.node.expr.subs(known)) for size in shape] for shape in shapes]
        calls.append(tuple(_random(x, size) for x, size in zip(inputs, sizes, strict=True)))
    return calls


def _random(like: Tensor, size: list[int]) -> Tensor:
    return torch.randn(size).to(like.dtype) if like.is_floating_point() else torch.randint(0, 256, size).to(like.dtype)
