"""A model compared with eager PyTorch: numpy at every stage, the C runtime and emitted C for both targets, and stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import torch
from executorch import runtime as executorch_runtime
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export.importer import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

peer: Any = executorch_runtime
TARGETS = ("executorch", "flambeau")
PEER = "stock ExecuTorch"
EMITTED = Path(__file__).parents[1] / "build" / "emitted"
"""The folder of emitted programs, which are compiled once for each content."""
_TOLERANCE = 2e-4
"""The largest difference of floats, in units of the largest finite value that is expected of an output."""


Run = Callable[[list[Any]], Sequence[Any]]
"""Runs the method `forward` on inputs, which it may change."""


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a nested value, in order."""
    return pytree.tree_leaves(value)


def _difference(found: Any, expected: Any) -> str | None:
    if not isinstance(expected, Tensor):
        found = found.item() if hasattr(found, "item") else found
        return None if type(found) is type(expected) and found == expected else f"{found!r}, expected {expected!r}"
    found = _as_tensor(found.copy("C")) if hasattr(found, "copy") else torch.as_tensor(found)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.itemsize == 1 and expected.is_floating_point():
        found, expected = found.float(), expected.float()  # exactly, and PyTorch compares no two tensors of float8
        return None if torch.equal(found.nan_to_num(9e9), expected.nan_to_num(9e9)) else f"{found}, expected {expected}"
    if not (expected.is_floating_point() or expected.is_complex()):
        return None if torch.equal(found, expected) else f"{found}, expected {expected}"
    finite = expected[expected.isfinite()].abs()
    limit = _TOLERANCE * max(float(finite.max()) if finite.numel() else 0.0, 1.0)
    close = torch.allclose(found, expected, rtol=0, atol=limit, equal_nan=True)
    return None if close else f"{found}, expected {expected}"


def _copied(inputs: Sequence[Any]) -> list[Any]:
    return [item.clone() if isinstance(item, Tensor) else item for item in inputs]


def _as_tensor(array: Any) -> Tensor:
    if not hasattr(ml_dtypes, array.dtype.name):
        return torch.as_tensor(array)
    return torch.as_tensor(array.view(f"int{8 * array.itemsize}")).view(getattr(torch, array.dtype.name))


def _as_array(item: Tensor) -> Any:
    name = str(item.dtype).removeprefix("torch.")
    if not hasattr(ml_dtypes, name):
        return item.numpy()
    return item.view(torch.int16 if item.itemsize == 2 else torch.int8).numpy().view(getattr(ml_dtypes, name))


def _as_arrays(given: Sequence[Any]) -> list[Any]:
    return [_as_array(item) if isinstance(item, Tensor) else item for item in given]


def engines(
    program: torch.export.ExportedProgram, targets: Sequence[str] = TARGETS, memory: tuple[str, ...] = ()
) -> Iterator[tuple[str, Run]]:
    """What runs a program, by its name. The `aten` stage is the same for each target. `memory` are the banks of the device."""
    context = FlambeauContext()
    imported = import_program(program, context)
    for target in targets:
        compilation = Compilation(imported.clone(), context, PipelineOptions(target=target, memory=memory))
        for stage in STAGES:
            compilation.to(stage)
            if stage == "aten" and target != targets[0]:
                continue
            interpreted = interpret(compilation.module, context)
            yield f"numpy, {stage}, {target}", lambda given, interpreted=interpreted: interpreted.run("forward", _as_arrays(given))
        data = compilation.emit()
        yield f"C runtime, {target}", Runtime.get().load_program(data).load_method("forward").execute
        emitted = compile_module(compilation.module, context, data, cache_dir=EMITTED)
        yield f"emitted C, {target}", emitted.load_method("forward").execute
        if target == "executorch":
            loaded = peer.Runtime.get().load_program(data, verification=peer.Verification.InternalConsistency).load_method("forward")
            yield PEER, loaded.execute


def difference(found: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """The first output that differs."""
    if len(found) != len(expected):
        return f"{len(found)} outputs, expected {len(expected)}"
    for number, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        if (detail := _difference(value, wanted)) is not None:
            return f"output {number}: {detail}"
    return None


def results(run: Run, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of one run, and after them the inputs as the run leaves them."""
    given = _copied(inputs)
    outputs = _copied(leaves(run(given)))
    return [*outputs, *given]


def wrong_engine(
    program: torch.export.ExportedProgram,
    turns: Sequence[tuple[Sequence[Any], Sequence[Any]]],
    targets: Sequence[str] = TARGETS,
    *,
    peer_may_refuse: bool = False,
    memory: tuple[str, ...] = (),
) -> str | None:
    """The first engine that gives something else than expected, and what.

    Args:
        program: the program.
        turns: for each run, the inputs and the expected results. Of one, the runtimes make two: the second in used memory.
        targets: what to compile for.
        peer_may_refuse: whether the kernels of stock ExecuTorch do not take all element types of the program.
        memory: the banks of the device.
    """
    for engine, run in engines(program, targets, memory):
        wanted = turns if len(turns) > 1 or engine.startswith("numpy") else [*turns, *turns]
        for turn, (inputs, expected) in enumerate(wanted):
            try:
                found = results(run, inputs)
            except RuntimeError:
                if peer_may_refuse and engine == PEER:
                    break
                raise
            if (detail := difference(found, expected)) is not None:
                return f"{engine}: turn {turn}, {detail}"
    return None


def disagreement(
    model: nn.Module, inputs: Sequence[Any], *, strict: bool = False, turns: int = 1, targets: Sequence[str] = TARGETS, **options: Any
) -> str | None:
    """The first engine that gives something else than PyTorch, and what. The `options` are those of `torch.export.export`."""
    # Of what it saw in another test, PyTorch would make dimensions dynamic.
    cast(Any, torch)._dynamo.reset()
    with torch.no_grad():
        program = torch.export.export(deepcopy(model).eval(), tuple(_copied(inputs)), strict=strict, **options)
        return wrong_engine(program, [(inputs, results(lambda given: model(*given), inputs)) for _ in range(turns)], targets)
