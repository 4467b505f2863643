"""Plug-ins: Python files, and modules of installed packages, that extend Flambeau.

A plug-in declares the objects with public names in it, and those registered by a decorator:

* a concrete subclass of `ModulePass` with a `name`: a pass
* a `Dialect`, a `Target` or a `Backend`: a dialect, a target or a backend
* `@row("dialect", "namespace", "schema")`: an operator, and with it its dialect
* `@pipeline("name")`, `@frontend(".suffix")`, `@planner("name")`, `@interprets(OpClass)`: the function below

A `.mlir` or `.irdl` file declares dialects in IRDL, and needs no Python.

A file is loaded by its path, without being installed; `from .other import …` imports the file beside it. A package offers modules (or
single objects) as entry points of the group `flambeau.plugins`, which are loaded when a name is unknown.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.schema.context import register_dialect
from flambeau.dialects.schema.row_table import MisnamedParameterError, check_defaults
from flambeau.passes.manager.registry import register_pass
from flambeau.plugins.mistakes import advice, check_pass, what_was_meant
from flambeau.support.position import Position
from flambeau.support.tables import RegistrationError, Undo, declared_by
from flambeau.support.tracebacks import in_one_line, raised_at, shown_path

GROUP = "flambeau.plugins"
"""The entry points under which packages offer plug-ins."""
VARIABLE = "FLAMBEAU_PLUGINS"
"""The environment variable with the paths of plug-ins to load, separated as in PATH."""

IRDL = (".mlir", ".irdl")
"""The suffixes of files with dialects in IRDL."""

_ROOT = "flambeau_plugins"
"""The package in `sys.modules` under which each folder with plug-ins is a package."""


class PluginError(ValueError):
    """An error of a plug-in that cannot be loaded. The message is one line for the user, with the place in the plug-in if known."""

    def __init__(self, message: str, position: Position | None = None, diagnostics: tuple[Diagnostic, ...] = ()):
        self.diagnostic = Diagnostic("error", message, position)
        self.diagnostics = diagnostics or (self.diagnostic,)
        """The diagnostics of all errors, with `diagnostic` as the first."""
        super().__init__(str(self.diagnostic))


@dataclass(frozen=True, eq=False)
class Plugin:
    """A loaded plug-in."""

    name: str
    """The path, for messages; for an installed plug-in, `entry point (distribution version)`."""
    path: Path | None
    """The argument of `--load-plugin`: an absolute path. None for an installed plug-in, which needs no option."""
    digest: str
    """The first 16 hexadecimal digits of a SHA-256 over the plug-in's source and the neighbouring files that it imports."""
    declares: tuple[str, ...]
    """The registrations of the plug-in: `pass 'fuse-mul-add'`."""
    undos: tuple[Undo, ...] = field(repr=False)
    modules: tuple[str, ...] = field(repr=False)
    """The names of the plug-in's modules in `sys.modules`; the plug-in itself is first."""


_LOADED: dict[Path, Plugin] = {}
_INSTALLED: list[Plugin] = []


def loaded_plugins() -> tuple[Plugin, ...]:
    """Returns the loaded plug-ins in the order of loading; installed plug-ins come last."""
    return (*_LOADED.values(), *_INSTALLED)


def load_plugin(path: str | os.PathLike[str]) -> Plugin:
    """Loads a plug-in: a `.py` file, a folder with an `__init__.py`, or a `.mlir` file with dialects in IRDL.

    Loading a plug-in again is harmless; if its source has changed, the new version replaces the loaded one.

    Raises:
        PluginError: the file is missing or fails, or one of its objects cannot be registered. Then none of its objects stays registered.
    """
    shown = Path(path)
    place = shown.expanduser().resolve()
    file = place / "__init__.py" if place.is_dir() else place
    if not file.is_file():
        what = "this folder has no __init__.py" if place.is_dir() else "no such file"
        raise PluginError(f"plug-in {shown}: {what}")
    if file.suffix in IRDL:
        return _load_irdl(shown, place)
    if file.suffix != ".py":
        raise PluginError(f"plug-in {shown}: a plug-in is a .py file, a folder with an __init__.py, or a .mlir file with dialects in IRDL")
    known = _LOADED.get(place)
    if known is not None:
        if known.digest == _digest(known.modules):
            return known
        unload_plugin(known)
    before = set(sys.modules)
    package = _package(place.parent)
    name = f"{package}.{(place.name if place.is_dir() else place.stem).replace('.', '_')}"
    with declared_by(f"plug-in {shown}") as registered:
        try:
            # A file that another plug-in has imported has declared its part already.
            imported = sys.modules.get(name)
            module = _execute(name, file) if imported is None else imported
            count = _declare_all(vars(module).items(), package, file)
            check_defaults()
            if not count and not registered and imported is None:
                raise _declares_nothing(shown, file, module, package)
        except BaseException as error:
            _undo(item.undo for item in registered)
            _forget(set(sys.modules) - before)
            if isinstance(error, Exception | SystemExit):
                raise _explained(error, shown, file, package) from error
            raise
    modules = tuple(sorted(item for item in {name, *sys.modules} - before if item.startswith(f"{package}.")))
    plugin = Plugin(
        str(shown),
        place,
        _digest((name, *modules)),
        tuple(item.what for item in registered),
        tuple(item.undo for item in registered),
        (name, *modules),
    )
    _LOADED[place] = plugin
    return plugin


