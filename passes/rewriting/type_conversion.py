"""Conversions that change types: operands are given in the new types, and casts bridge what is not converted yet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import FunctionType, UnrealizedConversionCastOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values

AttributeT = TypeVar("AttributeT", bound=Attribute)
Rule: TypeAlias = Callable[[Attribute], Attribute | None]
Materialization: TypeAlias = Callable[[SSAValue, Attribute], SSAValue]
"""The value of the wanted type with the content of a value; its operations are made detached."""


class TypeConverter:
    """Maps types one to one; a type without a rule stays.

    Where a value is wanted in another type than it has, a `builtin.unrealized_conversion_cast` stands for it. Casts that meet their
    inverse vanish in the end, and `materialize` makes something better of those that are left.

    Example:
        from xdsl.dialects.builtin import IntegerType, i32, i64

        types = TypeConverter().add(IntegerType, lambda kind: i64 if kind == i32 else None)
        assert types.convert(i32) == i64 and types.is_legal(i64)
    """

    def __init__(self, materialize: Materialization | None = None):
        self.materialize = materialize
        self._rules: list[tuple[type[Attribute], Rule]] = []
        self._found: dict[Attribute, Attribute] = {}

    def add(self, kind: type[AttributeT], convert: Callable[[AttributeT], Attribute | None]) -> Self:
        """Adds a rule for a class of types, which is asked before earlier ones; None leaves the type to those."""
        self._rules.append((kind, cast(Rule, convert)))
        self._found.clear()
        return self

    def convert(self, kind: Attribute) -> Attribute:
        """Returns the type that a type is converted to; a legal type is itself."""
        if kind not in self._found:
            converted = (rule(kind) for known, rule in reversed(self._rules) if isinstance(kind, known))
            self._found[kind] = next((item for item in converted if item is not None), kind)
        return self._found[kind]

    def is_legal(self, kind: Attribute) -> bool:
        """Returns whether a type stays as it is."""
        return self.convert(kind) == kind

    def why_illegal(self, op: Operation) -> str | None:
        """Returns the type of an operand, result, block argument or signature of `op` that is not legal, as a reason; None when all are."""
        types = [*(operand.type for operand in op.operands), *op.result_types]
        types += [argument.type for region in op.regions for block in region.blocks for argument in block.args]
        if isinstance(op, FuncOp):
            types += [*op.function_type.inputs.data, *op.function_type.outputs.data]
        wrong = next((kind for kind in types if not self.is_legal(kind)), None)
        return None if wrong is None else f"its type {wrong} is not legal"

    def value(self, value: SSAValue) -> SSAValue:
        """Returns `value` in the type that its type becomes."""
        return cast_to(value, self.convert(value.type))

    def is_bridge(self, op: UnrealizedConversionCastOp) -> bool:
        """Returns whether `op` casts between a type and what it becomes."""
        if len(op.inputs) != 1 or len(op.outputs) != 1:
            return False
        source, result = op.inputs[0].type, op.outputs[0].type
        return result in (source, self.convert(source)) or source == self.convert(result)


def cast_to(value: SSAValue, wanted: Attribute) -> SSAValue:
    """Returns `value` as one of the type `wanted`: itself, what a cast made it from, or the result of a new cast, detached."""
    if value.type == wanted:
        return value
    owner = value.owner
    if isinstance(owner, UnrealizedConversionCastOp) and len(owner.inputs) == 1 and owner.inputs[0].type == wanted:
        return owner.inputs[0]
    return UnrealizedConversionCastOp.cast_one(value, wanted)[1]


class ConversionPattern(Pattern):
    """A pattern that gets the operands of an operation in the types that they become."""

    def __init__(self, types: TypeConverter):
        self.types = types

    @abstractmethod
    def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> Operation | Sequence[SSAValue] | None:
        """Returns the replacement of `op`: a detached operation, or values for its results, of the converted types.

        `op` itself stands for a change in place, and None for no change; `decline` says why.
        """

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by what `convert` makes of it, with casts where types differ."""
        operands = [self.types.value(operand) for operand in op.operands]
        new = self.convert(op, operands, rewriter)
        casts = list(detached_ops(operands))
        for made in reversed(casts):
            # A dead operation must not keep its operands alive.
            if all(result.first_use is None for result in made.results):
                made.erase()
                casts.remove(made)
        for made in casts:
            rewriter.insert(made, InsertPoint.before(op))
        if new is None:
            return
        if new is op:
            rewriter.notify_op_modified(op)
            return
        if isinstance(new, Operation):
            rewriter.insert(new, InsertPoint.before(op))
            new = new.results
        results: list[SSAValue] = []
        for old, result in zip(op.results, new, strict=True):
            result.name_hint = result.name_hint or old.name_hint
            results.append(cast_to(result, old.type) if old.first_use is not None else result)
        for made in detached_ops([*new, *results]):
            rewriter.insert(made, InsertPoint.before(op))
        rewriter.replace(op, [], results)


