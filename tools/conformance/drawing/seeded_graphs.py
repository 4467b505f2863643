"""Graphs by their seeds."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.tools.conformance.drawing.graph import Graph
from flambeau.tools.conformance.drawing.graph_drawing import Drawing
from flambeau.tools.conformance.drawing.operator_choices import Operator
from flambeau.tools.conformance.drawing.quantized_drawing import QuantizedDrawing, storages_of

_ATTEMPTS = 10
"""The number of times that a graph with incomparable results is redrawn."""
_OTHER = 1_000_003
"""The increment of the seed for each new drawing."""


def seeds_from(first: int, count: int, table: OperatorTable, is_quantized: bool) -> range:
    """Returns the seeds of so many graphs, from the first seed on; of quantized graphs alone if asked, none if the table takes none."""
    if not is_quantized:
        return range(first, first + count)
    start = first + 1 - first % 2
    return range(start, start + 2 * count if storages_of(table) else start, 2)


def draw_graph(table: OperatorTable, operators: Sequence[Operator], seed: int, size: int | None = None) -> Graph | None:
    """Returns a graph of up to `size` operators that a table takes, determined by the seed; None if nothing fits.

    If the table takes quantized numbers, every second graph is quantized; if it takes nothing else, each is.
    """
    are_both = bool(storages_of(table) and table.rules)
    is_quantized = bool(seed % 2 if are_both else storages_of(table))
    number = seed // 2 if are_both else seed
    kind = QuantizedDrawing if is_quantized else Drawing
    for attempt in range(_ATTEMPTS):
        drawing = kind(table, operators, seed + attempt * _OTHER)
        drawing.draw(size, number)
        if (found := drawing.finish(seed)) is not None:
            return found
    return None
