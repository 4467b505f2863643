"""The verifier of a whole module: each operation by its own rules, and dominance, which xDSL's verifier does not look at."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, ErasedSSAValue, Operation, OpResult, TypeAttribute
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.control_flow_rules import check_control_flow
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.dialects.ir.dominance import misused_operands
from flambeau.dialects.ir.symbols import SymbolUserOp, symbol_name, symbols_of
from flambeau.dialects.ir.verifier_messages import verify_message

T = TypeVar("T")

_OF_TYPES_ALONE: set[object] = set()


def looks_at_types_alone(verify: T) -> T:
    """Declares that a `verify_` looks at nothing but types and attributes, so that of equal operations one answer holds for all."""
    _OF_TYPES_ALONE.add(verify)
    return verify


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

    An operation's own rules look at nothing but itself, its operands' types and where it stands, so one that has not changed in these
    since it passed is not asked again. Of equal operations whose rules look at types and attributes alone, the first answers for all.
    Symbols and dominance are checked every time.
    """

    def __init__(self) -> None:
        self._passed: dict[Operation, tuple[object, ...]] = {}
        self._operators: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
        """The operators that passed. Types are compared as objects, which is quicker than their text; the values keep them alive."""
        self._symbols: dict[str, Operation] | None = None

    def verify(self, module: ModuleOp, changed: Operation | None = None) -> None:
        """As `verify_module`; with `changed`, looks only at that operation, for nothing else has changed since the last time."""
        root: Operation = module if changed is None or not changed.has_trait(IsolatedFromAbove) else changed
        if root is module or self._symbols is None:
            self._symbols = symbols_of(module)
        symbols = self._symbols
        passed: dict[Operation, tuple[object, ...]] = {}
        faults: list[VerificationError] = []
        invalid: set[Operation] = set()
        for op in root.walk():
            if faults and op.parent_op() in invalid:
                # Its surroundings are not what its rules may expect.
                invalid.add(op)
                continue
            state = None
            try:
                if op.next_op is not None and type(op).verify_ in _OF_TYPES_ALONE:
                    self._verify_by_types(op)
                elif (state := _state(op)) is None or self._passed.get(op) != state:
                    _verify_operation(op)
                    if op.regions:
                        _check_blocks(op)
                if isinstance(op, SymbolUserOp):
                    op.verify_symbol_uses(symbols)
            except (VerifyException, ValueError, TypeError) as error:
                faults += _faults(op, error)
                invalid.add(op)
                continue
            if state is not None:
                passed[op] = state
        # After a look at the whole, only operations that are still there are kept.
        if root is module:
            self._passed = passed
        else:
            self._passed.update(passed)
        _raise_all(faults)
        misused = misused_operands(root)
        _raise_all([VerificationError(op, f"{op.name}: operand {index} {reason}") for op, index, reason in misused])

    def _verify_by_types(self, op: Operation) -> None:
        types = (*op.operand_types, *op.result_types)
        key = (type(op), len(op.results), *map(id, types), *op.properties.items())
        if key not in self._operators:
            _verify_operation(op)
            self._operators[key] = types
        elif op.attributes:
            _check_parts(op)


def _verify_operation(op: Operation) -> None:
    """As `op.verify`, which prints the whole module into the error of each operation: its place first, then its own rules."""
    block = op.parent
    region = None if block is None else block.parent
    if op.successors:
        if block is None or region is None:
            raise VerifyException(f"Operation {op.name} with block successors does not belong to a block or a region")
        if block.last_op is not op:
            raise VerifyException(f"Operation {op.name} with block successors must terminate its parent block")
        if any(successor.parent is not region for successor in op.successors):
            raise VerifyException(f"Operation {op.name} is branching to a block of a different region")
    if block is not None and region is not None and block.last_op is op and not op.has_trait(IsTerminator):
        around = region.parent
        if region.first_block is not region.last_block:
            raise VerifyException(f"Operation {op.name} terminates block in multi-block region but is not a terminator")
        if around is not None and not around.has_trait(NoTerminator):
            raise VerifyException(f"Operation {op.name} terminates block in single-block region but is not a terminator")
    for index, operand in enumerate(op.operands):
        if isinstance(operand, ErasedSSAValue):
            raise VerifyException(f"{op.name}: operand {index} is the result of an operation that was erased")
    _check_parts(op)
    check_control_flow(op)
    op.verify_()


