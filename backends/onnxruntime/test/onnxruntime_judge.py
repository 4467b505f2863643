"""Compares numpy's results of ONNX models with those of ONNX Runtime, on random quantized layers and random graphs.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/onnxruntime/test/onnxruntime_judge.py --graphs 2000

A campaign, outside of the tests; `make vendor-tools` installs ONNX Runtime. The package onnx checks each model, with its inference of types
and shapes, before it runs.
"""

import sys

from payload_judges import Judge, compare
from vendor_tools import installed

LABEL_BYTES = 32
_RUN = """
import onnx, onnxruntime

def run(data, arrays):
    model = data[{skipped}:]
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return session.run(None, {{item.name: array for item, array in zip(session.get_inputs(), arrays)}})
"""


def onnxruntime(python: str, skipped: int = LABEL_BYTES) -> Judge:
    """Returns ONNX Runtime, of models behind so many bytes."""
    return Judge(python, _RUN.format(skipped=skipped))


if __name__ == "__main__":
    sys.exit(compare(onnxruntime(installed("onnxruntime-test")[0]), "onnxruntime", __doc__))
