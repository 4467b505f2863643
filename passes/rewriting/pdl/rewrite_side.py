"""The rewriting side of a `pdl.pattern` as functions that make and replace operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.pdl.state import PdlError, State, operation_kind

Step: TypeAlias = Callable[[State, PatternRewriter], None]
"""One operation of the rewriting side."""

_SEGMENTS = "operandSegmentSizes"


def compile_rewrite(rewrite: pdl.RewriteOp, context: Context) -> list[Step]:
    """Returns the steps of a `pdl.rewrite`, in order. Raises PdlError for what has no meaning here."""
    if rewrite.name_ is not None or rewrite.body.first_block is None:
        raise PdlError(rewrite, "a rewrite is written out in its region: rewrites in native code are not known here")
    return [_step(op, context) for op in rewrite.body.block.ops]


def _step(op: Operation, context: Context) -> Step:
    match op:
        case pdl.AttributeOp(value=constant) | pdl.TypeOp(constantType=constant) if constant is not None:
            return _set(op, lambda state: constant)
        case pdl.AttributeOp() | pdl.TypeOp():
            raise PdlError(op, f"{op.name} of a rewrite needs a value: what was matched is named directly")
        case pdl.ResultOp():
            parent, index = op.parent_, op.index.value.data
            return _set(op, lambda state: _result(op, state[parent], index))
        case pdl.ResultsOp() if op.index is None:
            parent = op.parent_
            return _set(op, lambda state: tuple(state[parent].results))
        case pdl.OperationOp():
            return _operation(op, context)
        case pdl.ReplaceOp():
            return _replace(op)
        case pdl.EraseOp():
            return _erase(op)
        case _:
            raise PdlError(op, f"{op.name} cannot stand on the rewriting side of a pattern")


def _set(op: Operation, compute: Callable[[State], Any]) -> Step:
    value = op.results[0]

    def step(state: State, rewriter: PatternRewriter) -> None:
        state[value] = compute(state)

    return step


def _result(at: Operation, op: Operation, index: int) -> SSAValue:
    if index >= len(op.results):
        raise PdlError(at, f"{op.name} has {len(op.results)} results, and not a result {index}")
    return op.results[index]


def _flat(values: Sequence[SSAValue], state: State) -> list[Any]:
    """Returns the IR bound to `pdl` values, with ranges flattened."""
    found: list[Any] = []
    for value in values:
        item = state[value]
        if isinstance(item, tuple):
            found += cast("tuple[Any, ...]", item)
        else:
            found.append(item)
    return found


def _replace(op: pdl.ReplaceOp) -> Step:
    old, new, values = op.op_value, op.repl_operation, tuple(op.repl_values)

    def step(state: State, rewriter: PatternRewriter) -> None:
        target: Operation = state[old]
        results = list(state[new].results) if new is not None else _flat(values, state)
        if len(results) != len(target.results):
            raise PdlError(op, f"{target.name} has {len(target.results)} results and is replaced by {len(results)} values")
        rewriter.replace(target, [], results)

    return step


def _erase(op: pdl.EraseOp) -> Step:
    def step(state: State, rewriter: PatternRewriter) -> None:
        target: Operation = state[op.op_value]
        if any(result.first_use is not None for result in target.results):
            raise PdlError(op, f"{target.name} cannot be erased: its results are used; replace it")
        rewriter.erase(target)

    return step


def _operation(op: pdl.OperationOp, context: Context) -> Step:
    kind = operation_kind(op, context)
    if kind is None:
        raise PdlError(op, "an operation that is made needs a name")
    names = [item.data for item in op.attributeValueNames.data]
    given = tuple(zip(names, op.attribute_values, strict=True))
    operand_values, type_values, made = tuple(op.operand_values), tuple(op.type_values), op.op
    known = set(kind.get_irdl_definition().properties) if issubclass(kind, IRDLOperation) else set[str]()
    replaced = next((use.operation.op_value for use in made.uses if isinstance(use.operation, pdl.ReplaceOp)), None)
    if not type_values and replaced is None and not (issubclass(kind, SchemaOp) and kind.has("infer")):
        raise PdlError(op, f"the result types of {kind.name} cannot be inferred: give them after ->")

    def step(state: State, rewriter: PatternRewriter) -> None:
        operands = _flat(operand_values, state)
        properties: dict[str, Attribute] = {}
        attributes: dict[str, Attribute] = {}
        for key, value in given:
            (properties if key in known else attributes)[key] = state[value]
        if issubclass(kind, SchemaOp) and kind.has_segments() and _SEGMENTS not in properties:
            properties[_SEGMENTS] = _segments(op, kind, len(operands))
        types: Sequence[Attribute]
        if type_values:
            types = _flat(type_values, state)
        elif replaced is not None:
            types = state[replaced].result_types
        else:
            assert issubclass(kind, SchemaOp)
            types = kind.infer_types(operands, properties)
        new = kind.create(operands=operands, result_types=types, properties=properties, attributes=attributes)
        state[made] = rewriter.insert(new)

    return step


def _segments(op: Operation, kind: type[SchemaOp], count: int) -> Attribute:
    """Returns the operand segments of an operator with `count` operands: all tensors are present, or the first ones."""
    arguments = kind.schema.operands
    if any(argument.type.is_list for argument in arguments):
        if len(arguments) == 1:
            return DenseArrayBase.from_list(i32, [count])
        raise PdlError(op, f"{kind.name} takes lists of tensors: say how many operands belong to each with {_SEGMENTS}")
    if count > len(arguments):
        raise PdlError(op, f"{kind.name} takes {len(arguments)} tensors, got {count}")
    return DenseArrayBase.from_list(i32, [int(index < count) for index in range(len(arguments))])
