"""The verifier of a whole module: each operation by its own rules, and dominance, which xDSL's verifier does not look at."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.diagnostics import OperationError
from flambeau.dialects.ml_program.ops import ReferenceOp


class VerificationError(OperationError, VerifyException):
    """An operation that breaks its rules, and what they are; raised by the rules of an operation to blame one inside of it."""

    others: tuple[VerificationError, ...] = ()
    """What else is wrong with the module, in the order of the operations."""


def verify_module(module: ModuleOp) -> None:
    """Checks every operation by its own rules, symbols, and, when these hold, dominance.

    Raises:
        VerificationError: the first failure, which lists the others.
    """
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
        faults: list[VerificationError] = []
        invalid: set[Operation] = set()
        for op in module.walk():
            if faults and op.parent_op() in invalid:
                # Its surroundings are not what its rules may expect.
                invalid.add(op)
                continue
            state = _state(op)
            try:
                if state is None or self._passed.get(op) != state:
                    op.verify(verify_nested_ops=False)
                if isinstance(op, ReferenceOp):
                    op.verify_symbol_uses(symbols)
            except (VerifyException, ValueError, TypeError) as error:
                faults.append(_fault(op, error))
                invalid.add(op)
                continue
            if state is not None:
                passed[op] = state
        # Only operations of this module are kept: an erased one may not stand for another.
        self._passed = passed
        _raise_all(faults)
        _raise_all(_dominance_faults(module))


def _fault(op: Operation, error: Exception) -> VerificationError:
    """An operation may blame one that is inside of it."""
    fault = VerificationError(error.op if isinstance(error, OperationError) else op, " ".join(str(error).split()))
    fault.__cause__ = error
    return fault


def _raise_all(faults: list[VerificationError]) -> None:
    if faults:
        faults[0].others = tuple(faults[1:])
        raise faults[0]


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


def _dominance_faults(root: Operation) -> list[VerificationError]:
    checker = _Checker(root)
    faults: list[VerificationError] = []
    for user in checker.order:
        for index, value in enumerate(user.operands):
            try:
                checker.check(user, index, value)
            except VerificationError as fault:
                faults.append(fault)
    return faults
