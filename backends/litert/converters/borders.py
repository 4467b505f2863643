"""What stands between integers and floats."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import CONVERTERS, clamped, constant, floats_of, types
from flambeau.backends.litert.dialect.elements import DequantizeOp, QuantizeOp
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import quantized_type
from flambeau.passes.rewriting.constants import ModuleConstants


@CONVERTERS("quantized_decomposed.quantize_per_tensor")
def _quantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    assert isinstance(op, QuantizePerTensorOp)
    kind = quantized_type(op)
    return clamped(QuantizeOp(op.operands[0], dtype=kind.storage, **types(kind)).result, kind.low, kind.high, constants)


@CONVERTERS("quantized_decomposed.dequantize_per_tensor", "quantized_decomposed.dequantize_per_channel")
def _dequantize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    if constants.is_constant(op.operands[0]):
        return constant(constants, constants.name(op.operands[0]), floats_of(op.results[0], constants), op.results[0])
    return DequantizeOp(op.operands[0], scales=(op.argument("scale"),), zero_points=(op.argument("zero_point"),)).result
