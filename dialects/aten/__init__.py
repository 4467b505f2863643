"""The `aten` dialect: functional ATen as `torch.export` gives it.

A file here is a family of operators; the rest of ATen comes from `schemas.txt`.
"""

from xdsl.ir import Dialect

DIALECT = Dialect("aten", [], [])
