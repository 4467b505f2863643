"""The operators that the backend takes: those of TOSA between integers. What an accelerator lacks of them, `limits.py` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.legality import table as tosa_table
from flambeau.passes.analysis.operator_table import OperatorTable

if TYPE_CHECKING:
    from flambeau.backends.ethos_u import EthosUOptions


def table(options: EthosUOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return tosa_table(TosaOptions(activations=options.activations))
