"""Compares numpy's results of ONNX models between integers with those of ONNX Runtime's CPU, to one step, on random graphs.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/qnn/test/qnn_judge.py --graphs 500
    .venv/bin/python backends/qnn/test/qnn_judge.py --graphs 500 --backend "qnn{precision=int16}"

A campaign, outside of the tests; `make vendor-tools` installs ONNX Runtime. The package onnx checks each model too.
"""

import sys

from onnx_judge import onnxruntime
from payload_judges import compare
from vendor_tools import installed

from flambeau.backends.qnn.payload import HEADER_BYTES

if __name__ == "__main__":
    sys.exit(compare(onnxruntime(installed("onnxruntime-test")[0], HEADER_BYTES), "qnn", __doc__, steps=1))
