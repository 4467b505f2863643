"""Drawn graphs: a function with its calls, and questions about the operators in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target
from flambeau.support.lazy import Array
from flambeau.support.tracebacks import in_one_line
from flambeau.tools.semantics.result_comparison import Steps

STAYS = "conformance.stays"
"""The attribute of operators that are withheld from the backend, so that it gets several partitions."""
RAISES = "the table raises "
"""How the reason begins where the table raises an error."""
REFUSED_SAMPLES = (VerifyException, ValueError, TypeError, IndexError, ArithmeticError, AssertionError)
"""The exceptions of rows for unsuitable samples: the edge level, for example, takes fewer."""


@dataclass
class Graph:
    """A function, and its results on some inputs."""

    seed: int
    kind: str
    """The element type, layout and sizes of the graph, in words."""
    module: ModuleOp
    context: FlambeauContext
    calls: list[list[Array]]
    expected: list[list[Array]]
    steps: list[list[Steps | None]]
    """By call and result, how far a result that depends on quantized numbers may be from the expected one; None for all others."""
    operators: Counter[str]
    """The number of operations of each operator that the backend takes."""
    refused: Counter[tuple[str, str]]
    """How often an operator was drawn and refused by the table, by (operator, reason)."""


def may_stay(table: OperatorTable, op: SchemaOp) -> bool:
    """Returns whether the default target runs an operation that the backend does not take: with a kernel, or decomposed."""
    return op.has("decompose") or find_target(PipelineOptions.target).table.why_not(op) is None


def why_not(table: OperatorTable, op: Operation) -> str | None:
    """Returns the reason that a table does not take an operation, or the exception that it raises."""
    try:
        return table.why_not(op)
    except Exception as error:
        return f"{RAISES}{in_one_line(error)}"
