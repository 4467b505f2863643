"""The rules for the folder of a backend: each is a function that takes the folder and gives complaints, each in words.

The folder is `backends/<name>` of a tree like this repository, whose rest is read as far as a rule speaks of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from declared_packages import canonical, imported, is_bounded, is_in, packages, third_party

from flambeau.tools.conformance.readme_check import readme_complaints, sections_of

AROUND = ("dialects", "frontends", "passes", "runtime", "src", "tools")
"""The folders of a tree that have code, beside `backends`."""
SOURCES = {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".mm"}
BUILD = {".cmake", ".txt"}
OWN_COMMANDS = ("cmake ", "flambeau ", "make install", "pip ", "python -m pip ")
"""What the section Install may have users run."""


def stays_in_its_folder(folder: Path) -> list[str]:
    """All of its files are in the folder, and no code outside of it names it, but backends that say it is their family.

    Adapters to the libraries of vendors use their words, in which the name of a backend may be a word in quotation marks.
    """
    name, root = folder.name, _root(folder)
    manifests = [path for path in folder.parent.glob("*/__init__.py") if f'family="{name}"' in path.read_text(encoding="utf-8")]
    own = {folder, *(path.parent for path in manifests)}
    named = re.compile(rf"backends[./]{name}\b|\bfl_backend_{name}\b|\bFLAMBEAU_BACKEND_{name.upper()}\b")
    quoted = re.compile(rf"[\"']{name}[\"']")
    outside = [path for path in _files(root, *AROUND, "backends") if own.isdisjoint(path.parents)]
    code = [path for path in outside if path.suffix in {".py", *SOURCES, *BUILD}]

    def names(path: Path) -> bool:
        text = path.read_text(encoding="utf-8")
        is_adapter = path.parent.name == "runtime" and path.parents[2] == folder.parent
        return named.search(text) is not None or (not is_adapter and quoted.search(text) is not None)

    tests = [*(root / "test").rglob(f"test_{name}*.py"), *(root / "test").rglob(f"op_samples_{name}*.py")]
    return [
        *(f"{path.relative_to(root)} names it" for path in code if names(path)),
        *(f"{path.relative_to(root)} belongs into its folder" for path in tests),
    ]


def has_one_flag(folder: Path) -> list[str]:
    """Its part of the C runtime is in `runtime/`, which one flag builds, and its README says the flag."""
    sources = [path for path in _files(folder) if path.suffix in SOURCES]
    outside = [path for path in sources if {folder / "runtime", folder / "test"}.isdisjoint(path.parents)]
    complaints = [f"{path.relative_to(folder)} is not in runtime/, which its flag builds" for path in outside]
    if len(sources) == len(outside):
        return complaints
    main = folder / "runtime" / f"{folder.name}.c"
    if not main.is_file() or f"fl_backend_{folder.name} =" not in main.read_text(encoding="utf-8"):
        complaints.append(f"runtime/{main.name} does not define fl_backend_{folder.name}")
    flag = f"-DFLAMBEAU_BACKEND_{folder.name.upper()}=OFF"
    return complaints + ([] if flag in _section(folder, "Install") else [f"README.md, Install: it does not say {flag}"])


def declares_its_packages(folder: Path) -> list[str]:
    """What it imports is in its own optional group, each with a range of versions, and nothing else of the project needs it."""
    name, root = folder.name, _root(folder)
    core, groups = _core(folder), _groups(folder)
    own = packages(groups.get(name, []))
    others = {other: packages(items) for other, items in groups.items() if not (folder.parent / other.removesuffix("-test")).is_dir()}
    shipped = [path for path in _files(folder) if folder / "test" not in path.parents]
    used = set[str]().union(*(third_party(path) for path in shipped if path.suffix == ".py"))
    modules = sorted(module for module in used if not is_in(module, core))
    sources = canonical("".join(path.read_text(encoding="utf-8") for path in shipped if path.suffix in {".py", *SOURCES}))
    for_tests = sorted(package for package in own if package not in sources and not any(is_in(module, {package}) for module in modules))
    importing = [
        f"{path.relative_to(root)} imports {module}"
        for path in _files(root, *AROUND)
        if path.suffix == ".py"
        for module in modules
        if module in path.read_text(encoding="utf-8") and module in third_party(path)
    ]
    return [
        *(f"it imports {module}, which is not in its group {name!r} of pyproject.toml" for module in modules if not is_in(module, own)),
        *(f"pyproject.toml: {item!r} of its group has no range of versions" for item in groups.get(name, []) if not is_bounded(item)),
        *(f"pyproject.toml: {package} is installed with Flambeau" for package in sorted(own & core)),
        *(f"pyproject.toml: {package} is in the group {other!r} too" for other, items in others.items() for package in sorted(own & items)),
        *(f"pyproject.toml: only its tests need {package}, which belongs into the group '{name}-test'" for package in for_tests),
        *importing,
    ]


def declares_what_its_tests_import(folder: Path) -> list[str]:
    """What its tests import is in a group of pyproject.toml too."""
    declared = _core(folder).union(*map(packages, _groups(folder).values()))
    tests = [*(folder / "test").rglob("*.py")]
    local = {path.stem for path in (*(_root(folder) / "test").rglob("*.py"), *tests)}
    modules = sorted(set[str]().union(*map(third_party, tests)) - local)
    return [f"its tests import {module}, which is in no group of pyproject.toml" for module in modules if not is_in(module, declared)]


def explains_itself(folder: Path) -> list[str]:
    """Its README answers what users ask; steps of installing that take other tools have a page of their own, setup.md."""
    complaints = readme_complaints(folder)
    page = f"docs/reference/backends/{folder.name}.md"
    if f"](../../{page})" not in _section(folder, "Operators"):
        complaints.append(f"README.md, Operators: no link to {page}, which is written from its table")
    told = set(map(canonical, re.findall(r"^\|\s*`?([\w.-]+)", _section(folder, "Dependencies"), flags=re.MULTILINE)))
    unexplained = sorted(packages(_groups(folder).get(folder.name, [])) - told)
    complaints += [f"README.md, Dependencies: nothing about {package}, which its group installs" for package in unexplained]
    install = _section(folder, "Install")
    steps = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", install, flags=re.DOTALL)).splitlines()
    if not all(step.removeprefix("$ ").startswith(OWN_COMMANDS) for step in steps):
        complaints.append("README.md, Install: steps that take other tools belong into setup.md")
    if (folder / "setup.md").is_file() and "](setup.md)" not in install:
        complaints.append("README.md, Install: no link to setup.md")
    return complaints


def declares_itself_alone(folder: Path) -> list[str]:
    """Its `__init__.py` declares and describes it, and imports no other file of it, and only what is installed with Flambeau."""
    manifest = folder / "__init__.py"
    if not manifest.is_file() or not re.search(r"^BACKEND = Backend\(", manifest.read_text(encoding="utf-8"), flags=re.MULTILINE):
        return ["__init__.py does not say BACKEND = Backend(…)"]
    undescribed = [] if "description=Description(" in manifest.read_text(encoding="utf-8") else ["__init__.py has no Description(…)"]
    core, own = _core(folder), f"flambeau.backends.{folder.name}"
    return undescribed + [
        f"__init__.py imports {module}"
        for module in imported(manifest)
        if f"{module}.".startswith(f"{own}.")
        or (module.partition(".")[0] in third_party(manifest) and not is_in(module.partition(".")[0], core))
    ]


RULES: tuple[Callable[[Path], list[str]], ...] = (
    stays_in_its_folder,
    has_one_flag,
    declares_its_packages,
    declares_what_its_tests_import,
    explains_itself,
    declares_itself_alone,
)


def _root(folder: Path) -> Path:
    return folder.parents[1]


def _files(root: Path, *folders: str) -> Iterator[Path]:
    """The files of a tree that people wrote."""
    for folder in [root / name for name in folders] or [root]:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _section(folder: Path, title: str) -> str:
    readme = folder / "README.md"
    return sections_of(readme).get(title, "") if readme.is_file() else ""


def _configuration(folder: Path) -> dict[str, Any]:
    return tomllib.loads((_root(folder) / "pyproject.toml").read_text(encoding="utf-8"))


def _core(folder: Path) -> set[str]:
    """The packages that are installed with Flambeau."""
    return packages(_configuration(folder)["project"]["dependencies"])


def _groups(folder: Path) -> dict[str, list[str]]:
    """The packages that are not, by group."""
    found = _configuration(folder)
    return {**found["project"].get("optional-dependencies", {}), **found.get("dependency-groups", {})}
