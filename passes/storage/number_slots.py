"""Numbers of a method that only the run knows: slots for sizes and what is computed from them, and the checks of both.

A size is read with `aten::sym_size.int`, and expressions are computed by `exec.evaluate`, each once. A check jumps to a call at the end of
the method that fails with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import nan

from xdsl.dialects.builtin import LocationAttr, f64
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp, EvaluateOp, FailOp, JumpFalseOp, LabelOp
from flambeau.dialects.exec.literals import BoolOp, DoubleOp, IntListOp, IntOp
from flambeau.dialects.exec.slots import TensorOp
from flambeau.dialects.flambeau.symbol_definitions import Definition
from flambeau.dialects.flambeau.symbol_operations import Relation
from flambeau.dialects.ir.expressions import INFINITE, Call, Expression, Symbol, of_symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, extent
from flambeau.dialects.ir.tensor_types import shape_of, tensor
from flambeau.passes.storage.slot_builder import SlotBuilder

_COMPARISONS: dict[Relation, str] = {"eq": "eq.Scalar", "ne": "eq.Scalar", "lt": "lt.Scalar", "le": "le.Scalar"}


class UndefinedSymbolError(ValueError):
    """A number is computed from a symbol that nothing gives a value."""


@dataclass
class NumberSlots:
    """The slots of a method's numbers, and the instructions that compute them."""

    builder: SlotBuilder
    _known: dict[Expression, SSAValue] = field(default_factory=dict[Expression, SSAValue])
    _ends: dict[Block, dict[Expression, SSAValue]] = field(default_factory=dict[Block, "dict[Expression, SSAValue]"])
    """The numbers known at the end of each block."""
    _origins: dict[Symbol, str] = field(default_factory=dict[Symbol, str])
    """In words, what a symbol's value follows from, where that says more than its name."""
    _failures: dict[tuple[str, LocationAttr, SSAValue | None], str] = field(
        default_factory=dict[tuple[str, LocationAttr, SSAValue | None], str]
    )
    """The label to jump to, by message, location, and the slot of the number that the message is about."""

    @contextmanager
    def within(self, block: Block, dominator: Block | None) -> Generator[None]:
        """Enters `block`: numbers placed in it are known only in blocks that it dominates."""
        self._known = dict(self._ends[dominator]) if dominator is not None else self._known
        yield
        self._ends[block] = self._known

    def of(self, value: int) -> SSAValue:
        """Returns the slot of a number or an extent, which holds its value from here on. Raises UndefinedSymbolError."""
        if not isinstance(value, Extent):
            return self.builder.integer(value)
        assert value.expression is not None, "an argument can be written down"
        return self._of(value.expression)

    def _of(self, expression: Expression) -> SSAValue:
        if (known := expression.constant) is not None:
            return self.builder.integer(known)
        if expression not in self._known:
            ins = {of_symbol(symbol): self._symbol(symbol) for symbol in expression.symbols}
            parts = dict.fromkeys(self._unknown_parts(expression, ins))
            outs = {part: self.builder.slot(IntOp(0)) for part in parts}
            self.builder.emit(EvaluateOp(_by_attribute(ins), _by_attribute(outs)))
            self._known |= outs
        return self._known[expression]

    def _symbol(self, symbol: Symbol) -> SSAValue:
        if (found := self._known.get(of_symbol(symbol))) is None:
            help = "let a dimension of an input have this size, or put a flambeau.define_symbol before"
            raise UndefinedSymbolError(f"nothing gives {symbol} a value here: {help}")
        return found

    def _unknown_parts(self, expression: Expression, ins: dict[Expression, SSAValue]) -> Iterator[Expression]:
        """Yields the expressions that have to be computed for one, which comes last; those that are known become `ins`."""
        for atom in (atom for monomial, _ in expression.terms for atom in monomial if isinstance(atom, Call)):
            for side in (atom.left, atom.right):
                if side in self._known:
                    ins[side] = self._known[side]
                elif side.constant is None:
                    yield from self._unknown_parts(side, ins)
        yield expression

    def _primitive(self, name: str, *operands: SSAValue) -> SSAValue:
        result = self.builder.slot(IntOp(0))
        self.builder.emit(CallOp(f"executorch_prim::{name}", operands, (), [result]))
        return result

    # Where symbols come from

    def size(self, tensor_slot: SSAValue, dim: int) -> SSAValue:
        """Returns the slot of an extent of a tensor."""
        result = self.builder.slot(IntOp(0))
        self.builder.emit(CallOp("aten::sym_size.int", [tensor_slot, self.builder.integer(dim)], (), [result]))
        return result

    def item(self, tensor_slot: SSAValue, kind: Operation | None = None) -> SSAValue:
        """Returns the slot of the number in a tensor: `kind`, or that of an integer."""
        result = self.builder.slot(kind or IntOp(0))
        self.builder.emit(CallOp("aten::_local_scalar_dense", [tensor_slot], (), [result]))
        return result

    def define(self, definition: Definition, found: SSAValue, what: str) -> None:
        """Gives a symbol its value, from the slot of the number that gives it; checks its range and its form."""
        name = of_symbol(definition.symbol)
        if what != f"{definition.symbol}":
            self._origins[definition.symbol] = f"{definition.expression} is {what}"
        if definition.expression.symbol is not None:
            self._known[name] = found
        else:
            shifted = found if definition.offset == 0 else self._primitive("sub.Scalar", found, self.builder.integer(definition.offset))
            self._known[name] = self._primitive("floordiv.Scalar", shifted, self.builder.integer(definition.factor))
            self.check(
                "eq",
                self._of(definition.expression),
                found,
                f"{what} must be {definition.expression} for an integer {definition.symbol}",
                found,
            )
        self.check_range(found, *definition.expression.range, what, definition.dim is not None)

    def define_dims(self, slot: SSAValue, definitions: Sequence[Definition], what: Callable[[int], str]) -> None:
        """Gives symbols the values that the extents of a tensor have."""
        for definition in definitions:
            assert definition.dim is not None
            self.define(definition, self.size(slot, definition.dim), what(definition.dim))

    def check_dims(
        self,
        value: SSAValue,
        slot: SSAValue,
        definitions: Sequence[Definition],
        what: Callable[[int], str],
        dims: Iterable[int] | None = None,
    ) -> None:
        """Checks the extents of a dynamic tensor that define no symbol: those of `dims`, or all.

        The runtime itself checks that none is above its bound.
        """
        defined = {definition.dim for definition in definitions}
        for dim in range(len(shape_of(value))) if dims is None else dims:
            if dim in defined:
                continue
            extent, found = shape_of(value)[dim], self.size(slot, dim)
            if not isinstance(extent, Extent):
                self.check("eq", found, self.builder.integer(extent), f"{what(dim)} must be {extent}", found)
            elif extent.expression is None or any(of_symbol(symbol) not in self._known for symbol in extent.expression.symbols):
                self.check_range(found, *extent.range, what(dim))
            else:
                self.check("eq", found, self._of(extent.expression), f"{what(dim)} must be {extent}{self.origins(extent)}", found)

    def origins(self, *values: int) -> str:
        """Returns what the symbols of these values are, where that says more than their names."""
        expressions = [value.expression for value in values if isinstance(value, Extent) and value.expression is not None]
        symbols = dict.fromkeys(symbol for expression in expressions for symbol in expression.symbols)
        known = [self._origins[symbol] for symbol in symbols if symbol in self._origins]
        return f", where {' and '.join(known)}" if known else ""

    # Checks

    def check_range(self, found: SSAValue, low: float, high: float, what: str, is_size: bool = True) -> None:
        """Fails where a number is out of a range. A size is never less than 0."""
        bounds = f"{low} or more" if high == INFINITE else f"{high} or less" if low == -INFINITE else f"{low} to {high}"
        if low != -INFINITE and not (low <= 0 and is_size):
            self.check("le", self.builder.integer(int(low)), found, f"{what} must be {bounds}", found)
        if high != INFINITE:
            self.check("le", found, self.builder.integer(int(high)), f"{what} must be {bounds}", found)

    def compare(self, relation: Relation, left: SSAValue, right: SSAValue, *, before: bool) -> SSAValue:
        """Returns the slot of whether a relation between two slots holds.

        Before it is computed, it holds `before`: a runtime that follows a method to check its memory, without computing, takes this path.
        """
        holds = self.builder.slot(BoolOp(before))
        self.builder.emit(CallOp(f"executorch_prim::{_COMPARISONS[relation]}", [left, right], (), [holds]))
        if relation == "ne":
            equal, holds = holds, self.builder.slot(BoolOp(True))
            self.builder.emit(CallOp("executorch_prim::sym_not.Scalar", [equal], (), [holds]))
        return holds

    def check(self, relation: Relation, left: SSAValue, right: SSAValue, message: str, found: SSAValue | None = None) -> None:
        """Fails with a message, which is about the number `found`, where a relation between two slots does not hold."""
        self.require(self.compare(relation, left, right, before=True), message, found)

    def require(self, holds: SSAValue, message: str, found: SSAValue | None = None) -> None:
        """Fails with a message where a truth value, or that in a tensor, is false."""
        key = (message, self.builder.location, found)
        self.builder.emit(JumpFalseOp(holds, self._failures.setdefault(key, f"fail_{len(self._failures)}")))

    def failures(self) -> Iterator[Operation]:
        """Yields the instructions at the end of the method that checks jump to, each of which fails."""
        if not self._failures:
            return
        false = self.builder.slot(BoolOp(False))
        yield JumpFalseOp(false, "end")
        one, nothing = self.builder.slot(IntListOp([self.builder.integer(1)])), self.builder.slot(DoubleOp(nan))
        number = self.builder.slot(TensorOp(tensor(f64, (1,))))
        for (message, location, found), label in self._failures.items():
            yield LabelOp(label)
            for op in (CallOp("aten::full.out", [one, found or nothing], [number]), FailOp(message, number)):
                op.location = location
                yield op
        # Never executed: the jump marks that no path continues from here to the end.
        yield JumpFalseOp(false, next(reversed(self._failures.values())))
        yield LabelOp("end")


def _by_attribute(slots: Mapping[Expression, SSAValue]) -> dict[ExtentAttr, SSAValue]:
    return {ExtentAttr.of(extent(expression)): slot for expression, slot in slots.items()}
