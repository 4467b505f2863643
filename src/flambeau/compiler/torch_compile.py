"""The backend of `torch.compile(model, backend="flambeau")`, for inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime.binding import Runtime

if TYPE_CHECKING:
    import torch


def flambeau_backend(
    graph: torch.nn.Module, inputs: Sequence[Any], *, options: Mapping[str, str] | None = None
) -> Callable[..., list[Any]]:
    """Compiles a graph of Dynamo, and gives the function that runs it on the C runtime.

    Args:
        graph: what `torch.compile` captured. Its parameters become constants of the program.
        inputs: its inputs, parameters among them.
        options: what `torch.compile` is given as `options`: `target`, which is `flambeau` if it is not there.

    Raises:
        CaptureError: gradients are wanted, a size is not fixed, or `torch.export` cannot capture the graph.
        UnsupportedProgramError: lists everything that cannot be imported.
        PassError: the target lacks kernels.
    """
    from flambeau.frontends.torch_export import export_module
    from flambeau.frontends.torch_export.dynamo_graphs import InferenceGraph, as_tensor

    given = dict(options or {})
    if unknown := given.keys() - {"target"}:
        raise ValueError(f"the backend flambeau has the option 'target', not {', '.join(map(repr, sorted(unknown)))}")
    module = InferenceGraph(graph, inputs).eval()
    positions = module.positions
    context = FlambeauContext()
    example = tuple(inputs[index] for index in positions)
    compilation = Compilation(export_module(module, example, context), context, PipelineOptions(target=given.get("target", "flambeau")))
    method = Runtime.get().load_program(compilation.emit()).load_method()

    def run(*values: Any) -> list[Any]:
        return [as_tensor(item) for item in method.execute([values[index] for index in positions])]

    return run
