"""Tables of named things that plug-ins can extend: dialects, passes, targets, planners and so on.

Each layer finds its built-in names by listing a folder or a file. A `Table` holds the names that were added. It records the plug-in that
declared a name, refuses a name that is taken, and removes the names of a plug-in that is unloaded. The first lookup of an unknown
name loads the plug-ins of installed packages.
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
"""The form of the names of passes, pipelines, planners, targets and backends, which pipelines and command lines contain."""


@dataclass(frozen=True)
class Registration:
    """A registered thing, with the function that removes it again."""

    what: str
    """The kind and name of the registered thing, such as `pass 'fuse-mul-add'`."""
    undo: Undo
    """A function that removes the registered thing."""


_ORIGIN: ContextVar[str] = ContextVar("flambeau_origin", default="this program")
_REGISTERED: ContextVar[list[Registration] | None] = ContextVar("flambeau_registrations", default=None)


class RegistrationError(ValueError):
    """An error of a registration, for example because the name is taken or invalid. The message is one line for the user."""


@contextmanager
def declared_by(origin: str) -> Generator[list[Registration], None, None]:
    """Assigns registrations within the block to `origin`; yields the list of these registrations, in order."""
    registered: list[Registration] = []
    tokens = _ORIGIN.set(origin), _REGISTERED.set(registered)
    try:
        yield registered
    finally:
        _ORIGIN.reset(tokens[0])
        _REGISTERED.reset(tokens[1])


def origin() -> str:
    """Returns the name of the plug-in or program to which current registrations belong."""
    return _ORIGIN.get()


def note_registration(what: str, undo: Undo) -> None:
    """Records a registration, and the function that removes the registered thing when the current plug-in is unloaded."""
    registered = _REGISTERED.get()
    if registered is not None:
        registered.append(Registration(what, undo))


_discover: Callable[[], str] | None = None
_failures = ""


def set_discovery(discover: Callable[[], str]) -> None:
    """Sets the function that the first lookup of an unknown name calls: it registers more names, and returns a note on failures or ''."""
    global _discover
    _discover = discover


def discover() -> bool:
    """Loads the plug-ins of installed packages at the first call, and returns True; returns False at later calls."""
    global _discover, _failures
    if _discover is None:
        return False
    found, _discover = _discover, None
    _failures = found()
    return True


def hint(name: str, known: list[str], *, listing: bool = False) -> str:
    """Returns the end of a message about an unknown name: all known names if `listing`, the nearest name, plug-ins that failed to load."""
    text = (f"; there are {', '.join(known) or 'none'}" if listing else "") + did_you_mean(name, known)
    return f"{text}{discovery_failures()}"


def discovery_failures() -> str:
    """Returns the end of a message about an unknown name: the installed plug-ins that failed to load; empty if all were loaded."""
    return f"; {_failures}" if _failures else ""


def check_called(decorator: str, given: object, example: str) -> None:
    """Raises RegistrationError if a decorator that takes a name is used without a name; plug-ins may not be type-checked."""
    if not isinstance(given, str):
        raise RegistrationError(f'@{decorator} needs a name: write @{decorator}("{example}")')


class Table(Generic[T]):
    """A table of the named things of one kind that plug-ins and programs added to the built-in things."""

    def __init__(self, kind: str, builtin: Callable[[str], tuple[str, T] | None], pattern: re.Pattern[str] = NAME):
        """Creates a table.

        Args:
            kind: the kind for messages, such as "pass".
            builtin: returns the owner ("Flambeau") and the built-in thing of a name, or None for a name that is not built in.
            pattern: the form of a name.
        """
        self._kind = kind
        self._builtin = builtin
        self._pattern = pattern
        self._items: dict[str, tuple[str, T]] = {}

    def add(self, name: str, item: T) -> None:
        """Adds a thing; adding it again does nothing. Raises RegistrationError when another thing has that name."""
        if not self._pattern.fullmatch(name):
            raise RegistrationError(f"{name!r} cannot be the name of a {self._kind}: use letters, digits, - and _")
        known = self._items.get(name) or self._builtin(name)
        if known is not None:
            if known[1] is not item:
                why = " twice" if known[0] == origin() else f", but {known[0]} has one of that name"
                raise RegistrationError(f"{origin()} declares the {self._kind} {name!r}{why}; give it another name")
            return
        self._items[name] = (origin(), item)
        note_registration(f"{self._kind} {name!r}", lambda: self._items.pop(name, None) and None)

    def find(self, name: str) -> T | None:
        """Returns the thing added under a name, after loading installed plug-ins if needed, or None."""
        if name not in self._items and not discover():
            return None
        found = self._items.get(name)
        return None if found is None else found[1]

    def items(self) -> dict[str, T]:
        """Returns the things added so far, by name."""
        return {name: item for name, (_, item) in self._items.items()}

    def origin(self, name: str) -> str | None:
        """Returns the plug-in or program that added the thing under a name, or None."""
        found = self._items.get(name)
        return None if found is None else found[0]
