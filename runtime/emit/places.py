"""Converts the locations of instructions to the frames of a `.pte`, and back.

A frame holds a line of a file; its name is the path of the module in which the line runs.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from flambeau.dialects.ir.locations import MOST_PLACES
from flambeau.runtime.pte import Frame, FrameList


def to_frames(location: Attribute) -> FrameList:
    """Returns the frames of the places that a location names, each place once and without its column; at most `MOST_PLACES` frames."""
    return FrameList(tuple(dict.fromkeys(_frames(location, None)))[:MOST_PLACES])


def _frames(location: Attribute, name: str | None) -> list[Frame]:
    match location:
        case FileLineColLoc():
            return [Frame(location.filename.data, location.line.data, name)]
        case NameLoc():
            return _frames(location.location, name or location.desc.data or None)
        case FusedLoc(locations=ArrayAttr() as children) if children.data:
            return [frame for child in children for frame in _frames(child, name)]
        case CallSiteLoc():
            return _frames(location.callee, name)
        case _:
            return [] if name is None else [Frame(name=name)]


def from_frames(frames: Sequence[Frame]) -> LocationAttr:
    """Returns the location that names the places of these frames."""
    places = [_location(frame) for frame in frames]
    return FusedLoc(ArrayAttr(places), NoneAttr()) if len(places) > 1 else places[0] if places else UnknownLoc()


def _location(frame: Frame) -> LocationAttr:
    line = FileLineColLoc(StringAttr(frame.filename), IntAttr(frame.lineno), IntAttr(0)) if frame.filename else UnknownLoc()
    return NameLoc(StringAttr(frame.name), line) if frame.name else line
