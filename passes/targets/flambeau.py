"""The target `flambeau`: the kernels of our C runtime, fused ones among them, which take tensors in any dim order."""

from xdsl.dialects.builtin import f32

from flambeau.dialects.ir.tensor_types import ui64
from flambeau.passes.analysis.operator_table import Limit, Rule
from flambeau.passes.targets.interface import Target
from flambeau.runtime.manifest import kernel_names

_ATTENDED = tuple(Limit(name, dtypes=(f32,), rank=(4, 4)) for name in ("query", "key", "value", "result"))
_CONTRACTS = {
    "aten::linear.out": Rule((Limit("weight", rank=(2, 2)),)),
    "flambeau::layer_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::rms_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::scaled_dot_product_attention.out": Rule((*_ATTENDED, Limit("dropout_p", only=0.0))),
}

_NOT_UINT64 = frozenset(
    {
        "aten::abs.out",
        "aten::add.Scalar_out",
        "aten::add.out",
        "aten::addcmul.out",
        "aten::amax.out",
        "aten::amin.out",
        "aten::argmax.out",
        "aten::argmin.out",
        "aten::bitwise_left_shift.Tensor_Scalar_out",
        "aten::bitwise_left_shift.Tensor_out",
        "aten::bitwise_right_shift.Tensor_Scalar_out",
        "aten::bitwise_right_shift.Tensor_out",
        "aten::ceil.out",
        "aten::clamp.Tensor_out",
        "aten::clamp.out",
        "aten::div.Scalar_mode_out",
        "aten::div.out_mode",
        "aten::floor.out",
        "aten::floor_divide.out",
        "aten::fmod.Scalar_out",
        "aten::fmod.Tensor_out",
        "aten::gcd.out",
        "aten::ge.Scalar_out",
        "aten::ge.Tensor_out",
        "aten::gt.Scalar_out",
        "aten::gt.Tensor_out",
        "aten::hardtanh.out",
        "aten::isinf.out",
        "aten::isnan.out",
        "aten::le.Scalar_out",
        "aten::le.Tensor_out",
        "aten::lt.Scalar_out",
        "aten::lt.Tensor_out",
        "aten::max.dim_max",
        "aten::max.unary_out",
        "aten::maximum.out",
        "aten::min.dim_min",
        "aten::min.unary_out",
        "aten::minimum.out",
        "aten::neg.out",
        "aten::pow.Scalar_out",
        "aten::pow.Tensor_Scalar_out",
        "aten::pow.Tensor_Tensor_out",
        "aten::relu.out",
        "aten::remainder.Scalar_out",
        "aten::remainder.Tensor_out",
        "aten::round.out",
        "aten::rsub.Scalar_out",
        "aten::scatter_reduce.two_out",
        "aten::sign.out",
        "aten::sort.values",
        "aten::sub.Scalar_out",
        "aten::sub.out",
        "aten::topk.values",
        "aten::trunc.out",
    }
)
"""The kernels that compute with integers as signed ones of 64 bits, or order them so. PyTorch has no such operators for uint64 either."""

TARGET = Target("flambeau", kernel_names(), dim_orders="any", lacks=frozenset({ui64}), lacking=_NOT_UINT64, contracts=_CONTRACTS)
