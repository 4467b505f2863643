"""Operator tables: the limits of the kernels of a target's CPU, and of the operators of a backend, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, TensorType, i8
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.ir.attribute_values import is_extents, to_value
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import exceeds, free_symbols, is_unknown, largest, may_exceed
from flambeau.dialects.ir.tensor_types import ElementType, element_of, is_static, normalize_dim, same_shape, shape_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerChannelOp, DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import by_row
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS, DEQUANTIZE, QuantizedOperator, quantized_operator

Check: TypeAlias = Callable[[SchemaOp], str | None]
"""Why an operation is not taken; None when it is. Its docstring says what is taken, for the table of operators."""


@dataclass(frozen=True)
class Limit:
    """The limits of a kernel on one argument, or on every tensor of a call. A field that is not given sets no limit."""

    argument: str = ""
    """Its name in the schema, or `result`; empty for all tensors, operands and the results that are read. A fused form need not have it."""
    dtypes: tuple[ElementType, ...] = ()
    rank: tuple[int, int] | None = None
    """The fewest and the most dimensions."""
    static: bool = False
    """Whether the sizes of a tensor are known."""
    row_major: bool = False
    """Whether the elements of a tensor lie in the order of its dimensions."""
    filled: bool = False
    """Whether a tensor has elements in every run."""
    bounded: bool = False
    """Whether every size has a greatest value, and does not depend on data."""
    least: float | None = None
    """Of a number, or of each number of a list."""
    only: Any = None
    """The one number."""
    length: int | None = None
    """The fewest numbers of a list."""
    tensors: int | None = None
    """How many tensors of a list there are, beside those left out."""
    dtype_of: str = ""
    """Another tensor, whose dtype it has: an argument's name, or `result`."""
    shape_of: str = ""
    """Another tensor, whose shape it has in every run."""

    def why_not(self, op: SchemaOp, but: Sequence[SSAValue] = ()) -> str | None:
        """Returns the first limit that a value fails, with the accepted values; None when all fit. Values in `but` are exempt."""
        values = [value for value in _values(op, self.argument) if value not in but]
        count = sum(isinstance(value, SSAValue) for value in values)
        if self.tensors is not None and count != self.tensors:
            return f"argument {self.argument!r} has {count} tensors, and its kernel takes {self.tensors}"
        if (reason := next((reason for value in values if (reason := self._why_not(value)) is not None), None)) is not None:
            return reason
        tensors = [cast("SSAValue", value) for value in values if isinstance(value, SSAValue)]
        return next((reason for value in tensors if (reason := self._why_unlike(op, value)) is not None), None)

    def _why_not(self, value: Any) -> str | None:
        name = f"argument {self.argument!r}" if self.argument not in ("", "result") else self.argument or "a tensor"
        if isinstance(value, SSAValue):
            return self._why_not_tensor(cast("SSAValue", value), name)
        if value is None or isinstance(value, Attribute):
            return None
        numbers: Sequence[float] = cast("tuple[float, ...]", value) if isinstance(value, tuple) else (value,)
        least = self.least
        small = [] if least is None else [number for number in numbers if may_exceed(cast(int, least), cast(int, number))]
        if small:
            return f"{name} has {small[0]}, and its kernel takes numbers from {least} on"
        if self.only is not None and value != self.only:
            return f"{name} is {value}, and its kernel takes {self.only}"
        if self.length is not None and len(numbers) < self.length:
            return f"{name} has {len(numbers)} numbers, and its kernel takes {self.length} or more"
        return None

    def _why_unlike(self, op: SchemaOp, value: SSAValue) -> str | None:
        for other in _values(op, self.dtype_of) if self.dtype_of else ():
            if element_of(value) != element_of(other):
                types = f"{element_of(value)}, and its kernel takes {element_of(other)}"
                return f"argument {self.argument!r} is of {types}, as {self.dtype_of!r} is"
        for other in _values(op, self.shape_of) if self.shape_of else ():
            if not same_shape(shape_of(value), shape_of(other)):
                shapes = f"{list(shape_of(value))}, and its kernel takes {list(shape_of(other))}"
                return f"argument {self.argument!r} has shape {shapes}, as {self.shape_of!r} has"
        return None

    def _why_not_tensor(self, value: SSAValue, name: str) -> str | None:
        if self.static and not is_static(value):
            return f"the sizes of {name} are not static"
        if self.dtypes and element_of(value) not in self.dtypes:
            return f"{name} is of {element_of(value)}, and its kernel takes {', '.join(map(str, self.dtypes))}"
        if self.rank is not None and not self.rank[0] <= len(shape_of(value)) <= self.rank[1]:
            ranks = " to ".join(map(str, dict.fromkeys(self.rank)))
            return f"{name} has {len(shape_of(value))} dimensions, and its kernel takes {ranks}"
        if self.bounded and any(is_unknown(size) or largest(size) is None for size in shape_of(value)):
            return f"a size of {name} depends on data, or has no greatest value"
        if self.filled and not all(map(exceeds, shape_of(value), [0] * len(shape_of(value)))):
            may = "may have no elements; sizes that are never 0 are exported with Dim(…, min=1)"
            return f"{name} has no elements" if 0 in map(largest, shape_of(value)) else f"{name} {may}"
        return f"{name} is not row-major" if self.row_major and not is_row_major(value) else None


