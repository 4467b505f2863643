"""What `torch.compile` hands to a backend, as a module that can be exported; and results as tensors again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from flambeau.frontends.torch_export import CaptureError


class InferenceGraph(torch.nn.Module):
    """A graph of Dynamo with the parameters, which Dynamo gives as inputs, in their places.

    Attributes:
        positions: where the inputs that are left stand among those of the graph.
    """

    def __init__(self, graph: torch.nn.Module, inputs: Sequence[object]):
        super().__init__()
        self.graph = graph
        self.positions = [index for index, item in enumerate(inputs) if not isinstance(item, torch.nn.Parameter)]
        for index, item in enumerate(inputs):
            if isinstance(item, torch.nn.Parameter):
                self.register_parameter(f"parameter_{index}", item)
            elif isinstance(item, torch.SymInt):
                raise CaptureError("a size of an input is not fixed: give torch.compile dynamic=False; each size then gets a program")
            if isinstance(item, torch.Tensor) and item.requires_grad and torch.is_grad_enabled():
                raise CaptureError("the backend flambeau is for inference: call the compiled module under torch.no_grad()")
        self.count = len(inputs)

    def forward(self, *given: object) -> Any:
        """What the graph gives."""
        inputs = dict(zip(self.positions, given, strict=True))
        return self.graph(*(inputs[index] if index in inputs else getattr(self, f"parameter_{index}") for index in range(self.count)))


def as_tensor(value: Any) -> Any:
    """An array as a tensor in the same memory; other values as they are."""
    if not hasattr(value, "__array_interface__"):
        return value
    from_numpy: Any = getattr(torch, "from_numpy")  # noqa: B009 # PyTorch does not declare its type in full
    return from_numpy(value.view("int16")).view(torch.bfloat16) if value.dtype.name == "bfloat16" else from_numpy(value)
