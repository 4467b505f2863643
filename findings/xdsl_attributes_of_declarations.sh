#!/usr/bin/env bash
# xDSL reads the attributes of a declaration's arguments and results, and forgets them
#
# func.func has attributes for each argument and each result. xDSL keeps them where the function has a body. Of a declaration it parses them, without
# an error, and drops them, so a round trip through xdsl-opt loses facts that a caller needs, such as llvm.noalias.
#
# Expected: external functions too may have attributes of arguments and results: https://mlir.llvm.org/docs/Dialects/Func/#funcfunc-funcfuncop
# Seen: the operation that was read from the declaration has neither kind, that of the definition has both.
. "$(dirname "$0")/common.sh"
use xdsl==0.74.0

observe <<'PYTHON'
import sys

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

TYPES = "memref<4xf32> {llvm.noalias}) -> (f32 {llvm.zeroext})"
TEXTS = {
    "declaration": f"func.func private @first({TYPES}",
    "definition": f'func.func private @first(%x: {TYPES} {{ %0 = "test.op"() : () -> f32 func.return %0 : f32 }}',
}
seen = {}
for name, text in TEXTS.items():
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    module = Parser(context, text).parse_module()
    module.verify()
    function = module.body.block.first_op
    seen[name] = function.arg_attrs is not None, function.res_attrs is not None
    print(f"{name}: expected attributes of both, seen {str(function).splitlines()[0]}")
described = {"declaration": (False, False), "definition": (True, True)}
sys.exit(None if seen == described else f"changed: whether arguments and results have attributes is now {seen}")
PYTHON
