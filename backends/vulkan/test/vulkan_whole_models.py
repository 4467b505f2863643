"""Compiles whole models for the backend, and runs them on each driver that is installed here.

    PYTHONPATH=test:test/helpers .venv/bin/python backends/vulkan/test/vulkan_whole_models.py
    PYTHONPATH=test:test/helpers .venv/bin/python backends/vulkan/test/vulkan_whole_models.py --drivers lavapipe --validate ds_cnn

A campaign, outside of the tests, which have small models. Each driver runs in a process of its own. It prints, for each model and driver,
the delegates, the distance from PyTorch in units of the largest number, and the milliseconds of the fastest of some calls. `--validate`
runs Vulkan's validation layers too. The exit status is 1 if a distance is above 1e-4, or if these layers said something.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from device_models import WHOLE, Floats
from models import deit_tiny, gpt2, llama, minilm
from torch_programs import seed
from vulkan_drivers import DRIVERS

from flambeau import to_edge
from flambeau.runtime import Runtime
from flambeau.runtime.pte import read_program

MODELS: dict[str, Callable[[], Floats]] = {
    **WHOLE,
    "minilm": minilm,
    "deit_tiny": deit_tiny,
    "gpt2": gpt2,
    "llama": llama,
}
CALLS = 3
FARTHEST = 1e-4


def measured(name: str) -> tuple[int, float, float]:
    """The delegates of a model, its distance from PyTorch, and the milliseconds of a call."""
    seed()
    module, inputs = MODELS[name]()
    with torch.no_grad():
        exported, expected = torch.export.export(module.eval(), inputs), module(*inputs).numpy()
    program = bytes(to_edge(exported).to_backend("vulkan").to_executorch().buffer)
    method = Runtime.get().load_program(program).load_method("forward")
    arrays: list[Any] = [value.numpy() for value in inputs]
    times: list[float] = []
    found: Any = None
    for _ in range(CALLS):
        start = time.perf_counter()
        (found,) = method.execute(arrays)
        times.append(time.perf_counter() - start)
    distance = float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())
    return len(read_program(program).execution_plan[0].delegates), distance, 1e3 * min(times)


def main() -> int:
    """Prints a line for each driver and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=list(DRIVERS))
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--here", action="store_true", help="on the driver that Vulkan finds, in this process")
    options = parser.parse_args()
    if options.here:
        results = {name: measured(name) for name in options.models}
        for name, (delegates, distance, milliseconds) in results.items():
            print(f"{name}: {delegates} delegates, {distance:.1e} of the largest, {milliseconds:.1f} ms")
        return int(any(distance > FARTHEST for _, distance, _ in results.values()))
    wrong = False
    for driver in options.drivers:
        print(f"{driver}:", flush=True)
        variables: dict[str, str] = dict.fromkeys(("VK_DRIVER_FILES", "VK_ICD_FILENAMES"), str(DRIVERS[driver]))
        if options.validate:
            variables["VK_INSTANCE_LAYERS"] = "VK_LAYER_KHRONOS_validation"
        command = [sys.executable, __file__, "--here", *options.models]
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="", flush=True)
        wrong = wrong or done.returncode != 0 or "VUID" in done.stdout or "Validation" in done.stdout
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
