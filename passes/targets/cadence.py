"""The target `cadence`: the kernels of ExecuTorch's runtime for Cadence's HiFi DSPs, which compute with quantized numbers."""

import math
from importlib import resources

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.namespace import OperatorName, aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, Rule
from flambeau.passes.targets.interface import Target


def _relu(x: SSAValue) -> SSAValue:
    return aten.hardtanh(x, 0.0, math.inf)


def _is_of_whole_images(op: SchemaOp) -> str | None:
    x, size, _, padding, ceil_mode, _, divisor = op.arguments()
    is_whole = len(size) == 2 and tuple(size) == shape_of(x)[-2:] and not any(padding) and divisor is None
    return None if is_whole and not ceil_mode else "it averages parts of an image"


def _mean(x: SSAValue, *_: object) -> SSAValue:
    return aten.mean.dim(x, [-2, -1], True)


def _of_tensors(operator: OperatorName) -> Rule:
    """Returns the rule of an operator on a tensor and a number that has a kernel for two tensors."""

    def instead(x: SSAValue, number: float, *more: float) -> SSAValue:
        return operator(x, aten.full((1,) * len(shape_of(x)), number, dtype=element_of(x)), *more)

    return Rule((Limit(dtypes=(f32,)),), instead=instead)


TARGET = Target(
    "cadence",
    frozenset(resources.files("flambeau.passes.targets").joinpath("cadence.txt").read_text(encoding="utf-8").split()),
    input_orders=frozenset(),
    in_parts={
        "aten::relu.out": Rule(instead=_relu),
        "aten::add.Scalar_out": _of_tensors(aten.add.Tensor),
        "aten::sub.Scalar_out": _of_tensors(aten.sub.Tensor),
        "aten::mul.Scalar_out": _of_tensors(aten.mul.Tensor),
        "aten::div.Scalar_out": _of_tensors(aten.div.Tensor),
        "aten::avg_pool2d.out": Rule(checks=(_is_of_whole_images,), instead=_mean),
    },
    # Two memories of the processor, and the system's: memory ids 1, 2 and 3 of ExecuTorch.
    banks=("dram0:64K", "dram1:64K", "sysmem"),
    numbers=NumberFormat(scale_per_output=False),
    choose="networks of 8-bit integers on audio DSPs: the operators of ExecuTorch 1.5.1 for HiFi",
    hardware="Cadence's DSPs HiFi; any CPU",
    runs_on="Flambeau's runtime, ExecuTorch's for HiFi",
)
