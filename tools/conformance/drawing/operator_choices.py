"""The operators of a backend's table, with the samples to draw them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flambeau.dialects.ir.tensor_types import dtype_of, is_float
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_table import all_samples, bound_samples


@dataclass(frozen=True)
class Operator:
    """An operator of a table."""

    name: str
    """The operator's name in the table."""
    kind: type[SchemaOp]
    rule: Rule
    samples: Sequence[tuple[Any, ...]]

    @property
    def reads_images(self) -> bool:
        """Whether its first argument has four dimensions in some sample, and at least three in all of them."""
        ranks = {sample[0].ndim for sample in self.samples if sample and isinstance(sample[0], np.ndarray)}
        return 4 in ranks and min(ranks) > 2


def operators_of(table: OperatorTable) -> tuple[list[Operator], dict[str, str]]:
    """Returns the operators of a table that can be tried, and the reasons for the others."""
    found: list[Operator] = []
    others: dict[str, str] = {}
    samples = all_samples()
    for name, rule in sorted({**table.integers, **table.rules}.items()):
        kind = find_op(f"edge.{name}") or find_op(name)
        generate = None if kind is None else samples.get(kind.siblings["row"].name)
        if kind is None:
            others[name] = "the table names an operator that does not exist"
        elif kind.random or generate is None:
            others[name] = "it draws random numbers" if kind.random else "it has no samples"
        else:
            found.append(Operator(name, kind, rule, bound_samples(generate, kind)))
    return found, others


def element_names(table: OperatorTable) -> list[str]:
    """Returns the float types to try, by numpy name: those that a table takes; if it takes none, all its types."""
    taken = table.tensors.dtypes
    return (
        [dtype_of(element).numpy for element in taken if is_float(element)] or [dtype_of(element).numpy for element in taken] or [*FLOATS]
    )
