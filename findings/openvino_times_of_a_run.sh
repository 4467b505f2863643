#!/usr/bin/env bash
# OpenVINO tells as the time of a layer the mean of all runs of the compiled model, whichever request made them
#
# A product of matrices runs three times with 3000 rows, then once with one row. The time that profiling_info gives of this run, in Python as in C
# (ov_infer_request_get_profiling_info), is longer than the whole run took. So is that of a new request, which has run once. The times have no
# fractions of a microsecond.
#
# Expected: a request tells the absolute time that the node ran, in total:
#   https://docs.openvino.ai/2025/api/c_cpp_api/structov__profiling__info__t.html
# Seen: the layer of a run of one row takes about three quarters of the time for 3000 rows, then, in the new request, three fifths.
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys
import time

import numpy as np
import openvino
from openvino import opset13 as layers

SIZE = 512
x = layers.parameter([-1, SIZE], np.float32)
product = layers.matmul(x, layers.constant(np.ones((SIZE, SIZE), np.float32)), False, False)
model = openvino.Model([layers.result(product)], [x])
compiled = openvino.compile_model(model, "CPU", {"PERF_COUNT": True, "INFERENCE_NUM_THREADS": 1})


def run(request, rows):
    """The microseconds of the run, and those that its layers are said to have taken."""
    start = time.perf_counter()
    request.infer({0: np.ones((rows, SIZE), np.float32)})
    elapsed = 1e6 * (time.perf_counter() - start)
    return elapsed, sum(item.real_time.total_seconds() * 1e6 for item in request.profiling_info)


first, second = compiled.create_infer_request(), compiled.create_infer_request()
for _ in range(3):
    _, large = run(first, 3000)
found = {"the same request": run(first, 1), "a new request": run(second, 1)}
for name, (elapsed, told) in found.items():
    print(f"{name}: expected less than the {elapsed:.0f} microseconds of the run, seen {told:.0f}, where 3000 rows take {large:.0f}")
seen = {name: elapsed < told for name, (elapsed, told) in found.items()}
whole = all(told == round(told) for _, told in found.values())
sys.exit(None if all(seen.values()) and whole else f"changed: whether layers take longer than their run is now {seen}")
PYTHON
