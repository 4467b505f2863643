#!/usr/bin/env bash
# TFLM rounds the sums of a fully connected layer of int8 twice, so that 1.25 becomes 2; LiteRT's reference kernel makes 1 of it
#
# A sum times a scale is the high half of a product, shifted right. TFLM rounds both steps: 1.25 is 2.5 halves, rounded to 3 halves, rounded to 2.
# LiteRT rounds once. In convolutions the two agree, so a network has the same bits in both until its last layer.
#
# Expected: the same numbers, since TFLM has the operators of LiteRT, and the nearest integer:
#   https://ai.google.dev/edge/litert/conversion/tensorflow/quantization/quantization_spec
# Seen: of 0.25, 0.50, 0.75, 1.00 and so on, LiteRT's reference kernel rounds all to the nearest, and TFLM a quarter of the numbers up by 0.75.
. "$(dirname "$0")/common.sh"
use ai-edge-litert==2.3.0 tflite==2.18.0 tflite-micro==0.dev20261023182759 numpy==2.4.6

observe <<'PYTHON'
import sys

import flatbuffers
import numpy as np
import tflite as t
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_micro import runtime

COUNT, SCALE = 256, 0.25


def table(builder, name, **fields):
    """Writes a table of the format."""
    getattr(t, f"{name}Start")(builder)
    for field, value in fields.items():
        getattr(t, f"{name}Add{field}")(builder, value)
    return getattr(t, f"{name}End")(builder)


def tables(builder, items):
    """Writes a vector of tables."""
    builder.StartVector(4, len(items), 4)
    for item in reversed(items):
        builder.PrependUOffsetTRelative(item)
    return builder.EndVector()


def layer(weights, bias):
    """The file of a layer whose operand and result have the scale 1."""
    b, int8, code = flatbuffers.Builder(), t.TensorType.INT8, t.BuiltinOperator.FULLY_CONNECTED
    rows = [("x", [1, 4], int8, 0, 1), ("w", weights.shape, int8, 1, SCALE), ("b", bias.shape, t.TensorType.INT32, 2, SCALE), ("y", [1, COUNT], int8, 0, 1)]
    tensors = []
    for name, shape, kind, buffer, scale in rows:
        fields = {"Scale": b.CreateNumpyVector(np.float32([scale])), "ZeroPoint": b.CreateNumpyVector(np.int64([0]))}
        fields = {"Quantization": table(b, "QuantizationParameters", **fields), "Name": b.CreateString(name)}
        tensors.append(table(b, "Tensor", Shape=b.CreateNumpyVector(np.int32(shape)), Type=kind, Buffer=buffer, **fields))
    operands, inputs, outputs = (b.CreateNumpyVector(np.int32(places)) for places in ([0, 1, 2], [0], [3]))
    options = {"BuiltinOptionsType": t.BuiltinOptions.FullyConnectedOptions, "BuiltinOptions": table(b, "FullyConnectedOptions")}
    operators = tables(b, [table(b, "Operator", OpcodeIndex=0, Inputs=operands, Outputs=outputs, **options)])
    graph = table(b, "SubGraph", Tensors=tables(b, tensors), Inputs=inputs, Outputs=outputs, Operators=operators)
    data = [table(b, "Buffer", Data=b.CreateNumpyVector(array.reshape(-1).view(np.uint8))) for array in (weights, bias)]
    parts = {"OperatorCodes": [table(b, "OperatorCode", DeprecatedBuiltinCode=code, BuiltinCode=code, Version=4)]}
    parts |= {"Subgraphs": [graph], "Buffers": [table(b, "Buffer"), *data]}
    b.Finish(table(b, "Model", Version=3, **{name: tables(b, items) for name, items in parts.items()}), b"TFL3")
    return bytes(b.Output())


x, sums = np.zeros((1, 4), np.int8), np.arange(COUNT, dtype=np.int32)
data = layer(np.zeros((COUNT, 4), np.int8), sums)
model = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
model.allocate_tensors()
model.set_tensor(0, x)
model.invoke()
micro = runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
micro.set_input(x, 0)
micro.invoke()
litert, tflm = (np.abs(y[0] - SCALE * sums) for y in (model.get_tensor(3), micro.get_output(0)))
print(f"expected: both at most 0.5 away, seen: LiteRT {litert.max()}, TFLM {tflm.max()} in {np.mean(tflm > 0.5):.0%} of the numbers")
sys.exit(None if litert.max() == 0.5 and tflm.max() == 0.75 and np.mean(tflm > 0.5) == 0.25 else f"changed: {litert.max()}, {tflm.max()}")
PYTHON
