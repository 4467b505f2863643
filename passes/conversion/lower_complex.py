"""`lower-complex`: rewrites operators on complex tensors in terms of their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.tensor_types import element_of, holds_complex, is_static, shape_of, tensor
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.inferred_types import fits
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.rewriting.retyping import retyped


def _parts_of(value: SSAValue) -> Parts:
    """Returns the real and imaginary parts of a complex value: the operands of its `aten.complex`, or slices of `view_as_real`."""
    op = value.owner
    if isinstance(op, SchemaOp) and op.name == "aten.complex":
        return Parts(*op.operands)
    pairs = op.operands[0] if isinstance(op, SchemaOp) and op.name == "aten.view_as_complex" else aten.view_as_real(value)
    return Parts(aten.select.int(pairs, -1, 0), aten.select.int(pairs, -1, 1))


def _is_made(value: SSAValue) -> bool:
    """Returns whether a value is the result of `aten.complex`."""
    return isinstance(value.owner, SchemaOp) and value.owner.name == "aten.complex"


def _argument(value: Any) -> Any:
    if isinstance(value, SSAValue):
        given = cast(SSAValue, value)
        return _parts_of(given) if holds_complex(given) else given
    return [_argument(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _result(found: Any, wanted: OpResult) -> SSAValue:
    """Returns what a row gives for a result as one value; parts are joined by `aten.complex`."""
    if not isinstance(found, Parts):
        return cast(SSAValue, found) if is_static(found) else retyped(found, wanted.type)
    parts = [aten.full((), 0.0, element_of(found.real)) if part is None else part for part in (found.real, found.imaginary)]
    return aten.complex(*(_of_shape(part, shape_of(wanted)) for part in parts))


def _of_shape(part: SSAValue, shape: Sequence[int]) -> SSAValue:
    kind = tensor(element_of(part), shape)
    if isinstance(part, OpResult) and part.op.parent is None and fits(kind, part.type):
        return retyped(part, kind)
    return part if shape_of(part) == tuple(shape) else aten.expand(part, tuple(shape))


def _erase_unused(values: Iterable[SSAValue], used: Collection[Operation]) -> None:
    """Erases the new operations on `values` that are not among those `used`: a row need not use both parts of what it gets."""
    for use in [use for value in values for use in value.uses]:
        if use.operation.parent is None and use.operation not in used:
            _erase_unused(use.operation.results, used)
            use.operation.erase()


@dataclass(frozen=True)
class LowerComplexPattern(Pattern):
    """Replaces an operator that reads or makes complex tensors by its row on their parts, or by its decomposition."""

    roots = (SchemaOp,)
    counter = "complex operators rewritten"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` if it has a complex operand or result."""
        assert isinstance(op, SchemaOp)
        if op.level() != "aten" and not (type(op) is op.siblings["row"] and op.has("on_parts")):
            return None
        if not any(map(holds_complex, (*op.operands, *op.results))):
            return None
        if op.name == "aten.view_as_real" and not _is_made(op.operands[0]):
            return None  # it splits a complex value that was not made from parts
        try:
            found = self._in_parts(op)
            if found is None:
                return _erase_unused(op.operands, ())
            values = [_result(item, result) for item, result in zip(found, op.results, strict=True)]
        except (ValueError, TypeError, IndexError, VerifyException) as error:
            raise OperationError(op, f"{op.name} on complex tensors cannot be computed from their parts: {error}") from error
        used = set(detached_ops(values))
        _erase_unused([*op.operands, *(result for new in used for result in new.results)], used)
        return replace_with_values(op, values, rewriter)

    @staticmethod
    def _in_parts(op: SchemaOp) -> Sequence[Any] | None:
        if op.has("on_parts"):
            found = op.call("on_parts", [_argument(value) for value in op.arguments()])
        elif op.has("decompose"):
            found = op.call("decompose", op.arguments())
        else:
            return decline(f"{op.schema.name} has no `on_parts` and no decomposition")
        if found is None:
            return None
        return cast("Sequence[Any]", found) if isinstance(found, list | tuple) else [found]


@dataclass(frozen=True)
class LowerComplexPass(PatternPass):
    """Rewrites operators on complex tensors in terms of operators on their real and imaginary parts.

    Complex tensors are then inputs, constants and outputs: `aten.view_as_real` takes them apart, and `aten.complex` puts them together. So
    a program of complex numbers needs no kernels for them.

    Needs: `aten` operators with inferred types. Leaves: operators with complex tensors only where the operator moves no number or has
    kernels that take them, and those whose rows say neither `on_parts` nor `decompose`.
    """

    name = "lower-complex"
    works_on = ("aten",)

    def patterns(self) -> Sequence[Pattern]:
        """Returns the pattern, which rewrites by the operator's row."""
        return [LowerComplexPattern()]
