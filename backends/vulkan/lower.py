"""Converts `edge` operators to `vulkan` ones, operator by operator."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect import elementwise as e
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import f32, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

CONVERTERS = Converters("vulkan")
"""The converters, one for each operator of the legality table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `vulkan` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)


def _constant(constants: ModuleConstants, name: str, array: Array) -> SSAValue:
    array = np.asarray(array, np.float32, order="C")
    return constants.add(name, array, tensor(f32, array.shape)).result


def _number(constants: ModuleConstants, number: float) -> SSAValue:
    return _constant(constants, "number", np.full((), number))


# Elementwise

CONVERTERS.of_operands({**e.UNARY, **e.BINARY})
CONVERTERS.arithmetic(e.ARITHMETIC, lambda op, constants: _number(constants, op.argument("other")))
CONVERTERS.update(
    {
        "leaky_relu": lambda op, constants: e.LeakyReluKernelOp(op.operands[0], slope=float(op.argument("negative_slope"))).result,
        "elu": lambda op, constants: e.EluKernelOp(op.operands[0], alpha=float(op.argument("alpha"))).result,
    }
)


@CONVERTERS("gelu")
def _gelu(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    kind = e.GeluTanhKernelOp if op.argument("approximate") == "tanh" else e.GeluKernelOp
    return kind(op.operands[0]).result


@CONVERTERS("clamp", "hardtanh")
def _clamp(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    least, most = op.arguments()[1:]
    low, high = -inf if least is None else float(least), inf if most is None else float(most)
    return e.ClampKernelOp(op.operands[0], low=low, high=high).result
