"""Registers backends from shared libraries of their own, beside those that the C library was built with."""

import ctypes
from functools import cache
from pathlib import Path

from flambeau.runtime.binding.library import CKernelTable, CRegistry, FlambeauError, Status, library

_ADDED: dict[str, Path] = {}


def add_backend(name: str, path: Path) -> None:
    """Lets programs use the backend that a shared library defines as `fl_backend_<name>`; the library is loaded by the first program."""
    _ADDED[name] = path


def remove_backend(name: str) -> None:
    """Forgets a backend that was added. Methods that use it go on."""
    _ADDED.pop(name, None)


def builtin_backends() -> list[ctypes.c_void_p]:
    """The backends that the C library was built with."""
    count = ctypes.c_size_t()
    found = library().fl_builtin_backends(count)
    return [ctypes.cast(found[index], ctypes.c_void_p) for index in range(count.value)]


def registry() -> CRegistry | None:
    """The registry in which programs find kernels and backends; None stands for the one that the C library was built with.

    Raises:
        FlambeauError: a backend that was added cannot be loaded.
    """
    return _registry(tuple(_ADDED.items())) if _ADDED else None


def backend_names() -> list[str]:
    """The names that a program's delegates may give.

    Raises:
        FlambeauError: a backend that was added cannot be loaded.
    """
    backends = [*builtin_backends(), *(_load(name, path)[1] for name, path in _ADDED.items())]
    # The name is the first field.
    return [(ctypes.cast(item, ctypes.POINTER(ctypes.c_char_p)).contents.value or b"").decode(errors="replace") for item in backends]


@cache
def _registry(added: tuple[tuple[str, Path], ...]) -> CRegistry:
    backends = [*builtin_backends(), *(_load(name, path)[1] for name, path in added)]
    tables = (ctypes.POINTER(CKernelTable) * 1)(library().fl_builtin_kernels())
    return CRegistry(tables, 1, (ctypes.c_void_p * len(backends))(*backends), len(backends))


@cache
def _load(name: str, path: Path) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    library()
    symbol = f"fl_backend_{name}"
    try:
        loaded = ctypes.CDLL(str(path))
        return loaded, ctypes.cast(ctypes.addressof(ctypes.c_byte.in_dll(loaded, symbol)), ctypes.c_void_p)
    except (OSError, ValueError) as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path} cannot be used as the backend {name!r}: {error}") from None
