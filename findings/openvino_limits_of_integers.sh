#!/usr/bin/env bash
# OpenVINO limits integers before it dequantizes them, with limits rounded to their scale
#
# Clamp of int8 numbers that Convert and Multiply dequantize, and then FakeQuantize with a finer scale: the low-precision transformations move the
# dequantization behind the Clamp. A limit of 1.2 is 2.4 steps of 0.5, becomes 2 steps, and is 1.0 from then on: 20 steps of the result.
# Without the FakeQuantize behind it, the same Clamp limits to 1.2.
#
# Expected: Clamp limits to the numbers that it is given; the guide of the transformation says that it moves the operations, and no page that limits change:
#   https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/clamp-1.html
# Seen: of [0.5, 1, 1.5] limited to [0, 1.2] and quantized in steps of 0.01 from -128, the last is -28 (1.0), not -8 (1.2).
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import openvino
from openvino import opset13 as layers

integers = np.arange(-2, 6).astype(np.int8)


def limited(finish):
    x = layers.parameter([8], np.int8, name="x")
    floats = layers.clamp(layers.multiply(layers.convert(x, "f32"), layers.constant(np.float32(0.5))), 0.0, 1.2)
    model = openvino.Model([layers.result(finish(floats))], [x])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.array(next(iter(compiled([integers]).values()))).tolist()


def quantized(value):
    ends = (np.float32(number) for number in (0, 2.55, -128, 127))
    return layers.convert(layers.fake_quantize(value, *ends, 256), "i8")


expected = (np.rint(np.clip(integers * 0.5, 0, 1.2) / 0.01) - 128).astype(int).tolist()
seen = limited(quantized)
floats = limited(lambda value: value)
print(f"limited to [0, 1.2]: {[round(item, 3) for item in floats]}")
print(f"and quantized: expected {expected}, seen {seen}")
as_described = [-128, -128, -128, -78, -28, -28, -28, -28]
is_right_alone = np.allclose(floats, np.clip(integers * 0.5, 0, 1.2))
sys.exit(None if seen == as_described and is_right_alone else f"changed: the results are now {seen} and {floats}")
PYTHON
