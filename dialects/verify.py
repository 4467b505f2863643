"""The verifier of a whole module: each operation by its own rules, and dominance, which xDSL's verifier does not look at."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.diagnostics import OperationError
from flambeau.dialects.ml_program.ops import ReferenceOp


class VerificationError(OperationError):
    """An operation that breaks its rules, and what they are."""


def verify_module(module: ModuleOp) -> None:
    """Checks every operation by its own rules, symbols, and dominance. Raises VerificationError for the first failure."""
    ModuleVerifier().verify(module)


class ModuleVerifier:
    """The verifier of one module that is checked again and again, as after each pass.

    An operation's own rules look at nothing but itself, its operands' types and its place at the end of its block, so one that has not
    changed in these since it passed is not asked again. Symbols and dominance are checked every time.
    """

    def __init__(self) -> None:
        self._passed: dict[Operation, tuple[object, ...]] = {}

    def verify(self, module: ModuleOp) -> None:
        """As `verify_module`."""
        symbols = {name.data: op for op in module.body.block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)}
        passed: dict[Operation, tuple[object, ...]] = {}
        for op in module.walk():
            state = _state(op)
            try:
                if state is None or self._passed.get(op) != state:
                    op.verify(verify_nested_ops=False)
                if isinstance(op, ReferenceOp):
                    op.verify_symbol_uses(symbols)
            except (VerifyException, ValueError, TypeError) as error:
                raise VerificationError(op, " ".join(str(error).split())) from error
            if state is not None:
                passed[op] = state
        # Only operations of this module are kept: an erased one may not stand for another.
        self._passed = passed
        _verify_dominance(module)


def _state(op: Operation) -> tuple[object, ...] | None:
    """All that an operation's own rules look at; None for one with regions or successors, which look further."""
    if op.regions or op.successors:
        return None
    operands = op.operands
    return (
        tuple(operands),
        tuple(operand.type for operand in operands),
        tuple(op.result_types),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        op.next_op is None,
    )


class _Checker:
    def __init__(self, root: Operation):
        self.order = {op: index for index, op in enumerate(root.walk())}
        self.information: dict[Region, DominanceInfo] = {}

    def block_dominates(self, definition: Block, use: Block) -> bool:
        region = definition.parent
        if region is None or region is not use.parent:
            return False
        if region.first_block is region.last_block:
            return True
        if region not in self.information:
            self.information[region] = DominanceInfo(region)
        return self.information[region].dominates(definition, use)

    def check(self, user: Operation, index: int, value: SSAValue) -> None:
        definition = value.op if isinstance(value, OpResult) else None
        block = value.block if isinstance(value, BlockArgument) else definition.parent if definition is not None else None
        if block is None or (definition is not None and definition not in self.order):
            raise VerificationError(user, f"{user.name}: operand {index} is not defined within the module")
        ancestor: Operation | None = user
        while ancestor is not None and (ancestor.parent is None or ancestor.parent.parent is not block.parent):
            ancestor = ancestor.parent_op()
        if ancestor is None or ancestor.parent is None:
            raise VerificationError(user, f"{user.name}: operand {index} is defined in a region that does not enclose the use")
        if ancestor.parent is block:
            if definition is not None and self.order[definition] >= self.order[ancestor]:
                raise VerificationError(user, f"{user.name}: operand {index} is used before {definition.name} defines it")
        elif not self.block_dominates(block, ancestor.parent):
            raise VerificationError(user, f"{user.name}: operand {index} is defined in a block that does not dominate the use")


def _verify_dominance(root: Operation) -> None:
    checker = _Checker(root)
    for user in checker.order:
        for index, value in enumerate(user.operands):
            checker.check(user, index, value)
