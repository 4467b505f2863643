#!/usr/bin/env bash
# numpy's mean of a bfloat16 array of ml_dtypes stops at 256 summands
#
# numpy computes the mean of float16 arrays in float32. bfloat16 comes from the package ml_dtypes, so numpy does not know that it is as short, and
# sums one by one in bfloat16, whose numbers above 256 are further apart than 1. Sums and means of more than 256 ones stay at 256, with no warning.
#
# Expected: half-precision numbers are summed in a wider type, as numpy's page says of float16:
#   https://numpy.org/doc/stable/reference/generated/numpy.mean.html
# Seen: the mean of 1000 ones is 0.256 in bfloat16 and 1.0 in float16; with dtype=numpy.float32 it is 1.0 in both.
. "$(dirname "$0")/common.sh"
use ml_dtypes==0.6.0 numpy==2.4.6

observe <<'PYTHON'
import sys

import ml_dtypes
import numpy as np

seen = {}
for dtype in (np.float16, ml_dtypes.bfloat16):
    ones = np.ones(1000, dtype)
    seen[np.dtype(dtype).name] = float(ones.sum()), round(float(ones.mean()), 3), float(ones.mean(dtype=np.float32))
for name, found in seen.items():
    print(f"{name}: expected a sum, a mean and a mean in float32 of (1000.0, 1.0, 1.0), seen {found}")
described = {"float16": (1000.0, 1.0, 1.0), "bfloat16": (256.0, 0.256, 1.0)}
sys.exit(None if seen == described else f"changed: the sums and means are now {seen}")
PYTHON
