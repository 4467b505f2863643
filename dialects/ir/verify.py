"""The module verifier: each operation's own rules, control flow, symbols and dominance, with every error reported."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, ErasedSSAValue, Operation, OpResult, TypeAttribute
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.control_flow_rules import check_control_flow
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.dialects.ir.dominance import dominance_errors
from flambeau.dialects.ir.function_sizes import check_function_sizes
from flambeau.dialects.ir.symbols import SymbolUserOp, symbol_name, symbols_of
from flambeau.dialects.ir.verifier_messages import verify_message

T = TypeVar("T")

_TYPES_ONLY: set[object] = set()


def verifies_types_only(verify: T) -> T:
    """Declares that a `verify_` reads only types and attributes, so the verifier runs it once for operations that have the same."""
    _TYPES_ONLY.add(verify)
    return verify


class VerificationError(OperationError, VerifyException):
    """An error about an operation that is not valid. A `verify_` may raise it about an operation in its regions."""

    others: tuple[VerificationError, ...] = ()
    """The other errors of the module, in the order of the operations."""


def verify_module(module: ModuleOp) -> None:
    """Checks each operation's own rules and symbols, and then, if there were no errors, dominance.

    Raises:
        VerificationError: the first error; its `others` are the rest.
    """
    ModuleVerifier().verify(module)


class ModuleVerifier:
    """A verifier for a module that is checked repeatedly, such as after each pass.

    An operation's own rules read only the operation, its operands' types and its parent block. So an operation whose state has not changed
    since it passed is skipped. Rules that are marked `verifies_types_only` run once for all operations of the same types and attributes.
    Symbols and dominance are checked every time.
    """

    def __init__(self) -> None:
        self._passed: dict[Operation, tuple[object, ...]] = {}
        self._operators: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
        """The operators that passed. The key holds the ids of types, which are fast to compare; the value keeps these types alive."""
        self._symbols: dict[str, Operation] | None = None

    def verify(self, module: ModuleOp, changed: Operation | None = None) -> None:
        """Verifies a module as `verify_module` does; with `changed`, the only operation changed since the last call, checks only it."""
        root: Operation = module if changed is None or not changed.has_trait(IsolatedFromAbove) else changed
        if root is module or self._symbols is None:
            self._symbols = symbols_of(module)
        symbols = self._symbols
        passed: dict[Operation, tuple[object, ...]] = {}
        faults: list[VerificationError] = []
        invalid: set[Operation] = set()
        for op in root.walk():
            if faults and op.parent_op() in invalid:
                # Its rules may rely on the parent operation, which is not valid.
                invalid.add(op)
                continue
            state = None
            try:
                if op.next_op is not None and type(op).verify_ in _TYPES_ONLY:
                    self._verify_by_types(op)
                elif (state := _state(op)) is None or self._passed.get(op) != state:
                    _verify_operation(op)
                    if op.regions:
                        _check_blocks(op)
                if isinstance(op, SymbolUserOp):
                    op.verify_symbol_uses(symbols)
            except (VerifyException, ValueError, TypeError, LookupError) as error:
                faults += _faults(op, error)
                invalid.add(op)
                continue
            if state is not None:
                passed[op] = state
        # A check of the whole module forgets operations that are gone.
        if root is module:
            self._passed = passed
        else:
            self._passed.update(passed)
        _raise_all(faults)
        found = dominance_errors(root)
        _raise_all([VerificationError(op, f"{op.name}: operand {index} {reason}") for op, index, reason in found])

    def _verify_by_types(self, op: Operation) -> None:
        types = (*op.operand_types, *op.result_types)
        key = (type(op), len(op.results), *map(id, types), *op.properties.items())
        if key not in self._operators:
            _verify_operation(op)
            self._operators[key] = types
        elif op.attributes:
            _check_parts(op)


def _verify_operation(op: Operation) -> None:
    """As `op.verify`, whose errors contain the whole printed module: checks the place of the operation, then its own rules."""
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
    """Checks that attributes and types are attributes and types, not other Python values, and that a symbol is in a symbol table."""
    for kind, attributes in (("attribute", op.attributes), ("property", op.properties)):
        for name, value in attributes.items():
            if not isinstance(value, Attribute):  # pyright: ignore[reportUnnecessaryIsInstance]  passes need not be type-checked
                raise VerifyException(f"{op.name}: the {kind} {name!r} is {value!r}, a Python {type(value).__name__}, not an attribute")
    for value in (*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)):
        if not isinstance(value.type, TypeAttribute):
            raise VerifyException(f"{op.name}: {value.type} is an attribute, not a type: a value needs a type")
    around = op.parent_op()
    defines = symbol_name(op) is not None and op.has_trait(SymbolOpInterface, value_if_unregistered=False)
    if not defines or around is None or isinstance(around, UnregisteredOp) or around.has_trait(SymbolTable):
        return
    raise VerifyException(f"{op.name} defines a symbol, so it must be in a symbol table such as builtin.module, not in {around.name}")


def _check_blocks(op: Operation) -> None:
    """Checks that no block is empty, which xDSL's verifier accepts, and that nothing branches to an entry block."""
    if isinstance(op, FuncOp) and not op.body.blocks and op.sym_visibility != StringAttr("private"):
        # xDSL parses `func.func @f() {}` as a declaration too.
        raise VerifyException(f"function @{op.sym_name.data} has no body: give it one, or make the declaration private")
    if isinstance(op, FuncOp):
        check_function_sizes(op)
    for region in op.regions:
        entry = region.first_block
        for block in region.blocks:
            if entry is not None and (last := block.last_op) is not None and entry in last.successors:
                raise OperationError(last, f"{last.name} branches to the first block of a region, which must not have predecessors")
    if not isinstance(op, UnregisteredOp) and not op.has_trait(NoTerminator):
        for region in op.regions:
            if any(block.first_op is None for block in region.blocks):
                raise VerifyException(f"{op.name} has an empty block: a block must end with a terminator such as func.return")


def _faults(op: Operation, error: Exception) -> list[VerificationError]:
    """Returns the errors for an exception that the rules of `op` raised; each may be about an operation in its regions."""
    if isinstance(error, OperationError):
        faults = [VerificationError(error.op, str(error), error.notes)]
    else:
        # A rule of xDSL may fail while it prints, for its message, an operation that is not valid itself.
        message = f"{op.name} cannot be checked: {error}" if isinstance(error, LookupError) else verify_message(str(error))
        faults = _repeated_symbols(op) or _uses_from_outside(op) or [VerificationError(op, message)]
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
    """Returns an error for each operand in an isolated operation that is defined outside of it."""
    if not op.has_trait(IsolatedFromAbove):
        return []
    faults: list[VerificationError] = []
    for user in op.walk():
        for index, operand in enumerate(user.operands):
            if not isinstance(operand, OpResult | BlockArgument | ErasedSSAValue):
                continue  # a forward reference, while the parser is running
            owner = operand.owner
            if user is op or (owner is not op and op.is_ancestor(owner)):
                continue
            if isinstance(owner, Operation) and owner.parent is None:
                reason = f"is the result of {owner.name}, which was erased or is not in a block"
            else:
                reason = f"is defined outside {op.name}, which may only use values that are defined inside it"
            faults.append(VerificationError(user, f"{user.name}: operand {index} {reason}"))
    return faults


def _raise_all(faults: list[VerificationError]) -> None:
    if faults:
        faults[0].others = tuple(faults[1:])
        raise faults[0]


def _state(op: Operation) -> tuple[object, ...] | None:
    """Returns all that an operation's own rules read; None if they read more: with regions, or at the end of its block."""
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
