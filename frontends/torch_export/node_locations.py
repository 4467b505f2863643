"""The place of a node in the user's model: module path, file and line."""

from __future__ import annotations

import os
import re
from functools import cache

import torch
from torch import fx
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr, UnknownLoc

_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+)')
_SLICE = re.compile(r"\.slice\([^)]*\)")
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


@cache
def _frames(stack_trace: str) -> list[tuple[str, int]]:
    """The frames of a stack trace as file and line, the outermost first."""
    return [(match["file"], int(match["line"])) for match in _FRAME.finditer(stack_trace)]


@cache
def user_frame(stack_trace: str) -> tuple[str, int] | None:
    """The innermost frame of a stack trace that is not in PyTorch itself; else the innermost one."""
    frames = _frames(stack_trace)
    for frame in reversed(frames):
        if not frame[0].startswith(_TORCH):
            return frame
    return frames[-1] if frames else None


def module_path(node: fx.Node) -> str:
    """The path of the innermost module (`layers.0.attention`); empty for the model itself."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = next(reversed(stack.values()))[0]
    # A loop over `self.layers[:n]` goes through a module list that the model does not name.
    return _SLICE.sub("", path).removeprefix("L['self']").removeprefix(".")


@cache
def _location(path: str, frame: tuple[str, int] | None) -> NameLoc:
    line = FileLineColLoc(StringAttr(frame[0]), IntAttr(frame[1]), IntAttr(0)) if frame else UnknownLoc()
    return NameLoc(StringAttr(path), line)


def location(node: fx.Node, method: str) -> NameLoc:
    """`loc("layers.0.attention"("model.py":12:0))`; operators of the model itself carry the method's name."""
    trace = node.meta.get("stack_trace")
    return _location(module_path(node) or method, user_frame(trace) if trace else None)


def input_location(node: fx.Node, name: str) -> NameLoc:
    """`loc("mask"("model.py":31:0))`: the input's name, and the first line of the model's own `forward` that uses it."""
    for user in node.users:
        trace = user.meta.get("stack_trace")
        outer = [frame for frame in _frames(trace) if not frame[0].startswith(_TORCH)] if trace else []
        if outer:
            return _location(name, outer[0])
    return _location(name, None)


def place(node: fx.Node) -> str:
    """The same for people: `layers.0.attention, model.py:12`."""
    trace = node.meta.get("stack_trace")
    frame = user_frame(trace) if trace else None
    return ", ".join(part for part in (module_path(node), f"{frame[0]}:{frame[1]}" if frame else "") if part)
