"""`fuse-rms-norm`: replaces a root-mean-square normalisation that is written in elementwise operators by one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.elementwise.arithmetic import MulTensorOp
from flambeau.dialects.aten.elementwise.math import RsqrtOp
from flambeau.dialects.aten.elementwise.pow import PowTensorScalarOp
from flambeau.dialects.aten.reductions.reduction import MeanDimOp
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.fused.norm import FusedRmsNormOp
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting import matching as m
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target, TargetName, find_target


def _is_plain(value: SSAValue) -> bool:
    return element_of(value) == f32 and is_row_major(value)


_weight, _epsilon, _dim = m.value(), m.attribute(), m.attribute()
_x = m.value().where(_is_plain, "not fused: only row-major tensors of f32 are")
_square = m.either(m.op(PowTensorScalarOp, _x, exponent=2), m.op(MulTensorOp, _x, _x))
_mean = m.op(MeanDimOp, _square, dim=_dim, keepdim=True)
_factor = m.op(RsqrtOp, m.op("aten.add.Scalar", _mean, other=_epsilon))
_normalised = m.op(MulTensorOp, _x, _factor).commutative()
_norm = m.op(MulTensorOp.at("edge"), _normalised, _weight).commutative()


def _fused(found: m.Match, target: Target) -> FusedRmsNormOp | None:
    if not target.has(FusedRmsNormOp):
        return decline(f"not fused: the target {target.name!r} has no kernel for {FusedRmsNormOp.name}")
    x, weight, shape = found[_x], found[_weight], shape_of(found[_x])
    if tuple(found[_dim] or ()) not in ((-1,), (len(shape) - 1,)) or shape_of(weight) != shape[-1:] or not is_known(shape[-1]):
        return decline("not fused: only a norm over the last dimension, with a weight of just that size, is")
    return FusedRmsNormOp(x, None, shape[-1:], weight, float(found[_epsilon])) if _is_plain(found[_norm].result) else None


@dataclass(frozen=True)
class FuseRmsNormPass(PatternPass):
    """Recognises root-mean-square normalisation with a weight and makes it one `fused.rms_norm`.

    Needs: `edge` operators in canonical form. Leaves: the written-out operators only where something else reads what is between them.
    """

    name = "fuse-rms-norm"
    works_on = ("edge", "fused")
    target: TargetName = "flambeau"
    """For which they are fused, if it has `fused.rms_norm`."""

    def patterns(self) -> Sequence[Pattern]:
        """Returns the one pattern."""
        target = find_target(self.target)

        @rewrites(_norm, counter="norms fused")
        def fuse_rms_norm(found: m.Match) -> FusedRmsNormOp | None:
            """Returns a weight times x * rsqrt(mean(x ** 2) + epsilon), over the last dimension, in f32."""
            return _fused(found, target)

        return [fuse_rms_norm]
