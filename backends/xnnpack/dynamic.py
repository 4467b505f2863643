"""Finds linear layers whose inputs the run quantizes: XNNPACK computes them in integers, with a scale and a zero point for each row.

A program says so in operations before the layer: linear(dequantize(quantize(x, choose_qparams(x))), dequantize(weight)). Its scale may be
for the whole tensor; XNNPACK chooses one for each row, as in ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from xdsl.dialects.builtin import f64, i8, i64
from xdsl.ir import Operation, SSAValue

from flambeau.backends.xnnpack.dialect.quantization import LEAST, MOST
from flambeau.dialects.ir.tensor_types import ElementType, element_of, f32
from flambeau.dialects.quantized_decomposed.choose_qparams import ChooseQparamsPerTokenAsymmetricOp, ChooseQparamsTensorOp
from flambeau.dialects.quantized_decomposed.quantize import (
    DequantizePerChannelOp,
    DequantizePerTensorOp,
    DequantizePerTensorTensorOp,
    DequantizePerTokenOp,
    QuantizePerTensorTensorOp,
    QuantizePerTokenOp,
)
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import is_constant

_Kinds: TypeAlias = "Mapping[type[SchemaOp], type[SchemaOp]]"
_QUANTIZE: _Kinds = {ChooseQparamsTensorOp: QuantizePerTensorTensorOp, ChooseQparamsPerTokenAsymmetricOp: QuantizePerTokenOp}
_DEQUANTIZE: _Kinds = {ChooseQparamsTensorOp: DequantizePerTensorTensorOp, ChooseQparamsPerTokenAsymmetricOp: DequantizePerTokenOp}
_CHOOSE, _QUANTIZED = tuple(_QUANTIZE), tuple(_QUANTIZE.values())
_RANGE = [LEAST, MOST]
DYNAMIC: Mapping[type[SchemaOp], tuple[ElementType, tuple[ElementType, ...]]] = {
    **dict.fromkeys(_CHOOSE, (f32, (f64, i64))),
    **dict.fromkeys(_QUANTIZED, (f32, (i8,))),
    **dict.fromkeys(_DEQUANTIZE.values(), (i8, (f32,))),
}
"""The operators that quantize the input of a layer, with the element types of their inputs and results."""


def source_of(floats: SSAValue) -> SSAValue:
    """Returns the x of dequantize(quantize(x, …), …)."""
    quantize = cast(SchemaOp, floats.owner).operands[0].owner
    assert isinstance(quantize, _QUANTIZED)
    return quantize.operands[0]


def together_with_layers(op: SchemaOp) -> Iterator[Operation]:
    """Yields the operations without which an operator that quantizes a layer's input is not taken: all of them, and the layers."""
    if (choose := _chooser(op)) is not None:
        for part in _readers(choose):
            yield part
            yield from _readers(part)


def quantizes_layers(op: SchemaOp) -> str | None:
    """The inputs of linear layers only, whose weights are of int8 with the zero point 0; to all integers of 8 bits."""
    choose = _chooser(op)
    if choose is None:
        return "its scale is not chosen from what it quantizes"
    if isinstance(choose, ChooseQparamsTensorOp) and [*choose.arguments()[1:3]] != _RANGE:
        return "its integers are not all of 8 bits"
    return next((reason for part in _readers(choose) if (reason := _why_no_part(part, choose)) is not None), None)


def _chooser(op: Operation) -> SchemaOp | None:
    """Returns the operation that chooses the scale with which `op` quantizes or dequantizes, or `op` itself if it chooses."""
    found = op if isinstance(op, _CHOOSE) else op.operands[1].owner
    return found if isinstance(found, _CHOOSE) else None


def _readers(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for result in op.results for use in result.uses))


def _why_no_part(op: Operation, choose: SchemaOp) -> str | None:
    """Returns why an operation that reads the scale of `choose` is not one that quantizes `choose`'s operand for layers; None if it is."""
    kind = type(choose)
    if not isinstance(op, SchemaOp) or not isinstance(op, (_QUANTIZE[kind], _DEQUANTIZE[kind])) or [*op.operands[1:]] != [*choose.results]:
        return "its scale is read elsewhere"
    if isinstance(op, _QUANTIZE[kind]):
        if op.operands[0] is not choose.operands[0] or [*op.arguments()[3:5]] != _RANGE:
            return "it quantizes something else than its scale is of, or not to all integers of 8 bits"
        return None if all(isinstance(reader, _DEQUANTIZE[kind]) for reader in _readers(op)) else "its integers are read elsewhere"
    source = op.operands[0].owner
    if not isinstance(source, _QUANTIZE[kind]) or _chooser(source) is not choose:
        return "its integers are quantized with another scale"
    return next((reason for use in op.results[0].uses if (reason := _why_no_layer(use.operation, op.results[0])) is not None), None)


def _why_no_layer(op: Operation, x: SSAValue) -> str | None:
    """Returns why an operation is not a layer of the input `x` with a weight of integers; None if it is."""
    if not isinstance(op, SchemaOp) or op.name != "edge.linear" or op.argument("input") is not x or op.argument("weight") is x:
        return f"{op.name} reads it, and XNNPACK quantizes for linear layers only"
    source = op.argument("weight").owner
    is_integer = isinstance(source, DequantizePerChannelOp | DequantizePerTensorOp) and element_of(source.operands[0]) == i8
    if not is_integer or not all(map(is_constant, source.operands)):
        return "the weight of a layer that reads it is not of int8"
    whole = not isinstance(source, DequantizePerTensorOp) or source.argument("zero_point") == 0
    return None if whole else "the zero point of a layer's weight is not 0"