def _load_irdl(shown: Path, place: Path) -> Plugin:
    """Registers the dialects of a file in IRDL, and returns the plug-in. A changed file replaces its loaded plug-in."""
    import hashlib

    from flambeau.dialects.irdl.load import read_irdl
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.dialects.text.module_text import IRError, read_text

    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:16]
    known = _LOADED.get(place)
    if known is not None:
        if known.digest == digest:
            return known
        unload_plugin(known)
    with declared_by(f"plug-in {shown}") as registered:
        try:
            for dialect in read_irdl(read_text(place), FlambeauContext(), shown_path(place)):
                try:
                    register_dialect(dialect)
                except RegistrationError as error:
                    raise PluginError(str(error), dialect.position) from error
        except IRError as error:
            raise PluginError(error.diagnostic.message, error.diagnostic.position, error.diagnostics) from error
        except PluginError:
            _undo(item.undo for item in registered)
            raise
    plugin = Plugin(str(shown), place, digest, tuple(item.what for item in registered), tuple(item.undo for item in registered), ())
    _LOADED[place] = plugin
    return plugin


def unload_plugin(plugin: Plugin) -> None:
    """Removes a plug-in: its registrations, and its modules from `sys.modules`."""
    _undo(plugin.undos)
    _forget(plugin.modules)
    _LOADED.pop(plugin.path or Path(), None)


@contextmanager
def plugin_scope() -> Generator[None, None, None]:
    """Unloads at the end of the block all plug-ins that `load_plugin` loaded within it, so that no plug-in outlives a run of a tool."""
    before = set(_LOADED)
    try:
        yield
    finally:
        for path in [path for path in reversed(_LOADED) if path not in before]:
            unload_plugin(_LOADED[path])


def load_installed() -> str:
    """Loads the plug-ins of installed packages.

    Returns:
        The note for an unknown name: the plug-ins that could not be loaded and why; empty if there are none.
    """
    from importlib.metadata import entry_points

    failed: list[str] = []
    for point in entry_points(group=GROUP):
        where = f"{point.name} ({point.dist.name} {point.dist.version})" if point.dist is not None else point.name
        before = set(sys.modules)
        with declared_by(f"the installed plug-in {where}") as registered:
            try:
                found = point.load()
                if isinstance(found, ModuleType):
                    _declare_all(vars(found).items(), found.__name__, None)
                else:
                    _declare_all([(point.name, found)], point.module, None)
            except (Exception, SystemExit) as error:
                # A broken plug-in must not stop unrelated work.
                _undo(item.undo for item in registered)
                what = str(error) if isinstance(error, RegistrationError) else in_one_line(error)
                failed.append(f"the installed plug-in {where} could not be loaded ({' '.join(what.split())})")
                continue
        modules = (point.module, *sorted(set(sys.modules) - before - {point.module}))
        _INSTALLED.append(
            Plugin(
                where,
                None,
                _digest((point.module,)),
                tuple(item.what for item in registered),
                tuple(item.undo for item in registered),
                modules,
            )
        )
    return "; ".join(failed)


def _execute(name: str, file: Path) -> ModuleType:
    """Runs a file as the module `name`, ignoring cached bytecode, which would hide changes within the same second."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with redirect_stdout(sys.stderr):  # stdout is for IR
        exec(compile(file.read_bytes(), file, "exec", dont_inherit=True), vars(module))
    return module


def _package(folder: Path) -> str:
    """Creates a folder's package if none exists, and returns its name. Relative imports in the package find only files of the folder."""
    import hashlib

    name = f"{_ROOT}.f{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    for package, paths in ((_ROOT, []), (name, [str(folder)])):
        if package not in sys.modules:
            module = ModuleType(package)
            module.__path__ = paths
            sys.modules[package] = module
    return name


