"""Compares programs as machine code with the same programs as `.pte` files in the C runtime: the least time of runs in turns.

    python benchmarks/emitted.py lstm_classifier elementwise_chain --target executorch

The models are those of the end-to-end tests, and `elementwise_chain`, of 32 calls on 262 144 elements. The results have to be equal.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import torch
from delegates import find_model
from torch import Tensor, nn

from flambeau import EdgeCompileConfig, aot, to_edge
from flambeau.runtime import Method, Runtime

MODELS = ("elementwise_chain", "lstm_classifier", "ds_cnn", "mobilenet_v2", "minilm")


class ElementwiseChain(nn.Module):
    """Calls that each take a pass over memory."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns a tensor of the size of both."""
        z = x
        for _ in range(8):
            z = torch.relu(z * y + 1.5) - x
        return z


def model(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Returns a model and its inputs."""
    if name == "elementwise_chain":
        return ElementwiseChain(), (torch.randn(256, 1024), torch.randn(256, 1024))
    return find_model(name)


def least(methods: list[Method], inputs: list[Any], rounds: int, seconds: float) -> list[float]:
    """Returns for each method the least mean time of a run, in seconds, over turns of `seconds`."""
    times: list[list[float]] = [[] for _ in methods]
    for _ in range(rounds):
        for method, found in zip(methods, times, strict=True):
            count, start = 0, perf_counter()
            while (elapsed := perf_counter() - start) < seconds or count == 0:
                method.execute(inputs, copy=False)
                count += 1
            found.append(elapsed / count)
    return [min(found) for found in times]


def main() -> None:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--target", default="executorch")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.05)
    options = parser.parse_args()
    print(f"{'model':<18}{'.pte, µs':>12}{'machine code, µs':>18}{'ratio':>8}")
    for name in options.models:
        module, given = model(name)
        exported = torch.export.export(module.eval(), given)
        program = to_edge(exported, compile_config=EdgeCompileConfig(target=options.target)).to_executorch()
        methods: list[Method] = [Runtime.get().load_program(program.buffer).load_method(), aot(program).load_method()]
        inputs = [tensor.numpy() for tensor in given]
        for one, other in zip(*(method.execute(inputs) for method in methods), strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True), f"{name}: the results differ"
        of_file, of_code = least(methods, inputs, options.rounds, options.seconds)
        print(f"{name:<18}{of_file * 1e6:>12.1f}{of_code * 1e6:>18.1f}{of_code / of_file:>8.2f}")


if __name__ == "__main__":
    main()
