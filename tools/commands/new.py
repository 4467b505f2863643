"""`flambeau new`: writes a working skeleton of a pass, a dialect or a backend, with its test."""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Annotated

import typer
from xdsl.dialects import get_all_dialects

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import backend_names
from flambeau.passes.manager.registry import all_passes, pipelines, registered_passes
from flambeau.support.tables import discover

KINDS = ("pass", "dialect", "backend")
"""The kinds of skeletons, each a folder in `tools/skeletons`."""

_SHARED = "lit.cfg.py"
"""The file that several skeletons in one folder have in common."""
_NAMES = {
    "pass": re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*"),
    "dialect": re.compile(r"[a-z][a-z0-9_]*"),
    "backend": re.compile(r"[a-z][a-z0-9_]*"),
}
_WRITTEN = {"pass": "like fuse-mul-add", "dialect": "like image_ops", "backend": "like my_npu"}


class SkeletonError(ValueError):
    """An error of a skeleton that cannot be written. The message is one line for the user."""


def new_command(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pass, dialect or backend")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="the name of the new part, such as fuse-mul-add or my_npu")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder to write into")] = Path("."),
) -> None:
    """Write the beginning of a pass, a dialect or a backend, which works and has its test."""
    if kind not in KINDS:
        raise SkeletonError(f"there is no skeleton of a {kind!r}; there are {', '.join(KINDS)}")
    _check_name(kind, name)
    files = skeleton(kind, name)
    # A pass is two files; a dialect or backend is a folder.
    place = folder if kind == "pass" else folder / name
    if place.exists() and not place.is_dir():
        raise SkeletonError(f"{place} is a file: the skeleton needs a folder of that name, or another --dir")
    present = [file for file in files if (place / file).exists() and file != _SHARED]
    if present:
        raise SkeletonError(f"{place / present[0]} exists already, and nothing is written over: choose another name or --dir")
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        if not (place / file).exists():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text, encoding="utf-8")
            print(f"wrote {place / file}")
    print("\nnext:")
    for line in _next_steps(kind, name, place):
        print(f"  {line}")
    sys.stdout.flush()


def skeleton(kind: str, name: str) -> dict[str, str]:
    """Returns the files of a skeleton: the text of each by name."""
    words = {
        "name": name,
        "module": name.replace("-", "_"),
        "dashed": name.replace("_", "-"),
        # Four bytes with which the payloads of a backend begin.
        "magic": name.upper().replace("_", "")[:4].ljust(4, "0"),
        "class_name": "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name)),
    }
    root = resources.files("flambeau.tools").joinpath("skeletons")
    sources = list(root.joinpath(kind).iterdir())
    if kind != "backend":
        sources.append(root.joinpath(f"{_SHARED}.in"))
    return dict(sorted(_filled(source, words) for source in sources))


def _filled(source: Traversable, words: dict[str, str]) -> tuple[str, str]:
    name = source.name.removesuffix(".in").replace("MODULE", words["module"]).replace("DASHED", words["dashed"])
    return name, Template(source.read_text(encoding="utf-8")).substitute(words)


def _check_name(kind: str, name: str) -> None:
    if not _NAMES[kind].fullmatch(name):
        near = re.sub("[-_ ]+", "-" if kind == "pass" else "_", name).lower()
        meant = f"; did you mean {near!r}?" if _NAMES[kind].fullmatch(near) else ""
        raise SkeletonError(f"{name!r} cannot be the name of a {kind}: write it {_WRITTEN[kind]}{meant}")
    if keyword.iskeyword(name):
        raise SkeletonError(f"{name!r} is a word of Python, and a module of that name cannot be imported: choose another name")
    discover()
    match kind:
        case "pass":
            taken = name in all_passes() or name in registered_passes() or name in pipelines()
        case "dialect":
            taken = name in get_all_dialects() or FlambeauContext().get_optional_dialect(name) is not None
        case _:
            taken = name in backend_names()
    if taken:
        raise SkeletonError(f"there is a {kind} {name!r} already; choose another name")


def _next_steps(kind: str, name: str, place: Path) -> list[str]:
    plugin = place / f"{name.replace('-', '_')}.py"
    file, ops, folder, build = (shlex.quote(str(path)) for path in (plugin, place / "ops.mlir", place, place / "build"))
    match kind:
        case "pass":
            test = shlex.quote(str(plugin.with_suffix(".mlir")))
            return [f"flambeau-opt {test} --load-plugin {file} -p {name}", f"lit {folder}    (with `pip install lit filecheck`)"]
        case "dialect":
            return [f"flambeau-opt {ops} --load-plugin {file}", f"lit {folder}    (with `pip install lit filecheck`)"]
        case _:
            return [
                f"pytest {folder}    (the C part needs cmake and a compiler)",
                f"cmake -S {folder} -B {build} -DPython3_EXECUTABLE={shlex.quote(sys.executable)} && cmake --build {build}",
                f"flambeau compile MODEL --load-plugin {folder} --backend {name}",
                f"pip install --no-build-isolation {folder}    (a package: no --load-plugin then)",
            ]
