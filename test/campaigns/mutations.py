"""Mutations of source text: a span and what stands there instead, made by the classical operators of mutation testing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal[
    "comparison boundary",
    "comparison negation",
    "arithmetic operator",
    "constant off by one",
    "flag",
    "dropped statement",
    "dropped check",
    "swapped arguments",
    "inverted condition",
    "dropped term",
]

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
NEGATION = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}


@dataclass(frozen=True, order=True)
class Mutation:
    """One change of a text.

    Attributes:
        start: index of the first character that is replaced.
        end: index behind the last one.
        replacement: what stands there instead.
        operator: the kind of change.
        scope: the function around it, with dots between the names of nested ones; empty outside of functions and classes.
    """

    start: int
    end: int
    replacement: str
    operator: Operator
    scope: str

    def applied(self, source: str) -> str:
        """Returns the changed text."""
        return source[: self.start] + self.replacement + source[self.end :]

    def lines(self, source: str) -> tuple[int, str, str]:
        """Returns the number of the first line that it changes, and the text of all lines that it changes before and after."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        last = len(source) if last < 0 else last
        after = source[first : self.start] + self.replacement + source[self.end : last]
        return source.count("\n", 0, first) + 1, source[first:last], after


def off_by_one(number: int) -> list[int]:
    """Returns the neighbours of an integer of a program that are not negative."""
    return [number + 1] if number == 0 else [number + 1, number - 1]
