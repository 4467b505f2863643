"""The `quant` dialect: `quantized_decomposed` operators, which stand beside Core ATen from import to the .pte."""

from xdsl.ir import Dialect

DIALECT = Dialect("quant", [], [])
