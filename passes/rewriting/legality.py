"""The goal of a conversion: the operations that are legal afterwards, and the reasons why the others are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeAlias

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

Check: TypeAlias = Callable[[Operation], str | None]
"""Why an operation is illegal; None when it is legal."""


@dataclass(frozen=True)
class _Rule:
    check: Check


def name_of(op: Operation) -> str:
    """Returns the name of an operation, even if its dialect is unknown."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


class ConversionTarget:
    """The operations that are legal after a conversion, by dialect (`"edge"`), by name (`"func.func"`) or by class.

    A class stands for its subclasses too, and the class of an operator's row for its siblings of all levels: say one level's by name, as
    `"aten.relu"`. Classes are asked first, then names, then dialects; of rules of one kind the last one given.
    An operation without a rule is unknown: a partial conversion lets it be, a full one does not.

    Example:
        target = ConversionTarget("the edge level").legal("edge", "func").illegal("aten", because="run compile first")
        assert target.why_illegal(total) == "run compile first"
    """

    def __init__(self, name: str):
        self.name = name
        """The name of the goal in messages."""
        self._by_class: list[tuple[type[Operation], _Rule]] = []
        self._by_name: dict[str, _Rule] = {}
        self._closed: tuple[type[Operation], ...] = ()
        self._found: dict[tuple[type[Operation], str], _Rule | None] = {}

    def legal(self, *what: str | type[Operation]) -> Self:
        """Declares dialects, names or classes legal."""
        return self.dynamic(lambda op: None, *what)

    def illegal(self, *what: str | type[Operation], because: str = "it is not legal there") -> Self:
        """Declares dialects, names or classes illegal."""
        return self.dynamic(lambda op: because, *what)

    def dynamic(self, check: Check, *what: str | type[Operation]) -> Self:
        """Lets `check` say of each operation why it is illegal, or None when it is legal."""
        rule = _Rule(check)
        for item in what:
            if isinstance(item, str):
                self._by_name[item] = rule
            else:
                self._by_class.append((item, rule))
        self._found.clear()
        return self

    def closed(self, *kinds: type[Operation]) -> Self:
        """Declares that what is inside of legal operations of these classes is legal as it is (recursive legality)."""
        self._closed = (*self._closed, *kinds)
        return self

    def is_known(self, op: Operation) -> bool:
        """Whether there is a rule for `op`."""
        return self._rule(op) is not None

    def why_illegal(self, op: Operation) -> str | None:
        """Returns why `op` may not stay; None when it may, or when there is no rule for it."""
        rule = self._rule(op)
        return None if rule is None else rule.check(op)

    def is_closed_off(self, op: Operation) -> bool:
        """Returns whether `op` is inside an operation that is legal with its contents."""
        around = op.parent_op() if self._closed else None
        while around is not None:
            if isinstance(around, self._closed) and self.why_illegal(around) is None:
                return True
            around = around.parent_op()
        return False

    def _rule(self, op: Operation) -> _Rule | None:
        name = name_of(op)
        key = type(op), name
        if key not in self._found:
            by_class = next((rule for kind, rule in reversed(self._by_class) if isinstance(op, kind)), None)
            self._found[key] = by_class or self._by_name.get(name) or self._by_name.get(name.partition(".")[0])
        return self._found[key]
