"""The `core` dialect: Core ATen, and the operators outside of it that some kernel or backend takes whole.

A row says which it is: `core`, as torch tags it, or `keep`. `convert-aten-to-core` makes just these legal; after `decompose-aten{strict}`,
all of them are Core ATen.
"""

from xdsl.ir import Dialect
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.schema.row import SchemaOp

DIALECT = Dialect("core", [], [])


def check_operator(op: SchemaOp) -> None:
    """Checks that an operator belongs to the dialect. Raises VerifyException."""
    if not (op.core or op.keep):
        raise VerifyException(f"{op.name}: {op.schema.name} is not in Core ATen, and its row does not let targets keep it whole")