def _values(op: SchemaOp, name: str) -> Iterator[Any]:
    """Yields the values of the argument `name`, items of lists one by one; the results for `result`, all tensors for the empty name."""
    if not name:
        yield from (*op.operands, *(result for result in op.results if len(op.results) == 1 or any(result.uses)))
    elif name == "result":
        yield from op.results
    elif any(argument.name == name for argument in op.schema.arguments):
        value = op.argument(name)
        yield from cast("list[Any]", value) if isinstance(value, list) else (value,)


def is_constant(value: object) -> bool:
    """Returns whether an argument is known when a program is compiled: absent, or loaded from an immutable global."""
    return value is None or (isinstance(value, OpResult) and isinstance(value.op, GlobalLoadConstantOp))


def is_dequantized_constant(value: object) -> bool:
    """Returns whether an argument is a dequantized constant."""
    op = value.op if isinstance(value, OpResult) else None
    return isinstance(op, DEQUANTIZATIONS) and all(map(is_constant, op.operands))


def _needs_a_size(op: SchemaOp) -> str | None:
    """Returns the reason when a numeric argument reads a symbolic size that no operand has; None otherwise."""
    open_values: list[Any] = [to_value(value) for value in op.properties.values() if isinstance(value, ExtentAttr) or is_extents(value)]
    numbers = [number for value in open_values for number in (cast("tuple[int, ...]", value) if isinstance(value, tuple) else (value,))]
    needed = {symbol.name for number in numbers for symbol in free_symbols(number)}
    sizes = [free_symbols(size) for value in op.operands for size in shape_of(value)] if needed else []
    lacking = needed - {symbols[0].name for symbols in sizes if len(symbols) == 1}
    return f"it needs the size {min(lacking)}, which none of its operands has" if lacking else None


def first_reason(limits: Sequence[Limit], op: SchemaOp) -> str | None:
    """Returns the reason of the first limit that fails; None when all hold."""
    return next((reason for limit in limits if (reason := limit.why_not(op)) is not None), None)


def _alone(op: SchemaOp) -> Iterable[Operation]:
    return ()


@dataclass(frozen=True)
class Rule:
    """The conditions under which a target or a backend runs an operator."""

    limits: tuple[Limit, ...] = ()
    constants: tuple[str, ...] = ()
    """The arguments that must be constants, because they are compiled in, or packed when a program is loaded."""
    folded: tuple[str, ...] = ()
    """The arguments that a backend does not see, where they are constants: it computes with others in their place."""
    checks: tuple[Check, ...] = ()
    """The conditions that limits cannot express. They are checked when all limits hold."""
    instead: Callable[..., Any] | None = None
    """What computes the same where this does not hold, in terms of other operators, from the arguments in the schema's order. Without one,
    the row's `decompose`."""
    dequantized: tuple[str, ...] = ()
    """The arguments among its constants that may be constants which the program dequantizes."""
    lacks: frozenset[Attribute] | None = None
    """The element types that no tensor of it may have, in place of those of the table."""
    together: Callable[[SchemaOp], Iterable[Operation]] = _alone
    """Gives other operations without which it is not taken."""

    def why_not(self, op: SchemaOp) -> str | None:
        """Returns the first condition of the rule that an operation fails; None when all hold."""
        for name in self.constants:
            value: Any = op.argument(name)
            values = cast("list[Any]", value) if isinstance(value, list) else [value]
            if not all(is_constant(item) or (name in self.dequantized and is_dequantized_constant(item)) for item in values):
                return f"argument {name!r} is not a constant"
        reason = first_reason(self.limits, op)
        return reason or next((reason for check in self.checks if (reason := check(op)) is not None), None)


def _all_constants(op: SchemaOp, value: SSAValue) -> bool:
    return True


def operator_name(kind: type[SchemaOp]) -> str:
    """Returns the name of an operator in the table of a backend: `add.Tensor` at the edge level, the full name in other dialects."""
    return kind.schema.name if kind.level() == "edge" else kind.name


