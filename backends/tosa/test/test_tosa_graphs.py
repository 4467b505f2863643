"""Random graphs of the backend's operators: each is in those of its number, whatever is drawn."""

from __future__ import annotations

import pytest

from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.conformance.drawing.graph_drawing import Drawing
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.quantized_drawing import QuantizedDrawing


@pytest.mark.parametrize(
    ("backend", "kind"), [("tosa", QuantizedDrawing), ("tosa{activations=int16}", QuantizedDrawing), ("tosa{profile=fp}", Drawing)]
)
def test_each_operator_is_in_the_graphs_of_its_number(backend: str, kind: type[Drawing]) -> None:
    table = Partitioner(backend).table
    operators, _ = operators_of(table)
    for number in range(len(operators)):
        drawing = kind(table, operators, number)
        drawing.draw(1, number)
        assert drawing.first is not None, (number, drawing.operators[number % len(drawing.operators)].name)