def _forget(modules: Iterable[str]) -> None:
    for name in modules:
        if name.startswith(f"{_ROOT}."):
            sys.modules.pop(name, None)


def _undo(undos: Iterable[Undo]) -> None:
    for undo in reversed(list(undos)):
        undo()


def _digest(modules: Iterable[str]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name in sorted(set(modules)):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and Path(file).is_file():
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


# Names in a plug-in


class _Located(Exception):
    """An exception for a failed registration. `name` is the name of the object in the plug-in; `error` is the reason."""

    def __init__(self, name: str, error: RegistrationError):
        self.name = name
        self.error = error


def _declare_all(items: Iterable[tuple[str, Any]], package: str, file: Path | None) -> int:
    """Registers the objects of a plug-in by their types; returns how many were registered."""
    count = 0
    for name, item in list(items):
        if name.startswith("_"):
            continue
        register = _registration(item, package)
        if register is None:
            continue
        try:
            register(item)
        except RegistrationError as error:
            if file is None:
                raise
            raise _Located(name, error) from error
        count += 1
    return count


def _registration(item: Any, package: str) -> Callable[[Any], None] | None:
    if isinstance(item, type):
        if not issubclass(item, ModulePass):
            return None
        # An unnamed pass that is imported or abstract is a base class.
        name = getattr(item, "name", None)
        return _register_pass if name is not None or (_is_of(item, package) and not inspect.isabstract(item)) else None
    if isinstance(item, Dialect):
        return register_dialect
    # Every plug-in with a target or a backend has imported the class, so an unloaded class means that there is none.
    targets, backends = sys.modules.get("flambeau.passes.targets.interface"), sys.modules.get("flambeau.passes.delegation.interface")
    if targets is not None and isinstance(item, targets.Target):
        return targets.register_target
    if backends is not None and isinstance(item, backends.Backend):
        return backends.register_backend
    return None


def _is_of(item: Any, package: str) -> bool:
    """Returns whether a class or a function was defined in a package."""
    module = str(getattr(item, "__module__", ""))
    return module == package or module.startswith(f"{package}.")


def _register_pass(kind: type[ModulePass]) -> None:
    check_pass(kind)
    register_pass(kind)


# Errors of plug-ins, in one line each


def _declares_nothing(shown: Path, file: Path, module: ModuleType, package: str) -> PluginError:
    meant = what_was_meant(vars(module).items(), lambda item: _is_of(item, package))
    if meant is not None:
        return PluginError(f"plug-in {shown} declares nothing: {meant[1]}", _assignment(meant[0], file))
    return PluginError(
        f"plug-in {shown} declares nothing: it may hold passes, dialects, rows, targets, backends, and functions declared by "
        "@pipeline, @frontend, @planner or @interprets"
    )


def _explained(error: BaseException, shown: Path, file: Path, package: str) -> PluginError:
    if isinstance(error, PluginError):
        return error
    if os.environ.get("FLAMBEAU_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, MisnamedParameterError):
        return PluginError(str(error), _assignment(error.row, file))
    if isinstance(error, _Located):
        return PluginError(str(error.error), _assignment(error.name, file))
    folder = file.parent
    if isinstance(error, SyntaxError) and error.filename is not None:
        return PluginError(
            f"{type(error).__name__}: {error.msg}", Position(shown_path(Path(error.filename)), error.lineno or 1, error.offset or 1)
        )
    position = raised_at(error, lambda file: folder in file.parents)
    if isinstance(error, RegistrationError):
        return PluginError(str(error), position)
    what = in_one_line(error).replace(f"{package}.", ".")
    what = re.sub(r" \(\S+\.py\)$", "", what) + advice(error, package, lambda name: (folder / name).is_file())
    prefix = "" if position else f"plug-in {shown}: "
    return PluginError(f"{prefix}{what}; FLAMBEAU_DEBUG=1 shows the traceback", position)


def _assignment(name: str, file: Path) -> Position:
    """Returns the position of a top-level class, function or assignment of a name; returns the start of the file if none is found."""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = re.search(rf"^(?:class[ \t]+|def[ \t]+)?({re.escape(name)})\b", text, re.MULTILINE)
    if found is None:
        return Position(shown_path(file), 1, 1)
    start = found.start(1)
    return Position(shown_path(file), text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), len(name))
