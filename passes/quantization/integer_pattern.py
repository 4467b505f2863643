"""The root of patterns that compute an operator between integers with a kernel of the target."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import quantized_operator
from flambeau.passes.analysis.quantized_types import IntegerOperator, integer_operator
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.passes.targets.interface import Target


@dataclass(frozen=True)
class IntegerPattern(Pattern):
    """quantize(clamp(operator(dequantize(x), …))), as one operator of integers."""

    target: Target
    constants: ModuleConstants
    roots = (QuantizePerTensorOp,)
    operators: ClassVar[tuple[type[SchemaOp], ...]]
    """The operators between integers that the pattern is for."""

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op`, which quantizes what one of the operators computes."""
        found = quantized_operator(op)
        if found is None or not isinstance(found.operator, self.operators):
            return
        result = self.fused(found.operator, integer_operator(found, self.constants), found.quantize.result)
        if result is not None:
            replace_with_values(op, [result], rewriter)

    @abstractmethod
    def fused(self, op: SchemaOp, found: IntegerOperator, result: SSAValue) -> SSAValue | None:
        """Returns what takes the place of `result`, the integers that `op` gives; None, perhaps with a reason, where no kernel does."""

    def has(self, form: type[SchemaOp]) -> bool:
        """Returns whether the target has a kernel for an operator; if not, with a reason."""
        return self.target.has(form) or bool(decline(f"stays in floats: the target {self.target.name!r} has no kernel for {form.name}"))
