"""The target `executorch`: the kernels of stock ExecuTorch, which take row-major tensors; its callers have channels-last images too.

Beside the kernels' names stand their limits, as the checks of the portable and optimized kernels have them, and what computes the same
where they do not hold.
"""

from __future__ import annotations

from importlib import resources

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.convolution import over_planes
from flambeau.dialects.aten.creation import to_element
from flambeau.dialects.aten.fft import real_on_both_sides
from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.extents import maximum
from flambeau.dialects.ir.tensor_types import is_empty, shape_of, ui8
from flambeau.dialects.schema.families import promote_values
from flambeau.dialects.schema.namespace import aten
from flambeau.passes.targets.contracts import Contract, Limit
from flambeau.passes.targets.interface import Target

_KERNELS = resources.files("flambeau.passes.targets").joinpath("executorch.txt").read_text(encoding="utf-8").split()


def _scaled_first(a: SSAValue, b: SSAValue, alpha: float) -> SSAValue:
    element = promote_values(a, b)
    return aten.add.Tensor(a, aten.mul.Scalar(to_element(b, element), bool(alpha) if element == i1 else alpha))


def _log_softmax(x: SSAValue, dim: int, half_to_float: bool) -> SSAValue:
    if is_empty(shape_of(x)):
        return x
    shifted = aten.sub.Tensor(x, aten.amax(x, (dim,), True))
    return aten.sub.Tensor(shifted, aten.log(aten.sum.dim_IntList(aten.exp(shifted), (dim,), True)))


def _sliced_and_padded(x: SSAValue, pad: tuple[int, ...], value: float) -> SSAValue:
    for index in range(0, len(pad), 2):
        dim = len(shape_of(x)) - 1 - index // 2
        low, high = pad[index : index + 2]
        if min(low, high) < 0:
            x = aten.slice.Tensor(x, dim, max(-low, 0), maximum(shape_of(x)[dim] + min(high, 0), 0))
    return aten.constant_pad_nd(x, tuple(max(number, 0) for number in pad), value)


def _remainder(a: SSAValue, b: SSAValue | float) -> SSAValue:
    """The rest with the sign of the dividend, and the divisor added where the signs differ."""
    if isinstance(b, SSAValue):
        element = promote_values(a, b)
        a, b = to_element(a, element), to_element(b, element)
        rest = aten.fmod.Tensor(a, b)
        differs = aten.logical_and(aten.ne.Scalar(rest, 0), aten.ne.Tensor(aten.lt.Scalar(rest, 0), aten.lt.Scalar(b, 0)))
        return aten.where.self(differs, aten.add.Tensor(rest, b), rest)
    rest = aten.fmod.Scalar(a, b)
    differs = aten.gt.Scalar(rest, 0) if b < 0 else aten.lt.Scalar(rest, 0)
    return aten.where.self(differs, aten.add.Scalar(rest, b), rest)


_FLOATS = (f32, f64, f16, bf16)
_CONTRACTS = (
    # Its optimized kernel multiplies the other operand where the first has one element.
    Contract("aten::add.out", (Limit("alpha", only=1),), _scaled_first),
    Contract("aten::_fft_r2c.out", (Limit("onesided", only=True),), real_on_both_sides),
    Contract("aten::_log_softmax.out", (Limit("self", dtypes=(f32, f16, bf16)),), _log_softmax),
    Contract("aten::constant_pad_nd.out", (Limit("pad", least=0),), _sliced_and_padded),
    Contract("aten::convolution.out", (Limit("input", rank=(3, 4)),), over_planes),
    Contract(
        "aten::convolution_backward.out",
        (Limit("input", rank=(4, 4)), Limit("input", dtypes=(f32, f64, f16)), Limit("transposed", only=False)),
    ),
    Contract("aten::linear.out", (Limit("input", rank=(2, 16)), Limit("weight", rank=(2, 2)))),
    Contract("aten::logit.out", (Limit("result", dtypes=(f32, f64)),)),
    # They give the sign of the dividend to integers.
    Contract("aten::remainder.Tensor_out", (Limit("result", dtypes=(*_FLOATS, ui8)),), _remainder),
    Contract("aten::remainder.Scalar_out", (Limit("result", dtypes=(*_FLOATS, ui8)),), _remainder),
    Contract("aten::roll.out", (Limit("dims", length=1),)),
)

TARGET = Target(
    "executorch",
    frozenset(_KERNELS),
    views=frozenset({"aten::view_as_complex_copy.out"}),
    input_orders=frozenset({CHANNELS_LAST}),
    contracts=_CONTRACTS,
)
