"""The table of front ends by source: the suffix of a file (`.pt2`), a scheme (`hub://name`), or `package.module:name`."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import read_module
from flambeau.support.files import no_file
from flambeau.support.tables import Table, check_called, discover

Frontend = Callable[[str, FlambeauContext], ModuleOp]
"""A function from a source as the user wrote it, and the context for the weights, to a module. Raises ValueError or OSError."""

_KEY = re.compile(r"\.[a-z0-9][a-z0-9_.]*|[a-z][a-z0-9+-]*://", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+-]*://", re.IGNORECASE)


class SourceError(ValueError):
    """A source that is missing or is not a program. The message is one line for the user."""


def has_torch() -> bool:
    """Returns whether PyTorch is installed; most of Flambeau works without it."""
    return importlib.util.find_spec("torch") is not None


def require_torch(what: str) -> None:
    """Raises SourceError if PyTorch is not installed; `what` is the subject of the message that needs PyTorch."""
    if not has_torch():
        raise SourceError(f"{what} needs PyTorch: {_install('torch')}")


def require_torchao(what: str) -> None:
    """Raises SourceError if PyTorch or torchao is not installed; `what` is the subject of the message that needs them."""
    require_torch(what)
    if importlib.util.find_spec("torchao") is None:
        raise SourceError(f"{what} needs torchao: {_install('quantize')}")


def _install(group: str) -> str:
    return f"run pip install '.[{group}]' in the folder of Flambeau's sources"


def _mlir(source: str, context: FlambeauContext) -> ModuleOp:
    return read_module(source, context, locate=True).module


def _pt2(source: str, context: FlambeauContext) -> ModuleOp:
    require_torch(source)
    from flambeau.frontends.torch_export import import_program, load

    return import_program(load(source), context)


def _pte(source: str, context: FlambeauContext) -> ModuleOp:
    from flambeau.runtime.emit import read_pte
    from flambeau.runtime.pte import PteError, program_in

    try:
        return read_pte(program_in(Path(source).read_bytes()), context)
    except PteError as error:
        raise SourceError(f"{source}: {error}") from error


_OWN: dict[str, Frontend] = {".mlir": _mlir, ".pt2": _pt2, ".pte": _pte, ".bpte": _pte}
_FRONTENDS: Table[Frontend] = Table("front end", lambda key: ("Flambeau", _OWN[key]) if key in _OWN else None, _KEY)


def register_frontend(key: str, function: Frontend) -> None:
    """Makes a front end known.

    Args:
        key: the suffix of the files that the front end reads (`.onnx`; only existing files are passed), or a scheme (`hub://`).
        function: imports the module of a source.

    Raises:
        RegistrationError: `key` has a front end already, or is neither a suffix nor a scheme.
    """
    _FRONTENDS.add(key, function)


def frontend(key: str) -> Callable[[Frontend], Frontend]:
    """Declares the function below as the front end of a suffix or scheme, as `register_frontend` does."""
    check_called("frontend", key, ".suffix")

    def declare(function: Frontend) -> Frontend:
        register_frontend(key, function)
        return function

    return declare


def find_frontend(source: str) -> Frontend | None:
    """Returns the front end of a scheme or a file's longest known suffix, or None. Raises SourceError if such a file is missing."""
    scheme = _SCHEME.match(source)
    if scheme is not None:
        found = _FRONTENDS.find(scheme[0])
        return None if found is None else _checked(found)
    found = _by_suffix(source)
    # The text before a colon names a Python module, not a file.
    if found is None and Path(source).suffix and ":" not in source and discover():
        found = _by_suffix(source)
    if found is not None and not Path(source).is_file():
        raise SourceError(no_file(source))
    return found if found is None or found in _OWN.values() else _checked(found)


def _checked(function: Frontend) -> Frontend:
    """Wraps a plug-in's front end so that its result is checked to be a valid module. The wrapper raises SourceError."""

    def read(source: str, context: FlambeauContext) -> ModuleOp:
        module = cast(object, function(source, context))
        if not isinstance(module, ModuleOp):
            raise SourceError(f"{source}: its front end returned {type(module).__name__}, not a module")
        try:
            verify_module(module)
        except VerificationError as error:
            raise SourceError(f"{source}: its front end returned an invalid module: {error}") from error
        return module

    return read


def _by_suffix(source: str) -> Frontend | None:
    known = _OWN | _FRONTENDS.items()
    fitting = [key for key in known if key.startswith(".") and source.endswith(key)]
    return known[max(fitting, key=len)] if fitting else None


def readable() -> str:
    """Returns the kinds of sources that `load_source` reads, for messages."""
    return f"a {', '.join(_OWN | _FRONTENDS.items())} file, package.module:name or file.py:name"
