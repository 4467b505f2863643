"""The `aten` dialect: functional ATen as `torch.export` gives it.

A file is a family of operators, in the room of its subject; `library` holds helpers; the rest of ATen comes from `schemas.txt`.
"""

from xdsl.ir import Dialect

DIALECT = Dialect("aten", [], [])
