"""From `edge` operators to `openvino` ones, operator by operator."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from flambeau.backends.openvino.dialect import elementwise as e
from flambeau.backends.openvino.dialect import movement, products, reductions
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import f32, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.converters import Converters
from flambeau.passes.delegation.interface import BackendError, BackendOptions
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("openvino")
"""One for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `openvino` operators. Raises ConversionError that lists what has no form there."""
    CONVERTERS.apply(partition, constants)


def _constant(constants: ModuleConstants, name: str, array: Array) -> SSAValue:
    array = np.ascontiguousarray(array, np.float32).reshape(array.shape)
    return constants.add(name, array, tensor(f32, array.shape)).result


for _name, _layer in {"relu": e.ReLUOp, "sigmoid": e.SigmoidLayerOp, "add.Tensor": e.AddOp, "mul.Tensor": e.MultiplyOp}.items():
    CONVERTERS(_name)(lambda op, constants, layer=_layer: layer(*op.operands).result)


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = op.arguments()[1:]
    return e.ClampOp(op.operands[0], min=-inf if least is None else float(least), max=inf if most is None else float(most)).result


@CONVERTERS("convolution")
def _convolution(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias, stride, padding, dilation, _, _, groups = op.arguments()
    array = constants.array(weight)
    if array is None:
        raise BackendError("openvino: the weight of a convolution has no value")
    rank = array.ndim - 2
    stride, padding, dilation = (tuple(numbers) * (rank if len(numbers) == 1 else 1) for numbers in (stride, padding, dilation))
    kind = products.ConvolutionOp
    if groups > 1:
        kind = products.GroupConvolutionOp
        array = array.reshape(groups, -1, *array.shape[1:])
    loaded = _constant(constants, f"{constants.name(weight)}.openvino", array) if groups > 1 else weight
    result = kind(x, loaded, strides=stride, pads_begin=padding, pads_end=padding, dilations=dilation).result
    if bias is None:
        return result
    numbers = constants.array(bias)
    assert numbers is not None
    return e.AddOp(result, _constant(constants, f"{constants.name(bias)}.openvino", numbers.reshape(1, -1, *(1,) * rank))).result


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, weight, bias = op.arguments()
    result = products.MatMulOp(x, weight, transpose_b=True).result
    return result if bias is None else e.AddOp(result, bias).result


@CONVERTERS("mean.dim")
def _mean(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    rank = len(shape_of(op.operands[0]))
    dims = tuple(sorted(normalize_dim(dim, rank) for dim in op.argument("dim") or range(rank)))
    return reductions.ReduceMeanOp(op.operands[0], dims, keep_dims=op.argument("keepdim")).result


@CONVERTERS("permute_copy")
def _permute(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    rank = len(shape_of(op.operands[0]))
    return movement.TransposeOp(op.operands[0], tuple(normalize_dim(dim, rank) for dim in op.argument("dims"))).result


@CONVERTERS("view_copy")
def _reshape(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return movement.ReshapeOp(op.operands[0], shape_of(op.result)).result
