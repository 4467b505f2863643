"""Locations as people read them."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


def describe_location(location: Attribute) -> str:
    """`layers.0.attention (model.py:12)`, with whatever of it is known; empty when nothing is."""
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}"
        case NameLoc():
            name = location.desc.data
            inner = describe_location(location.location)
            return f"{name} ({inner})" if inner and name else name or inner
        case FusedLoc(locations=ArrayAttr() as children):
            parts = dict.fromkeys(text for child in children if (text := describe_location(child)))
            return ", ".join(parts)
        case CallSiteLoc():
            return describe_location(location.callee)
        case _:
            return ""


def where(op: Operation) -> str:
    """` at layers.0 (model.py:12)`, or nothing when the operation has no location: to append to a message."""
    text = describe_location(op.location)
    return f" at {text}" if text else ""
