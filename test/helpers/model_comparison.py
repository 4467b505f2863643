"""Whole models through a backend: how much of them it computes, and how far its results are from those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from device_models import Floats
from payload_judges import Judge, near

from flambeau import EdgeCompileConfig, get_delegation_info, quantize, to_edge, to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.binding import Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array


@dataclass
class Compared:
    """What is known of a model.

    Attributes:
        partitions: how many payloads it is.
        share: the part of the arithmetic that is in them.
        elements: those of the results of payloads.
        different: those that differ from what the other computes; of floats, by more than `near` of the largest.
        steps: the most steps by which a result of the model is away from that of Flambeau's kernels.
        near: the part of the elements that are away by one step at most.
        distance: the greatest distance from Flambeau's kernels, as part of the largest element.
    """

    partitions: int
    share: float
    elements: int
    different: int
    steps: int
    near: float
    distance: float


def compared_model(
    model: Floats, backend: str, judge: Judge | None, numbers: str | None = None, other: str | None = None, in_floats: bool = False
) -> Compared:
    """Compares a model by numpy with a judge of its payloads, and with Flambeau's kernels.

    Args:
        model: a model in floats, and its inputs.
        backend: computes the model, with its options.
        judge: runs the same payloads, if there is one.
        numbers: the backend for which the model is quantized, if not this one.
        other: another backend, whose payloads numpy runs too, with results that are compared.
        in_floats: whether the model is not quantized.
    """
    module, inputs = model
    with torch.no_grad():
        exported = torch.export.export(module.eval(), inputs) if in_floats else None
    program = exported or quantize((module.eval(), inputs), [inputs] * 2, backend=numbers or backend).program
    edge = to_edge_transform_and_lower(program, partitioner=[backend])
    arrays, elements, different = [item.numpy() for item in inputs], 0, 0

    def count(expected: Sequence[Array], found: Sequence[Array]) -> None:
        nonlocal elements, different
        for a, b in zip(expected, found, strict=True):
            elements, different = elements + a.size, different + int(np.count_nonzero(_differs(a, b)))

    def both(identifier: str, data: memoryview, named: Mapping[str, memoryview], given: Sequence[Array], outputs: bool) -> Sequence[Array]:
        expected = run_payload(identifier, data, named, given, outputs)
        if judge is not None:
            count(expected, judge.run(bytes(data), given))
        return expected

    results: Any = interpret(edge.module, edge.context, both).run("forward", arrays)
    results = [np.asarray(item) for item in results]
    if other is not None:
        lowered = to_edge_transform_and_lower(program, partitioner=[other])
        others: Any = interpret(lowered.module, lowered.context, run_payload).run("forward", arrays)
        count(results, [np.asarray(item) for item in others])
    own = to_edge(program, compile_config=EdgeCompileConfig(target="flambeau")).to_executorch().buffer
    kernels = [np.asarray(item) for item in Runtime.get().load_program(bytes(own)).load_method().execute(arrays)]
    away = np.concatenate([_steps_between(*pair).reshape(-1) for pair in zip(results, kernels, strict=True)])
    distance = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(results, kernels, strict=True))
    whole = sum(row.flops for row in get_delegation_info(to_edge(program)).rows)
    left = sum(row.flops for row in get_delegation_info(edge).rows if row.backend is None)
    payloads = sum(isinstance(op, PayloadOp) for op in edge.module.body.block.ops)
    return Compared(payloads, 1 - left / whole, elements, different, int(away.max()), float((away <= 1).mean()), distance)


def _differs(expected: Array, found: Array) -> Array:
    if expected.dtype.kind != "f":
        return expected != found
    return np.abs(expected - found) > near(expected.dtype) * max(float(np.abs(expected).max()), 1e-30)


def _steps_between(found: Array, other: Array) -> Array:
    """Returns the differences of numbers that were quantized, in their steps."""
    levels = np.diff(np.unique(np.concatenate([found, other]).astype(np.float64)))
    step = float(levels[levels > 1e-6 * levels.max(initial=0)].min(initial=np.inf))
    return np.rint(np.abs(found.astype(np.float64) - other) / step).astype(np.int64)
