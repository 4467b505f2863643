"""Functions of elements, and quantized numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation, SSAValue

from flambeau.backends.onnxruntime.converters.building import CONVERTERS, constant, in_type, number_like, other_of, rank_of, reshaped
from flambeau.backends.onnxruntime.dialect import elements as e
from flambeau.backends.onnxruntime.dialect import reductions
from flambeau.backends.onnxruntime.dialect.movement import ExpandOp
from flambeau.backends.onnxruntime.dialect.operators import BinaryOnnxOp
from flambeau.backends.onnxruntime.dialect.quantization import DequantizeLinearOp, QuantizeLinearOp
from flambeau.dialects.aten.elementwise.arithmetic import MulTensorOp
from flambeau.dialects.aten.elementwise.math import RsqrtOp
from flambeau.dialects.ir.tensor_types import element_of, is_float, numpy_dtype, shape_of
from flambeau.dialects.quantized_decomposed.quantize import RANGES, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import dequantized, quantized_type
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.normalized import dim_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

CONVERTERS.of_operands({**e.UNARY, **e.BINARY, "where.self": e.WhereOp, "isnan": e.IsNaNOp, "isinf": e.IsInfOp})
CONVERTERS.of_operands({"pow.Tensor_Tensor": e.PowOp})
CONVERTERS.arithmetic({**e.ARITHMETIC, "div": e.DivOp, **e.COMPARISONS}, other_of)
CONVERTERS.update(
    {
        "div.Scalar_mode": lambda op, constants: e.DivOp(op.operands[0], other_of(op, constants)).result,
        "remainder.Scalar": lambda op, constants: e.ModOp(op.operands[0], other_of(op, constants)).result,
        "rsub.Scalar": lambda op, constants: e.ARITHMETIC["sub"](other_of(op, constants), op.operands[0]).result,
        "ne.Tensor": lambda op, constants: _not(e.COMPARISONS["eq"](*op.operands).result),
        "ne.Scalar": lambda op, constants: _not(e.COMPARISONS["eq"](op.operands[0], other_of(op, constants)).result),
        "pow.Tensor_Scalar": lambda op, constants: (
            e.PowOp(op.operands[0], number_like(constants, op.operands[0], op.argument("exponent"))).result
        ),
        "silu": lambda op, constants: e.ARITHMETIC["mul"](op.operands[0], e.UNARY["sigmoid"](op.operands[0]).result).result,
        "elu": lambda op, constants: e.EluOp(op.operands[0], alpha=float(op.argument("alpha"))).result,
        "gelu": lambda op, constants: e.GeluOp(op.operands[0], approximate=op.argument("approximate")).result,
        "hardsigmoid": lambda op, constants: e.HardSigmoidOp(op.operands[0], alpha=1 / 6).result,
        "leaky_relu": lambda op, constants: e.LeakyReluOp(op.operands[0], alpha=float(op.argument("negative_slope"))).result,
        "softplus": lambda op, constants: e.SoftplusOp(op.operands[0]).result,
        "_to_copy": lambda op, constants: e.CastOp(op.operands[0], to=element_of(op.result)).result,
        "clone": lambda op, constants: op.operands[0],
        "cumsum": lambda op, constants: e.CumSumOp(in_type(op.operands[0], element_of(op.result)), dim_of(op)).result,
        "_softmax": lambda op, constants: reductions.SoftmaxOp(op.operands[0], axis=dim_of(op)).result,
        "_log_softmax": lambda op, constants: reductions.LogSoftmaxOp(op.operands[0], axis=dim_of(op)).result,
    }
)


def _not(truth: SSAValue) -> SSAValue:
    return e.UNARY["logical_not"](truth).result


def _root_beside(op: Operation, other: SSAValue) -> SchemaOp | None:
    """Returns the reciprocal root by which a product multiplies `other`, which is none."""
    if not isinstance(op, MulTensorOp.at("edge")):
        return None
    roots = [item.owner for item in op.operands if isinstance(item.owner, RsqrtOp.at("edge"))]
    return cast("SchemaOp", roots[0]) if len(roots) == 1 and roots[0] is not other.owner else None


@CONVERTERS("rsqrt")
def _reciprocal_root(op: SchemaOp, constants: ModuleConstants) -> SSAValue | None:
    """Converts a reciprocal root. What multiplies by it divides by the root, as in the norms that ONNX Runtime fuses."""
    readers = [use.operation for use in op.result.uses]
    if all(any(_root_beside(reader, value) is op for value in reader.operands) for reader in readers):
        return None
    return e.UNARY["reciprocal"](e.UNARY["sqrt"](op.operands[0]).result).result


@CONVERTERS("mul.Tensor")
def _product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    for value in op.operands:
        if (root := _root_beside(op, value)) is not None:
            return e.DivOp(value, e.UNARY["sqrt"](root.operands[0]).result).result
    return e.ARITHMETIC["mul"](*op.operands).result


@CONVERTERS("scalar_tensor", "full")
def _full(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a number, or a tensor of one: a constant, which is broadcast."""
    name, shape = ("s", ()) if op.schema.base == "scalar_tensor" else ("fill_value", shape_of(op.result))
    number = constant(constants, "number", op.argument(name), element_of(op.result))
    return ExpandOp(number, shape).result if shape else number


