#!/usr/bin/env bash
# OpenVINO writes the absolute values of a joined vector over the vector, which another layer reads
#
# A Concat has two readers, Abs and Add. Where all have one dimension, the CPU plugin computes Abs in the memory of the Concat although Add reads
# it later. With matrices the results are right.
#
# Expected: Abs gives a tensor of its own, and no layer changes its inputs:
#   https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/abs-1.html
# Seen: the joined vector is [-1, -2, 3, 4]; adding 0 to it gives [1, 2, 3, 4].
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import openvino
from openvino import opset13 as layers


def sums(shape):
    """Two halves, joined and added to what is 0 in this run."""
    halves = [layers.parameter(shape, np.float32) for _ in range(2)]
    zero = layers.parameter([1], np.float32)
    joined = layers.concat(halves, 0)
    model = openvino.Model([layers.result(layers.abs(joined)), layers.result(layers.add(joined, zero))], [*halves, zero])
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    first, second = np.float32([-1, -2]).reshape(shape), np.float32([3, 4]).reshape(shape)
    return compiled([first, second, np.float32([0])])[1].flatten().tolist()


seen = {"vectors": sums([2]), "matrices": sums([2, 1])}
for name, found in seen.items():
    print(f"{name}: expected [-1.0, -2.0, 3.0, 4.0], seen {found}")
described = {"vectors": [1.0, 2.0, 3.0, 4.0], "matrices": [-1.0, -2.0, 3.0, 4.0]}
sys.exit(None if seen == described else f"changed: the sums are now {seen}")
PYTHON
