"""Tables of what has a name and may come from outside: dialects, passes, targets, planners and so on.

Each layer adds its built-in names by listing a folder or a file; a `Table` holds the rest, knows who declared what, refuses names that
are taken, and can take back what a plug-in declared. When a name is in no table, the plug-ins of installed packages are loaded, once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

from flambeau.support.suggestions import did_you_mean

T = TypeVar("T")
Undo = Callable[[], None]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""What names of passes, pipelines, planners, targets and backends look like: they stand in pipelines and on command lines."""


@dataclass(frozen=True)
class Registration:
    """One thing that was registered."""

    what: str
    """`pass 'fuse-mul-add'`."""
    undo: Undo


_ORIGIN: ContextVar[str] = ContextVar("flambeau_origin", default="this program")
_REGISTERED: ContextVar[list[Registration] | None] = ContextVar("flambeau_registrations", default=None)


class RegistrationError(ValueError):
    """Something that cannot be registered: its name is taken, or cannot be a name. One line, for people."""


@contextmanager
def declared_by(origin: str) -> Generator[list[Registration], None, None]:
    """What is registered within the block belongs to `origin`; gives the list of it, in the order of declaration."""
    registered: list[Registration] = []
    tokens = _ORIGIN.set(origin), _REGISTERED.set(registered)
    try:
        yield registered
    finally:
        _ORIGIN.reset(tokens[0])
        _REGISTERED.reset(tokens[1])


def origin() -> str:
    """Who declares what is registered now."""
    return _ORIGIN.get()


def note_registration(what: str, undo: Undo) -> None:
    """Says what has just been registered and how to take it back, for when the plug-in that is being loaded goes."""
    registered = _REGISTERED.get()
    if registered is not None:
        registered.append(Registration(what, undo))


_discover: Callable[[], str] | None = None
_trouble = ""


def when_unknown(discover: Callable[[], str]) -> None:
    """Sets what is called, once, when a name is unknown: it may register more, and gives a note on what it could not load, or ''."""
    global _discover
    _discover = discover


def discover() -> bool:
    """Loads the plug-ins of installed packages; returns whether that happened now."""
    global _discover, _trouble
    if _discover is None:
        return False
    found, _discover = _discover, None
    _trouble = found()
    return True


def hint(name: str, known: list[str], *, listing: bool = False) -> str:
    """What a message about an unknown name ends with: those that exist, the one that was meant, and plug-ins that did not load."""
    text = (f"; there are {', '.join(known) or 'none'}" if listing else "") + did_you_mean(name, known)
    return f"{text}{trouble()}"


def trouble() -> str:
    """What is to be said of installed plug-ins that did not load, where a name is unknown; empty when there are none."""
    return f"; {_trouble}" if _trouble else ""


def check_called(decorator: str, given: object, example: str) -> None:
    """Raises RegistrationError when a decorator that is given a name is used without one. Plug-ins need not be type-checked."""
    if not isinstance(given, str):
        raise RegistrationError(f'@{decorator} is given a name: write @{decorator}("{example}")')


class Table(Generic[T]):
    """Named things of one kind that were added to the built-in ones."""

    def __init__(self, kind: str, builtin: Callable[[str], tuple[str, T] | None], pattern: re.Pattern[str] = NAME):
        """A table.

        Args:
            kind: what it holds, for messages: "pass".
            builtin: who brings the built-in thing of a name ("Flambeau"), and that thing; None for other names.
            pattern: what names look like.
        """
        self._kind = kind
        self._builtin = builtin
        self._pattern = pattern
        self._items: dict[str, tuple[str, T]] = {}

    def add(self, name: str, item: T) -> None:
        """Adds something. The same thing again is harmless. Raises RegistrationError for another thing of that name."""
        if not self._pattern.fullmatch(name):
            raise RegistrationError(f"{name!r} cannot be the name of a {self._kind}: write letters, digits and - or _")
        known = self._items.get(name) or self._builtin(name)
        if known is not None:
            if known[1] is not item:
                why = " twice" if known[0] == origin() else f", but {known[0]} has one of that name"
                raise RegistrationError(f"{origin()} declares the {self._kind} {name!r}{why}; give it another name")
            return
        self._items[name] = (origin(), item)
        note_registration(f"{self._kind} {name!r}", lambda: self._items.pop(name, None) and None)

    def find(self, name: str) -> T | None:
        """What was added under a name, if need be by a plug-in that is installed; None when nothing was."""
        if name not in self._items and not discover():
            return None
        found = self._items.get(name)
        return None if found is None else found[1]

    def items(self) -> dict[str, T]:
        """What has been added so far, by name."""
        return {name: item for name, (_, item) in self._items.items()}

    def origin(self, name: str) -> str | None:
        """Who added the thing of a name; None when nobody did."""
        found = self._items.get(name)
        return None if found is None else found[0]
