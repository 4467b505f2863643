"""Compares numpy's results of TFLite models of one operator each, from the samples of its row, with those of LiteRT's reference kernels.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/litert/test/operator_models.py --seeds 100
    .venv/bin/python backends/litert/test/operator_models.py litert.fully_connected

A campaign, outside of the tests, which compare fewer.
"""

import runpy
import sys
from pathlib import Path

from litert_judge import litert
from payload_judges import OperatorModels
from vendor_tools import installed

from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.encode import encode
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.tools.samples.sample_generators import Samples

SAMPLES: dict[str, Samples] = runpy.run_path(str(Path(__file__).with_name("op_samples_litert.py")))["SAMPLES"]


def payload(partition: PartitionOp, constants: ModuleConstants) -> bytes:
    """Returns the payload of a partition."""
    return bytes(encode(partition, constants, LiteRtOptions()).data)


def models(python: str) -> OperatorModels:
    """Returns the models of one operator, with LiteRT as their judge."""
    return OperatorModels(SAMPLES, "LiteRtBackend", payload, litert(python))


if __name__ == "__main__":
    sys.exit(models(installed("litert-test")[0]).main(__doc__))
