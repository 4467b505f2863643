"""The pages of what the built-in backends take."""

from __future__ import annotations

from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.options import find_choice
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, summary, table


def backend_page(name: str) -> str:
    """The page of the operators that a backend takes."""
    taken = find_choice(name).table
    rows = [(f"`{operator}`", cell("; ".join(_conditions(rule)))) for operator, rule in sorted(taken.rules.items())]
    title = f"# Operators that the backend `{name}` takes"
    return "\n".join([WRITTEN_BY, "", title, "", *_general(taken), "", *table(("Operator", "What is taken"), rows)])


def _general(taken: OperatorTable) -> list[str]:
    """What holds of each operator, in words."""
    checks = [summary(check).removesuffix(".") for check in taken.checks]
    return [
        _tensors(taken.tensors),
        *([f"Of every operator: {'; '.join(check[0].lower() + check[1:] for check in checks)}."] if checks else []),
    ]


def _tensors(limit: Limit) -> str:
    """What holds of the tensors of each operator, in words."""
    words = [
        f"of {', '.join(map(str, limit.dtypes))}" if limit.dtypes else "",
        f"of {limit.rank[0]} to {limit.rank[1]} dimensions" if limit.rank else "",
        "row-major" if limit.row_major else "",
        "of sizes that are known before the run" if limit.static else "",
        "of sizes that have greatest values and do not depend on data" if limit.bounded else "",
        "never empty" if limit.filled else "",
    ]
    return f"Tensors are {', '.join(filter(None, words))}."


def _conditions(rule: Rule) -> list[str]:
    """What is taken, in words."""
    constants = [f"`{name}` is a constant" for name in rule.constants]
    checks = [summary(check).removesuffix(".") for check in rule.checks]
    return [*(_limit(limit) for limit in rule.limits), *constants, *(check[0].lower() + check[1:] for check in checks)]


def _limit(limit: Limit) -> str:
    if limit.rank is not None:
        least, most = limit.rank
        return f"`{limit.argument}` has {least if least == most else f'{least} to {most}'} dimensions"
    if limit.dtypes:
        return f"`{limit.argument}` is of {', '.join(map(str, limit.dtypes))}"
    return f"`{limit.argument}` is `{limit.only}`"
