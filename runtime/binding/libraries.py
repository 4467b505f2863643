"""Registers backends and kernels of separate shared libraries, in addition to those that the C library was built with."""

import ctypes
from collections.abc import Mapping
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from flambeau.runtime.binding.library import CBackend, CKernelTable, COption, CRegistry, FlambeauError, Status, library
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tables import discover, hint

if TYPE_CHECKING:
    KernelTable: TypeAlias = ctypes._Pointer[CKernelTable]  # pyright: ignore[reportPrivateUsage]  ctypes names it so

Options: TypeAlias = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Options of backends: for each, its name, and the names and texts of its options."""

_BACKENDS: dict[str, Path] = {}
_KERNELS: dict[str, Path] = {}
PROFILE = "profile"
"""The option of backends that can measure the times of the operators inside of delegates."""
_LARGEST_BACKEND = 4096
"""Bytes that no `fl_backend` has: before it began with its size, it began with a pointer."""


def add_backend(name: str, path: Path) -> None:
    """Lets programs use the backend that a shared library defines as `fl_backend_<name>`. The first program loads the library.

    The backend replaces that of the same id in the C library.
    """
    _BACKENDS[name] = path


def remove_backend(name: str) -> None:
    """Removes a backend that was added. Methods that use the backend keep working."""
    _BACKENDS.pop(name, None)


def add_kernels(name: str, path: Path) -> None:
    """Lets programs use the kernels of the table that a shared library defines as `fl_kernels_<name>`. The first program loads the library.

    These kernels replace those of the same name in the C library.
    """
    _KERNELS[name] = path


def remove_kernels(name: str) -> None:
    """Removes kernels that were added. Methods that use the kernels keep working."""
    _KERNELS.pop(name, None)


def added_libraries() -> tuple[Mapping[str, Path], Mapping[str, Path]]:
    """Returns the libraries of the added backends, and those of the added kernels, by name."""
    return dict(_BACKENDS), dict(_KERNELS)


def read_options(given: Mapping[str, Mapping[str, object]] | None) -> Options:
    """Returns the options of backends as texts, for `registry`.

    Raises:
        FlambeauError: a name is no backend's, a backend is named twice, or an option is neither a number nor a text.
    """
    if not given:
        return ()
    if not isinstance(cast(object, given), Mapping):
        raise FlambeauError(Status.INVALID_ARGUMENT, f"backend_options is a dict of dicts by the names of backends, not {given!r}")
    known = _known_names()
    if not given.keys() <= known.keys() and discover():
        known = _known_names()
    read: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for name, options in given.items():
        if name not in known:
            names = list(dict.fromkeys(known.values()))
            raise FlambeauError(Status.NOT_FOUND, f"there is no backend {name!r}{hint(str(name), names, listing=True)}")
        if not isinstance(cast(object, options), Mapping):
            raise FlambeauError(Status.INVALID_ARGUMENT, f"the options of backend {name!r} are a dict by name, not {options!r}")
        if known[name] in dict(read):
            raise FlambeauError(Status.INVALID_ARGUMENT, f"backend_options has backend {known[name]!r} twice, once as {name!r}")
        _check_names(name, known[name], options)
        read.append((known[name], tuple((option, _option_text(name, option, value)) for option, value in options.items())))
    return tuple(read)


def with_profile(given: Mapping[str, Mapping[str, object]] | None) -> dict[str, Mapping[str, object]]:
    """Returns options of backends, with which those that can measure the times of the operators inside of delegates do."""
    known = _known_names()
    measuring = [_text(found.name) for found in _backends() if PROFILE in (_option_names(found) or ())]
    options = dict(given or {})
    for name in measuring:
        asked = next((key for key in options if known.get(key) == name), name)
        options[asked] = {PROFILE: 1, **options.get(asked, {})}
    return options


def _check_names(given: str, backend: str, options: Mapping[str, object]) -> None:
    """Raises FlambeauError for an option that a backend, which tells its options, does not have."""
    names = next(_option_names(found) for found in _backends() if _text(found.name) == backend)
    for option in options:
        if names is not None and isinstance(cast(object, option), str) and option not in names:
            listed = f"it has {', '.join(names)}" if names else "it has none"
            why = f"backend {given!r} has no option {option!r}; {listed}{did_you_mean(option, names)}"
            raise FlambeauError(Status.INVALID_ARGUMENT, why)


def _option_names(backend: CBackend) -> tuple[str, ...] | None:
    """Returns the names of a backend's options; None where only its own check knows them."""
    if backend.struct_size <= CBackend.option_names.offset or not backend.option_names:
        return None
    return tuple(_text(name) for name in takewhile(lambda name: name is not None, backend.option_names))


def _known_names() -> dict[str, str]:
    """Returns the names of backends, by these names and by the ids that programs have for them."""
    return {name: _text(backend.name) for backend in _backends() for name in (_text(backend.name), _text(backend.id))}


