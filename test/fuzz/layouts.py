"""Programs whose inputs, parameters and constants are channels-last, transposed or permuted: each engine gives what PyTorch gives.

A case is a program of one line for each value. Our C runtime runs it for both targets, stock ExecuTorch for the default one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from executorch import runtime as executorch_runtime
from torch import Tensor, nn

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from fuzz.campaign import Campaign, Failure

peer: Any = executorch_runtime
_TOLERANCE = 2e-4
"""The largest difference, in units of the largest expected value of an output."""

_ANY = (
    *("torch.relu({x})", "torch.sigmoid({x})", "{x} * 2", "{x}.abs() + 1", "-{x}", "{x}.clamp(-1, 1)", "torch.tanh({x})"),
    *("{x} + {y}", "{x} * {y}", "torch.maximum({x}, {y})", "torch.add({x}, {y}, alpha=2)", "torch.where({x} > 0, {x}, {y})"),
    *(
        "{x}.permute({order})",
        "{x}.transpose({d}, {e})",
        "{x}.movedim({d}, {e})",
        "{x}.flatten({d})",
        "{x}.reshape(-1)",
        "{x}.contiguous()",
    ),
    *("{x}.reshape({x}.shape[0], -1)", "{x}.clone()", "{x}.unsqueeze({d})", "{x}.squeeze()", "{x}.select({d}, 0)", "{x}.flip({d})"),
    *("{x}.narrow({d}, 0, 1)", "{x}.expand(2, *{x}.shape)", "torch.cat([{x}, {y}], {d})", "torch.stack([{x}, {x} + 1], {d})"),
    *("{x}.mean({d})", "{x}.sum({d}, keepdim=True)", "{x}.amax({d})", "{x}.softmax({d})", "{x}.log_softmax({d})", "{x}.cumsum({d})"),
    *("{x}.mean()", "{x}.var({d}, correction=0)", "{x}.sort({d})[0]", "{x}.roll(1)", "{x}.roll(1, {d})", "{x} @ {y}", "{x} @ {y}.mT"),
    *("F.layer_norm({x}, {x}.shape[-1:])", "F.pad({x}, (1, -1))", "F.linear({x}, {y})", "{x}.as_strided((2, 2), (1, 2))"),
    *(
        "{x}.unfold({d}, 2, 1)",
        "{x}.diagonal(0, {d}, {e})",
        "{x}.index_select({d}, torch.tensor([0, 0]))",
        "{x}.tril()",
        "{x}.repeat_interleave(2, {d})",
    ),
)
_IMAGES = (
    *("F.conv2d({x}, {y})", "F.conv2d({x}, {y}, padding=1, stride=2)", "F.conv_transpose2d({x}, {y}, stride=2)", "F.conv2d({x}, {x}[:1])"),
    *("F.max_pool2d({x}, 2)", "F.avg_pool2d({x}, 2)", "F.adaptive_avg_pool2d({x}, 1)", "F.interpolate({x}, scale_factor=2)"),
    *("{x}.to(memory_format=torch.channels_last)", "{x}.contiguous(memory_format=torch.channels_last)", "F.pad({x}, (1, 1, 0, 1))"),
    *(
        "F.group_norm({x}, 1)",
        "F.batch_norm({x}, {x}.new_zeros({x}.shape[1]), {x}.new_ones({x}.shape[1]))",
        "{x}.flatten(1)",
        "{x}.mean((2, 3))",
    ),
    *(
        "F.scaled_dot_product_attention({x}, {x}, {x})",
        "F.pixel_shuffle({x}.repeat(1, 4, 1, 1), 2)",
        "F.prelu({x}, {x}.new_ones({x}.shape[1]))",
    ),
)
_SHAPES = ((2, 3, 4, 5), (1, 3, 4, 5), (3, 4), (4, 3), (2, 3, 4), (2, 3, 3, 3), (3,), (4, 3, 2, 2), (1, 2, 3, 4, 5))
_KINDS = ("given", "parameter", "constant")


def given(shape: Sequence[int], order: Sequence[int], seed: int) -> Tensor:
    """A tensor whose dimensions lie in memory in this order, outermost first."""
    generator = torch.Generator().manual_seed(seed)
    stored = torch.randn([shape[dim] for dim in order], generator=generator)
    return stored.permute([order.index(dim) for dim in range(len(shape))])


def made(text: str) -> Tensor:
    """The tensor of `given(…)`, `parameter(…)` or `constant(…)`."""
    return eval(text, {kind: given for kind in _KINDS})


class Program(nn.Module):
    """The program of a text."""

    def __init__(self, text: str):
        super().__init__()
        lines = [line.partition(" = ")[::2] for line in text.splitlines() if " = " in line]
        self.inputs = {name: made(value) for name, value in lines if value.startswith("given")}
        self.constants = {name: made(value) for name, value in lines if value.startswith("constant")}
        self.weights = nn.ParameterDict({name: nn.Parameter(made(value)) for name, value in lines if value.startswith("parameter")})
        self.steps = [(name, compile(value, name, "eval")) for name, value in lines if not value.startswith(_KINDS)]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values: dict[str, Any] = {"torch": torch, "F": nn.functional, **self.constants, **dict(self.weights)}
        values.update(zip(self.inputs, inputs, strict=True))
        results: list[Tensor] = []
        for name, code in self.steps:
            values[name] = eval(code, values)
            results.append(values[name])
        return tuple(results[-3:])


def _fits(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.float32 and 0 < value.numel() < 5000 and bool(value.isfinite().all())


def make(chosen: random.Random) -> str:
    """A program of a few inputs, parameters and constants, and of operators that fit them."""
    lines: list[str] = []
    values: dict[str, Any] = {"torch": torch, "F": nn.functional}
    names: list[str] = []
    for number in range(chosen.randint(2, 5)):
        shape = chosen.choice(_SHAPES)
        order = list(range(len(shape)))
        if chosen.random() < 0.8:
            order = [0, 2, 3, 1] if len(shape) == 4 and chosen.random() < 0.6 else chosen.sample(order, len(order))
        kind = "given" if number == 0 else chosen.choice(_KINDS)
        lines.append(f"v{number} = {kind}({shape}, {order}, {chosen.randrange(10**6)})")
        names.append(f"v{number}")
        values[names[-1]] = made(lines[-1].partition(" = ")[2])
    wanted = len(names) + chosen.randint(3, 9)
    for _ in range(400):
        if len(names) == wanted:
            break
        x, y = chosen.choice(names[-3:] if chosen.random() < 0.6 else names), chosen.choice(names)
        rank = values[x].dim()
        if not rank:
            continue
        text = chosen.choice((*_ANY, *_IMAGES * 3) if rank == 4 else _ANY)
        line = text.format(x=x, y=y, d=chosen.randrange(rank), e=chosen.randrange(rank), order=tuple(chosen.sample(range(rank), rank)))
        try:
            with torch.no_grad():
                value = eval(line, values)
        except (RuntimeError, IndexError, ValueError, AssertionError):
            continue  # shapes that do not fit
        if _fits(value):
            names.append(f"v{len(names)}")
            values[names[-1]] = value
            lines.append(f"{names[-1]} = {line}")
    return "\n".join(lines) + "\n"


def _compare(engine: str, actual: Sequence[Any], expected: Sequence[Tensor]) -> None:
    for number, (found, wanted) in enumerate(zip(actual, expected, strict=True)):
        found = torch.as_tensor(found)
        if found.shape != wanted.shape:
            raise Failure(f"{engine}: another shape", f"output {number}: {list(found.shape)}, expected {list(wanted.shape)}")
        largest = float((found - wanted).abs().max())
        if not largest <= _TOLERANCE * max(float(wanted.abs().max()), 1.0):
            raise Failure(f"{engine}: a wrong number", f"output {number} is off by {largest}")


def _as_the_peer_takes(value: Tensor) -> Tensor:
    """Its Python binding refuses layouts other than row-major and channels-last, and the program has them row-major."""
    return value if value.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last) else value.contiguous()


def check(case: str) -> str:
    """Raises Failure when an engine refuses the program or gives something else than PyTorch."""
    program = Program(case).eval()
    inputs = tuple(program.inputs.values())
    with torch.no_grad():
        expected = program(*inputs)
    for target in ("executorch", "flambeau"):
        context = FlambeauContext()
        try:
            data = Compilation(export_module(program, inputs, context), context, PipelineOptions(target=target)).emit()
        except Exception as error:
            raise Failure(f"{target} does not compile", str(error)) from error
        try:
            _compare(f"C runtime, {target}", Runtime.get().load_program(data).load_method("forward").execute(inputs), expected)
            if target == "executorch":
                loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency).load_method("forward")
                _compare("stock ExecuTorch", loaded.execute([_as_the_peer_takes(value) for value in inputs]), expected)
        except RuntimeError as error:
            raise Failure(f"{target} does not run", str(error)) from error
    return "right on all engines"


CAMPAIGN = Campaign(make, check)
