"""MLIR's type checks of branch operands and of the regions of `scf`, which xDSL's verifiers leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.diagnostics import OperationError


def check_control_flow(op: Operation) -> None:
    """Checks the values that an operation passes to block arguments, and those that its regions yield.

    Raises:
        VerifyException: their types or their number differ from what the block or the operation expects.
    """
    rule = _RULES.get(op.name)
    if rule is not None:
        rule(op)


def _branch(op: Operation) -> None:
    for block, given in _edges(op):
        _check(given, [argument.type for argument in block.args], f"{op.name}: the block takes")


def _edges(op: Operation) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    """Yields the blocks that an operation branches to, each with the operands passed to it."""
    from xdsl.dialects import cf

    if isinstance(op, cf.BranchOp):
        yield op.successor, op.arguments
    elif isinstance(op, cf.ConditionalBranchOp):
        yield op.then_block, op.then_arguments
        yield op.else_block, op.else_arguments
    elif isinstance(op, cf.SwitchOp):
        op.verify_()  # checks the segment sizes, which the properties below rely on
        yield op.default_block, op.default_operands
        yield from zip(op.case_blocks, op.case_operand, strict=True)


def _if(op: Operation) -> None:
    types = op.result_types
    if types and not op.regions[1].blocks:
        raise VerifyException(
            f"{op.name} has {len(types)} result{'s' if len(types) > 1 else ''}, so it needs an else region that yields values for them"
        )
    _results_of_yields(op)


def _results_of_yields(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is not None and last.name == "scf.yield":
                _check(last.operands, op.result_types, f"{op.name} has results", last)


def _while(op: Operation) -> None:
    before, after = (region.blocks[0] if region.blocks else None for region in op.regions)
    if before is None or after is None:
        raise VerifyException(f"{op.name} needs a block in each of its two regions")
    _check(op.operands, [argument.type for argument in before.args], f"{op.name}: its first region takes")
    condition, last = before.last_op, after.last_op
    if condition is None or condition.name != "scf.condition":
        raise VerifyException(f"{op.name}: its first region must end with scf.condition")
    _check(condition.operands[1:], op.result_types, f"{op.name} has results", condition)
    _check(condition.operands[1:], [argument.type for argument in after.args], f"{op.name}: its second region takes", condition)
    if last is not None and last.name == "scf.yield":
        _check(last.operands, [argument.type for argument in before.args], f"{op.name}: its first region takes", last)


def _check(given: Sequence[SSAValue], wanted: Sequence[Attribute], what: str, place: Operation | None = None) -> None:
    types = [value.type for value in given]
    if types == list(wanted):
        return
    message = f"{what} ({', '.join(map(str, wanted))}), got ({', '.join(map(str, types))})"
    raise VerifyException(message) if place is None else OperationError(place, message)


_RULES = cast(
    "dict[str, Callable[[Operation], None]]",
    {
        "cf.br": _branch,
        "cf.cond_br": _branch,
        "cf.switch": _branch,
        "scf.if": _if,
        "scf.execute_region": _results_of_yields,
        "scf.while": _while,
    },
)
