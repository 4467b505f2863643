"""Measures the cost of recording the events of a method: executions with and without recording, in turns.

    python benchmarks/recording.py mobilenet_v2 lstm_classifier

The models are those of the end-to-end tests. The figures are medians over pairs of executions; the two kinds take turns in starting a pair.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any

import torch
from delegates import compile_ours, find_model

from flambeau.runtime import Method, Runtime

MODELS = ("mobilenet_v2", "minilm", "lstm_classifier", "digits_cnn")


def measure(method: Method, inputs: list[Any], capacity: int, pairs: int) -> tuple[list[int], list[int]]:
    """Returns the nanoseconds of executions that are not recorded, and of those that are."""
    times: dict[bool, list[int]] = {False: [], True: []}
    for pair in range(pairs + 1):
        for is_recorded in (pair % 2 == 0, pair % 2 == 1):
            with method.record_events(capacity) if is_recorded else nullcontext():
                start = perf_counter_ns()
                method.execute(inputs, copy=False)
                times[is_recorded].append(perf_counter_ns() - start)
    return times[False][1:], times[True][1:]


def main() -> None:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--target", default="flambeau")
    options = parser.parse_args()
    print(f"{'model':<18}{'instructions':>13}{'without, ms':>13}{'recorded, ms':>13}{'more':>9}{'ns each':>9}")
    for name in options.models:
        model, inputs = find_model(name)
        method = Runtime.get().load_program(compile_ours(torch.export.export(model, inputs), target=options.target)).load_method()
        arrays = [tensor.numpy() for tensor in inputs]
        with method.record_events() as first:
            method.execute(arrays)
        without, recorded = measure(method, arrays, first.total, options.pairs)
        more = statistics.median(b - a for a, b in zip(without, recorded, strict=True))
        usual = statistics.median(without)
        figures = f"{usual / 1e6:>13.3f}{statistics.median(recorded) / 1e6:>13.3f}{100 * more / usual:>7.1f} %{more / first.total:>9.0f}"
        print(f"{name:<18}{first.total:>13}{figures}")


if __name__ == "__main__":
    main()
