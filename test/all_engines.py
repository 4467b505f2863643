"""A model compared with eager PyTorch: numpy at every stage, the C runtime for both targets, and stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from executorch import runtime as executorch_runtime
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export.importer import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

peer: Any = executorch_runtime
TARGETS = ("executorch", "flambeau")
_TOLERANCE = 2e-4
"""The largest difference of floats, in units of the largest expected value of an output."""


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a nested value, in order."""
    return pytree.tree_leaves(value)


def _difference(found: Any, expected: Tensor) -> str | None:
    found = torch.as_tensor(found.copy("C") if hasattr(found, "copy") else found)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if not expected.is_floating_point():
        return None if torch.equal(found, expected) else f"{found}, expected {expected}"
    limit = _TOLERANCE * max(float(expected.abs().max()) if expected.numel() else 0.0, 1.0)
    close = torch.allclose(found, expected, rtol=0, atol=limit, equal_nan=True)
    return None if close else f"{found}, expected {expected}"


def engines(program: torch.export.ExportedProgram, inputs: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """What each engine makes of a program, by its name. The runtimes run it twice: the second time in used memory."""
    arrays = [item.numpy() if isinstance(item, Tensor) else item for item in inputs]
    for target in TARGETS:
        context = FlambeauContext()
        compilation = Compilation(import_program(program, context), context, PipelineOptions(target=target))
        for stage in STAGES:
            compilation.to(stage)
            yield f"numpy, {stage}, {target}", interpret(compilation.module, context).run("forward", arrays)
        data = compilation.emit()
        method = Runtime.get().load_program(data).load_method("forward")
        for turn in ("first", "second"):
            yield f"C runtime, {turn} run, {target}", method.execute(inputs)
        if target == "executorch":
            loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency).load_method("forward")
            for turn in ("first", "second"):
                yield f"stock ExecuTorch, {turn} run", [item.clone() for item in loaded.execute(list(inputs))]


def difference(found: Sequence[Any], expected: Sequence[Tensor]) -> str | None:
    """The first output that differs."""
    if len(found) != len(expected):
        return f"{len(found)} outputs, expected {len(expected)}"
    for number, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        if (detail := _difference(value, wanted)) is not None:
            return f"output {number}: {detail}"
    return None


def wrong_engine(program: torch.export.ExportedProgram, inputs: Sequence[Any], expected: Sequence[Tensor]) -> str | None:
    """The first engine that gives something else than expected, and what."""
    for engine, found in engines(program, inputs):
        if (detail := difference(leaves(found), expected)) is not None:
            return f"{engine}: {detail}"
    return None


def disagreement(model: nn.Module, inputs: Sequence[Any], *, strict: bool = False) -> str | None:
    """The first engine that gives something else than PyTorch, and what."""
    # Of what it saw in another test, PyTorch would make dimensions dynamic.
    cast(Any, torch)._dynamo.reset()
    with torch.no_grad():
        program = torch.export.export(model.eval(), tuple(inputs), strict=strict)
        return wrong_engine(program, inputs, leaves(model(*inputs)))
