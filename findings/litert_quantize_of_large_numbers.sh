#!/usr/bin/env bash
# LiteRT quantizes numbers of more than 2^31 steps to the lowest integer on x86: 3e9 becomes -128, where 2e9 becomes 127
#
# Its own kernels make an int32 of the quotient before they limit it, and x86 has one result for all that do not fit: the lowest int32.
# XNNPACK, the default for int8, limits first; for int16 there is no kernel of XNNPACK, so that the default is wrong too.
#
# Expected: the integer that stands for the nearest number:
#   https://ai.google.dev/edge/litert/conversion/tensorflow/quantization/quantization_spec
# Seen: with a scale of 1, 3e9 is -128 in int8 by LiteRT's kernels, and -32768 in int16 by the default ones.
. "$(dirname "$0")/common.sh"
use ai-edge-litert==2.3.0 tflite==2.18.0 numpy==2.4.6

observe <<'PYTHON'
import platform
import sys

import flatbuffers
import numpy as np
import tflite as t
from ai_edge_litert.interpreter import Interpreter, OpResolverType

NUMBERS = np.float32([100, 1e6, 2e9, 3e9, 1e12])


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


def model_of(kind):
    """The file of an operator that quantizes floats to integers of a type, with the scale 1."""
    b, code = flatbuffers.Builder(), t.BuiltinOperator.QUANTIZE
    scale, zero_point = b.CreateNumpyVector(np.float32([1])), b.CreateNumpyVector(np.int64([0]))
    integers = {"Quantization": table(b, "QuantizationParameters", Scale=scale, ZeroPoint=zero_point)}
    tensors = []
    for name, element, more in (("x", t.TensorType.FLOAT32, {}), ("y", kind, integers)):
        fields = {"Name": b.CreateString(name), "Shape": b.CreateNumpyVector(np.int32([len(NUMBERS)]))}
        tensors.append(table(b, "Tensor", Type=element, **fields, **more))
    inputs, outputs = (b.CreateNumpyVector(np.int32([place])) for place in (0, 1))
    operators = tables(b, [table(b, "Operator", OpcodeIndex=0, Inputs=inputs, Outputs=outputs)])
    graph = table(b, "SubGraph", Tensors=tables(b, tensors), Inputs=inputs, Outputs=outputs, Operators=operators)
    codes = [table(b, "OperatorCode", DeprecatedBuiltinCode=code, BuiltinCode=code, Version=3)]
    parts = {"OperatorCodes": codes, "Subgraphs": [graph], "Buffers": [table(b, "Buffer")]}
    b.Finish(table(b, "Model", Version=3, **{name: tables(b, items) for name, items in parts.items()}), b"TFL3")
    return bytes(b.Output())


def quantized(kind, kernels):
    """What a set of kernels makes of the numbers."""
    model = Interpreter(model_content=model_of(kind), experimental_op_resolver_type=kernels)
    model.allocate_tensors()
    model.set_tensor(0, NUMBERS)
    model.invoke()
    return model.get_tensor(1).tolist()


int8, int16 = quantized(t.TensorType.INT8, OpResolverType.BUILTIN_REF), quantized(t.TensorType.INT16, OpResolverType.AUTO)
print(f"expected: [100, 127, 127, 127, 127] and [100, 32767, …], seen: {int8} and {int16}")
if platform.machine() not in ("x86_64", "AMD64"):
    print(f"on {platform.machine()}, conversions beyond int32 have other results")
    sys.exit()
is_so = int8 == [100, 127, 127, -128, -128] and int16 == [100, 32767, 32767, -32768, -32768]
sys.exit(None if is_so else f"changed: {int8} and {int16}")
PYTHON
