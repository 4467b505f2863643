#!/usr/bin/env bash
# xDSL's own text of floats comes back as other floats, or not at all
#
# A dense constant of -0.0 and 0.0 is printed as one number for all elements, because the two are equal; a NaN with a payload, or a negative one, as
# another NaN; and an array with an infinity, or with a whole number of eight digits, as bits, which the parser refuses in an array.
#
# Expected: a module has the same meaning when it is printed and parsed: https://mlir.llvm.org/docs/LangRef/#high-level-structure
# Seen: [-0.0, 0.0] is [-0.0, -0.0], the NaN 0x7E01 is 0x7E00, and the two arrays do not parse.
. "$(dirname "$0")/common.sh"
use xdsl==0.74.0

observe <<'PYTHON'
import sys

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, BytesAttr, DenseArrayBase, DenseIntOrFPElementsAttr, TensorType, f16, f32
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError


def seen(attribute):
    context = Context()
    context.load_dialect(Builtin)
    try:
        again = Parser(context, str(attribute)).parse_attribute()
    except ParseError:
        again = None
    print(f"{attribute.data.data.hex()}: expected the same bytes, seen {None if again is None else again.data.data.hex()} from {attribute}")
    return again == attribute


same = [
    seen(DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [-0.0, 0.0])),
    seen(DenseIntOrFPElementsAttr(TensorType(f16, [1]), BytesAttr(bytes.fromhex("017e")))),
    seen(DenseArrayBase.from_list(f32, [float("inf")])),
    seen(DenseArrayBase.from_list(f32, [16777217.0])),
]
sys.exit(None if not any(same) else f"changed: of the four, these come back now: {same}")
PYTHON
