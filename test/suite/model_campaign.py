"""Whole models through a backend that has no hardware here: what it gets of them, and how far numpy's results are from PyTorch's."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from device_models import CAMPAIGN, Case, llama_block
from torch_programs import seed

from flambeau import to_edge
from flambeau.compiler.edge_program import EdgeProgramManager
from flambeau.dialects.delegate.ops import PayloadOp, states_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret

NAMES = (*CAMPAIGN, "llama_block")
"""The models; the last one has a state, and is called several times."""


def case_of(name: str) -> Case:
    """A model of random weights, and its calls."""
    seed()
    if name in CAMPAIGN:
        module, inputs = CAMPAIGN[name]()
        return Case(module.eval(), [inputs])
    return llama_block()


def distance(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """How far results are from others at most, in units of the largest number."""
    pairs = zip(found, expected, strict=True)
    return max(float(np.abs(np.asarray(array) - value).max() / np.abs(value).max()) for array, value in pairs)


def expected_of(case: Case, between: Callable[[], None] = lambda: None) -> list[Any]:
    """What PyTorch computes of the calls; `between` may change states behind each."""
    results: list[Any] = []
    with torch.no_grad():
        for call in case.calls:
            results.append(case.module(*call).numpy())
            between()
    return results


@dataclass
class WholeModel:
    """A model as a backend got it."""

    edge: EdgeProgramManager
    payloads: list[bytes]
    kept: int
    """The operators that the CPU keeps."""
    distance: float

    @staticmethod
    def of(name: str, backend: str, states: torch.dtype = torch.float32) -> WholeModel:
        """A model, given to a backend with its options. States that its payloads keep are of the type `states`."""
        case = case_of(name)
        edge = to_edge(case.export()).to_backend(backend)
        ops = list(edge.module.walk())
        payloads = [bytes(edge.context.blobs.get(op.data)) for op in ops if isinstance(op, PayloadOp)]
        program = interpret(edge.module, edge.context, run_payload)
        found = [program.run("forward", [value.numpy() for value in call])[0] for call in case.calls]
        kept = sum(isinstance(op, SchemaOp) for op in ops)
        buffers = dict(case.module.named_buffers())
        inside = [buffers[state] for op in ops if isinstance(op, PayloadOp) for state in states_of(op)]

        def round_states() -> None:
            for state in inside:
                state.copy_(state.to(states))

        return WholeModel(edge, payloads, kept, distance(found, expected_of(case, round_states)))

    def __str__(self) -> str:
        return f"{len(self.payloads)} delegates, {self.kept} operators kept"


def campaign(parser: argparse.ArgumentParser, judge: Callable[[str, Any], tuple[str, bool]]) -> int:
    """Prints what a judge says of each model that the command names. Returns 1 if one was wrong."""
    parser.add_argument("models", nargs="*", default=list(NAMES), metavar="model", help=f"of {', '.join(NAMES)}; by default all")
    options = parser.parse_args()
    status = 0
    for name in options.models:
        said, is_right = judge(name, options)
        print(f"{name}: {said}", flush=True)
        status |= not is_right
    return int(status)
