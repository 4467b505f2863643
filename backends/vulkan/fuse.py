"""Joins products and the functions of their results, and functions of elements: a dispatch and a tensor less for each."""

from __future__ import annotations

from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.backends.vulkan.dialect.chain import MOST_INPUTS, MOST_STEPS, ChainKernelOp, period, step_of
from flambeau.backends.vulkan.dialect.elementwise import BinaryKernelOp, FunctionKernelOp
from flambeau.backends.vulkan.dialect.movement import ReshapeKernelOp
from flambeau.backends.vulkan.dialect.products import ProductKernelOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.locations import fused_location
from flambeau.dialects.ir.tensor_types import shape_of

_Member: TypeAlias = FunctionKernelOp | BinaryKernelOp


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


def fuse_chains(partition: PartitionOp) -> None:
    """Joins functions of elements that alone read each other's results, of one shape. The last one comes first here."""
    order = {op: place for place, op in enumerate(partition.body.block.ops)}
    for op in reversed(order):
        if op.parent is not None and isinstance(op, (FunctionKernelOp, BinaryKernelOp)):
            members = sorted(_members(op), key=order.__getitem__)
            if len(members) > 1:
                _join(members)


def _members(last: _Member) -> list[_Member]:
    """Returns the operators that one chain computes, which ends with `last`."""
    members = [last]
    for member in members:
        for value in member.operands:
            source = value.owner
            if source in members or not isinstance(source, (FunctionKernelOp, BinaryKernelOp)):
                continue
            readers: set[Operation] = {use.operation for use in value.uses}
            if readers <= {*members} and shape_of(value) == shape_of(last.result) and _fits([*members, source], last):
                members.append(source)
    return members


def _inputs(members: list[_Member]) -> list[SSAValue]:
    results = [member.result for member in members]
    return list(dict.fromkeys(value for member in members for value in member.operands if value not in results))


def _fits(members: list[_Member], last: _Member) -> bool:
    inputs = _inputs(members)
    shape = shape_of(last.result)
    return len(members) <= MOST_STEPS and len(inputs) <= MOST_INPUTS and all(period(value, shape) is not None for value in inputs)


def _join(members: list[_Member]) -> None:
    inputs = _inputs(members)
    numbers = {value: number for number, value in enumerate([*inputs, *(member.result for member in members)])}
    steps = [step_of(member, tuple(numbers[value] for value in member.operands)) for member in members]
    last = members[-1]
    chain = ChainKernelOp(inputs, steps="; ".join(map(str, steps)))
    chain.location = fused_location([member.location for member in members])
    Rewriter.insert_op(chain, InsertPoint.before(last))
    Rewriter.replace_op(last, [], [chain.result])
    for member in reversed(members[:-1]):
        Rewriter.erase_op(member)
