"""Decomposition: an operator in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.edge.layout import row_major
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.passes.rewriting.pattern import Pattern, replace_with_any_level
from flambeau.passes.rewriting.retyping import retyped


@dataclass(frozen=True)
class DecomposePattern(Pattern):
    """Replaces an operator by operators that compute the same."""

    decomposed: Callable[[SchemaOp], Any]
    """The values in place of an operator's results, computed by detached operations; None for one that stays."""
    roots = (SchemaOp,)
    counter = "operators decomposed"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Decomposes `op` unless it stays. Raises OperationError where the decomposition does not take its operands."""
        assert isinstance(op, SchemaOp)
        try:
            found = self.decomposed(op)
            if found is None:
                return
            dynamic = not is_static(*op.operands, *op.results)
            pairs = zip(flat_results(found), op.result_types, strict=True)
            values = [retyped(value, kind) if dynamic or row_major(value) == kind else value for value, kind in pairs]
        except (ValueError, TypeError, IndexError, VerifyException) as error:
            raise OperationError(op, f"{op.name} cannot be decomposed: {error}") from error
        replace_with_any_level(op, values, rewriter)
