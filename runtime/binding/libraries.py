"""Registers backends and kernels from shared libraries of their own, beside those that the C library was built with."""

import ctypes
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flambeau.runtime.binding.library import CKernelTable, CRegistry, FlambeauError, Status, library

if TYPE_CHECKING:
    KernelTable: TypeAlias = ctypes._Pointer[CKernelTable]  # pyright: ignore[reportPrivateUsage]  ctypes names it so

_BACKENDS: dict[str, Path] = {}
_KERNELS: dict[str, Path] = {}


def add_backend(name: str, path: Path) -> None:
    """Lets programs use the backend that a shared library defines as `fl_backend_<name>`; the library is loaded by the first program."""
    _BACKENDS[name] = path


def remove_backend(name: str) -> None:
    """Forgets a backend that was added. Methods that use it go on."""
    _BACKENDS.pop(name, None)


def add_kernels(name: str, path: Path) -> None:
    """Lets programs use the kernels of the table that a shared library defines as `fl_kernels_<name>`; the first program loads the library.

    They come before kernels of the same name in the C library.
    """
    _KERNELS[name] = path


def remove_kernels(name: str) -> None:
    """Forgets kernels that were added. Methods that use them go on."""
    _KERNELS.pop(name, None)


def builtin_backends() -> list[ctypes.c_void_p]:
    """The backends that the C library was built with."""
    count = ctypes.c_size_t()
    found = library().fl_builtin_backends(count)
    return [ctypes.cast(found[index], ctypes.c_void_p) for index in range(count.value)]


def registry() -> CRegistry | None:
    """The registry in which programs find kernels and backends; None stands for the one that the C library was built with.

    Raises:
        FlambeauError: a library that was added cannot be loaded.
    """
    return _registry(tuple(_BACKENDS.items()), tuple(_KERNELS.items())) if _BACKENDS or _KERNELS else None


def backend_names() -> list[str]:
    """The names that a program's delegates may give.

    Raises:
        FlambeauError: a backend that was added cannot be loaded.
    """
    backends = [*builtin_backends(), *(_backend(name, path) for name, path in _BACKENDS.items())]
    # The name is the first field.
    return [(ctypes.cast(item, ctypes.POINTER(ctypes.c_char_p)).contents.value or b"").decode(errors="replace") for item in backends]


def kernel_names() -> frozenset[str]:
    """The names of all kernels that a program may call, such as `aten::add.out`.

    Raises:
        FlambeauError: kernels that were added cannot be loaded.
    """
    tables = [library().fl_builtin_kernels().contents, *(_kernels(name, path).contents for name, path in _KERNELS.items())]
    return frozenset(name for table in tables for name in _names(table))


@cache
def _registry(backends: tuple[tuple[str, Path], ...], kernels: tuple[tuple[str, Path], ...]) -> CRegistry:
    all_backends = [*builtin_backends(), *(_backend(name, path) for name, path in backends)]
    all_tables = [*(_kernels(name, path) for name, path in kernels), library().fl_builtin_kernels()]
    tables = (ctypes.POINTER(CKernelTable) * len(all_tables))(*all_tables)
    return CRegistry(tables, len(all_tables), (ctypes.c_void_p * len(all_backends))(*all_backends), len(all_backends))


def _names(table: CKernelTable) -> list[str]:
    return [(table.kernels[index].name or b"").decode(errors="replace") for index in range(table.count)]


def _backend(name: str, path: Path) -> ctypes.c_void_p:
    return ctypes.cast(_address(f"fl_backend_{name}", path, f"the backend {name!r}"), ctypes.c_void_p)


def _kernels(name: str, path: Path) -> "KernelTable":
    what = f"the kernels {name!r}"
    table = ctypes.cast(_address(f"fl_kernels_{name}", path, what), ctypes.POINTER(CKernelTable))
    names = _names(table.contents)
    # The C library searches by bisection.
    for first, second in pairwise(names):
        if first.encode() >= second.encode():
            text = f"{path} cannot be used as {what}: its table is not sorted by name: {second!r} comes after {first!r}"
            raise FlambeauError(Status.ACCESS_FAILED, text)
    return table


@cache
def _address(symbol: str, path: Path, what: str) -> int:
    """The address of what a library defines as `symbol`; the library stays loaded."""
    library()
    try:
        return ctypes.addressof(ctypes.c_byte.in_dll(ctypes.CDLL(str(path)), symbol))
    except (OSError, ValueError) as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path} cannot be used as {what}: {error}") from None
