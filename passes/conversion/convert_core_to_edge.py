"""`convert-core-to-edge`: makes types, scalars and memory of Core ATen explicit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import dim_order, how_to_bound, row_major, upper_bounds
from flambeau.dialects.edge.operator_rules import compute_element, promoted_operands
from flambeau.dialects.flambeau.method_interface import inputs_of
from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError
from flambeau.dialects.ir.extents import is_known, largest, symbol_of
from flambeau.dialects.ir.tensor_types import ElementType, dtype_of, element_of, holds_complex, shape_of
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import Value
from flambeau.dialects.schema.syntax import normalized_attribute
from flambeau.passes.manager import OperationPass
from flambeau.passes.rewriting.dialect_conversion import apply_partial_conversion
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.pattern import Pattern, rename_values
from flambeau.passes.targets.interface import Target, TargetName, find_target

_LEVELS = {
    "aten": "it does not belong to the edge level; run aten-to-core first",
    "core": "it has no form at the edge level",
    "edge": None,
    "fused": None,
}
"""Why operators of each level may not stay; None where they may."""


@dataclass(frozen=True)
class ToEdgePattern(Pattern):
    """Replaces an operator of an earlier level by its `edge` sibling.

    Operands are row-major, copied where they are not, and cast to the type it computes in. Numbers are written in that type.
    """

    source: Literal["aten", "core"]
    """The earlier level."""
    roots = (SchemaOp,)
    counter = "operators converted"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when it belongs to the earlier level, and what a row of another dialect reads in another layout."""
        assert isinstance(op, SchemaOp)
        if op.level() not in _LEVELS:
            operands = [self._row_major(op, operand, rewriter) for operand in op.operands]
            new = op.rebuilt(operands, result_types=op.result_types)
            rename_values(op, new)
            return rewriter.replace(op, new)
        if op.level() != self.source:
            return
        try:
            for value in (*op.operands, *op.results):
                upper_bounds(value)
        except TypeError as error:
            return decline(str(error))
        operands: Sequence[SSAValue] = [self._row_major(op, operand, rewriter) for operand in op.operands]
        properties = dict(op.properties)
        element = compute_element(op)
        if element is not None:
            first = len(operands) - len(promoted_operands(op))
            operands = [*operands[:first], *(self._cast(op, operand, element, rewriter) for operand in operands[first:])]
            _write_scalars(op, properties, element)
        types = [row_major(result) for result in op.results]
        new = op.at("edge").from_attributes(operands, types, properties, dict(op.attributes))
        rename_values(op, new)
        rewriter.replace(op, new)

    @staticmethod
    def _row_major(op: Operation, operand: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        if row_major(operand) == operand.type:
            return operand
        return rewriter.insert(ToDimOrderCopyOp(operand, dim_order=tuple(range(len(shape_of(operand))))), InsertPoint.before(op)).result

    @staticmethod
    def _cast(op: Operation, operand: SSAValue, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
        if element_of(operand) == element:
            return operand
        kind = find_op("edge._to_copy")
        assert kind is not None
        return rewriter.insert(kind(operand, dtype=element), InsertPoint.before(op)).result


def _write_scalars(op: SchemaOp, properties: dict[str, Attribute], element: ElementType) -> None:
    category = dtype_of(element).category
    for argument in op.schema.arguments:
        if argument.type.base != "Scalar" or argument.name not in properties:
            continue
        value: Any = op.argument(argument.name)
        if not is_known(value):
            continue
        written: Value = float(value) if category == 2 else int(value) if category == 1 and not isinstance(value, float) else value
        attribute = normalized_attribute(argument, written)
        if attribute is not None:
            properties[argument.name] = attribute


def _is_settled_by(value: SSAValue, target: Target) -> bool:
    """Returns whether an input is a tensor in a layout that the target does not take, or a complex one, which only operators read."""
    if not isinstance(value.type, TensorType) or (target.takes_input(dim_order(value)) and not holds_complex(value)):
        return False
    return all(isinstance(use.operation, SchemaOp | ReturnOp) for use in value.uses)


def _settle_inputs(op: Operation, target: Target) -> None:
    """Makes inputs row-major whose layout a caller of the target cannot give; what functions of the module give to each other stays."""
    functions = [item for item in op.walk() if isinstance(item, FuncOp) and item.body.blocks]
    wrong = {item: [a for a in item.body.block.args if _is_settled_by(a, target)] for item in functions}
    if not any(wrong.values()):
        return
    called = {item.callee.string_value() for item in op.get_toplevel_object().walk() if isinstance(item, CallOp)}
    for function, arguments in wrong.items():
        if function.sym_name.data in called:
            continue
        for argument in arguments:
            Rewriter.replace_value_with_new_type(argument, row_major(argument))
        function.update_function_type()


def _why_illegal(op: Operation) -> str | None:
    """Returns why an operator may not stay: for its level, or, where a row of another dialect made it, for the layouts that it reads."""
    assert isinstance(op, SchemaOp)
    if op.level() in _LEVELS:
        return _LEVELS[op.level()]
    return None if all(row_major(operand) == operand.type for operand in op.operands) else "it reads a tensor that is not row-major"


def _refuse_unbounded(op: Operation) -> None:
    """Raises OperationError for the sizes of inputs without a maximum, or else for those that data decides; each is named once."""
    inputs: dict[str, tuple[Operation, list[str]]] = {}
    results: dict[str, tuple[Operation, list[str]]] = {}
    for item in op.walk():
        if isinstance(item, FuncOp) and item.body.blocks:
            tensors = [leaf.name for leaf in inputs_of(item) if leaf.is_tensor]
            for index, (name, argument) in enumerate(zip(tensors, item.body.block.args, strict=True)):
                _note_unbounded(argument, f"input {index} {name!r}", item, inputs)
        else:
            for index, result in enumerate(item.results):
                _note_unbounded(result, f"result {index} of {item.name}", item, results)
    found = [
        Diagnostic("note", f"{' and '.join(places)}: the size {name} has no maximum: {how_to_bound(name)}", op=where)
        for name, (where, places) in (inputs or results).items()
    ]
    if not found:
        return
    first = found[0]
    assert first.op is not None
    if len(found) == 1:
        raise OperationError(first.op, first.message)
    raise OperationError(first.op, f"{len(found)} sizes have no maximum", tuple(found))


def _note_unbounded(value: SSAValue, name: str, where: Operation, found: dict[str, tuple[Operation, list[str]]]) -> None:
    """Notes the sizes of a value that are symbols without a maximum: an input's in each place, others where they stand first."""
    if not isinstance(value.type, TensorType):
        return
    for dim, size in enumerate(shape_of(value)):
        if (symbol := symbol_of(size)) is not None and largest(size) is None:
            first, places = found.setdefault(symbol.name, (where, []))
            if first is where:
                places.append(f"{name}, dimension {dim}")


@dataclass(frozen=True)
class ConvertCoreToEdgePass(OperationPass):
    """Replaces `core` operators by `edge` ones.

    Type promotion becomes `edge._to_copy` of the operands, numbers are written in the type that is computed in, and views become copies
    (`core.view` -> `edge.view_copy`): which of them cost nothing is decided where storage is known. Operators that read an input in
    another layout read a row-major copy of it.

    Needs: only `core` operators. Leaves: only `edge` operators, whose tensors are row-major until a layout pass says otherwise.
    """

    name = "convert-core-to-edge"
    target: TargetName | None = None
    """Whose callers give the inputs: one that they cannot give in its layout becomes row-major. Without it, inputs keep their layouts."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites what is inside `op` in place."""
        _refuse_unbounded(op)
        if self.target is not None:
            _settle_inputs(op, find_target(self.target))
        target = ConversionTarget("the edge level").dynamic(_why_illegal, SchemaOp)
        apply_partial_conversion(op, target, [ToEdgePattern("core")])
