"""Reads the nesting of a method's inputs and outputs from PyTorch's tree specs, which programs store as text, without PyTorch."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flambeau.runtime.binding.library import FlambeauError, Status

MOST_LEVELS = 100
_SEQUENCES: dict[str, Callable[[list[object]], object]] = {"builtins.list": list, "builtins.tuple": tuple}


@dataclass(frozen=True)
class Nesting:
    """A leaf, or a container of nestings.

    Attributes:
        kind: the container's type, such as `builtins.dict`; None for a leaf.
        keys: the keys of a mapping or the fields of a class, one per child; None for a sequence.
        children: the nestings of the container's items.
    """

    kind: str | None
    keys: tuple[Any, ...] | None = None
    children: tuple[Nesting, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.leaves for child in self.children)

    def flatten(self, value: object, where: str) -> Iterator[object]:
        """Yields the leaves of a value that has this nesting.

        Raises:
            FlambeauError: the value has another nesting; `where` begins the message.
        """
        if self.kind is None:
            yield value
            return
        given = _children(value)
        names = list(range(len(self.children))) if self.keys is None else list(self.keys)
        if given is None or set(given) != set(names):
            held = type(value).__name__ if given is None else _listed(given)
            expected = f"{len(names)} values" if self.keys is None else _listed(names)
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {expected}, as the model was exported with, got {held}")
        for name, child in zip(names, self.children, strict=True):
            yield from child.flatten(given[name], f"{where}[{name!r}]")

    def unflatten(self, leaves: Iterator[object]) -> object:
        """Returns the nested value with these leaves. A class other than Python's containers becomes a dict by field, or a tuple."""
        if self.kind is None:
            return next(leaves)
        values = [child.unflatten(leaves) for child in self.children]
        if self.keys is None:
            return _SEQUENCES.get(self.kind, tuple)(values)
        pairs = zip(self.keys, values, strict=True)
        return OrderedDict(pairs) if self.kind == "collections.OrderedDict" else dict(pairs)


def parse_nesting(text: str) -> Nesting | None:
    """Returns the nesting that a tree spec of PyTorch describes; None when the text is empty or has an unknown form."""
    try:
        version, root = json.loads(text)
        return _parse(root, 0) if version == 1 else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _parse(node: dict[str, Any], level: int) -> Nesting:
    if level > MOST_LEVELS:
        raise ValueError
    kind: str | None = node["type"]
    if kind is None:
        return Nesting(None)
    children = tuple(_parse(child, level + 1) for child in node["children_spec"])
    keys = None if kind in _SEQUENCES else _keys(node["context"])
    return Nesting(kind, keys if keys is not None and len(keys) == len(children) else None, children)


def _keys(context: object) -> tuple[Any, ...] | None:
    """Returns the keys or fields that the context of a node lists; None for the contexts of other classes."""
    if isinstance(context, dict):  # the context of a defaultdict
        keys = cast("dict[str, object]", context).get("dict_context")
    else:
        try:
            keys = json.loads(str(context))
        except ValueError:  # a named tuple, whose context is its name
            return None
    if isinstance(keys, list) and all(isinstance(key, str | int | float | bool | None) for key in cast("list[object]", keys)):
        return tuple(cast("list[object]", keys))
    return None


def _children(value: object) -> dict[Any, object] | None:
    """Returns the items of a container by key or position; None for a value that is no container."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, object]", value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return dict(enumerate(cast("Sequence[object]", value)))
    return None


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) if any(isinstance(name, str) for name in names) else f"{len(names)} values"
