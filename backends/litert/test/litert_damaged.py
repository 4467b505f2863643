"""Has LiteRT read models with changed bytes whose checksum fits, in a process each: none may end it or take long.

    PYTHONPATH=test/helpers:test/quantized .venv/bin/python backends/litert/test/litert_damaged.py path/to/libLiteRt.so --models 400

A campaign, outside of the tests; the library is the one that `make vendor-tools` or the group `litert` installs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter

import numpy as np
import torch
from quantized_programs import quantized_by_pt2e
from torch import nn
from torch_programs import seed

from flambeau import to_edge_transform_and_lower
from flambeau.backends.litert import KERNELS
from flambeau.backends.litert.label import LABEL_BYTES, labelled
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.pte import read_program

SECONDS = 20
OUTCOMES = ("refused at load", "refused when it ran", "ran")
EDGES = (0, 1, 2, 3, 4, 5, 8, 16, 255, 65535, 2**31 - 1, 2**32 - 1)


def programs(x: torch.Tensor) -> dict[str, bytes]:
    """The programs of a network, in floats and in integers, of one delegate each."""
    seed()
    layers = (nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 5))
    module = nn.Sequential(*layers).eval()
    floats = to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=["litert{precision=float32}"])
    integers = to_edge_transform_and_lower(quantized_by_pt2e(module, x, per_channel=True), partitioner=["litert"])
    return {"float32": bytes(floats.to_executorch().buffer), "int8": bytes(integers.to_executorch().buffer)}


def changed(data: bytes, number: int) -> bytes:
    """The program with one to three changed numbers in its model."""
    chance = np.random.default_rng(number)
    payload = bytes(read_program(data).execution_plan[0].delegates[0].processed)
    model = bytearray(payload[:-LABEL_BYTES])
    for _ in range(chance.integers(1, 4)):
        if chance.integers(2):
            model[chance.integers(len(model))] = chance.integers(256)
        else:
            place = 4 * int(chance.integers(len(model) // 4))
            model[place : place + 4] = int(chance.choice(EDGES)).to_bytes(4, "little")
    return data.replace(payload, labelled(bytes(model), 1, 1))


def run(data: bytes, x: torch.Tensor, library: str, kernels: str) -> int:
    """What becomes of a program: the place in OUTCOMES."""
    options, outcome = {"litert": {"library": library, "kernels": kernels}}, 0
    try:
        method = Runtime.get().load_program(data, backend_options=options).load_method("forward")
        outcome = 1
        method.execute([x.numpy()])
    except FlambeauError as error:
        assert "\n" not in str(error)
        return outcome
    return 2


def run_apart(data: bytes, x: torch.Tensor, library: str, kernels: str) -> str:
    """The same in a process of its own, in words."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(run(data, x, library, kernels))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return OUTCOMES[status] if status in range(3) else f"ended by {status}"


def main() -> int:
    """Prints what became of the models; 1 if one ended its process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="the path of libLiteRt.so")
    parser.add_argument("--models", type=int, default=400, help="of each program and each set of kernels")
    options, x = parser.parse_args(), torch.ones(1, 3, 16, 16)
    results = Counter[str]()
    for name, data in programs(x).items():
        for kernels in KERNELS:
            for number in range(options.models):
                outcome = run_apart(changed(data, number), x, options.library, kernels)
                results[outcome] += 1
                if outcome not in OUTCOMES:
                    print(f"{name}, {kernels}, model {number}: {outcome}")
    print(dict(results))
    return int(not results.keys() <= set(OUTCOMES))


if __name__ == "__main__":
    sys.exit(main())
