"""Copies of operators with other operands, types, arguments or levels."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, f32
from xdsl.ir import Block

from flambeau.dialects.ir.tensor_types import tensor
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp


def op_of(name: str, *arguments: Any, **more: Any) -> SchemaOp:
    kind = find_op(name)
    assert kind is not None
    op = kind(*arguments, **more)
    op.location = FileLineColLoc(StringAttr("model.py"), IntAttr(3), IntAttr(1))
    op.attributes["note"] = StringAttr("stays")
    return op


def test_a_copy_has_what_the_operator_has():
    block = Block(arg_types=[tensor(f32, (2, 3)), tensor(f32, (4, 3))])
    x, y = block.args
    op = op_of("aten.cat", [x, x], 1)
    copy = op.rebuilt(level="edge")
    assert (copy.name, copy.parent, copy.location) == ("edge.cat", None, op.location)
    assert (copy.operands, copy.result_types, copy.attributes) == (op.operands, op.result_types, op.attributes)
    assert op.rebuilt([y, y]).result.type == tensor(f32, (4, 6))
    assert op.rebuilt([y, y], result_types=op.result_types).result.type == op.result.type


def test_arguments_and_operands_change_together():
    block = Block(arg_types=[tensor(f32, (2, 3)), tensor(f32, (2, 3))])
    x, y = block.args
    assert op_of("aten.cat", [x, x], 1).rebuilt([x, y], dim=0).result.type == tensor(f32, (4, 3))
    total = op_of("aten.add.Tensor", x, x, alpha=2).rebuilt([x, y], alpha=3)
    assert (tuple(total.operands), total.argument("alpha")) == ((x, y), 3)
    assert op_of("aten.add.Tensor", x, x, alpha=2).rebuilt(other=y).arguments()[:2] == [x, y]
