"""Compares numpy's results of ONNX models of one operator each, from the samples of its row, with those of ONNX Runtime.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/onnxruntime/test/onnx_operators.py --seeds 100
    .venv/bin/python backends/onnxruntime/test/onnx_operators.py onnxruntime.Conv

A campaign; the tests compare fewer.
"""

import runpy
import sys
from pathlib import Path

from onnx_judge import onnxruntime
from payload_judges import OperatorModels
from vendor_tools import installed

from flambeau.backends.onnxruntime.encode import encode
from flambeau.backends.onnxruntime.label import LABEL_BYTES
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.tools.samples.sample_generators import Samples

_ALL: dict[str, Samples] = runpy.run_path(str(Path(__file__).with_name("op_samples_onnxruntime.py")))["SAMPLES"]
SAMPLES = {name: samples for name, samples in _ALL.items() if name != "onnxruntime.Range"}
"""The samples of what delegates have. Of the numbers of a range there is no greatest count: files alone have it, and the tests of files."""


def payload(partition: PartitionOp, constants: ModuleConstants) -> bytes:
    """Returns the payload of a partition."""
    return bytes(encode(partition, constants, BackendOptions()).data)


def models(python: str) -> OperatorModels:
    """Returns the models of one operator, with ONNX Runtime as their judge."""
    return OperatorModels(SAMPLES, "OnnxRuntimeBackend", payload, onnxruntime(python, LABEL_BYTES))


if __name__ == "__main__":
    sys.exit(models(installed("onnxruntime-test")[0]).main(__doc__))
