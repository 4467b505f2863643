"""What a backend is to the rest of the compiler, and which ones there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from xdsl.ir import Operation, SSAValue

import flambeau.backends
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.lazy import Array
from flambeau.passes.rewriting.constants import ModuleConstants

GROUP = "flambeau.backends"
"""The entry points under which other packages offer their backends: each names a `Backend`."""


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
    """

    name: str
    identifier: str
    refuse: Callable[[Operation], str | None]
    absorbs: Callable[[Operation, SSAValue], bool]
    lower: Callable[[PartitionOp, ModuleConstants], bytes]
    execute: Callable[[memoryview, Sequence[Array]], Sequence[Array]]
    least: int = 1
    most: int = 1_000_000


@cache
def backend_names() -> tuple[str, ...]:
    """The backends that exist: the packages in this folder, and the entry points of other packages."""
    listed = (module.name for module in pkgutil.iter_modules(flambeau.backends.__path__) if module.ispkg)
    return tuple(sorted({*listed, *(point.name for point in entry_points(group=GROUP))}))


@cache
def find_backend(name: str) -> Backend:
    """The backend that users call `name`. Raises BackendError that lists those that exist."""
    if name not in backend_names():
        raise BackendError(f"there is no backend {name!r}; there are {', '.join(backend_names()) or 'none'}")
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    return importlib.import_module(f"flambeau.backends.{name}").BACKEND


def find_identifier(identifier: str) -> Backend | None:
    """The backend that programs call `identifier`; None when no installed one does."""
    return next((found for found in map(find_backend, backend_names()) if found.identifier == identifier), None)


def run_payload(identifier: str, data: memoryview, inputs: Sequence[Array]) -> Sequence[Array]:
    """Runs a delegate with numpy: what the interpreter takes as `delegates`. Raises BackendError."""
    backend = find_identifier(identifier)
    if backend is None:
        raise BackendError(f"no installed backend is called {identifier!r} by programs; there are {', '.join(backend_names()) or 'none'}")
    return backend.execute(data, inputs)
