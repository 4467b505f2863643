"""Turns the graphs that `torch.compile` hands to a backend into modules to export, and their results back into tensors."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType, SimpleNamespace
from typing import Any, cast

import torch
from torch import fx
from torch._dynamo import exc
from torch.export import Dim
from torch.fx.traceback import preserve_node_meta
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import CaptureError, export_module

_SMALLEST_LIMIT = 16
_LARGEST = 2**31
"""A bound of this size or more means in PyTorch that a size has no bound."""
_TRAINING = {"dropout": 2, "alpha_dropout": 2, "feature_alpha_dropout": 2, "dropout1d": 2, "dropout2d": 2, "dropout3d": 2, "batch_norm": 5}
"""The functions that behave differently in training, with the position of the argument that turns training on."""


class InferenceGraph(torch.nn.Module):
    """A Dynamo graph as a module: its parameters are registered, and sizes that follow from its tensors are not inputs.

    Attributes:
        positions: the positions of the remaining inputs among those of the graph.
        numbers: the positions of inputs that are dynamic numbers.
        floats: the floats among the inputs, by position, which are constants of the program. Dynamo gives each as a tensor.
        dynamic: the dynamic dimensions: the position of the input, and the dimension.
    """

    def __init__(self, graph: fx.GraphModule, inputs: Sequence[object]):
        super().__init__()
        _refuse_training(graph)
        self.graph = graph
        self.count = len(inputs)
        self.dynamic: list[tuple[int, int]] = []
        self._ranges: dict[tuple[int, int], Any] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        """For each input that is a size: the input tensor and the dimension that determine it."""
        told: dict[str, tuple[int, int]] = {}
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        for index, (node, item) in enumerate(zip(placeholders, inputs, strict=True)):
            if isinstance(item, torch.Tensor) and item.requires_grad and torch.is_grad_enabled():
                raise CaptureError("the backend flambeau is for inference: call the compiled module under torch.no_grad()")
            # Tensors made under inference_mode have no version counter for writes.
            if isinstance(item, torch.nn.Parameter) and not item.is_inference():
                self.register_parameter(f"parameter_{index}", item)
            known = node.meta.get("example_value")
            for dim, size in enumerate(known.shape if isinstance(known, torch.Tensor) else ()):
                if isinstance(size, torch.SymInt):
                    self.dynamic.append((index, dim))
                    self._ranges[index, dim] = cast(Any, size).node.shape_env.bound_sympy(cast(Any, size).node.expr)
                    told.setdefault(str(size), (index, dim))
        self.numbers = {index for index, item in enumerate(inputs) if isinstance(item, torch.SymInt) and str(item) not in told}
        self._symbols: dict[Any, tuple[int, int | None]] = {}
        """The sources of the values of symbols: the position of an input, and the dimension of a tensor."""
        for index, node in enumerate(placeholders):
            known = node.meta.get("example_value")
            places = enumerate(known.shape) if isinstance(known, torch.Tensor) else [(None, known)]
            self._symbols |= {cast(Any, size).node.expr: (index, dim) for dim, size in places if isinstance(size, torch.SymInt)}
        self._sizes = {index: told[str(item)] for index, item in enumerate(inputs) if isinstance(item, torch.SymInt) and str(item) in told}
        self.floats = {
            index: float(item)
            for index, (node, item) in enumerate(zip(placeholders, inputs, strict=True))
            if isinstance(item, torch.Tensor) and item.shape == () and node.users and all(user.target == "item" for user in node.users)
        }
        known_here = self._sizes.keys() | self.floats.keys()
        self.positions = [index for index in range(self.count) if not self.is_parameter(index) and index not in known_here]

        self._views = _views_of_inputs(graph, placeholders)

    def with_views(self, results: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Returns the results, with each view of an input replaced by a view of the memory of this input in `values`."""
        found = list(results)
        for place, (index, view, base) in self._views.items():

            def number(size: Any) -> int:
                if isinstance(size, int):
                    return size
                known = {symbol: values[item] if dim is None else values[item].shape[dim] for symbol, (item, dim) in self._symbols.items()}
                return int(size.node.expr.xreplace(known))

            offset = number(view.storage_offset()) - number(base.storage_offset()) + values[index].storage_offset()
            found[place] = values[index].as_strided(results[place].shape, [number(stride) for stride in view.stride()], offset)
        return found

    def is_parameter(self, index: int) -> bool:
        """Returns whether an input of the graph is a parameter."""
        return f"parameter_{index}" in self._parameters

    def limits(self, values: Sequence[Any]) -> list[int]:
        """Returns the largest sizes of a program compiled for these values, in the order of `dynamic`.

        A size without a known bound may at least double.
        """
        return [self._limit(place, values[place[0]].shape[place[1]]) for place in self.dynamic]

    def _limit(self, place: tuple[int, int], size: int) -> int:
        upper = self._ranges[place].upper
        return int(upper) if upper < _LARGEST else max(1 << (2 * size - 1).bit_length(), _SMALLEST_LIMIT)

    def dynamic_shapes(self, values: Sequence[Any]) -> tuple[tuple[Any, ...]]:
        """Returns the `dynamic_shapes` of `torch.export` for the remaining inputs, which admit sizes up to the limits."""
        found: dict[int, Any] = dict.fromkeys(self.numbers, Dim.DYNAMIC)
        hint: Any = Dim.AUTO
        for place, limit in zip(self.dynamic, self.limits(values), strict=True):
            low = max(int(self._ranges[place].lower), 0)
            found.setdefault(place[0], {})[place[1]] = hint(min=low, max=limit)
        return (tuple(found.get(index) for index in self.positions),)

    def forward(self, *given: Any) -> Any:
        """Runs the graph and returns its outputs."""
        inputs: dict[int, Any] = self.floats | dict(zip(self.positions, given, strict=True))
        inputs |= {index: inputs[place[0]].shape[place[1]] for index, place in self._sizes.items()}
        values = [inputs[index] if index in inputs else getattr(self, f"parameter_{index}") for index in range(self.count)]
        with preserve_node_meta():
            return _Interpreter(self.graph).run(*values)


