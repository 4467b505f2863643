"""Stock ExecuTorch as an engine of `flambeau test-backend`: `--engine executorch=stock_executorch:load`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from executorch import runtime as executorch_runtime

from flambeau.runtime.pte import read_program
from flambeau.support.lazy import Array

peer: Any = executorch_runtime

OPENVINO_TEXT = b"FLOV"
"""A payload of the backend openvino begins with it that is compiled when it is loaded."""


def load(program: bytes) -> Callable[[Sequence[Array]], Sequence[Any]]:
    """The method `forward` of a program. Raises NotImplementedError where its runtime lacks a backend, or the compiler of a model."""
    runtime = peer.Runtime.get()
    for plan in read_program(program).execution_plan:
        for delegate in plan.delegates:
            if not runtime.backend_registry.is_available(delegate.id):
                raise NotImplementedError(f"it has no backend {delegate.id!r}")
            # This error is how an engine says that it cannot judge: the suite then reports it as absent, with this reason.
            if bytes(delegate.processed[:4]) == OPENVINO_TEXT:
                raise NotImplementedError("its backend for OpenVINO compiles no models")
    method = runtime.load_program(program, verification=peer.Verification.InternalConsistency).load_method("forward")
    # Its wrapper of a method does not keep the bytes of the program.
    return lambda arrays, program=program: [to_array(value) for value in method.execute([to_tensor(array) for array in arrays])]


def to_tensor(array: Array) -> torch.Tensor:
    """An array, in its layout, as a tensor."""
    if array.dtype.name != "bfloat16":
        return torch.as_tensor(array)
    return torch.as_tensor(array.view("int16")).view(torch.bfloat16)


def to_array(tensor: torch.Tensor) -> Array:
    """A tensor as an array."""
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    import ml_dtypes

    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
