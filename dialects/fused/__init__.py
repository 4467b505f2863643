"""The `fused` dialect: operators that only Flambeau's runtime has, made by passes for the target `flambeau`."""

from xdsl.ir import Dialect

DIALECT = Dialect("fused", [], [])
