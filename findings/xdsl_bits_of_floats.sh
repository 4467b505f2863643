#!/usr/bin/env bash
# xDSL reads the bits of an infinity in a dense constant as an integer
#
# MLIR writes floats that have no decimal form, infinities and NaN, as their bits: 0xFF800000. xDSL writes them so too, and reads them where a
# float stands alone; inside of dense<...> it takes them for a number, 4286578688. A maximum over a dimension begins with such a constant in what JAX
# lowers, and xDSL's own text of an infinite tensor comes back as another tensor.
#
# Expected: a hexadecimal literal of a float type is its bits: https://mlir.llvm.org/docs/Dialects/Builtin/#floatattr
# Seen: minus infinity, the start of the maximum, is 4286578688.0, so the maximum of smaller numbers is wrong.
. "$(dirname "$0")/common.sh"
use jax==0.10.2 jaxlib==0.10.2 xdsl==0.74.0 numpy==2.4.6

observe <<'PYTHON'
import sys

import jax
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, FloatAttr, TensorType, f32
from xdsl.dialects.func import Func
from xdsl.parser import Parser


def parser(text):
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    return Parser(context, text)


lowered = jax.jit(lambda x: x.max()).lower(jax.numpy.ones(3)).compiler_ir()
module = parser(lowered.operation.get_asm(print_generic_op_form=True)).parse_module()
(constant,) = [value for op in module.walk() for value in op.properties.values() if isinstance(value, DenseIntOrFPElementsAttr)]
infinite = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [1]), [float("-inf")])
seen = {
    "the start of JAX's maximum": constant.get_values()[0],
    f"xDSL's own {infinite}": parser(str(infinite)).parse_attribute().get_values()[0],
    "a float alone": parser(str(FloatAttr(float("-inf"), f32))).parse_attribute().value.data,
}
for name, found in seen.items():
    print(f"{name}: expected -inf, seen {found}")
described = [4286578688.0, 4286578688.0, float("-inf")]
sys.exit(None if list(seen.values()) == described else f"changed: the numbers are now {seen}")
PYTHON
