"""A plug-in that declares what the one beside this folder declares."""

from flambeau import row
from flambeau.passes.kit import SchemaOp


@row("doubles", "doubles", "twice(Tensor x) -> Tensor")
class TwiceOp(SchemaOp):
    """2 x."""
