"""The texts of `--help`, `--help-pass` and the lists, from the registry. Listing imports no pass: it reads the first line of each file."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.text.operation_text import PrintingOptions, strict_text
from flambeau.passes.manager.pass_options import option_fields, type_words
from flambeau.passes.manager.registry import (
    PipelineError,
    all_passes,
    every_name,
    find_pass,
    own_pass_file,
    own_pass_names,
    pipelines,
    registered_passes,
)
from flambeau.support.suggestions import did_you_mean

EXAMPLES = "examples"
"""The folder beside passes that holds an example for each: a module, `// -----`, and the result of the pass."""

_FIRST_LINE = re.compile(r'"""`[\w-]+`: (.*?)(?:""")?$')
_PIPELINE = re.compile(r"// flambeau-opt -p '?([^']*)'?")


@dataclass(frozen=True)
class Example:
    """An example of a pass: the text of a small module before and after the pass."""

    pipeline: str
    before: str
    after: str
    path: Path


def overview(width: int = 118) -> str:
    """Returns a line for every pipeline and every pass of Flambeau or a plug-in, and the names of xDSL's passes."""
    sections = [("pipelines", {name: _first_sentence(function) for name, function in pipelines().items()})]
    own, foreign = _own_passes(), _plugin_passes()
    sections += [("passes", own), *([("passes of plug-ins", foreign)] if foreign else [])]
    lines: list[str] = []
    for title, items in sections:
        lines.append(f"{title}:")
        for name in sorted(items):
            lines += textwrap.wrap(items[name], width, initial_indent=f"  {name:<24}", subsequent_indent=" " * 26) or [f"  {name}"]
        lines.append("")
    lines.append("passes of xDSL (flambeau-opt --help-pass NAME says more of any):")
    lines += textwrap.wrap(", ".join(_xdsl_passes()), width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def listing() -> str:
    """Returns the name of every pipeline and pass."""
    sections = [
        ("Pipelines", sorted(pipelines())),
        ("Flambeau's passes", sorted(_own_passes())),
        ("Passes of plug-ins", sorted(_plugin_passes())),
        ("xDSL's passes", _xdsl_passes()),
    ]
    return "".join(f"{title}:\n" + "".join(f"  {name}\n" for name in names) for title, names in sections if names)


def dialects() -> str:
    """Returns the names of all dialects that a module may use, one per line."""
    from flambeau.dialects.schema.context import FlambeauContext

    return "".join(f"{name}\n" for name in sorted(FlambeauContext().registered_dialect_names))


def versions() -> str:
    """Returns the versions of Flambeau and of its dependencies."""
    from flambeau.tools.reproducers.reproducer_file import versions as found

    return "".join(f"{name} {version}\n" for name, version in found().items())


def targets() -> str:
    """Returns the name of every target."""
    from flambeau.passes.targets.interface import target_names

    return "".join(f"{name}\n" for name in target_names())


def backends() -> str:
    """Returns the name of every backend, with its maturity, and its tools: where they are, or how to install them."""
    from flambeau.passes.delegation.interface import backend_names, find_backend

    lines: list[str] = []
    for name in backend_names():
        backend = find_backend(name)
        text = backend.description
        lines.append(name + (f": {text.hardware}; {text.state.value}" if text is not None else ""))
        lines += [f"  {tool}" for tool in (*backend.tools, *backend.optional_tools)]
    return "".join(f"{line}\n" for line in lines)


def page(name: str) -> str:
    """Returns all documentation of one pass or pipeline. Raises PipelineError for an unknown name."""
    known = pipelines()
    if name in known:
        return _pipeline_page(name, known[name])
    try:
        kind = find_pass(name)
    except ImportError as error:
        raise PipelineError(f"pass {name!r} cannot be loaded: {error}") from error
    if kind is None:
        raise PipelineError(f"there is no pass or pipeline {name!r}{did_you_mean(name, every_name())}")
    lines = [name, "", *_indented(_docstring(kind))]
    lines += ["", f"runs on {scope_of(kind)}", *_option_lines(kind)]
    if counters := statistics_of(kind):
        lines += ["", "statistics:", *(f"  {counter}" for counter in counters)]
    if (example := example_of(kind)) is not None:
        lines += ["", f"example: flambeau-opt -p '{example.pipeline}'", "", *_indented(example.before)]
        lines += ["", "becomes", "", *_indented(example.after)]
    return "\n".join(lines) + "\n"


def scope_of(kind: type[ModulePass]) -> str:
    """Returns the operations that a pass may run on: its place in a pipeline."""
    from flambeau.passes.manager import OperationPass

    if not issubclass(kind, OperationPass):
        return "the whole module"
    return " or ".join(kind.anchors) if kind.anchors else f"any operation, as in func.func({kind.name})"


def example_of(kind: type[ModulePass]) -> Example | None:
    """Returns the example in the folder beside the file of a pass, or None."""
    try:
        path = Path(inspect.getfile(kind)).parent / EXAMPLES / f"{kind.name}.mlir"
    except (OSError, TypeError):
        return None
    if not path.is_file():
        return None
    before, _, after = path.read_text(encoding="utf-8").partition("// -----\n")
    first, _, rest = before.partition("\n")
    given = _PIPELINE.fullmatch(first)
    return Example(given[1] if given else kind.name, (rest if given else before).strip("\n"), after.strip("\n"), path)


def module_body(module: ModuleOp) -> str:
    """Returns the text of a module without the `builtin.module` around it, unless the module has a name or attributes."""
    text = strict_text(module, PrintingOptions())
    first, _, rest = text.partition("\n")
    inner, closing, after = rest.rpartition("}\n")
    return textwrap.dedent(inner) if first == "builtin.module {" and closing and not after else text


@cache
def field_descriptions(kind: type[Any]) -> dict[str, str]:
    """Returns the docstring under each field of a dataclass and its bases, on one line each."""
    found: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):
        for item, following in _fields_with_followers(part):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[item] = " ".join(text.split())
                case _:
                    pass
    return found


def statistics_of(kind: type[ModulePass]) -> list[str]:
    """Returns the counters of a pass, as far as its own file names them."""
    try:
        tree = ast.parse(inspect.getsource(inspect.getmodule(kind) or kind))
    except (OSError, TypeError, SyntaxError):
        return []
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name != kind.__name__]
    others = {id(inner) for node in classes if node.name.endswith("Pass") for inner in ast.walk(node)}
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="count"), args=[ast.Constant(value=str(text)), *_]) if id(node) not in others:
                found.append(text)
            case ast.keyword(arg="counter", value=ast.Constant(value=str(text))) if text:
                found.append(text)
            case ast.Assign(targets=[ast.Name(id="counter")], value=ast.Constant(value=str(text))) if text:
                found.append(text)
            case _:
                pass
    return list(dict.fromkeys(found))


