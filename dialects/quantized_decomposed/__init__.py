"""The `quantized_decomposed` dialect: quantize and dequantize operators, which are used with Core ATen at all stages up to the .pte."""

from xdsl.ir import Dialect

DIALECT = Dialect("quantized_decomposed", [], [])
