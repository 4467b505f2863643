"""What Python files import, and which packages of pyproject.toml have it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere, but for the type checker."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(args=[ast.Constant(value=str(module))]) if ast.unparse(node.func).endswith("import_module"):
                yield module
            case _:
                pass


def third_party(path: Path) -> set[str]:
    """The modules of other projects that a file imports, by their top-level names."""
    return {module.partition(".")[0] for module in imported(path)} - {*sys.stdlib_module_names, "flambeau"}


def canonical(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(requirements: Iterable[str]) -> set[str]:
    """The packages that requirements name."""
    return {canonical(re.split(r"[<>=!~\[ ;]", requirement)[0]) for requirement in requirements}


def is_bounded(requirement: str) -> bool:
    """Whether a requirement takes one version, or a range with both ends."""
    return bool(re.search(r"==\s*\d+(\.\d+)*$|~=|>=?[^,]*,\s*<|<[^,]*,\s*>", requirement.partition(";")[0].strip()))


def is_in(module: str, names: set[str]) -> bool:
    """Whether one of these packages has a module. Which modules a package has that is not installed, nobody can tell."""
    found = _distributions().get(module)
    if found is not None:
        return not names.isdisjoint(map(canonical, found))
    installed = {canonical(name) for items in _distributions().values() for name in items}
    return canonical(module) in names or bool(names - installed)


@cache
def _distributions() -> dict[str, list[str]]:
    return {module: [*names] for module, names in packages_distributions().items()}
