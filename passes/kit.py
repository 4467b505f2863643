"""Everything that a pass in one's own file imports; docs/reference/kit.md describes each name.

    from flambeau.passes.kit import PatternPass, m, rewrites

    x, y, factor = m.value(), m.value(), m.attribute()
    scaled = m.op("aten.mul.Scalar", y, other=factor).one_use()
    total = m.op("aten.add.Tensor", x, scaled).commutative()


    @rewrites(total, counter="multiplications fused")
    def fuse(found):
        return type(found[total])(found[x], found[y], alpha=found[factor])


    class FuseMulAddPass(PatternPass):
        \"\"\"x + factor * y as one addition.\"\"\"

        name = "fuse-mul-add"

        def patterns(self):
            return [fuse]

`flambeau-opt model.mlir --load-plugin fuse_mul_add.py -p fuse-mul-add` runs it. A pass that is more than patterns derives from
`OperationPass`, or from `ModulePass` when it needs the module's globals, and asks `may_rewrite` before each rewrite.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from flambeau.dialects.ir.diagnostics import OperationError, remark, warn
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.dataflow import BackwardAnalysis, Facts, ForwardAnalysis
from flambeau.passes.manager import Instrumentation, OperationPass, PassError, PassStep, PatternPass, Pipeline, count
from flambeau.passes.rewriting import matching as m
from flambeau.passes.rewriting.actions import Action, analysis, may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.dialect_conversion import apply_full_conversion, apply_partial_conversion
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.greedy_driver import PatternDriver, apply_patterns
from flambeau.passes.rewriting.legality import ConversionTarget
from flambeau.passes.rewriting.lookup import op
from flambeau.passes.rewriting.pattern import Pattern, from_xdsl, replace_with_values
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.rewriting.type_conversion import ConversionPattern, TypeConverter, type_patterns

__all__ = [
    # Passes. They have a name in a pipeline.
    "PatternPass",
    "OperationPass",
    "ModulePass",
    "Pipeline",
    # Graphs to match. `m` is a module of parts, of which graphs of operations are made.
    "m",
    # Patterns. Local rewrites: what is found, and what takes its place.
    "rewrites",
    "decline",
    "Pattern",
    "from_xdsl",
    "replace_with_values",
    "apply_patterns",
    "PatternDriver",
    # Operators, types and constants. Patterns and passes match and build these.
    "op",
    "SchemaOp",
    "tensor",
    "shape_of",
    "element_of",
    "ModuleConstants",
    "FlambeauContext",
    # Conversion. Rewriting until every operation is legal, or saying all that is not, and why.
    "ConversionTarget",
    "apply_partial_conversion",
    "apply_full_conversion",
    "TypeConverter",
    "ConversionPattern",
    "type_patterns",
    # Data flow. Facts about each value, through branches, loops and calls.
    "ForwardAnalysis",
    "BackwardAnalysis",
    "Facts",
    # Reports. To people, to statistics, and to tools that watch single rewrites.
    "OperationError",
    "warn",
    "remark",
    "count",
    "may_rewrite",
    "analysis",
    # Watching. Instrumentations see passes, verifications and single rewrites, and may forbid a rewrite; passes do not know them.
    "Instrumentation",
    "PassStep",
    "PassError",
    "Action",
    # From xDSL. The names that one needs every day; xDSL's own documentation describes them.
    "Attribute",
    "Block",
    "Context",
    "FuncOp",
    "InsertPoint",
    "ModuleOp",
    "Operation",
    "PatternRewriter",
    "Region",
    "SSAValue",
]