def registry(options: Options = ()) -> CRegistry | None:
    """Returns the registry in which programs find kernels and backends; None means the kernels and backends of the C library alone.

    Args:
        options: the options of backends, from `read_options`.

    Raises:
        FlambeauError: a library that was added cannot be loaded.
    """
    if not (_BACKENDS or _KERNELS or options):
        return None
    return _registry(tuple(_BACKENDS.items()), tuple(_KERNELS.items()), options)


def backend_names() -> list[str]:
    """Returns the ids of all backends, by which a program's delegates name them.

    Raises:
        FlambeauError: a backend that was added cannot be loaded.
    """
    return [_text(backend.id) for backend in _backends()]


def kernel_names() -> frozenset[str]:
    """Returns the names of all kernels that a program may call, such as `aten::add.out`.

    Raises:
        FlambeauError: kernels that were added cannot be loaded.
    """
    tables = [library().fl_builtin_kernels().contents, *(_kernels(name, path).contents for name, path in _KERNELS.items())]
    return frozenset(name for table in tables for name in _names(table))


def instruction_set() -> str:
    """Returns the name of the instruction set of the kernels that compute on this machine, `x86-64-v4`; "" if it has none."""
    level = ctypes.c_char_p()
    library().fl_kernels_of_level(0, level)
    return (level.value or b"").decode()


@cache
def _registry(backends: tuple[tuple[str, Path], ...], kernels: tuple[tuple[str, Path], ...], options: Options) -> CRegistry:
    by_name = dict(options)
    all_backends = [ctypes.pointer(_with_options(backend, by_name.get(_text(backend.name), ()))) for backend in _backends(backends)]
    all_tables = [*(_kernels(name, path) for name, path in kernels), library().fl_builtin_kernels()]
    tables = (ctypes.POINTER(CKernelTable) * len(all_tables))(*all_tables)
    return CRegistry(tables, len(all_tables), (ctypes.POINTER(CBackend) * len(all_backends))(*all_backends), len(all_backends))


def _backends(added: tuple[tuple[str, Path], ...] | None = None) -> list[CBackend]:
    """Returns the backends that were added, and the other backends that the C library was built with."""
    count = ctypes.c_size_t()
    builtin = library().fl_builtin_backends(count)
    paths = tuple(_BACKENDS.items()) if added is None else added
    found = [_backend(name, path) for name, path in paths]
    ids = {backend.id for backend in found}
    return [*found, *(item for index in range(count.value) if (item := builtin[index].contents).id not in ids)]


def _with_options(backend: CBackend, options: tuple[tuple[str, str], ...]) -> CBackend:
    """Returns a copy of the backend with these options, or the backend itself if there are none."""
    if not options:
        return backend
    copy = ctypes.create_string_buffer(max(backend.struct_size, ctypes.sizeof(CBackend)))
    ctypes.memmove(copy, ctypes.addressof(backend), backend.struct_size)
    configured = CBackend.from_buffer(copy)
    configured.options = (COption * len(options))(*((name.encode(), value.encode()) for name, value in options))
    configured.option_count = len(options)
    return configured


def _option_text(backend: str, name: object, value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(name, str) or not isinstance(value, str | int | float) or "\0" in name + text:
        what = f"option {name!r} of backend {backend!r} is a text, a number or a bool, not {value!r}"
        raise FlambeauError(Status.INVALID_ARGUMENT, what)
    return text


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def _names(table: CKernelTable) -> list[str]:
    return [(table.kernels[index].name or b"").decode(errors="replace") for index in range(table.count)]


def _backend(name: str, path: Path) -> CBackend:
    backend = CBackend.from_address(_address(f"fl_backend_{name}", path, f"the backend {name!r}"))
    if not CBackend.option_names.offset <= backend.struct_size < _LARGEST_BACKEND:
        text = f"{path} cannot be used as the backend {name!r}: it was compiled with another flambeau/backend.h; compile it again"
        raise FlambeauError(Status.ACCESS_FAILED, text)
    return backend


def _kernels(name: str, path: Path) -> "KernelTable":
    what = f"the kernels {name!r}"
    table = ctypes.cast(_address(f"fl_kernels_{name}", path, what), ctypes.POINTER(CKernelTable))
    names = _names(table.contents)
    # The C library searches by bisection, so names must be sorted.
    for first, second in pairwise(names):
        if first.encode() >= second.encode():
            text = f"{path} cannot be used as {what}: its table is not sorted by name: {second!r} comes after {first!r}"
            raise FlambeauError(Status.ACCESS_FAILED, text)
    return table


@cache
def _address(symbol: str, path: Path, what: str) -> int:
    """Returns the address of `symbol` in a library, which it loads and never unloads. Raises FlambeauError, which names `what`."""
    library()
    try:
        return ctypes.addressof(ctypes.c_byte.in_dll(ctypes.CDLL(str(path)), symbol))
    except (OSError, ValueError) as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path} cannot be used as {what}: {error}") from None