def convert_arguments(block: Block, types: TypeConverter, rewriter: PatternRewriter) -> None:
    """Gives the arguments of a block the types that theirs become; readers get a cast back."""
    start = InsertPoint.at_start(block)
    for argument in list(block.args):
        old = argument.type
        if types.is_legal(old):
            continue
        new = rewriter.replace_value_with_new_type(argument, types.convert(old))
        cast(BlockArgument, new).location = argument.location
        back = cast_to(new, old)
        made = list(detached_ops([back]))
        for op in made:
            rewriter.insert(op, start)
        rewriter.replace_uses_with_if(new, back, lambda use, made=made: use.operation not in made)


class SignaturePattern(ConversionPattern):
    """The signature of a function, and the arguments of its body."""

    roots: ClassVar[tuple[type[Operation], ...]] = (FuncOp,)

    def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> Operation | None:
        """Changes the function in place."""
        assert isinstance(op, FuncOp)
        before = op.function_type
        inputs, outputs = ([self.types.convert(kind) for kind in kinds.data] for kinds in (before.inputs, before.outputs))
        op.function_type = FunctionType.from_lists(inputs, outputs)
        for block in op.body.blocks:
            convert_arguments(block, self.types, rewriter)
        return op


class OperandsPattern(ConversionPattern):
    """Rebuilds an operation with converted operands, results and block arguments."""

    def __init__(self, types: TypeConverter, kinds: tuple[type[Operation], ...]):
        super().__init__(types)
        self._kinds = kinds

    roots: ClassVar[tuple[type[Operation], ...]] = (Operation,)

    def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> Operation | None:
        """Makes the operation again, with its regions."""
        if not isinstance(op, self._kinds):
            return decline(f"{op.name} is not among the operations that take any type")
        results = [self.types.convert(kind) for kind in op.result_types]
        regions = [op.detach_region(region) for region in list(op.regions)]
        for region in regions:
            for block in region.blocks:
                convert_arguments(block, self.types, rewriter)
        return type(op).create(
            operands=operands,
            result_types=results,
            properties=op.properties,
            attributes=op.attributes,
            successors=op.successors,
            regions=regions,
        )


def type_patterns(types: TypeConverter, *kinds: type[Operation]) -> list[Pattern]:
    """Returns the patterns for functions, calls and returns, and for operations of `kinds`, which take any type.

    Example:
        legal = ConversionTarget("64 bits").dynamic(types.why_illegal, Operation)
        apply_partial_conversion(module.clone(), legal, type_patterns(types))
    """
    return [SignaturePattern(types), OperandsPattern(types, (CallOp, ReturnOp, *kinds))]


class ReconcileCastsPattern(Pattern):
    """A cast of a cast back to where it came from."""

    roots: ClassVar[tuple[type[Operation], ...]] = (UnrealizedConversionCastOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by what the cast before it casts."""
        inner = op.operands[0].owner if op.operands else None
        if not isinstance(inner, UnrealizedConversionCastOp) or [*inner.outputs] != [*op.operands]:
            return
        if [value.type for value in inner.inputs] == [*op.result_types]:
            rewriter.replace(op, [], list(inner.inputs))


class MaterializePattern(Pattern):
    """A cast that a type converter knows to make of operations."""

    roots: ClassVar[tuple[type[Operation], ...]] = (UnrealizedConversionCastOp,)

    def __init__(self, types: TypeConverter):
        self._types = types

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by the value that the converter makes."""
        assert isinstance(op, UnrealizedConversionCastOp)
        if self._types.materialize is not None and self._types.is_bridge(op):
            replace_with_values(op, [self._types.materialize(op.inputs[0], op.outputs[0].type)], rewriter)


def settle_casts(root: Operation, patterns: Sequence[Pattern]) -> None:
    """Removes the casts that a conversion with `patterns` no longer needs, and materializes the others."""
    converters = list(dict.fromkeys(pattern.types for pattern in patterns if isinstance(pattern, ConversionPattern)))
    if converters:
        apply_patterns(root, [ReconcileCastsPattern()])
        apply_patterns(root, [MaterializePattern(types) for types in converters])
