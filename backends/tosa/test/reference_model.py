"""Compares numpy's results of TOSA graphs with those of Arm's reference model, on random quantized layers and random graphs.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/tosa/test/reference_model.py --layers 10000
    .venv/bin/python backends/tosa/test/reference_model.py --graphs 1000 --backend "tosa{profile=fp}"

A campaign, outside of the tests; `make vendor-tools` installs the reference model.
"""

import sys

from payload_judges import Judge, compare
from vendor_tools import installed

_RUN = """
from tosa_reference_model import run as run_graph

def run(data, arrays):
    found, status = run_graph(data, arrays)
    if not str(status).endswith("TOSA_VALID"):
        raise RuntimeError(str(status))
    return found
"""


def reference_model(python: str) -> Judge:
    """Returns Arm's reference model, of valid and predictable graphs."""
    return Judge(python, _RUN)


if __name__ == "__main__":
    sys.exit(compare(reference_model(*installed("tosa-tools")), "tosa", __doc__))
