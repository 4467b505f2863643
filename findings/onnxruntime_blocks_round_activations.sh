#!/usr/bin/env bash
# ONNX Runtime rounds the activations of a product to int8 where its weight is dequantized from blocks of 4 bits
#
# A DequantizeLinear of int4 blocks before a MatMul becomes the operator MatMulNBits, which quantizes the other factor too, unless the session's
# entry qdq_matmulnbits_accuracy_level says 1. A model that only its weights are quantized in loses the digits of its activations.
#
# Expected: DequantizeLinear gives floats, and MatMul multiplies floats:
#   https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
# Seen: the product is off by a thousandth of its largest number or more; with the entry at 1, by less than a millionth.
. "$(dirname "$0")/common.sh"
use onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 ml_dtypes==0.5.4

observe <<'PYTHON'
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

K, N, BLOCK = 256, 64, 32
random = np.random.default_rng(0)
weight = random.integers(-8, 8, (K, N)).astype(np.int8)
scales = random.uniform(0.01, 0.02, (K // BLOCK, N)).astype(np.float32)
x = random.standard_normal((4, K)).astype(np.float32)

nodes = [
    helper.make_node("DequantizeLinear", ["weight", "scales"], ["floats"], axis=0, block_size=BLOCK),
    helper.make_node("MatMul", ["x", "floats"], ["y"]),
]
constants = [numpy_helper.from_array(weight.astype(ml_dtypes.int4), "weight"), numpy_helper.from_array(scales, "scales")]
inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, K])]
outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, N])]
graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
expected = x.astype(np.float64) @ (weight * np.repeat(scales, BLOCK, axis=0)).astype(np.float64)


def distance(level):
    options = onnxruntime.SessionOptions()
    if level is not None:
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", level)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": x})
    return float(np.abs(found - expected).max() / np.abs(expected).max())


by_default, in_floats = distance(None), distance("1")
print(f"expected the product of floats; seen, of its largest number: off by {by_default:.1e}, with the entry at 1 by {in_floats:.1e}")
sys.exit(None if by_default > 1e-3 and in_floats < 1e-6 else "changed: see the distances")
PYTHON
