"""`flambeau env`: prints what C programs and reports of errors need to know about this installation."""

from __future__ import annotations

import os
from pathlib import Path

from flambeau.passes.delegation.interface import backend_names, find_backend
from flambeau.runtime.binding.library import find_library, include_folder
from flambeau.tools.commands.console import print_json
from flambeau.tools.commands.shared_options import AsJson
from flambeau.tools.opt.help import versions


def library_variables() -> dict[str, Path | None]:
    """Returns the environment variables that name the libraries of backends, each with its file: what is set, else that of the package."""
    found = [library for library in (find_backend(name).found for name in backend_names()) if library is not None]
    return {library.variable: Path(given) if (given := os.environ.get(library.variable)) else library.find() for library in found}


def env_command(json: AsJson = False) -> None:
    """Print the versions, the folders for C programs, and the variables that name the libraries of backends, for a shell's export."""
    folders = {"FLAMBEAU_INCLUDE": include_folder(), "FLAMBEAU_LIBRARY": find_library()}
    variables = folders | library_variables()
    if json:
        print_json(
            {
                "versions": dict(line.split(" ", 1) for line in versions().splitlines()),
                **{name: path and str(path) for name, path in variables.items()},
            }
        )
        return
    print("".join(f"# {line}\n" for line in versions().splitlines()), end="")
    for name, path in variables.items():
        print(f"# {name}: its Python package is not installed here" if path is None else f"{name}={path}")
