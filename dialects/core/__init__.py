"""The `core` dialect: Core ATen, and the operators outside of it that a target keeps whole.

A row says which it is: `core`, as torch tags it, or `keep`. Which of the latter a program may have, its target decides:
`convert-aten-to-core{target=…}` makes just these and Core ATen legal.
"""

from xdsl.ir import Dialect
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.schema.row import SchemaOp

DIALECT = Dialect("core", [], [])


def check_operator(op: SchemaOp) -> None:
    """Checks that an operator belongs to the dialect. Raises VerifyException."""
    if not (op.core or op.keep):
        raise VerifyException(f"{op.name}: {op.schema.name} is not in Core ATen, and its row does not let targets keep it whole")
