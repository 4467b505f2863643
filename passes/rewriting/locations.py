"""Locations as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute


def describe_location(location: Attribute, without: str | None = None) -> str:
    """`layers.0.attention (model.py:12)`, with whatever of it is known; empty when nothing is.

    Places in the file `without` are left out.
    """
    match location:
        case FileLineColLoc():
            return "" if location.filename.data == without else f"{location.filename.data}:{location.line.data}"
        case NameLoc():
            name = location.desc.data
            inner = describe_location(location.location, without)
            return f"{name} ({inner})" if inner and name else name or inner
        case FusedLoc(locations=ArrayAttr() as children):
            parts = dict.fromkeys(text for child in children if (text := describe_location(child, without)))
            return ", ".join(parts)
        case CallSiteLoc():
            return describe_location(location.callee, without)
        case _:
            return ""


def module_paths(location: Attribute) -> Iterator[str]:
    """The paths of modules that a location names, in order."""
    match location:
        case NameLoc():
            if location.desc.data:
                yield location.desc.data
            yield from module_paths(location.location)
        case FusedLoc(locations=ArrayAttr() as children):
            for child in children:
                yield from module_paths(child)
        case CallSiteLoc():
            yield from module_paths(location.callee)
            yield from module_paths(location.caller)
        case _:
            return


def file_positions(location: Attribute) -> Iterator[FileLineColLoc]:
    """The places in files that a location names, in order."""
    match location:
        case FileLineColLoc():
            yield location
        case NameLoc():
            yield from file_positions(location.location)
        case FusedLoc(locations=ArrayAttr() as children):
            for child in children:
                yield from file_positions(child)
        case CallSiteLoc():
            yield from file_positions(location.callee)
            yield from file_positions(location.caller)
        case _:
            return
