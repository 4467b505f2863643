#!/usr/bin/env bash
# OpenVINO adds the inputs of earlier calls to a product of dequantized constants
#
# MatMul of two int8 constants that Convert and Multiply dequantize, plus an input. The CPU plugin adds the input in the memory that holds the product of
# the constants, and does not compute the product again, so each call of a compiled model adds to the sums of the calls before it.
# With float32 constants in place of the dequantized ones, each call is right.
#
# Expected: only ReadValue and Assign keep something from one call to the next:
#   https://docs.openvino.ai/2026/openvino-workflow/running-inference/inference-request/stateful-models.html
# Seen: the second call is off by the first one's input, the third by the sum of both inputs before it.
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import openvino
from openvino import opset13 as layers

rng = np.random.default_rng(0)
a, b = (rng.integers(-127, 127, shape).astype(np.int8) for shape in ((2, 4), (4, 3)))
added = [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(3)]
product = (a * np.float32(0.1)) @ (b * np.float32(0.02))


def dequantized(integers, scale):
    return layers.multiply(layers.convert(layers.constant(integers), "f32"), layers.constant(np.float32(scale)))


def errors(left, right):
    """The difference of each call's result from the product and its input."""
    x = layers.parameter([2, 3], np.float32, name="x")
    model = openvino.Model([layers.result(layers.add(layers.matmul(left, right, False, False), x))], [x])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return [next(iter(compiled([x]).values())) - product - x for x in added]


floats = errors(layers.constant(a * np.float32(0.1)), layers.constant(b * np.float32(0.02)))
integers = errors(dequantized(a, 0.1), dequantized(b, 0.02))
for name, found in (("float32 constants", floats), ("dequantized constants", integers)):
    print(f"{name}: largest errors of three calls, expected 0, seen {[round(float(np.abs(item).max()), 4) for item in found]}")
print(f"largest sums of the inputs before: {[round(float(np.abs(sum(added[:count])).max()), 4) for count in (1, 2)]}")
described = [np.zeros((2, 3)), added[0], added[0] + added[1]]
is_so = all(np.allclose(found, wanted, atol=1e-4) for found, wanted in zip(integers, described))
is_right = all(np.allclose(found, 0, atol=1e-4) for found in floats)
sys.exit(None if is_so and is_right else f"changed: the errors are now {[item.tolist() for item in integers]}")
PYTHON
