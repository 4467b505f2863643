"""Compares numpy's results of ONNX models with those of ONNX Runtime, on random quantized layers and random graphs.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/onnxruntime/test/onnxruntime_judge.py --graphs 2000

A campaign, outside of the tests; `make vendor-tools` installs ONNX Runtime. The package onnx checks each model, with its inference of types
and shapes, before it runs.
"""

import sys

from onnx_judge import onnxruntime
from payload_judges import compare
from vendor_tools import installed

from flambeau.backends.onnxruntime.label import LABEL_BYTES

if __name__ == "__main__":
    sys.exit(compare(onnxruntime(installed("onnxruntime-test")[0], LABEL_BYTES), "onnxruntime", __doc__))
