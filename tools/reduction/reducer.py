"""The interface of reducers: they list places in a module and make it smaller at some of these places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from xdsl.dialects.builtin import ModuleOp

TargetT = TypeVar("TargetT")


class NotApplicableError(ValueError):
    """An error for targets that cannot be changed together; the search tries fewer of them."""


class Reducer(ABC, Generic[TargetT]):
    """A way to make a module smaller.

    `targets` lists the places where the reducer can be tried, and `apply` changes some of them. Equal modules have equal lists, so that a
    place is known by its position in a clone too. The result of `apply` need not verify: the search discards a module that does not.
    Every change makes something smaller, so that a reduction comes to an end.
    """

    name: ClassVar[str]
    """The reducer's name, for progress and reports."""

    @abstractmethod
    def targets(self, module: ModuleOp) -> Sequence[TargetT]:
        """Returns the places, in the order of the text."""

    @abstractmethod
    def apply(self, module: ModuleOp, targets: Sequence[TargetT]) -> None:
        """Changes `module` at some of its targets. Raises NotApplicableError."""