@CONVERTERS("sign")
def _sign(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a sign, which PyTorch says is 0 where ONNX Runtime says NaN."""
    x, found = op.operands[0], e.SignOnnxOp(op.operands[0]).result
    if not is_float(element_of(x)):
        return found
    return e.WhereOp(e.IsNaNOp(x).result, number_like(constants, x, 0), found).result


@CONVERTERS("prelu")
def _prelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, slope = op.operands
    channels = (-1, *(1,) * (rank_of(x) - 2)) if rank_of(x) > 1 and shape_of(slope) not in ((), (1,)) else (1,) * rank_of(x)
    return e.PReluOp(x, reshaped(slope, constants, channels)).result


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = (None if limit is None else float(limit) for limit in op.arguments()[1:])
    return e.ClipOp(in_type(op.operands[0], element_of(op.result)), least, most).result


def _logic(kinds: Mapping[str, type[BinaryOnnxOp]], bits: Mapping[str, type[BinaryOnnxOp]]) -> None:
    for name, kind in kinds.items():
        CONVERTERS.of_operands({f"logical_{name}": kind})

        @CONVERTERS(f"bitwise_{name}.Tensor")
        def convert(op: SchemaOp, constants: ModuleConstants, name: str = name) -> SSAValue:
            return (kinds if element_of(op.result) == i1 else bits)[name](*op.operands).result


_logic(e.LOGIC, e.BITWISE)


@CONVERTERS("bitwise_not")
def _bitwise_not(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return e.UNARY["logical_not" if element_of(op.result) == i1 else "bitwise_not"](op.operands[0]).result


# Quantized numbers


@CONVERTERS("quantized_decomposed.quantize_per_tensor")
def _quantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a quantization. One to fewer integers than their type has limits the floats before."""
    assert isinstance(op, QuantizePerTensorOp)
    kind, x = quantized_type(op), op.operands[0]
    low, high = RANGES[kind.storage]
    if (kind.low, kind.high) != (low, high):
        x = e.ClipOp(x, *((limit - kind.zero_point) * kind.scale for limit in (kind.low, kind.high))).result
    parameters = constant(constants, "scale", kind.scale, f32), constant(constants, "zero_point", kind.zero_point, kind.storage)
    return QuantizeLinearOp(x, *parameters).result


@CONVERTERS("quantized_decomposed.dequantize_per_tensor", "quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a dequantization. Zero points that the integers' type does not hold are subtracted from floats."""
    found = dequantized(op.result, constants)
    if found is None:
        raise BackendError("onnxruntime: a scale or a zero point has no value")
    kind = found.type
    low, high = RANGES[kind.storage]
    zero_points = np.array(kind.zero_points).reshape(() if kind.axis is None else (-1,))
    scales = np.array(kind.scales).reshape(zero_points.shape)
    if not all(low <= item <= high for item in kind.zero_points):
        shape = [-1 if dim == kind.axis else 1 for dim in range(rank_of(found.value))] if kind.axis is not None else ()
        floats = e.CastOp(found.value, to=f32).result
        centred = e.ARITHMETIC["sub"](floats, constant(constants, "zero_point", zero_points.reshape(shape), f32)).result
        return e.ARITHMETIC["mul"](centred, constant(constants, "scale", scales.reshape(shape), f32)).result
    parameters = constant(constants, "scale", scales, f32), constant(constants, "zero_point", zero_points, kind.storage)
    return DequantizeLinearOp(found.value, *parameters, axis=1 if kind.axis is None else kind.axis).result


@CONVERTERS("quantized_decomposed.dequantize_per_channel_group")
def _dequantize_groups(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a dequantization of groups of neighbours in the rows of a matrix: blocks along them."""
    x, *parameters = op.arguments()[:3]
    rows, columns = shape_of(x)
    scales, zeros = (None if value is None else constants.elements(value) for value in parameters)
    assert scales is not None
    shape, element = (rows, scales.size // rows), element_of(x)
    given = np.zeros(shape) if zeros is None else zeros.reshape(shape)
    low, high = RANGES[element]
    if given.min(initial=0) < low or given.max(initial=0) > high or (given != np.rint(given)).any():
        raise BackendError(f"onnxruntime: a zero point of the groups is no {np.dtype(numpy_dtype(element))}")
    scale, zero_point = constant(constants, "scale", scales.reshape(shape), f32), constant(constants, "zero_point", given, element)
    found = DequantizeLinearOp(x, scale, zero_point, axis=1, block_size=columns // shape[1]).result
    return in_type(found, element_of(op.result))
