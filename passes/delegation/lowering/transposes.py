"""Motion of transposes in a dialect with images [N, H, W, C]: they move from operands to results, and cancel where they meet.

Converters write transposes around each operator of images; what is left after these patterns is at the border, or around operators that
tell their dimensions apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import element_of, same_shape, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites

Order = tuple[int, ...]


@dataclass(frozen=True)
class Transposes:
    """The transposes of a dialect.

    Attributes:
        kind: the operator that transposes its one operand.
        argument: its argument with the order: the dimension of the operand that each dimension of the result is.
        reshaped: gives a value in another shape, by the dialect's operator; at most one size of it may be unknown.
        elementwise: whether an operator of the dialect computes each element from those at its place, so that dimensions mean nothing.
        constants: those of the module; one beside a transpose is transposed when compiled.
    """

    kind: type[SchemaOp]
    argument: str
    reshaped: Callable[[SSAValue, Sequence[int]], SSAValue]
    elementwise: Callable[[SchemaOp], bool]
    constants: ModuleConstants

    def order(self, value: SSAValue) -> Order | None:
        """Returns the order of the transpose that computes a value; None if no transpose does."""
        return self._own_order(value.owner) if isinstance(value.owner, self.kind) else None

    def before(self, value: SSAValue) -> SSAValue:
        """Returns the operand of the transpose that computes a value."""
        assert isinstance(value.owner, self.kind)
        return value.owner.operands[0]

    def transposed(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Returns a value with its dimensions in another order."""
        tensors = [argument.name for argument in self.kind.schema.arguments if argument.type.is_tensor]
        given: dict[str, Any] = {tensors[0]: value, self.argument: tuple(order)}
        return self.kind(**given).result

    def join(self) -> Pattern:
        """Returns a pattern that joins transpose(transpose(x)) to one transpose, and drops a transpose that keeps the order."""

        @rewrites(self.kind, counter="transposes cancelled")
        def join_transposes(op: SchemaOp) -> SSAValue | None:
            order, first = self._own_order(op), self.order(op.operands[0])
            if order == tuple(range(len(order))):
                return op.operands[0]
            return None if first is None else self.transposed(self.before(op.operands[0]), [first[dim] for dim in order])

        return join_transposes

    def past_elements(self, root: type[SchemaOp]) -> Pattern:
        """Returns a pattern that replaces f(transpose(x), …) by transpose(f(x, …)) for each elementwise operator f, a `root`.

        Operands that are no transposes of the same order are constants.
        """

        @rewrites(root, counter="transposes moved")
        def past_elements(op: SchemaOp) -> SSAValue | None:
            order = next((found for value in op.operands if (found := self.order(value)) is not None), None)
            if order is None or not self.elementwise(op) or len(order) != len(shape_of(op.result)):
                return None
            operands = [self._in_order(value, order) for value in op.operands]
            moved = [value for value in operands if value is not None]
            return self.transposed(op.rebuilt(moved).result, order) if len(moved) == len(operands) else None

        return past_elements

    def past_axis(self, kind: type[SchemaOp]) -> Pattern:
        """Returns a pattern that replaces f(transpose(x), transpose(y), …) by transpose(f(x, y, …)), along the same `axis` of all."""

        def rewrite(op: SchemaOp) -> SSAValue | None:
            order = self.order(op.operands[0])
            if order is None or any(self.order(value) != order for value in op.operands):
                return None
            return self.transposed(op.rebuilt([self.before(value) for value in op.operands], axis=order[op.argument("axis")]).result, order)

        rewrite.__name__ = f"past_{kind.__name__}"
        return rewrites(kind, counter="transposes moved")(rewrite)

    def past(self, kind: type[SchemaOp], *lists: str) -> Pattern:
        """Returns a pattern that replaces f(transpose(x), …) by transpose(f(x, …)), with the arguments `lists` in x's order of dimensions.

        A list has the same number of entries for each dimension, one or several; other operands stay.
        """

        def rewrite(op: SchemaOp) -> SSAValue | None:
            order = self.order(op.operands[0])
            if order is None:
                return None
            renamed: dict[str, Any] = {name: _in_dimensions(op.argument(name), inverse(order)) for name in lists}
            return self.transposed(op.rebuilt([self.before(op.operands[0]), *op.operands[1:]], **renamed).result, order)

        rewrite.__name__ = f"past_{kind.schema.base}"
        return rewrites(kind, counter="transposes moved")(rewrite)

    def as_reshape(self) -> Pattern:
        """Returns a pattern that replaces a transpose which moves only dimensions of one entry by a reshape."""

        @rewrites(self.kind, counter="transposes that are reshapes")
        def as_reshape(op: SchemaOp) -> SSAValue | None:
            shape = shape_of(op.operands[0])
            moved = [dim for dim in self._own_order(op) if not provably_equal(shape[dim], 1)]
            is_reshape = moved == sorted(moved) and sum(not is_known(extent) for extent in shape) <= 1
            return self.reshaped(op.operands[0], shape_of(op.result)) if is_reshape else None

        return as_reshape

    def join_reshapes(self, kind: type[SchemaOp]) -> Pattern:
        """Returns a pattern that joins reshape(reshape(x)) to one reshape, and drops a reshape to the same shape."""

        @rewrites(kind)
        def join_reshapes(op: SchemaOp) -> SSAValue | None:
            x = op.operands[0]
            if isinstance(x.owner, kind):
                return self.reshaped(x.owner.operands[0], shape_of(op.result))
            return x if same_shape(shape_of(x), shape_of(op.result)) else None

        return join_reshapes

    def _own_order(self, op: SchemaOp) -> Order:
        return tuple(op.argument(self.argument))

    def _in_order(self, value: SSAValue, order: Order) -> SSAValue | None:
        """Returns the value that transposed to `order` is `value`: a transpose's operand, or a new constant; None if there is neither."""
        if self.order(value) == order:
            return self.before(value)
        array = self.constants.array(value)
        if array is None:
            return None
        moved = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(inverse(order))
        return self.constants.add(f"{self.constants.name(value)}.transposed", moved, tensor(element_of(value), moved.shape)).result


def inverse(order: Sequence[int]) -> Order:
    """Returns the order that a transpose of this order becomes undone by."""
    return tuple(order.index(dim) for dim in range(len(order)))


def _in_dimensions(numbers: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Returns a list with so many entries for each dimension, of the dimensions in another order."""
    each = len(numbers) // len(order)
    return tuple(number for dim in order for number in numbers[each * dim : each * (dim + 1)])
