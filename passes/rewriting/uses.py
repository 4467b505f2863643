"""Replaces values in operations with many operands, in constant time for each use.

xDSL keeps operands in a tuple and copies it whole when one of them changes, so renaming every operand of a return of thousands of values
takes quadratic time. Within `editing_operands`, an operation with many operands that loses one keeps them in a list instead, which reads
like xDSL's tuple; at the end of the block they are a tuple again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import SupportsIndex, cast, overload

from xdsl.ir import Attribute, Operation, SSAValue, SSAValues, Use
from xdsl.pattern_rewriter import PatternRewriter

MANY = 64
"""Operations with no more operands than this stay with xDSL's tuples: copying one costs less than anything else that a rewrite does."""


class _Operands(list[SSAValue]):
    """Operands that can be changed in place; for readers, the same as `SSAValues`."""

    @property
    def types(self) -> tuple[Attribute, ...]:
        return tuple(value.type for value in self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> SSAValue: ...

    @overload
    def __getitem__(self, index: slice) -> SSAValues[SSAValue]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> SSAValue | SSAValues[SSAValue]:  # pyright: ignore[reportIncompatibleMethodOverride] slices are tuples
        return SSAValues(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, _Operands) else other)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] as tuples do
        return hash(tuple(self))


_EDITED: ContextVar[dict[Operation, None] | None] = ContextVar("flambeau_edited_operands", default=None)


@contextmanager
def editing_operands() -> Generator[None]:
    """Makes `replace_uses` and our rewriters cheap on wide operations within the block. Such blocks may lie in each other."""
    if _EDITED.get() is not None:
        yield
        return
    edited: dict[Operation, None] = {}
    token = _EDITED.set(edited)
    try:
        yield
    finally:
        _EDITED.reset(token)
        for op in edited:
            if isinstance(op._operands, _Operands):  # pyright: ignore[reportPrivateUsage] xDSL has no other way to change one operand in place
                op._operands = SSAValues(op._operands)  # pyright: ignore[reportPrivateUsage] as above


def replace_uses(value: SSAValue, new: SSAValue, only: Callable[[Use], bool] | None = None) -> list[Operation]:
    """Replaces a value in all its uses, or in those that `only` accepts, and hands on its name.

    Returns:
        The users, once for each use.
    """
    if value is new:
        return []
    users: list[Operation] = []
    edited = _EDITED.get()
    for use in tuple(value.uses):
        if only is not None and not only(use):
            continue
        users.append(op := use.operation)
        if edited is None or len(op._operands) <= MANY:  # pyright: ignore[reportPrivateUsage] as above
            op.operands[use.index] = new
            continue
        operands = op._operands  # pyright: ignore[reportPrivateUsage] as above
        if not isinstance(operands, _Operands):
            edited[op] = None
            operands = _Operands(operands)
            op._operands = cast("SSAValues[SSAValue]", operands)  # pyright: ignore[reportPrivateUsage] as above
        value.remove_use(use)
        new.add_use(use)
        operands[use.index] = new
    if new.name_hint is None:
        new.name_hint = value.name_hint
    return users


class Rewriter(PatternRewriter):
    """xDSL's rewriter, which tells its listeners the same, with replacements as `replace_uses` makes them."""

    def replace_all_uses_with(self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True) -> None:
        """As xDSL's."""
        if to_value is None:
            super().replace_all_uses_with(from_value, to_value, safe_erase)
        else:
            self._tell(replace_uses(from_value, to_value))

    def replace_uses_with_if(self, from_value: SSAValue, to_value: SSAValue, predicate: Callable[[Use], bool]) -> None:
        """As xDSL's."""
        self._tell(replace_uses(from_value, to_value, predicate))

    def _tell(self, users: list[Operation]) -> None:
        self.has_done_action |= bool(users)
        for op in users:
            self.handle_operation_modification(op)
