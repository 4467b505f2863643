"""The page of the kit for writers of passes: its names in the order and under the titles of its `__all__`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, cast, get_overloads

from xdsl.ir import Operation

from flambeau.passes import kit
from flambeau.tools.reference.markdown import WRITTEN_BY, cell, docstring, fenced, table

_INTRODUCTION = '''
# The kit for passes

Everything that a pass in one's own file needs is imported from `flambeau.passes.kit`. [Write your first pass](../tutorials/first_pass.md)
and [Writing passes](../guide/rewriting.md) show the parts at work together; this page describes each of them. The examples below have
begun like this, and run in this order:

```python
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.kit import *

TEXT = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Scalar(%y) {other = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.add.Tensor(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""
context = FlambeauContext()
module = parse_module(TEXT, context).module
product, total = (item for item in module.walk() if isinstance(item, SchemaOp))
```
'''

_COMMENT = re.compile(r"^    # (?P<title>[^.]+)\. (?P<text>.+)$")
_NAME = re.compile(r'^    "(?P<name>\w+)",$')
_WIDEST = 100
"""Longer signatures take several lines."""
_SPECIAL = {"__getitem__": "[…]", "__contains__": "in", "__str__": "str(…)"}
_GUIDE = "../guide/rewriting.md"
_ANCHORS = {
    "Passes": "passes-that-are-more-than-patterns",
    "Patterns": "patterns",
    "Conversion": "conversions",
    "Data flow": "data-flow-analysis",
    "Watching": "from-python",
}
"""The part of the guide that shows a section at work."""


def kit_page() -> str:
    """Returns the page of every name that `flambeau.passes.kit` offers."""
    lines = [WRITTEN_BY, *_INTRODUCTION.strip().splitlines(), ""]
    homes = _homes()
    for title, text, names in _sections():
        lines += [f"## {title}", "", text, *([f"See also [the guide]({_GUIDE}#{_ANCHORS[title]})."] if title in _ANCHORS else []), ""]
        foreign: list[tuple[str, str, str]] = []
        for name in names:
            thing = getattr(kit, name)
            if isinstance(thing, ModuleType):
                lines += _module(name, thing)
            elif thing.__module__.startswith("flambeau."):
                lines += entry(name, thing)
            else:
                foreign.append((f"`{name}`", f"`{homes[name]}`", _foreign(thing)))
        lines += table(("name", "of", "is"), foreign)
    return "\n".join(lines).rstrip() + "\n"


def _sections() -> list[tuple[str, str, list[str]]]:
    """Returns the names of `__all__`, with the comments above them as titles."""
    sections: list[tuple[str, str, list[str]]] = []
    for line in inspect.getsource(kit).partition("__all__ = [")[2].splitlines():
        if (comment := _COMMENT.match(line)) is not None:
            sections.append((comment["title"], comment["text"], []))
        elif (name := _NAME.match(line)) is not None:
            sections[-1][2].append(name["name"])
    return sections


def _homes() -> dict[str, str]:
    """Returns the module that each name is imported from."""
    imports = (node for node in ast.parse(inspect.getsource(kit)).body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


def _foreign(thing: Any) -> str:
    """Returns the first sentence about an xDSL class; for an operation without one, its name."""
    text = " ".join((thing.__doc__ or "").partition("\n\n")[0].split())
    if not text or text.startswith(("IRDLOperation(", f"{thing.__name__}(")):
        return f"The operation `{thing.name}`." if issubclass(thing, Operation) else ""
    return cell(f"{text.partition('. ')[0].rstrip('.')}.")


def _module(name: str, module: ModuleType) -> list[str]:
    """Returns the functions of a module, then those of its classes that have more than the others."""
    own = {key: thing for key, thing in vars(module).items() if not key.startswith("_") and _home(thing) == module.__name__}
    functions = {key: thing for key, thing in own.items() if inspect.isfunction(thing)}
    classes = {key: thing for key, thing in own.items() if inspect.isclass(thing) and any(True for _ in _members(thing))}
    return [line for key, thing in (functions | classes).items() for line in entry(f"{name}.{key}", thing, made_by_functions=True)]


def _home(thing: object) -> str | None:
    return getattr(thing, "__module__", None)


def entry(name: str, thing: Any, *, made_by_functions: bool = False) -> list[str]:
    """Returns what the docstrings of a class or a function say, below its name as a title."""
    lines = [f"### `{name}`", ""]
    if not inspect.isclass(thing):
        return [*lines, *fenced(_signatures(name, thing), "text"), *docstring(inspect.getdoc(thing) or "")]
    if not made_by_functions and not inspect.isabstract(thing) and "__init__" in vars(thing):
        lines += fenced(_signature(name, thing.__init__, skip_first=True), "text")
    lines += docstring(inspect.cleandoc(thing.__doc__ or ""))
    bases = [base.__name__ for base in thing.__mro__[1:] if base.__name__ in kit.__all__ and base.__module__.startswith("flambeau.")]
    if bases:
        lines += [f"Has all that {' and '.join(f'[`{base}`](#{base.lower()})' for base in bases)} has.", ""]
    members = [line for member in _members(thing) for line in member]
    return [*lines, *(["Attributes and methods:", "", *members, ""] if members else [])]


def _members(thing: type) -> Iterator[list[str]]:
    """Yields an item of a list for each attribute, property and method that a class documents and its bases do not have."""
    private = [base for base in thing.__mro__[1:] if base.__name__.startswith("_") and (_home(base) or "").startswith("flambeau.")]
    around = [base for base in thing.__mro__[1:] if base not in private]
    for owner in (thing, *private):
        for name, text in _attribute_texts(owner).items():
            yield _item(name, text)
        for name, member in vars(owner).items():
            if not any(hasattr(base, name) for base in around) or name in _SPECIAL:
                yield from _member(name, member)


def _member(name: str, member: Any) -> Iterator[list[str]]:
    if isinstance(member, property):
        yield _item(name, inspect.getdoc(member) or "")
        return
    function: Any = getattr(member, "__func__", member)  # behind @staticmethod and @classmethod
    if not inspect.isfunction(function) or not function.__doc__ or (name.startswith("_") and name not in _SPECIAL):
        return
    given = _SPECIAL.get(name) or _signature(name, function, skip_first=not isinstance(member, staticmethod), widest=None)
    yield _item(given, inspect.getdoc(function) or "", to_write=getattr(function, "__isabstractmethod__", False))


def _item(code: str, text: str, *, to_write: bool = False) -> list[str]:
    first, *rest = "\n".join(docstring(text)).rstrip("\n").split("\n")
    # A nested list ends with an empty line; without it, Markdown takes the next item for a part of it.
    below = [*(f"    {line}".rstrip() for line in rest), ""] if rest else []
    return [f"* `{code}`: {'*Abstract.* ' if to_write else ''}{first}", *below]


@cache
def _attribute_texts(thing: type) -> dict[str, str]:
    """Returns the docstrings below the attributes of a class, in its body and in its `__init__`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(tree, ast.ClassDef)
    bodies = [tree.body, *(item.body for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == "__init__")]
    found: dict[str, str] = {}
    for body in bodies:
        for statement, after in pairwise(body):
            match statement, after:
                case (
                    ast.AnnAssign(target=target) | ast.Assign(targets=[target]),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else "_"
                    if not name.startswith("_"):
                        found[name] = " ".join(text.split())
                case _:
                    pass
    return found


def _signatures(name: str, function: Any) -> str:
    return "\n".join(_signature(name, variant) for variant in get_overloads(function) or [function])


def _signature(name: str, function: Any, *, skip_first: bool = False, widest: int | None = _WIDEST) -> str:
    """Returns the signature of a function as in its source."""
    signature = inspect.signature(inspect.unwrap(function))
    parameters = list(signature.parameters.values())[skip_first:]
    words: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words and not any(word.startswith("*") for word in words):
            words.append("*")
        words.append(_parameter(parameter))
    given = signature.return_annotation
    result = "" if given is signature.empty or function.__name__ == "__init__" else f" -> {given}"
    line = f"{name}({', '.join(words)}){result}"
    if widest is None or len(line) <= widest:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){result}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {cast(object, parameter.annotation)}"
    value = repr(parameter.default)
    default = "" if parameter.default is parameter.empty else f" = {'…' if value.startswith('<') else value}"
    return f"{stars}{parameter.name}{kind}{default}"
