"""The page of ExecuTorch's names that Flambeau does not have."""

from __future__ import annotations

from flambeau.support.executorch_names import INSTEAD
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, table

_INTRODUCTION = """
# Names of ExecuTorch

The public Python names of ExecuTorch 1.5.1 that Flambeau does not have, with their replacements. Errors about these names say the same.
The others have the same meaning in `flambeau` and `flambeau.runtime`: [Coming from ExecuTorch](../guide/executorch.md).
"""


def executorch_page() -> str:
    """Returns the page as Markdown."""
    names = [name for name in INSTEAD if not set(".(") & set(name)]
    members = [name for name in INSTEAD if "." in name and "(" not in name]
    arguments = [name for name in INSTEAD if "(" in name]
    lines = [WRITTEN_BY, *_INTRODUCTION.splitlines(), ""]
    for title, keys in (("Functions and classes", names), ("Members", members), ("Arguments", arguments)):
        rows = [(f"`{key}`", cell(INSTEAD[key])) for key in sorted(keys, key=str.casefold)]
        lines += [f"## {title}", "", *table(("ExecuTorch", "Flambeau"), rows)]
    return "\n".join(lines)
