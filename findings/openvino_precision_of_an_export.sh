#!/usr/bin/env bash
# OpenVINO forgets the precision of a compiled model when it is exported and imported
#
# A model that was compiled with the hint f32 computes in float32; after export_model and import_model it computes in the precision that the
# processor prefers. Where that is bfloat16 (x86 with AVX512_BF16 or AMX), the numbers change, and nothing warns. The script asks OpenVINO whether
# this processor prefers bfloat16; elsewhere there is nothing to see, and it says so.
#
# Expected: the hint is a property of the compiled model, and an imported model is the compiled model:
#   https://docs.openvino.ai/2025/openvino-workflow/running-inference/optimize-inference/precision-control.html
# Seen: the precision is float32 before and bfloat16 after, and the error of sums of 64 products is 7e-2 instead of 4e-6.
. "$(dirname "$0")/common.sh"
use openvino==2026.4.1 numpy==2.4.6

observe <<'PYTHON'
import sys

import numpy as np
import openvino
from openvino import opset13 as layers

core = openvino.Core()
random = np.random.default_rng(0)
x, weights = random.normal(size=(1, 64)).astype(np.float32), random.normal(size=(64, 64)).astype(np.float32)
parameter = layers.parameter(x.shape, np.float32)
model = openvino.Model([layers.result(layers.matmul(parameter, layers.constant(weights), False, False))], [parameter])


def precision(compiled):
    return compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()


preferred = precision(core.compile_model(model, "CPU"))
if preferred != "bf16":
    print(f"this processor prefers {preferred}: nothing to see")
    sys.exit()
compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
imported = core.import_model(compiled.export_model(), "CPU")
seen = []
for name, candidate in (("compiled", compiled), ("imported", imported)):
    error = float(np.abs(candidate(x)[0] - x.astype(np.float64) @ weights).max())
    print(f"{name}: expected f32 and an error below 1e-5, seen {precision(candidate)} and {error:.1e}")
    seen.append((precision(candidate), error < 1e-5, error > 1e-3))
sys.exit(None if seen == [("f32", True, False), ("bf16", False, True)] else f"changed: the precisions and sizes of errors are now {seen}")
PYTHON
