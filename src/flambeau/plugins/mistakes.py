"""Explanations of common mistakes in plug-ins."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, cast

from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from flambeau.passes.manager import OperationPass, PatternPass
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.support.suggestions import did_you_mean, nearest
from flambeau.support.tables import RegistrationError

_METHODS: dict[str, tuple[type[ModulePass], str, str]] = {
    "patterns": (PatternPass, "(self)", "the patterns to apply"),
    "apply_to": (OperationPass, "(self, ctx, op)", "what it does to an operation"),
    "apply": (ModulePass, "(self, ctx, op)", "what it does to a module"),
}
"""The method that each kind of pass must define: the base class, and the parameters and the purpose of the method."""


def check_pass(kind: type[ModulePass]) -> None:
    """Raises RegistrationError for a pass class that no pipeline could run.

    Such a class lacks a name or a method, has a method with wrong parameters, or has options but is not a dataclass.
    """
    name: object = getattr(kind, "name", None)
    if name is None:
        raise RegistrationError(f'{kind.__name__} has no name: write `name = "my-pass"` in it, or let its own name begin with _')
    if not isinstance(name, str):
        raise RegistrationError(f"the name of {kind.__name__} is {name!r}: it must be a string, such as 'my-pass'")
    for method, (base, arguments, meaning) in _METHODS.items():
        if not issubclass(kind, base):
            continue
        function: object = inspect.getattr_static(kind, method)
        if getattr(function, "__isabstractmethod__", False):
            meant = nearest(method, [item for item in vars(kind) if not item.startswith("_")])
            there = "" if meant is None else f"; {meant} is something else"
            raise RegistrationError(f"{kind.__name__} lacks a method: def {method}{arguments}, {meaning}{there}")
        if not callable(function):
            raise RegistrationError(f"{method} of {kind.__name__} is not a method: write def {method}{arguments}, {meaning}")
        if not _takes(function, arguments.count(",") + 1):
            given = inspect.signature(function)
            raise RegistrationError(f"{method}{given} of {kind.__name__} has the wrong parameters: write def {method}{arguments}")
    options = [option for option, note in inspect.get_annotations(kind).items() if "ClassVar" not in str(note)]
    if options and "__dataclass_fields__" not in vars(kind):
        raise RegistrationError(
            f"{kind.__name__} has options ({', '.join(options)}) and is not a dataclass: write @dataclass(frozen=True) above it"
        )


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Returns whether a function accepts this number of arguments; True if its signature is unknown."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def what_was_meant(items: Iterable[tuple[str, Any]], is_own: Callable[[Any], bool]) -> tuple[str, str] | None:
    """Returns the name of an object that looks like a declaration, and the reason why it declares nothing; None without such an object.

    Args:
        items: names and the objects that they name.
        is_own: returns whether a class or a function is defined in the plug-in, not imported.
    """
    items = list(items)
    # Most plug-ins define a pass, so a forgotten pass with patterns is the likeliest mistake.
    for looks_like in (_as_pass, _as_pattern, _as_operation):
        for name, item in items:
            if not isinstance(item, type) or is_own(item):
                why = looks_like(name, item)
                if why is not None:
                    return name, f"{name} {why}"
    return None


def _as_pass(name: str, item: Any) -> str | None:
    if isinstance(item, ModulePass):
        return "is an instance of a pass: give the class a name without a _ in front"
    if not isinstance(item, type) or issubclass(item, Pattern | RewritePattern):
        return None
    if issubclass(item, ModulePass):
        return "is not public, for it begins with _" if name.startswith("_") else None
    if any(callable(getattr(cast("Any", item), method, None)) for method in _METHODS):
        return "is not a pass: derive it from PatternPass, OperationPass or ModulePass"
    return None


def _as_pattern(name: str, item: Any) -> str | None:
    if isinstance(item, Pattern | RewritePattern) or (isinstance(item, type) and issubclass(item, Pattern | RewritePattern)):
        return "is a pattern: a class derived from PatternPass, whose patterns() gives it, makes a pass of it"
    return None


def _as_operation(name: str, item: Any) -> str | None:
    if isinstance(item, type) and issubclass(item, Operation):
        return f'is an operation: a dialect holds it, as in MINE = Dialect("mine", [{name}], [])'
    return None


_WRONG_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_FROZEN = "cannot inherit non-frozen dataclass from a frozen one"
_MUTABLE = re.compile(r"mutable default <class '(?:list|dict|set)'> for field (\w+) is not allowed")


def advice(error: BaseException, package: str, beside: Callable[[str], bool]) -> str:
    """Returns advice on an exception that a plug-in raised while it was loaded; empty if there is none.

    Args:
        error: the exception.
        package: the package that represents the folder of the plug-in.
        beside: returns whether the plug-in's folder has a file of this name.
    """
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        if beside(f"{error.name}.py"):
            return f"; a file beside the plug-in is imported by `from .{error.name} import …`"
        if error.name.startswith(f"{package}."):
            return f"; there is no {error.name.removeprefix(f'{package}.').replace('.', '/')}.py beside the plug-in"
    if (wrong := _WRONG_NAME.match(text)) is not None and (module := sys.modules.get(wrong[2])) is not None:
        return did_you_mean(wrong[1], [name for name in dir(module) if not name.startswith("_")])
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        return did_you_mean(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
    if text == _FROZEN:
        return "; passes do not change: write @dataclass(frozen=True)"
    if (field := _MUTABLE.match(text)) is not None:
        return f"; the values of an option are a tuple: {field[1]}: tuple[int, ...] = ()"
    return ""
