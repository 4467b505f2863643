"""`python -m flambeau.tools.reference.pages`: writes the reference: dialects, passes, the kit, ExecuTorch's names, backends and parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from flambeau.dialects.schema.row_table import dialect_names
from flambeau.passes.delegation.interface import backend_names
from flambeau.tools.reference.backend_pages import backend_page, backends_page
from flambeau.tools.reference.backend_parts_page import backend_parts_page
from flambeau.tools.reference.dialect_pages import dialect_page
from flambeau.tools.reference.executorch_page import executorch_page
from flambeau.tools.reference.kit_page import kit_page
from flambeau.tools.reference.pass_pages import passes_page
from flambeau.tools.reference.targets_table import write_targets_table

PAGES: dict[str, Callable[[], str]] = {
    "reference/passes.md": passes_page,
    "reference/kit.md": kit_page,
    "reference/executorch.md": executorch_page,
    "reference/backends.md": backends_page,
    "reference/backend_parts.md": backend_parts_page,
    **{f"reference/backends/{name}.md": partial(backend_page, name) for name in backend_names()},
    **{f"reference/{name}.md": partial(dialect_page, name) for name in dialect_names()},
}
"""The generated pages: the path of each within `docs`, and the function that writes it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the pages into the folder that `argv` names (`docs` by default), and a table into the README beside the folder."""
    arguments = sys.argv[1:] if argv is None else argv
    folder = Path(arguments[0] if arguments else "docs")
    for name, page in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page(), encoding="utf-8")
    write_targets_table(folder.absolute().parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
