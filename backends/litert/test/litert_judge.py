"""Compares numpy's results of TFLite models with those of LiteRT's kernels, on random quantized layers and random graphs.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/litert/test/litert_judge.py --layers 2000
    .venv/bin/python backends/litert/test/litert_judge.py --graphs 2000 --backend "litert{precision=float32}"

A campaign, outside of the tests; `make vendor-tools` installs LiteRT.
"""

import sys

from payload_judges import Judge, compare
from vendor_tools import installed

KERNELS = {"reference": "BUILTIN_REF", "optimized": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "default": "AUTO"}
"""The sets of kernels, by LiteRT's names. Numbers are compared with those of the reference."""
_RUN = """
from ai_edge_litert.interpreter import Interpreter, OpResolverType

def interpreter(data):
    try:
        return Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.{kernels})
    except ValueError as error:
        if "Didn't find op" not in str(error):
            raise
        return Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)

def run(data, arrays):
    model = interpreter(data)
    places = model.get_input_details()
    for place, array in zip(places, arrays):
        if tuple(place["shape"]) != array.shape:
            model.resize_tensor_input(place["index"], array.shape, strict=True)
    model.allocate_tensors()
    for place, array in zip(places, arrays):
        model.set_tensor(place["index"], array)
    model.invoke()
    return [model.get_tensor(place["index"]) for place in model.get_output_details()]
"""


def litert(python: str, kernels: str = "reference") -> Judge:
    """Returns LiteRT with a set of kernels, or, for operators without one there (CEIL, ELU, ROUND), with the others."""
    return Judge(python, _RUN.format(kernels=KERNELS[kernels]))


if __name__ == "__main__":
    sys.exit(compare(litert(*installed("litert-test")), "litert", __doc__))
