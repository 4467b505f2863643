"""The `core` dialect: the rows that are Core ATen, and those that a target with a kernel may keep whole."""

from xdsl.ir import Dialect

DIALECT = Dialect("core", [], [])