def _fields_with_followers(kind: type[Any]) -> list[tuple[str, ast.stmt | None]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return []
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    pairs = zip(body, [*body[1:], None], strict=True)
    return [(item.target.id, after) for item, after in pairs if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]


def _option_lines(kind: type[Any]) -> list[str]:
    fields = option_fields(kind)
    if not fields:
        return ["", "options: none"]
    lines = ["", "options:"]
    descriptions = field_descriptions(kind)
    for field in fields:
        default = "must be given" if field.required else f"default {field.default_text()}"
        lines.append(f"  {field.name}: {type_words(field.type)}, {default}")
        lines += textwrap.wrap(descriptions.get(field.field, ""), 110, initial_indent="      ", subsequent_indent="      ")
    return lines


def _pipeline_page(name: str, function: Any) -> str:
    from flambeau.passes.manager.pipeline import pass_text
    from flambeau.passes.manager.pipeline_options import PipelineOptions

    lines = [name, "", *_indented(_docstring(function))]
    try:
        steps = [f"  {pass_text(item)}" for item in function(PipelineOptions())]
        lines += ["", "runs:", *(steps or ["  nothing unless its options ask for it"])]
    except ValueError as error:
        lines += ["", f"its passes depend on its options: {error}"]
    return "\n".join([*lines, *_option_lines(PipelineOptions)]) + "\n"


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in (text or "It has no description.").splitlines()]


def _docstring(thing: Any) -> str:
    """Returns the docstring of a class or function, without the signature that a dataclass has by default."""
    text = thing.__doc__ or ""
    return "" if text.startswith(f"{thing.__name__}(") else inspect.cleandoc(text)


def _first_sentence(thing: Any) -> str:
    paragraph = " ".join(_docstring(thing).partition("\n\n")[0].split())
    return re.split(r"(?<=[.:]) ", paragraph)[0].rstrip(":.")


def _own_passes() -> dict[str, str]:
    """Returns the summary line of each of Flambeau's passes, by name."""
    return {name: _file_summary(name) for name in own_pass_names()}


def _plugin_passes() -> dict[str, str]:
    return {name: _first_sentence(kind) for name, kind in registered_passes().items()}


def _xdsl_passes() -> list[str]:
    return sorted(set(all_passes()) - set(_own_passes()))


def _file_summary(name: str) -> str:
    with open(own_pass_file(name), encoding="utf-8") as file:
        found = _FIRST_LINE.match(file.readline().rstrip())
    return found[1].rstrip(".") if found else ""
