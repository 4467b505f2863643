"""Converts operators of the edge level to operators of the device."""

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.kit import ModuleConstants, SchemaOp, SSAValue, tensor
from xdsl.dialects.builtin import f32

from . import dialect as d

CONVERTERS = Converters("abacus")
"""One for each operator of the table."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Converts the operators of a partition to the dialect `abacus`, in place."""
    CONVERTERS.apply(partition, constants)


for _name, _kind in {
    "neg": d.NegateOp,
    "abs": d.AbsoluteOp,
    "relu": d.ReluOp,
    "maximum": d.MaximumOp,
    "minimum": d.MinimumOp,
    "add.Tensor": d.AddOp,
    "sub.Tensor": d.SubtractOp,
    "mul.Tensor": d.MultiplyOp,
    "mm": d.MultiplyMatricesOp,
}.items():
    CONVERTERS(_name)(lambda op, constants, kind=_kind: kind(*op.operands).result)


@CONVERTERS("linear")
def _linear(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Returns the product with the transposed weight, plus the bias if there is one. The weight is transposed at compile time."""
    x, weight = op.operands[:2]
    array = constants.array(weight)
    assert array is not None
    transposed = constants.add(constants.name(weight), array.T, tensor(f32, array.T.shape))
    product = d.MultiplyMatricesOp(x, transposed.result).result
    return product if op.argument("bias") is None else d.AddOp(product, op.argument("bias")).result