def _views_of_inputs(graph: fx.GraphModule, placeholders: Sequence[fx.Node]) -> dict[int, tuple[int, torch.Tensor, torch.Tensor]]:
    """Returns the outputs that are views of inputs: by output position, the input's position, and PyTorch's view and input."""
    inputs: dict[Any, tuple[int, torch.Tensor]] = {}
    for index, node in enumerate(placeholders):
        if isinstance(known := node.meta.get("example_value"), torch.Tensor):
            inputs.setdefault(cast(Any, known).untyped_storage()._cdata, (index, known))
    found: dict[int, tuple[int, torch.Tensor, torch.Tensor]] = {}
    (outputs,) = next(node.args for node in graph.graph.nodes if node.op == "output")
    for place, node in enumerate(cast("Sequence[Any]", outputs)):
        view = node.meta.get("example_value") if isinstance(node, fx.Node) else None
        if not isinstance(view, torch.Tensor) or node.op == "placeholder":
            continue
        index, base = inputs.get(cast(Any, view).untyped_storage()._cdata, (-1, view))
        if index >= 0 and view.dtype == base.dtype:
            found[place] = index, view, base
    return found


class _Interpreter(fx.Interpreter):
    """Runs a graph whose floats are numbers, not tensors."""

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Returns the result of a method; `item()` on a float returns the float."""
        return args[0] if target == "item" and isinstance(args[0], float) else super().call_method(target, args, kwargs)


def _refuse_training(graph: fx.GraphModule) -> None:
    for node in graph.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op != "call_function" or name not in _TRAINING:
            continue
        position = _TRAINING[name]
        if (node.args[position] if position < len(node.args) else node.kwargs.get("training", False)) is True:
            raise CaptureError(f"the backend flambeau is for inference, and {name} is in training mode: call eval() on the model first")


def export_graph(graph: InferenceGraph, values: Sequence[Any], context: FlambeauContext) -> ModuleOp:
    """Returns a graph as a module in the IR, exported with these values of its inputs. Raises the exceptions of `export_module`."""
    example = tuple(values[index] for index in graph.positions)
    # Dynamo, which is running while the backend compiles, must not capture the export or take its guards.
    alone: Any = cast(Any, torch).compiler.disable(export_module)
    with cast(Any, torch)._guards.tracing(None):
        return alone(graph, example, context, dynamic_shapes=graph.dynamic_shapes(values))


def as_tensor(value: Any) -> Any:
    """Returns an array as a tensor in the same memory, and other values unchanged."""
    if not hasattr(value, "__array_interface__"):
        return value
    from_numpy: Any = getattr(torch, "from_numpy")  # noqa: B009 # PyTorch does not declare its type in full
    if value.dtype.isbuiltin == 1:
        return from_numpy(value)
    return from_numpy(value.view(f"int{8 * value.itemsize}")).view(getattr(torch, value.dtype.name))


def backend_failure(error: Exception, frame: FrameType | None) -> Exception:
    """Returns PyTorch's exception for an error of the backend, without the frames of PyTorch around `frame`."""
    return cast(Any, exc).BackendCompilerFailed(SimpleNamespace(__name__="flambeau"), error, frame)
