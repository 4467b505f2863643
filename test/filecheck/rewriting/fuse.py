"""A plug-in with a pattern whose graph has operations, attributes, a condition and an operand in two places."""

from collections.abc import Sequence

from flambeau.passes.kit import Operation, Pattern, PatternPass, SSAValue, m, rewrites

x, y, factor = m.value(), m.value(), m.attribute().where(lambda number: number != 0)
scaled = m.op("aten.mul.Scalar", y, other=factor).one_use()
total = m.op("aten.add.Tensor", x, scaled)


@rewrites(total)
def fuse(found: m.Match) -> Operation:
    return type(found[total])(found[x], found[y], alpha=found[factor])


@rewrites(m.op("aten.mul.Tensor", x, m.op("aten.exp", x)))
def swish(found: m.Match) -> SSAValue:
    return found[x]


class FusePass(PatternPass):
    """x + factor * y as one addition."""

    name = "fuse"

    def patterns(self) -> Sequence[Pattern]:
        return (fuse, swish)
