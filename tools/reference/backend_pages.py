"""The pages of what backends take, for those whose folder has a table of legality."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import flambeau.backends
from flambeau.passes.targets.contracts import Limit
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, summary, table


def backends_with_tables() -> list[str]:
    """The names of the built-in backends that have a table."""
    return sorted(path.parent.name for folder in flambeau.backends.__path__ for path in Path(folder).glob("*/legality.py"))


def backend_page(name: str) -> str:
    """The page of the operators that a backend takes."""
    legality: Any = importlib.import_module(f"flambeau.backends.{name}.legality")
    rows = [(f"`{operator}`", cell("; ".join(_conditions(rule)))) for operator, rule in sorted(legality.OPERATORS.items())]
    title = f"# Operators that the backend `{name}` takes"
    return "\n".join([WRITTEN_BY, "", title, "", legality.TENSORS, "", *table(("Operator", "What is taken"), rows)])


def _conditions(rule: Any) -> list[str]:
    """What is taken, in words."""
    constants = [f"`{name}` is a constant" for name in rule.constants]
    checks = [summary(check).removesuffix(".") for check in rule.checks]
    return [*(_limit(limit) for limit in rule.limits), *constants, *(check[0].lower() + check[1:] for check in checks)]


def _limit(limit: Limit) -> str:
    if limit.rank is not None:
        least, most = limit.rank
        return f"`{limit.argument}` has {least if least == most else f'{least} to {most}'} dimensions"
    return f"`{limit.argument}` is `{limit.only}`"
