"""Converts `edge` operators to those of ONNX, with biases of int32 between integers, in steps of what a layer sums."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from flambeau.backends.onnxruntime import lower
from flambeau.backends.onnxruntime.converters.building import constant
from flambeau.backends.onnxruntime.dialect.elements import ARITHMETIC
from flambeau.backends.onnxruntime.dialect.products import ConvOp, ConvTransposeOp, GemmOp, MatMulOp
from flambeau.backends.onnxruntime.dialect.quantization import DequantizeLinearOp
from flambeau.backends.qnn import QnnOptions
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

_MOST = 2**31 - 1


def convert(partition: PartitionOp, constants: ModuleConstants, options: QnnOptions) -> None:
    """Rewrites a partition in `onnxruntime` operators. Raises ConversionError, which lists the operators that have no converter."""
    lower.convert(partition, constants, options)
    for op in list(partition.body.block.ops):
        if (found := _layer_and_bias(op)) is not None:
            _quantize_bias(op, *found, constants)


def _layer_and_bias(op: Operation) -> tuple[Operation, int] | None:
    """Returns the layer of a bias, and which operand of the operation the bias is; None where there is none."""
    if isinstance(op, ConvOp | ConvTransposeOp | GemmOp):
        return (op, 2) if len(op.operands) > 2 else None
    if isinstance(op, ARITHMETIC["add"]) and isinstance(op.operands[0].owner, MatMulOp):
        return op.operands[0].owner, 1
    return None


def _quantize_bias(op: Operation, layer: Operation, number: int, constants: ModuleConstants) -> None:
    bias, step = constants.array(op.operands[number]), _step(layer, constants)
    if bias is None or bias.ndim != 1 or step is None or step.size not in (1, bias.size):
        return
    whole = np.clip(np.rint(bias / step.astype(np.float64)), -_MOST, _MOST)
    stored = constant(constants, f"{constants.name(op.operands[number])}.whole", whole, i32)
    parameters = constant(constants, "scale", step, f32), constant(constants, "zero_point", np.zeros(step.shape), i32)
    dequantized = DequantizeLinearOp(stored, *parameters, axis=0)
    block = op.parent
    assert block is not None
    block.insert_ops_before([*(value.owner for value in dequantized.operands if isinstance(value.owner, Operation)), dequantized], op)
    op.operands[number] = dequantized.result


def _step(layer: Operation, constants: ModuleConstants) -> Array | None:
    """Returns the scale of the sums of a layer between integers, one or for each output; None for a layer of floats."""
    sources = [value.owner for value in layer.operands[:2]]
    if not all(isinstance(source, DequantizeLinearOp) for source in sources):
        return None
    scales: list[SSAValue] = [source.operands[1] for source in sources if isinstance(source, Operation)]
    if not all(map(constants.is_constant, scales)):
        return None
    return np.asarray(constants.elements(scales[0]) * constants.elements(scales[1]), np.float32)
