"""A program as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.compiler.html_table import html_table
from flambeau.compiler.memory_report import MemoryReport
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.operation_text import PrintingOptions, strict_text

MOST_LINES = 400
"""The lines of IR that are shown."""

ELIDED_ABOVE = 16
"""The most elements of a constant that are shown."""


def program_html(module: ModuleOp, memory: Mapping[str, MemoryReport], size: int | None = None) -> str:
    """Returns a table of the methods, with the IR in a part that unfolds. `size` is the size of the `.pte` in bytes, if known."""
    rows = [
        (op.sym_name.data, _operations(op), *([memory[op.sym_name.data].describe()] if memory else ()))
        for op in module.body.block.ops
        if isinstance(op, FuncOp | MethodOp)
    ]
    lines = strict_text(module, PrintingOptions(elide_above=ELIDED_ABOVE, elide_resources_above=0)).splitlines()
    more = f"\n… {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
    text = escape("\n".join(lines[:MOST_LINES]) + more)
    file = "" if size is None else f"<p>{size} bytes</p>"
    heads = ("method", "operations", *(["memory"] if memory else ()))
    return f"{file}{html_table(heads, rows)}<details><summary>IR</summary><pre>{text}</pre></details>"


def _operations(method: FuncOp | MethodOp) -> int:
    return len(method.steps) if isinstance(method, MethodOp) else sum(isinstance(op, SchemaOp) for op in method.walk())