@dataclass(frozen=True)
class OperatorTable:
    """The operators that a backend or a target takes."""

    rules: Mapping[str, Rule]
    """The operators: `add.Tensor` is that of the edge level, those of other dialects have their full names."""
    tensors: Limit = Limit()
    """The limits on the tensors of every operation."""
    absorbs: Callable[[SchemaOp, SSAValue], bool] = _all_constants
    """Whether a constant operand goes into the payload: all do, unless it says which."""
    most: int = 1_000_000
    """The most operations of one delegate."""
    checks: tuple[Check, ...] = ()
    """The conditions on every operation that limits cannot express. They are checked before those of its rule."""
    in_parts: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The operators that are not taken themselves, but the operators that their rows' decompositions consist of, or what
    `instead` gives in their place."""
    lacks: frozenset[Attribute] = frozenset()
    """The element types that no tensor of an operation may have, read or not, unless its rule has its own."""
    named: Callable[[type[SchemaOp]], str] = operator_name
    """The name of an operator in this table. That of a target has the kernels' names."""
    integers: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The operators between integers, by the same names: their rules are of the operator as it is in floats. What is taken is taken with
    the dequantizations before it and the quantization behind it, so that integers cross the borders. A clamp that limits what another
    operator gives is one of them."""
    activations: tuple[ElementType, ...] = (i8,)
    """The element types of operands and results between integers, the one to quantize to first."""
    weights: tuple[ElementType, ...] = (i8,)
    """The element types of dequantized constants between integers, whose zero points are 0, and whose scales are of outputs, if not one.
    The first is the one to quantize to."""
    numbers: NumberFormat = field(default_factory=NumberFormat)
    """The quantized numbers that a program gets for this backend."""
    knows_sizes: bool = False
    """Whether an operation may need a symbolic size that none of its operands has. A delegate sees its operands only."""

    def rule(self, kind: type[SchemaOp]) -> Rule | None:
        """Returns the rule of an operator; None where there is no such operator."""
        return self.rules.get(self.named(kind))

    @property
    def has_integers(self) -> bool:
        """Whether it takes quantized numbers: operators between integers, or quantization itself."""
        return bool(self.integers) or self.rule(QuantizePerTensorOp) is not None

    def why_no_form(self, op: SchemaOp) -> str | None:
        """Returns why an operator in floats would not be taken if its operands were dequantized and its result quantized."""
        rule = (self.integers or self.rules).get(self.named(type(op)))
        if self.integers and rule is not None:
            return self._why_not_tensors(op, rule) or self._why_not_checked(op, rule)
        if not self.integers and self.parts(op) is not None:
            return None
        return f"the backend has no {op.schema.name} between integers" if rule is None else self._why_not(op, self.rules)

    def why_not(self, op: Operation) -> str | None:
        """Returns why an operation is not taken; None when it is."""
        reason = self._why_not_between(op) if self.integers else ""
        return self._why_not(op, self.rules) if reason == "" or (reason is not None and self._has(op)) else reason

    def why_not_in_floats(self, op: Operation) -> str | None:
        """Returns why an operation is not taken as it stands, whatever is around it; None when it is."""
        return self._why_not(op, self.rules)

    def _has(self, op: Operation) -> bool:
        return isinstance(op, SchemaOp) and self.rule(type(op)) is not None

    def _why_not_between(self, op: Operation) -> str | None:
        """Returns why what an operation is part of is not taken between integers; the empty text if it is part of nothing such."""
        if isinstance(op, DEQUANTIZE):
            readers = dict.fromkeys(use.operation for use in op.results[0].uses)
            reasons = [self._why_not_between(reader) for reader in readers]
            return next((reason and f"what reads it stays: {reason}" for reason in reasons if reason is not None), None if reasons else "")
        found = quantized_operator(op)
        return "" if found is None else self.why_not_integers(found)

    def why_not_integers(self, found: QuantizedOperator) -> str | None:
        """Returns why an operator is not taken between integers; None when it is."""
        first, result = found.members[0], found.quantize.result
        for member in found.members:
            rule = self.integers.get(self.named(type(member)))
            if rule is None:
                return f"the backend has no {member.schema.name} between integers"
            tensors = self.tensors.why_not(member, (result, *(operand for operand in member.operands if _is_integer(operand))))
            reason = (self._why_no_integers(first, rule) if member is first else None) or tensors or self._why_not_checked(member, rule)
            if reason is not None:
                return reason
        kinds = ", ".join(map(str, self.activations))
        return None if element_of(result) in self.activations else f"its result becomes {element_of(result)}, and the backend gives {kinds}"

    def _why_no_integers(self, op: SchemaOp, rule: Rule) -> str | None:
        """Returns the reason when an operand of the first operator is not of integers that the backend has."""
        for argument in op.schema.arguments:
            is_weight = argument.name in rule.dequantized
            may_be_float = argument.name in rule.constants and not is_weight
            for value in _values(op, argument.name):
                if not isinstance(value, SSAValue) or _is_integer(cast("SSAValue", value)):
                    continue
                if not (may_be_float and is_constant(cast("SSAValue", value))):
                    reason = self._why_not_integer(cast("SSAValue", value).owner, op if is_weight else None)
                    if reason is not None:
                        return f"argument {argument.name!r} {reason}"
        return None

    def _why_not_integer(self, source: Operation | Block, layer: SchemaOp | None) -> str | None:
        """Returns the reason when an operand, the weight of `layer` unless that is None, is not dequantized from what the backend has."""
        if not isinstance(source, DEQUANTIZE) or (isinstance(source, DequantizePerChannelOp) and layer is None):
            return "is not dequantized with one scale"
        kinds, stored = self.activations if layer is None else self.weights, element_of(source.operands[0])
        if stored not in kinds:
            return f"is of {stored}, and the backend takes {', '.join(map(str, kinds))}"
        match source:
            case DequantizePerTensorOp() if layer is not None and (zero_point := source.argument("zero_point")):
                return f"has the zero point {zero_point}, and that of a weight is 0"
            case DequantizePerChannelOp() if layer is not None:
                outputs = int(layer.schema.base == "convolution" and layer.argument("transposed"))
                axis = normalize_dim(source.argument("axis"), len(shape_of(source.operands[0])))
                return None if axis == outputs else f"has scales along dimension {axis}, and its outputs are along {outputs}"
            case _:
                return None

    def parts(self, op: SchemaOp) -> Callable[[SchemaOp], Any] | None:
        """Returns what gives the operators that are taken in place of an operation which is not; None where the table says none."""
        if self._why_not(op, self.in_parts) is None:
            instead = self.in_parts[self.named(type(op))].instead
            return by_row if instead is None else lambda op: instead(*op.arguments())
        rule = self.rule(type(op))
        instead = rule.instead if rule is not None and self._why_not_tensors(op, rule) is None else None
        return None if instead is None else lambda op: instead(*op.arguments())

    def lacking(self, name: str, values: Iterable[SSAValue]) -> str | None:
        """Returns the reason when a value has an element type that the operator called `name` here lacks."""
        rule = self.rules.get(name)
        lacks = self.lacks if rule is None or rule.lacks is None else rule.lacks
        elements = (element_of(value) for value in values if isinstance(value.type, TensorType)) if lacks else ()
        found = next((element for element in elements if element in lacks), None)
        return None if found is None else f"a tensor is of {found}, and its kernel does not take that"

    def _why_not(self, op: Operation, rules: Mapping[str, Rule]) -> str | None:
        rule = rules.get(self.named(type(op))) if isinstance(op, SchemaOp) else None
        if not isinstance(op, SchemaOp) or rule is None:
            is_operator = isinstance(op, SchemaOp) and op.level() not in ("aten", "core")
            if isinstance(op, SchemaOp) and self.named(type(op)) in self.integers:
                return "it is taken between integers only: not all of its operands are dequantized, or its result is not just quantized"
            return "the backend has no such operator" if is_operator else "it is not an operator of the edge level"
        reason = (None if self.knows_sizes else _needs_a_size(op)) or self._why_not_tensors(op, rule)
        return reason or self._why_not_checked(op, rule)

    def _why_not_checked(self, op: SchemaOp, rule: Rule) -> str | None:
        """Returns the first condition on every operation, or of the rule, that fails."""
        return next((reason for check in self.checks if (reason := check(op)) is not None), None) or rule.why_not(op)

    def _why_not_tensors(self, op: SchemaOp, rule: Rule) -> str | None:
        """Returns the reason when a tensor is refused. Folded constants are exempt; dtypes of the rule replace the table's."""
        if (reason := self.lacking(self.named(type(op)), (*op.operands, *op.results))) is not None:
            return reason
        if self.tensors == _ANY:
            return None
        own = [limit for limit in rule.limits if limit.dtypes and limit.argument]
        constants: list[Any] = [value for name in rule.folded if is_constant(value := op.argument(name))]
        others: list[Any] = [*constants, *(value for limit in own for value in _values(op, limit.argument))]
        reasons = (_of_argument(self.tensors, limit).why_not(op, constants) for limit in own)
        return next(filter(None, reasons), None) or self.tensors.why_not(op, others)


_ANY = Limit()


def _is_integer(value: SSAValue) -> bool:
    return isinstance(element_of(value), IntegerType)


@cache
def _of_argument(tensors: Limit, own: Limit) -> Limit:
    return replace(tensors, argument=own.argument, dtypes=own.dtypes)
