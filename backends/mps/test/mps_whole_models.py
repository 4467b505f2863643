"""Compiles whole models for MPS, reads their payloads back, and compares numpy's results of what is read with PyTorch's.

    export PYTHONPATH=test:test/helpers:test/suite:backends/mps/test
    .venv/bin/python backends/mps/test/mps_whole_models.py
    … mps_whole_models.py --schema schema.fbs mobilenet_v2 llama_block

A campaign, outside of the tests, which have small models. It prints, for each model, the delegates, the operators that the CPU keeps, the
nodes of the delegates, and the distance from PyTorch in units of the largest number. What is read of a payload, written again, is the same
payload. With `--schema`, ExecuTorch's own schema and `flatc` read each too, as `mps_schema.py` says. The exit status is 1 if one is read
otherwise, or a distance is above 1e-5.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from model_campaign import WholeModel, campaign
from mps_schema import read_by_schema

from flambeau.backends.mps.decode import decode
from flambeau.backends.mps.encode import encode
from flambeau.backends.mps.payload import read_payload
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.rewriting.constants import ModuleConstants

FARTHEST = 1e-5


def is_same_again(payload: bytes) -> bool:
    """Whether what is read of a payload is written as the same bytes."""
    context = FlambeauContext()
    module = decode(memoryview(payload), {}, context.blobs)
    (partition,) = (op for op in module.body.block.ops if isinstance(op, PartitionOp))
    return encode(partition, ModuleConstants(context, module), BackendOptions()).data == payload


def judged(name: str, given: Any) -> tuple[str, bool]:
    """What is said of a model, and whether it is right."""
    model = WholeModel.of(name, "mps")
    if given.schema is not None:
        for payload in model.payloads:
            read_by_schema(memoryview(payload), given.schema)
    nodes = sum(len(read_payload(memoryview(payload))[0].mps_nodes) for payload in model.payloads)
    others = sum(not is_same_again(payload) for payload in model.payloads)
    is_right = not others and model.distance <= FARTHEST
    return f"{model}, {nodes} nodes, {others} written otherwise, {model.distance:.1e} of the largest", is_right


def main() -> int:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", type=Path)
    return campaign(parser, judged)


if __name__ == "__main__":
    sys.exit(main())
