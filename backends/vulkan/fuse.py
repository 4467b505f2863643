"""Joins products and the functions of their results: a dispatch and a tensor less for each."""

from __future__ import annotations

from typing import Any

from xdsl.rewriter import Rewriter

from flambeau.backends.vulkan.dialect.elementwise import FunctionKernelOp
from flambeau.backends.vulkan.dialect.movement import ReshapeKernelOp
from flambeau.backends.vulkan.dialect.products import ProductKernelOp
from flambeau.dialects.delegate.ops import PartitionOp


def fuse_functions(partition: PartitionOp) -> None:
    """Gives products the functions that alone read their results, perhaps in another shape."""
    for op in [*partition.body.block.ops]:
        if not isinstance(op, FunctionKernelOp):
            continue
        source = op.operands[0]
        while isinstance(source.owner, ReshapeKernelOp) and source.has_one_use():
            source = source.owner.operands[0]
        product = source.owner
        if not isinstance(product, ProductKernelOp) or product.argument("function") or not source.has_one_use():
            continue
        first, second = op.parameters
        given: dict[str, Any] = {
            argument.name: value for argument, value in zip(product.schema.arguments, product.arguments(), strict=True)
        }
        given |= {"function": op.schema.base, "first": first, "second": second}
        fused = type(product)(**given)
        fused.location = product.location
        Rewriter.replace_op(product, fused)
        Rewriter.replace_op(op, [], [op.operands[0]])
