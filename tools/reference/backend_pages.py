"""The page of all built-in backends, and a page for each backend's operators."""

from __future__ import annotations

from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import backend_names, find_backend
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, summary, table

_BACKENDS = """\
A backend takes operators out of a program and runs them elsewhere; everything else runs on the CPU's kernels. `--backend NAME` of
`flambeau compile` and `to_backend("NAME")` choose one, or several, of which the first takes first. `edge.survey("NAME")` says what a
backend would take of a program, and `flambeau compile --explain-partitions` why it leaves the rest. The folder of a backend,
`backends/NAME`, has a README: what to install, its options, how to debug it, licences. [Plug-ins](../guide/plugins.md) bring others,
and `flambeau-opt --list-backends` lists all of them. `flambeau env` prints where this environment has the libraries of
vendors, for C programs.
"""
_STATES = """\
The state of a backend is one of these:

* *runs on the vendor's runtime here*: the tests run its payloads with the vendor's library;
* *compiled by the vendor*: the vendor's compiler makes its payloads, and the tests do not run them on a device;
* *interchange*: its payloads are in a format that a tool of the vendor reads, and that tool still has to compile them;
* *reference*: an engine of Flambeau runs its payloads.
"""


def backends_page() -> str:
    """Returns the page of all built-in backends: the purpose and maturity of each."""
    rows: list[tuple[str, ...]] = []
    for name in backend_names():
        backend = find_backend(name)
        if (told := backend.description) is not None:
            texts = (told.hardware, told.platform, told.choose, told.runtimes, told.state.value)
            as_family = backend.family and f", as `{backend.family}` has them"
            rows.append((f"`{name}`", *map(cell, texts), f"[operators](backends/{name}.md){as_family}"))
    header = ("Backend", "Hardware", "Platform", "Which one?", "Runs in", "State", "What it takes")
    return "\n".join([WRITTEN_BY, "", "# Backends", "", _BACKENDS, *table(header, rows), _STATES])


def backend_page(name: str) -> str:
    """Returns the page of the operators that a backend takes."""
    taken = Partitioner(name).table
    rows = [(f"`{operator}`", cell("; ".join(_conditions(rule)))) for operator, rule in taken.rules.items()]
    rows += [(f"`{operator}`", cell("; ".join(["between integers", *_conditions(rule)]))) for operator, rule in taken.integers.items()]
    rows += [(f"`{operator}`", cell("; ".join(["in parts", *_conditions(rule)]))) for operator, rule in taken.in_parts.items()]
    title = f"# Operators that the backend `{name}` takes"
    return "\n".join([WRITTEN_BY, "", title, "", *_general(taken), "", *table(("Operator", "What is taken"), sorted(rows))])


def _general(taken: OperatorTable) -> list[str]:
    """Returns the conditions on every operator, as text."""
    checks = [summary(check).removesuffix(".") for check in taken.checks]
    return [
        f"Tensors are {_words(taken.tensors)}.",
        *([_between_integers(taken)] if taken.integers else []),
        *([f"Of every operator: {'; '.join(check[0].lower() + check[1:] for check in checks)}."] if checks else []),
    ]


def _between_integers(taken: OperatorTable) -> str:
    activations, weights = (", ".join(map(str, kinds)) for kinds in (taken.activations, taken.weights))
    return (
        f"Between integers, the operands of an operator are dequantized from {activations}, and its result, perhaps behind a clamp, is "
        f"quantized to them; weights are dequantized from {weights}, with the zero point 0. What is said of tensors is of the floats."
    )


def _conditions(rule: Rule) -> list[str]:
    """Returns the conditions of a rule, as text."""
    limits = [f"{f'`{limit.argument}`' if limit.argument else 'each tensor'} {_predicate(limit)}" for limit in rule.limits]
    constants = [f"`{name}` is a constant" for name in rule.constants]
    checks = [summary(check).removesuffix(".") for check in rule.checks]
    return [*limits, *constants, *(check[0].lower() + check[1:] for check in checks)]


def _predicate(limit: Limit) -> str:
    """Returns the condition of a limit on one argument, as text."""
    if limit == Limit(limit.argument, rank=limit.rank):
        return f"has {_dimensions(limit)}"
    return f"is {_words(limit)}"


def _dimensions(limit: Limit) -> str:
    least, most = limit.rank or (0, 0)
    return f"{least if least == most else f'{least} to {most}'} dimensions"


def _words(limit: Limit) -> str:
    """Returns the values that a limit accepts, as text."""
    words = [
        f"of {', '.join(map(str, limit.dtypes))}" if limit.dtypes else "",
        f"of {_dimensions(limit)}" if limit.rank else "",
        "row-major" if limit.row_major else "",
        "of sizes that are known before the run" if limit.static else "",
        "of sizes that have greatest values and do not depend on data" if limit.bounded else "",
        "never empty" if limit.filled else "",
        f"`{limit.only}`" if limit.only is not None else "",
        f"{limit.least} or more" if limit.least is not None else "",
        f"{limit.length} numbers or more" if limit.length is not None else "",
        f"{limit.tensors} tensors" if limit.tensors is not None else "",
        f"of the type of `{limit.dtype_of}`" if limit.dtype_of else "",
        f"of the shape of `{limit.shape_of}`" if limit.shape_of else "",
    ]
    return ", ".join(filter(None, words))