def _check_parts(op: Operation) -> None:
    """That Python values do not stand where attributes and types must, and symbols where a table holds them."""
    for kind, attributes in (("attribute", op.attributes), ("property", op.properties)):
        for name, value in attributes.items():
            if not isinstance(value, Attribute):  # pyright: ignore[reportUnnecessaryIsInstance]  passes need not be type-checked
                raise VerifyException(f"{op.name}: the {kind} {name!r} is {value!r}, a {type(value).__name__} of Python and no attribute")
    for value in (*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)):
        if not isinstance(value.type, TypeAttribute):
            raise VerifyException(f"{op.name}: {value.type} is no type for a value")
    around = op.parent_op()
    defines = symbol_name(op) is not None and op.has_trait(SymbolOpInterface, value_if_unregistered=False)
    if not defines or around is None or isinstance(around, UnregisteredOp) or around.has_trait(SymbolTable):
        return
    raise VerifyException(f"{op.name} defines a symbol, so it must stand in a table of symbols as builtin.module is, not in {around.name}")


def _check_blocks(op: Operation) -> None:
    """A block must end with a terminator, so it cannot be empty; xDSL looks at the last operation only if there is one."""
    if isinstance(op, FuncOp) and not op.body.blocks and op.sym_visibility != StringAttr("private"):
        # xDSL also reads `func.func @f() {}` as a declaration.
        raise VerifyException(f"function @{op.sym_name.data} has no body: one that is only declared is private")
    for region in op.regions:
        entry = region.first_block
        for block in region.blocks:
            if entry is not None and (last := block.last_op) is not None and entry in last.successors:
                raise OperationError(last, f"{last.name}: nothing may branch to the first block of a region")
    if not isinstance(op, UnregisteredOp) and not op.has_trait(NoTerminator):
        for region in op.regions:
            if any(block.first_op is None for block in region.blocks):
                raise VerifyException(f"{op.name} holds a block without operations: it must end with a terminator such as func.return")


def _faults(op: Operation, error: Exception) -> list[VerificationError]:
    """What is wrong, and with which operation: one may blame those inside of it."""
    if isinstance(error, OperationError):
        faults = [VerificationError(error.op, str(error), error.notes)]
    else:
        faults = _repeated_symbols(op) or _uses_from_outside(op) or [VerificationError(op, verify_message(str(error)))]
    for fault in faults:
        fault.__cause__ = error
    return faults


def _repeated_symbols(table: Operation) -> list[VerificationError]:
    if not table.has_trait(SymbolTable):
        return []
    faults: list[VerificationError] = []
    first: dict[str, Operation] = {}
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = symbol_name(op)
        if name is not None and first.setdefault(name, op) is not op:
            note = Diagnostic("note", f"@{name} is defined here first", op=first[name])
            faults.append(VerificationError(op, f"the symbol @{name} is defined twice", (note,)))
    return faults


def _uses_from_outside(op: Operation) -> list[VerificationError]:
    """The operands inside of an isolated operation that are defined elsewhere, each with its user."""
    if not op.has_trait(IsolatedFromAbove):
        return []
    faults: list[VerificationError] = []
    for user in op.walk():
        for index, operand in enumerate(user.operands):
            if not isinstance(operand, OpResult | BlockArgument | ErasedSSAValue):
                continue  # of a text that is still being read
            owner = operand.owner
            if user is op or (owner is not op and op.is_ancestor(owner)):
                continue
            if isinstance(owner, Operation) and owner.parent is None:
                reason = f"is the result of {owner.name}, which was erased or stands nowhere"
            else:
                reason = f"is defined outside of {op.name}, which may use only what is defined inside"
            faults.append(VerificationError(user, f"{user.name}: operand {index} {reason}"))
    return faults


def _raise_all(faults: list[VerificationError]) -> None:
    if faults:
        faults[0].others = tuple(faults[1:])
        raise faults[0]


def _state(op: Operation) -> tuple[object, ...] | None:
    """All that an operation's own rules look at; None for one with regions or at the end of its block, which look further."""
    if op.regions or op.next_op is None:
        return None
    operands = op.operands
    return (
        tuple(operands),
        tuple(operand.type for operand in operands),
        tuple(op.result_types),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        op.parent,
    )
