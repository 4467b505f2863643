#!/usr/bin/env bash
# ONNX Runtime refuses a model of opset 21 in which dequantized int8 numbers are reshaped, because of what its own optimizer writes
#
# The optimizer moves a DequantizeLinear behind a Reshape, a Transpose or an Unsqueeze, and writes a QuantizeLinear before it, with an output_dtype and
# the zero point of the first. The inference of types then takes the zero point for one of uint8. Models of opset 20, and zero points of other types,
# are not refused; neither is this one without that optimizer.
#
# Expected: a model that onnx.checker takes runs; the QuantizeLinear of opset 21 may have both an output_dtype and a zero point of the same type:
#   https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
#   https://github.com/microsoft/onnxruntime/issues/25526
# Seen: output_dtype INT8 does not match y_zero_point type UINT8.
. "$(dirname "$0")/common.sh"
use onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def outcome(opset, without):
    numbers = {"scale": np.array(0.5, np.float32), "zero_point": np.array(3, np.int8), "shape": np.array([6])}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero_point"], ["floats"]),
        helper.make_node("Reshape", ["floats", "shape"], ["line"]),
        helper.make_node("Exp", ["line"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT8, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [6])]
    constants = [numpy_helper.from_array(array, name) for name, array in numbers.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=opset - 11)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("optimization.disable_specified_optimizers", without)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        return str(error).rpartition("] ")[2]
    (found,) = session.run(None, {"x": np.arange(6, dtype=np.int8).reshape(2, 3)})
    return "runs" if np.allclose(found, np.exp((np.arange(6) - 3) * 0.5)) else "runs, and is wrong"


trials = ((20, ""), (21, ""), (21, "QDQPropagationTransformer"))
seen = [outcome(*trial) for trial in trials]
for (opset, without), found in zip(trials, seen):
    print(f"opset {opset}, without the optimizer {without or None}: expected runs, seen {found}")
described = ["runs", "output_dtype INT8 does not match y_zero_point type UINT8.", "runs"]
sys.exit(None if seen == described else f"changed: the results are now {seen}")
PYTHON
