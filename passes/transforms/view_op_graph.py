"""`view-op-graph`: draws the operations and the values between them, as DOT or SVG."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from flambeau.dialects.ir.symbols import symbol_name
from flambeau.passes.manager import OperationPass
from flambeau.passes.rewriting.legality import name_of
from flambeau.support.files import write_text

_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def check_drawing(name: str) -> None:
    """Raises ValueError for a name that is not that of a drawing, or of one that needs a tool that is not there."""
    if name and Path(name).suffix not in (".dot", ".svg"):
        raise ValueError(f"{name} is not the name of a drawing: it ends in .dot or .svg")
    if name.endswith(".svg") and shutil.which("dot") is None:
        raise ValueError(f"{name} needs the program dot of Graphviz, which is not installed; a .dot file does not")


@dataclass(frozen=True)
class ViewOpGraphPass(OperationPass):
    """Writes the graph of operations, in which an edge is a value and a box is a region. Changes nothing.

    Without `file`, `flambeau-opt` prints it to stderr in DOT, the language of Graphviz.
    """

    name = "view-op-graph"
    file: Annotated[str, check_drawing] = ""
    """The file to write, `graph.dot` or `graph.svg`; the second needs Graphviz."""
    attributes: bool = False
    """Show the attributes of operations."""
    types: bool = True
    """Show the types of values, on the edges."""
    max_label_len: int = 40
    """The number of characters after which an attribute or a type is cut."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Draws `op` and what is inside it."""
        text = "\n".join(_Graph(self).lines(op)) + "\n"
        if not self.file:
            print(text, end="")
        elif self.file.endswith(".dot"):
            write_text(self.file, text)
        else:
            done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, encoding="utf-8", check=False)
            if done.returncode:
                raise ValueError(f"dot cannot draw the graph: {done.stderr.strip()}")
            write_text(self.file, done.stdout)


class _Graph:
    """One drawing: a node for each operation and each argument of a block."""

    def __init__(self, options: ViewOpGraphPass):
        self._options = options
        self._nodes: dict[Operation | SSAValue, str] = {}
        self._edges: list[str] = []

    def lines(self, op: Operation) -> Iterator[str]:
        yield "digraph G {"
        yield "  compound = true;"
        yield '  node [shape = box, fontname = "monospace"];'
        yield from self._operation(op, "  ")
        yield from self._edges
        yield "}"

    def _operation(self, op: Operation, indent: str) -> Iterator[str]:
        node = self._nodes[op] = f"n{len(self._nodes)}"
        if not op.regions:
            yield f'{indent}{node} [label = "{self._label(op)}"];'
        for region in op.regions:
            # An operation with regions is drawn as a frame; its edges begin and end at a point in the frame.
            yield f"{indent}subgraph cluster_{node}_{op.regions.index(region)} {{"
            yield f'{indent}  label = "{self._label(op)}";'
            if region is op.regions[0]:
                yield f'{indent}  {node} [shape = point, label = ""];'
            for block in region.blocks:
                for argument in block.args:
                    self._nodes[argument] = f"n{len(self._nodes)}"
                    yield f'{indent}  {self._nodes[argument]} [shape = ellipse, label = "{self._name(argument)}"];'
                for inner in block.ops:
                    yield from self._operation(inner, f"{indent}  ")
            yield f"{indent}}}"
        for index, operand in enumerate(op.operands):
            source = self._nodes.get(operand.op if isinstance(operand, OpResult) else operand)
            if source is not None:
                which = f"{index}: " if len(op.operands) > 1 else ""
                label = self._cut(which + (str(operand.type) if self._options.types else self._name(operand)))
                self._edges.append(f'  {source} -> {node} [label = "{label}"];')

    def _label(self, op: Operation) -> str:
        symbol = symbol_name(op)
        lines = [name_of(op) if symbol is None else f"{name_of(op)} @{symbol}"]
        if self._options.attributes:
            items: dict[str, Attribute] = {**op.properties, **op.attributes}
            lines += [self._cut(f"{name} = {value}") for name, value in items.items() if name != "sym_name"]
        return "\\l".join(line.translate(_QUOTED) for line in lines) + ("\\l" if len(lines) > 1 else "")

    @staticmethod
    def _name(value: SSAValue) -> str:
        return f"%{value.name_hint}" if value.name_hint is not None else str(value.type).translate(_QUOTED)

    def _cut(self, text: str) -> str:
        most = self._options.max_label_len
        return (text if len(text) <= most else f"{text[:most]}...").translate(_QUOTED)
