"""The `cadence` dialect: the operators of ExecuTorch's runtime for Cadence's DSPs, made by passes for targets that have their kernels."""

from xdsl.ir import Dialect

DIALECT = Dialect("cadence", [], [])
