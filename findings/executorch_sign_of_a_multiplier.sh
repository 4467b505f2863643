#!/usr/bin/env bash
# ExecuTorch's reference of Cadence's quantized_linear negates the results, for the multipliers that its own flow for Cadence makes
#
# The flow for Cadence's DSPs writes the ratio of scales as a multiplier and a shift, both from quantize_tensor_multiplier. The Python reference
# of the operator, with which the flow's tests compare kernels, divides by the negated multiplier. With a negative multiplier it is right.
#
# Expected: the sums 140 and 120 times 1/4 are 35 and 30, by the rule in the docstring of quantize_tensor_multiplier, which makes of 1/4
# the multiplier 2^30 and the shift -1: https://github.com/pytorch/executorch/blob/main/backends/cadence/aot/quantizer/utils.py
# Seen: -35 and -30, and 35 and 30 for the multiplier -2^30.
. "$(dirname "$0")/common.sh"
use torch==2.13.0 torchao==0.18.0 executorch==1.5.1

observe <<'PYTHON'
import sys

import executorch.backends.cadence.aot.ops_registrations  # noqa: F401
import executorch.backends.cadence.aot.ref_implementations  # noqa: F401
import torch
from executorch.backends.cadence.aot.quantizer.utils import quantize_tensor_multiplier

x = torch.tensor([[10, 20, 30]], dtype=torch.int8)
weight = torch.tensor([[1, 2, 3], [4, -5, 6]], dtype=torch.int8)
bias = torch.zeros(2, dtype=torch.int32)
multiplier, shift = (int(item[0]) for item in quantize_tensor_multiplier(torch.tensor([0.25])))
expected = [[35, 30]]
seen = []
for factor in (multiplier, -multiplier):
    result = torch.ops.cadence.quantized_linear.per_tensor(x, weight, bias, 0, 0, factor, shift, 0, None).tolist()
    print(f"multiplier {factor}, shift {shift}: expected {expected}, seen {result}")
    seen.append(result)
described = [[[-35, -30]], [[35, 30]]]
sys.exit(None if (multiplier, shift, seen) == (2**30, -1, described) else f"changed: {multiplier}, {shift} and {seen}")
PYTHON
