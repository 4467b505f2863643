"""The page of what a backend is made of: its declaration, the fields of its table, and the services of its conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.analysis.quantized_operators import QuantizedOperator
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized, QuantizedType
from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, Encoded, RefusedError
from flambeau.passes.delegation.lowering.converters import Converters
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.delegation.normalized import Windows
from flambeau.passes.vendor_tools.tool import Tool, ToolError
from flambeau.tools.reference.kit_page import entry
from flambeau.tools.reference.markdown import WRITTEN_BY

_INTRODUCTION = """\
# The parts of a backend

[Add a backend](../tutorials/add_backend.md) shows them at work; this page has every field of them. `backends/` in the repository has
backends that use each.
"""
_SECTIONS: Mapping[str, Sequence[type]] = {
    "Its declaration": (Backend, BackendOptions, Description, Encoded, RefusedError),
    "Its table of operators": (OperatorTable, Rule, Limit, NumberFormat),
    "Its conversion": (Converters, Transposes, Windows),
    "Operators between integers": (IntegerOperator, Quantized, QuantizedType, QuantizedOperator),
    "A vendor's tool": (Tool, ToolError),
}


def backend_parts_page() -> str:
    """Returns the page."""
    lines = [WRITTEN_BY, "", _INTRODUCTION]
    for title, classes in _SECTIONS.items():
        lines += [f"## {title}", "", *(line for kind in classes for line in entry(kind.__name__, kind))]
    return "\n".join(lines).rstrip() + "\n"
