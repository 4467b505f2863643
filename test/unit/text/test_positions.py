"""Positions in the text that was read, and locations made of them."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import FileLineColLoc, NameLoc, UnknownLoc
from xdsl.dialects.func import FuncOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.dialects.text.source_text import Source
from flambeau.support.position import Position

TEXT = """
func.func @f(%x : tensor<2xf32>) -> tensor<2xf32> {
  %a = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %b = aten.relu(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.0"("model.py":7:3))
  %c = "aten.relu"(%b) : (tensor<2xf32>) -> tensor<2xf32>
  %d = aten.relu(%c) : (tensor<2xf32>) -> tensor<2xf32> loc(unknown)
  func.return %d : tensor<2xf32>
}
"""


def test_positions_and_locations_count_from_the_start_of_the_file() -> None:
    parsed = parse_module(TEXT, FlambeauContext(), "a.mlir", line_offset=10, locate=True)
    method = parsed.module.body.block.first_op
    assert isinstance(method, FuncOp)
    places = [parsed.position(op) for op in method.walk()]
    assert places == [Position("a.mlir", line, column) for line, column in ((12, 1), (13, 3), (14, 5), (15, 3), (16, 3), (17, 3))]
    locations = [op.location for op in method.walk()]
    for place, location in zip(places, locations, strict=True):
        if isinstance(location, FileLineColLoc):
            assert Position(location.filename.data, location.line.data, location.column.data) == place
    assert [type(location) for location in locations[2:5]] == [NameLoc, FileLineColLoc, UnknownLoc]
    assert str(locations[1]) == 'loc("a.mlir":13:3)' == str(FileLineColLoc.new(locations[1].parameters))


def test_without_being_asked_the_parser_adds_no_locations() -> None:
    parsed = parse_module(TEXT, FlambeauContext())
    assert [type(op.location) for op in parsed.module.walk()].count(NameLoc) == 1
    assert not any(isinstance(op.location, FileLineColLoc) for op in parsed.module.walk())


def test_a_source_counts_as_the_text_does() -> None:
    random_ = random.Random(0)
    text = "".join(random_.choice("ab \n") for _ in range(200))
    source = Source(text, "a", 3)
    for offset in range(len(text) + 1):
        before = text[:offset]
        assert source.line_and_column(offset) == (before.count("\n") + 4, offset - (before.rfind("\n") + 1) + 1)
