"""Locations of nodes in the user's model: module path, file and line."""

from __future__ import annotations

import os
import re
from functools import cache

import torch
from torch import fx
from torch.export import ExportedProgram
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import SSAValue

from flambeau.dialects.ir.locations import name_with_handle, with_handle

DEBUG_HANDLE = "debug_handle"
"""The key of a node's debug handle, as ExecuTorch has it."""
_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+)')
_SLICE = re.compile(r"\.slice\([^)]*\)")
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_TRACING = (
    "<eval_with_key>",
    *(_TORCH + folder + os.sep for folder in ("fx", "_dynamo", "export", "_export")),
    os.path.dirname(__file__) + os.sep,
)
"""The prefixes of file names outside of a model: code that torch.fx generates, and tracers."""
_ANCESTORS = 16
"""The number of operands, including their operands, that are searched for the place of a call that tracing made."""


@cache
def _frames(stack_trace: str) -> list[tuple[str, int]]:
    """Returns the frames of a stack trace as file and line, the outermost first, without frames outside of a model."""
    found = ((match["file"], int(match["line"])) for match in _FRAME.finditer(stack_trace))
    return [frame for frame in found if not frame[0].startswith(_TRACING)]


@cache
def _user_frame(stack_trace: str) -> tuple[str, int] | None:
    """Returns the innermost frame outside of PyTorch; else the innermost frame, with its file relative to PyTorch's folder."""
    frames = _frames(stack_trace)
    for frame in reversed(frames):
        if not frame[0].startswith(_TORCH):
            return frame
    return (f"torch/{frames[-1][0].removeprefix(_TORCH).replace(os.sep, '/')}", frames[-1][1]) if frames else None


def _frame_of(node: fx.Node) -> tuple[str, int] | None:
    """Returns the user's line of a call; for a call that tracing added, the line of the nearest operand that has a line."""
    known = [node]
    for item in known:  # which grows
        trace = item.meta.get("stack_trace")
        if trace and (frame := _user_frame(trace)) is not None:
            return frame
        if len(known) < _ANCESTORS:
            known += [operand for operand in item.all_input_nodes if operand not in known]
    return None


def module_path(node: fx.Node) -> str:
    """Returns the path of the innermost module (`layers.0.attention`); empty for the model itself."""
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


def location(node: fx.Node, method: str) -> LocationAttr:
    """Returns `loc("layers.0.attention"("model.py":12:0))`, with the debug handle, if any. The model itself has the method's name."""
    return with_handle(_location(module_path(node) or method, _frame_of(node)), node.meta.get(DEBUG_HANDLE))


def value_name(name: str, handle: int | None = None) -> str | None:
    """Returns the name of a value, from the name of a node or a weight and a call's debug handle; None if it is no valid name in the IR."""
    name = name_with_handle(name.replace(".", "_"), handle)
    return name if SSAValue.is_valid_name(name) else None


def number_calls(program: ExportedProgram) -> ExportedProgram:
    """Assigns each call of a program, and of the graphs inside of it, a debug handle of its own, from 1."""
    graphs = (item.graph for item in program.graph_module.modules() if isinstance(item, fx.GraphModule))
    calls = (node for graph in graphs for node in graph.nodes if node.op == "call_function")
    for handle, node in enumerate(calls, 1):
        node.meta[DEBUG_HANDLE] = handle
    return program


def input_location(node: fx.Node, name: str) -> NameLoc:
    """Returns `loc("mask"("model.py":31:0))`: the input's name, and the first line of the model's own `forward` that uses it."""
    for user in node.users:
        trace = user.meta.get("stack_trace")
        outer = [frame for frame in _frames(trace) if not frame[0].startswith(_TORCH)] if trace else []
        if outer:
            return _location(name, outer[0])
    return _location(name, None)


def place(node: fx.Node) -> str:
    """Returns the location as text for messages: `layers.0.attention, model.py:12`."""
    frame = _frame_of(node)
    return ", ".join(part for part in (module_path(node), f"{frame[0]}:{frame[1]}" if frame else "") if part)
