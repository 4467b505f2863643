#!/usr/bin/env bash
# XNNPACK multiplies the bias of a layer of floats with weights of int8 by the scales of the weights
#
# `xnn_define_fully_connected` takes an input and a bias of float32 with a weight of `qcint8`, a scale for each output. The bias has no scale of its
# own, so that the result should be x @ (scale * weight) + bias. The bias is added to the sums before these are multiplied by the scales.
#
# Expected: x @ (scale * weight) + bias: https://github.com/google/XNNPACK/blob/master/include/xnnpack.h
# Seen: scale * (x @ weight + bias), in XNNPACK as the wheel of ExecuTorch has it: with x 1, weight 4, scale 0.5 and bias 10, 7 for 12
. "$(dirname "$0")/common.sh"
use executorch==1.5.1 torch==2.13.0

observe <<'PYTHON'
import sys
from ctypes import CDLL, Structure, addressof, byref, c_float, c_int, c_int8, c_size_t, c_uint32, c_void_p
from importlib.util import find_spec
from pathlib import Path

import torch  # noqa: F401 - its libraries are what the wheel's library needs

FP32, QCINT8, INVALID, INPUT, OUTPUT = 1, 6, 0xFFFFFFFF, 1, 2
library = CDLL(str(next(Path(next(iter(find_spec("executorch").submodule_search_locations))).glob("extension/pybindings/_C*.so"))))


class External(Structure):
    _fields_ = [("id", c_uint32), ("data", c_void_p)]


def done(status):
    if status:
        sys.exit(f"a call of XNNPACK gave the status {status}")


def sizes(*dims):
    return (c_size_t * len(dims))(*dims)


def result_with(bias):
    graph, runtime = c_void_p(), c_void_p()
    x, weight, added, out = (c_uint32() for _ in range(4))
    integers, scale, offset = (c_int8 * 1)(4), (c_float * 1)(0.5), (c_float * 1)(bias)
    done(library.xnn_create_subgraph(2, 0, byref(graph)))
    done(library.xnn_define_tensor_value(graph, FP32, c_size_t(2), sizes(1, 1), None, 0, INPUT, byref(x)))
    done(
        library.xnn_define_channelwise_quantized_tensor_value(
            graph, QCINT8, scale, c_size_t(2), c_size_t(0), sizes(1, 1), integers, INVALID, 0, byref(weight)
        )
    )
    done(library.xnn_define_tensor_value(graph, FP32, c_size_t(1), sizes(1), offset, INVALID, 0, byref(added)))
    done(library.xnn_define_tensor_value(graph, FP32, c_size_t(2), sizes(1, 1), None, 1, OUTPUT, byref(out)))
    limits = c_float(float("-inf")), c_float(float("inf"))
    done(library.xnn_define_fully_connected(graph, *limits, x, weight, added, out, 0))
    done(library.xnn_create_runtime_v4(graph, None, None, None, 0, byref(runtime)))
    given, found = (c_float * 32)(1.0), (c_float * 32)()
    externals = (External * 2)(External(0, addressof(given)), External(1, addressof(found)))
    done(library.xnn_reshape_runtime(runtime))
    done(library.xnn_setup_runtime_v2(runtime, c_size_t(2), externals))
    done(library.xnn_invoke_runtime(runtime))
    return found[0]


done(library.xnn_initialize(None))
seen = [result_with(bias) for bias in (0.0, 10.0)]
print(f"with the biases 0 and 10: expected 2 and 12, seen {seen}")
sys.exit(None if seen == [2.0, 7.0] else f"changed: with the bias 10, the result is {seen[1]}")
PYTHON
