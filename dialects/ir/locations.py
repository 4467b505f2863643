"""Locations: as text for people, and with the debug handles of the calls of an exported program.

ExecuTorch's Inspector finds the node of an instruction by these numbers. An operation has the handle of its call in its location, whatever
it is lowered to; a value has that of the call whose result it is in its name, also where several operations are fused into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, IntegerAttr, LocationAttr, NameLoc, NoneAttr
from xdsl.ir import Attribute, SSAValue

MOST_PLACES = 8
"""The number of places that programs keep of an instruction: of one that was made from more operators, the first ones."""

_MARK = "$"


def describe_location(location: Attribute, without: str | None = None) -> str:
    """Returns `layers.0.attention (model.py:12)`, with whatever of it is known; empty when nothing is.

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
    """Yields the paths of modules that a location names, in order."""
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


def common_module(paths: Iterable[str]) -> str:
    """Returns the path of the innermost module that contains all others; empty if there is none."""
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*(path.split(".") for path in paths if path), strict=False))
    return ".".join(names[0] for names in shared)


def fused_location(locations: Iterable[LocationAttr]) -> LocationAttr:
    """Returns the location of several operations as one, with at most `MOST_PLACES`, whose common module is that of all."""
    places = list(dict.fromkeys(locations))
    if len(places) > MOST_PLACES:
        paths = {place: next(module_paths(place), "") for place in places}
        kept, others = places[: MOST_PLACES - 1], places[MOST_PLACES - 1 :]
        shared = common_module(paths[place] for place in kept)
        places = [*kept, min(others, key=lambda place: len(common_module((shared, paths[place]))))]
    return FusedLoc(ArrayAttr(places), NoneAttr()) if len(places) > 1 else places[0]


def file_positions(location: Attribute) -> Iterator[FileLineColLoc]:
    """Yields the places in files that a location names, in order."""
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


def with_handle(location: LocationAttr, handle: int | None) -> LocationAttr:
    """Returns the location with a handle: `fused<7>[…]`."""
    return location if handle is None else FusedLoc(ArrayAttr([location]), IntegerAttr(handle, 64))


def name_with_handle(name: str, handle: int | None) -> str:
    """Returns the name of a value with a handle: `linear$7`."""
    return name if handle is None else f"{name}{_MARK}{handle}"


def name_without_handle(name: str) -> str:
    """Returns the name of a value without its handle."""
    plain, mark, handle = name.rpartition(_MARK)
    return plain if plain and mark and handle.isdecimal() else name


def handles_of(location: Attribute) -> Iterator[int]:
    """Yields the handles that a location carries, in order."""
    match location:
        case FusedLoc(locations=ArrayAttr() as children):
            if isinstance(handle := location.metadata, IntegerAttr):
                yield handle.value.data
            for child in children:
                yield from handles_of(child)
        case CallSiteLoc():
            yield from handles_of(location.callee)
        case _:
            return


def handle_of(value: SSAValue) -> int | None:
    """Returns the handle in the name of a value."""
    name, mark, handle = (value.name_hint or "").rpartition(_MARK)
    return int(handle) if name and mark and handle.isdecimal() else None
