"""The backend of `torch.compile(model, backend="flambeau")`, for inference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.errors import PassCrash, PassError
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime.binding import Runtime

if TYPE_CHECKING:
    import torch


def flambeau_backend(
    graph: torch.fx.GraphModule, inputs: Sequence[Any], *, mode: str | None = None, options: Mapping[str, str | bool] | None = None
) -> Callable[..., list[Any]]:
    """Compiles a Dynamo graph, and returns the function that runs it on the C runtime, or as machine code.

    Args:
        graph: the graph that `torch.compile` captured. Its parameters become constants of the program.
        inputs: the inputs of the graph, including parameters.
        mode: the `mode` of `torch.compile`, which must be `default`.
        options: the `options` of `torch.compile`: `target`, by default `flambeau`, and `aot`, whether to compile the program to machine
            code, as `flambeau.aot` does.

    Raises:
        CaptureError: gradients are wanted, the graph trains, or `torch.export` cannot capture it.
        UnsupportedProgramError: lists everything that cannot be imported.
        PassError: the target lacks kernels.
        CompilerError: there is no C compiler for `aot`, or it failed.

    `torch.compile` wraps each of these errors in BackendCompilerFailed.
    """
    from flambeau.frontends.torch_export.dynamo_graphs import backend_failure

    try:
        if mode is not None:
            raise ValueError(f"the backend flambeau has no mode {mode!r}; options={{'target': 'executorch'}} takes another target")
        return _Compiled(graph, inputs, *_options({} if options is None else options))
    except PassCrash:
        raise
    except ValueError as error:
        raise backend_failure(error, inspect.currentframe()) from None


def _options(options: Any) -> tuple[str, bool]:
    """Returns the target, and whether to compile to machine code. Raises ValueError for invalid options of `torch.compile`."""
    if not isinstance(options, Mapping):
        raise ValueError(f"the backend flambeau takes options in a dict, not {options!r}")
    given = cast("Mapping[Any, Any]", options)
    if unknown := given.keys() - {"target", "aot"}:
        raise ValueError(f"the backend flambeau has the options 'target' and 'aot', not {', '.join(sorted(map(repr, unknown)))}")
    target, is_aot = given.get("target", "flambeau"), given.get("aot", False)
    if not isinstance(target, str):
        raise ValueError(f"the option 'target' of the backend flambeau is a name, not {target!r}")
    if not isinstance(is_aot, bool):
        raise ValueError(f"the option 'aot' of the backend flambeau is True or False, not {is_aot!r}")
    return target, is_aot


class _Compiled:
    """A graph and its program, which is recompiled for larger sizes, other floats and changed parameters."""

    def __init__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any], target: str, is_aot: bool):
        self.graph = graph
        self.target = target
        self.is_aot = is_aot
        self.compile([item if hasattr(item, "shape") else item.node.hint for item in inputs], inputs)

    def compile(self, values: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Compiles a program for `values`; a dynamic size without a known bound gets a limit above its value."""
        from flambeau.frontends.torch_export.dynamo_graphs import InferenceGraph

        self.inputs = [*inputs]
        module = self.module = InferenceGraph(self.graph, inputs).eval()
        self.fixed: dict[int, int | float] = {**module.floats}
        try:
            self._compile(values)
        except PassError:
            # A dynamic size that is a number input cannot get a limit.
            if not module.numbers:
                raise
            self.fixed |= {index: values[index] for index in module.numbers}
            module.numbers.clear()
            self._compile(values)
        self.limits = list(zip(module.dynamic, module.limits(values), strict=True))
        self.parameters = [(index, values[index], values[index]._version) for index in range(len(values)) if module.is_parameter(index)]

    def _compile(self, values: Sequence[Any]) -> None:
        from flambeau.frontends.torch_export.dynamo_graphs import export_graph

        context = FlambeauContext()
        options = PipelineOptions(target=self.target, alloc_graph_input=False)
        compilation = Compilation(export_graph(self.module, values, context), context, options)
        program = compilation.emit()
        loaded = compile_module(compilation.module, context, program) if self.is_aot else Runtime.get().load_program(program)
        self.method = loaded.load_method()

    def _takes(self, values: Sequence[Any]) -> bool:
        """Returns whether the program accepts these values and was compiled with the current parameters."""
        are_known = all(values[index] is item and item._version == version for index, item, version in self.parameters)
        fit = all(values[index].shape[dim] <= limit for (index, dim), limit in self.limits)
        return are_known and fit and all(_same(values[index], number) for index, number in self.fixed.items())

    def __call__(self, *values: Any) -> list[Any]:
        """Runs the program on the inputs of the graph, recompiling it if needed, and returns the results as tensors."""
        from flambeau.frontends.torch_export.dynamo_graphs import as_tensor

        if not self._takes(values):
            tensors = [item if hasattr(item, "shape") else old for item, old in zip(values, self.inputs, strict=True)]
            self.compile(values, tensors)
        results = [as_tensor(item) for item in self.method.execute([values[index] for index in self.module.positions])]
        return self.module.with_views(results, values)


def _same(value: Any, number: int | float) -> bool:
    """Returns whether a value is the number that a program was compiled for; 0.0 and -0.0 differ, and NaN equals itself."""
    return float(value).hex() == number.hex() if isinstance(number, float) else bool(value == number)
