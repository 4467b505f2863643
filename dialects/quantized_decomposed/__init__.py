"""The `quantized_decomposed` dialect: quantizing and dequantizing, which stand beside Core ATen from import to the .pte."""

from xdsl.ir import Dialect

DIALECT = Dialect("quantized_decomposed", [], [])
