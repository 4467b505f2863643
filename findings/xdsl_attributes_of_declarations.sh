#!/usr/bin/env bash
# xDSL loses the attributes of a declaration's arguments and results
#
# func.func has attributes for each argument and each result. xDSL keeps them where the function has a body. Of a declaration it parses those of
# arguments and drops them; those of results it reads, and leaves them out when it prints. A round trip through xdsl-opt loses facts that a caller
# needs, such as llvm.noalias, without an error.
#
# Expected: external functions too may have attributes of arguments and results: https://mlir.llvm.org/docs/Dialects/Func/#funcfunc-funcfuncop
# Seen: the declaration is printed without either attribute, the definition with both.
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
    print(f"{name}: expected llvm.noalias and llvm.zeroext, seen {str(function).splitlines()[0]}")
    seen[name] = {
        "read": (function.arg_attrs is not None, function.res_attrs is not None),
        "printed": ("llvm.noalias" in str(function), "llvm.zeroext" in str(function)),
    }
described = {
    "declaration": {"read": (False, True), "printed": (False, False)},
    "definition": {"read": (True, True), "printed": (True, True)},
}
sys.exit(None if seen == described else f"changed: the attributes of arguments and results are now {seen}")
PYTHON
