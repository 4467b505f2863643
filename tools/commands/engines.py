"""The engines that run programs: the C runtime, the numpy interpreter, PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES, stage_of
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp
from flambeau.dialects.ml_program.weights import check_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.frontends.interface import has_torch, require_torch

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

ENGINES = ("c", "numpy", "torch")
"""The engines that run a program: the C runtime, the numpy interpreter, or torch (for the aten and core levels)."""

Runner = Callable[[Sequence[Any]], list[Any]]


class EngineError(ValueError):
    """An error of a program that the chosen engine cannot run, or of missing inputs."""


def make_engine(
    engine: str | None,
    module: ModuleOp,
    context: FlambeauContext,
    method: str,
    pte: bytes | None = None,
    backend_options: Mapping[str, Mapping[str, str]] | None = None,
    threads: int = 1,
) -> Runner:
    """Returns a function from the leaves of a method's inputs to those of its outputs.

    Args:
        engine: one of ENGINES; by default `torch` (if installed) for the aten stage without control flow, `c` for a `.pte`, else `numpy`.
        module: the program. The engine `c` compiles a copy of it to a `.pte` unless `pte` is given.
        context: owns the weights.
        method: the method to run.
        pte: the program that the module was read from.
        backend_options: the options of backends, by backend, for the engine `c`.
        threads: how many compute, in the engine `c`.

    Raises:
        EngineError: no such engine, or one that cannot run this stage.
        BlobError: weights are missing, or do not have the size of their global.
        PassError: a plan is wrong.
    """
    check_weights(module, context.blobs)
    stage, chosen = stage_of(module), engine or default_engine(module, pte)
    beyond = _beyond_torch(module)
    if backend_options and chosen != "c":
        raise EngineError(f"--backend-option is for the engine c, and the engine is {chosen}: --engine c chooses it")
    if threads > 1 and chosen != "c":
        raise EngineError(f"--threads is for the engine c, and the engine is {chosen}: --engine c chooses it")
    match chosen:
        case "torch":
            if stage not in ("aten", "core"):
                raise EngineError(f"torch runs the stages aten and core, not {stage}; use the engine numpy or c")
            if beyond is not None:
                raise EngineError(f"torch runs operators with a schema, globals and nothing else, not {beyond}; use the engine numpy")
            require_torch("the engine torch")
            from flambeau.frontends.torch_export.evaluate import run_leaves

            return lambda inputs: run_leaves(module, context, inputs, method)
        case "numpy":
            from flambeau.passes.delegation.payload_runner import run_payload
            from flambeau.runtime.interpreter import interpret

            if stage == STAGES[-1]:
                Compilation(module, context)  # verifies the plan, which may be anybody's
            program = interpret(module, context, run_payload)
            return lambda inputs: program.run(method, inputs)
        case "c":
            from flambeau.runtime import FlambeauError, Runtime

            data = pte or Compilation(module.clone(), context).emit()
            try:
                runtime = Runtime.get() if threads == 1 else Runtime(threads)
                loaded = runtime.load_program(data, backend_options=backend_options).load_method(method)
            except FlambeauError as error:
                raise EngineError(f"{error}{about_backends(module, str(error))}") from error
            return lambda inputs: loaded.execute(inputs)
        case _:
            raise EngineError(f"there is no engine {chosen!r}; there are {', '.join(ENGINES)}")


def default_engine(module: ModuleOp, pte: bytes | None) -> str:
    """Returns the engine for a module, which was read from a program if that is given."""
    return "torch" if stage_of(module) == "aten" and _beyond_torch(module) is None and has_torch() else "c" if pte is not None else "numpy"


def _beyond_torch(module: ModuleOp) -> str | None:
    """Returns the first operation in the module's functions that torch cannot run, or None."""
    for function in module.body.block.ops:
        if not isinstance(function, FuncOp) or function.is_declaration:
            continue
        if (number := next((kind for kind in function.function_type.inputs if not isinstance(kind, TensorType)), None)) is not None:
            return f"an input of type {number}"
        for op in function.body.walk():
            if not isinstance(op, SchemaOp | GlobalLoadConstantOp | GlobalLoadOp | GlobalStoreOp | ReturnOp):
                return op.name
    return None


def about_backends(module: ModuleOp, message: str) -> str:
    """Returns advice for an error message of the C runtime about an absent or refusing backend; empty for other messages."""
    from flambeau.passes.delegation.interface import ABSENT_ADVICE, State, find_identifier

    for op in module.body.block.ops:
        if isinstance(op, PayloadOp | PartitionOp) and f"backend {op.backend.data!r}" in message:
            backend = find_identifier(op.backend.data)
            if backend is None:
                return f"; {ABSENT_ADVICE}"
            if backend.library is not None and backend.library.is_file():
                return f"; {backend.library} may be older than its sources: build it again; --engine numpy runs it without"
            if "does not have" not in message:
                return ""
            if backend.description is not None and backend.description.state is State.INTERCHANGE:
                return f"; {backend.options().only_here}; --engine numpy runs it"
            where = "" if backend.library is None else f": there is no {backend.library}"
            return f"; the part of {backend.name!r} for the C runtime is not built{where}; --engine numpy runs it without"
    return ""
