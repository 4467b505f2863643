"""A plug-in of one pass, as `flambeau new pass double` writes it, and an operator of its own."""

from collections.abc import Sequence
from typing import Any

from flambeau import row
from flambeau.passes.kit import Pattern, PatternPass, SchemaOp, m, op, rewrites

Add = op("aten.add.Tensor")

x = m.value()
total = m.op(Add, x, x)


@row("doubles", "doubles", "twice(Tensor x) -> Tensor")
class TwiceOp(SchemaOp):
    """2 x."""

    @staticmethod
    def infer(x: Any) -> Any:
        return x

    @staticmethod
    def numpy(x: Any) -> Any:
        return x + x


@rewrites(total)
def double(found: m.Match) -> SchemaOp:
    return TwiceOp(found[x])


class DoublePass(PatternPass):
    """Turns x + x into one operation."""

    name = "double"

    def patterns(self) -> Sequence[Pattern]:
        return (double,)
