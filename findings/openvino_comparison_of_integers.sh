#!/usr/bin/env bash
# OpenVINO compares int32 numbers as float32, but subtracts them as integers
#
# The CPU plugin adds, subtracts and takes the maximum of int32 tensors exactly, and converts them to float32 for comparisons and for reductions.
# Above 2 ** 24 two numbers are then "equal" whose difference is 1, a Select that chooses the greater one takes the smaller, and ReduceMax gives a
# number that is not in the tensor.
#
# Expected: the CPU plugin supports INT32, and Equal takes any numeric type; no page speaks of fewer bits:
#   https://docs.openvino.ai/2024/openvino-workflow/running-inference/inference-devices-and-modes/cpu-device.html
#   https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/comparison/equal-1.html
# Seen: 16777217 - 16777216 is 1, Equal of both is true, Greater is false, and ReduceMax of [16777217, 5] is 16777216.
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import openvino
from openvino import opset13 as layers

a, b = (layers.parameter([2], np.int32, name=name) for name in "ab")
results = {
    "subtract": layers.subtract(a, b),
    "maximum": layers.maximum(a, b),
    "equal": layers.equal(a, b),
    "greater": layers.greater(a, b),
    "select the greater": layers.select(layers.greater(a, b), a, b),
    "reduce_max of a": layers.reduce_max(a, np.int64([0]), False),
}
x, y = np.int32([16777217, 5]), np.int32([16777216, 5])
expected = dict(zip(results, [x - y, np.maximum(x, y), x == y, x > y, np.where(x > y, x, y), x.max()]))
model = openvino.Model([layers.result(value) for value in results.values()], [a, b])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
run = compiled([x, y])
seen = {name: run[port].tolist() for name, port in zip(results, compiled.outputs)}
for name, found in seen.items():
    print(f"{name}: expected {expected[name].tolist()}, seen {found}")
described = [[1, 0], [16777217, 5], [True, True], [False, False], [16777216, 5], 16777216]
sys.exit(None if list(seen.values()) == described else f"changed: the results are now {seen}")
PYTHON
