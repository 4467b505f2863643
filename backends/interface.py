"""The interface of backends, and the backends that exist."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

import flambeau.backends
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.support.executorch_names import INSTEAD
from flambeau.support.lazy import Array
from flambeau.support.tables import RegistrationError, Table, discover, hint, note_registration, origin

if TYPE_CHECKING:
    from flambeau.passes.rewriting.constants import ModuleConstants


class BackendError(ValueError):
    """A backend that does not exist, or that cannot do what it promised. One line, for people."""


@dataclass(frozen=True)
class Backend:
    """A backend: what it takes, and what it makes of it.

    Attributes:
        name: what users call it; the name of its folder.
        identifier: what programs call it, and its part of the C runtime: the `id` of a delegate.
        refuse: why it does not take an `edge` operation; None when it takes it. Operations have one result.
        absorbs: whether the operation takes this operand, loaded from a constant, into the payload and not as an argument.
        lower: the bytes of the payload that computes what a partition does, given the constants of the module.
        execute: runs a payload with numpy, from the partition's arguments to its results. Raises BackendError for a bad payload.
        least: the fewest operations that are worth a delegate.
        most: the most operations of one delegate.
        library: the shared library with its part of the C runtime, `fl_backend_<name>`, where that is not built into ours. Our runtime uses
            it if it is there when the backend is registered.
    """

    name: str
    identifier: str
    refuse: Callable[[Operation], str | None]
    absorbs: Callable[[Operation, SSAValue], bool]
    lower: Callable[[PartitionOp, ModuleConstants], bytes]
    execute: Callable[[memoryview, Sequence[Array]], Sequence[Array]]
    least: int = 1
    most: int = 1_000_000
    library: Path | None = None


ABSENT_ADVICE = "load its plug-in with --load-plugin; if there is none, export the program without a partitioner for this backend"
"""What to do about a program that needs a backend which is not here."""


@cache
def _own_names() -> tuple[str, ...]:
    """The built-in backends: the packages in this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(flambeau.backends.__path__) if module.ispkg))


def _own(name: str) -> Backend:
    return importlib.import_module(f"flambeau.backends.{name}").BACKEND


_BACKENDS: Table[Backend] = Table("backend", lambda name: ("Flambeau", _own(name)) if name in _own_names() else None)


def register_backend(backend: Backend) -> None:
    """Makes a backend known by its name and its identifier. Raises RegistrationError when another one has either."""
    for other in map(find_backend, backend_names()):
        if other.identifier == backend.identifier and other.name != backend.name:
            why = f"but programs call the backend {other.name!r} so"
            raise RegistrationError(f"{origin()} declares the backend {backend.name!r} with the identifier {backend.identifier!r}, {why}")
    _BACKENDS.add(backend.name, backend)
    if backend.library is not None and backend.library.is_file():
        from flambeau.runtime.binding.libraries import add_backend, remove_backend

        add_backend(backend.name, backend.library)
        note_registration(f"runtime of backend {backend.name!r}", lambda: remove_backend(backend.name))


def backend_names() -> tuple[str, ...]:
    """The backends that exist: built in, or registered."""
    return tuple(sorted((*_own_names(), *_BACKENDS.items())))


def find_backend(name: str) -> Backend:
    """The backend that users call `name`. Raises BackendError that lists those that exist."""
    if name in _own_names():
        return _own(name)
    found = _BACKENDS.find(name)
    if found is None:
        instead = f"; {INSTEAD[name]}" if name in INSTEAD else ""
        raise BackendError(f"there is no backend {name!r}{hint(name, list(backend_names()), listing=True)}{instead}")
    return found


def find_identifier(identifier: str) -> Backend | None:
    """The backend that programs call `identifier`; None when no installed one does."""
    for _ in range(2):
        for name in backend_names():
            if (found := find_backend(name)).identifier == identifier:
                return found
        if not discover():
            break
    return None


def run_payload(identifier: str, data: memoryview, inputs: Sequence[Array]) -> Sequence[Array]:
    """Runs a delegate with numpy: what the interpreter takes as `delegates`. Raises BackendError."""
    backend = find_identifier(identifier)
    if backend is None:
        raise BackendError(unknown_identifier(identifier))
    return backend.execute(data, inputs)


def unknown_identifier(identifier: str) -> str:
    """The message for a program whose backend is absent."""
    return f"no backend here is called {identifier!r} by programs ({', '.join(backend_names())}); {ABSENT_ADVICE}"
