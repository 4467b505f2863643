"""The parser on broken and odd texts: xDSL's accepts the same ones and reads the same, and errors are for people."""

from __future__ import annotations

import re
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.support.position import Position
from fuzz.campaign import Campaign, Failure, Hang, limited
from fuzz.mutation import mutated

_OURS_ALONE = re.compile(
    r"\d{19}x|\b[su]?i\d{8}|\\[89a-fA-F][0-9a-fA-F]|fused\s*<|^#[\w.$-]+\s*=\s*loc|dense_resource|_resources"
    r"|scf\.[^\n]*->\s*[^\s(]|func\.func[^\n]*\([^\n]*\{[^\n]*\)",
    re.MULTILINE,
)
"""What is read otherwise than by xDSL on purpose: extents beyond an int64, integer types of millions of bits, escaped text that is not
ASCII, metadata of locations, aliases that come later, names of resources, single types behind arrows, attributes of arguments without
names."""


def _generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def _theirs(text: str) -> str | Exception:
    """What xDSL's parser reads; its printer may stumble over what it has read."""
    try:
        with limited(5):
            module = Parser(FlambeauContext(allow_unregistered=True), text, "f").parse_module()
    except Hang as hang:
        return TimeoutError(str(hang))
    except Exception as error:
        return error
    return _generic(module)


def _check_position(position: Position | None, text: str) -> None:
    if position is None:
        return
    lines = text.split("\n")
    if not (1 <= position.line <= len(lines) and 1 <= position.column <= len(lines[position.line - 1]) + 1):
        raise Failure("position outside of the text", str(position))


def check(text: str) -> str:
    """Reads a text with both parsers."""
    context = FlambeauContext(allow_unregistered=True)
    try:
        parsed = parse_module(text, context, "f")
    except IRError as error:
        for diagnostic in error.diagnostics:
            if not diagnostic.message or "\n" in diagnostic.message:
                raise Failure("a message is not one line", diagnostic.message) from error
            _check_position(diagnostic.position, text)
        if "make sense" in str(error):
            raise Failure("message for nobody: " + re.sub(r".*\((\w+).*", r"\1", str(error)), str(error)) from error
        theirs = _theirs(text)
        if isinstance(theirs, str) and not _OURS_ALONE.search(text) and "nested too deeply" not in str(error):
            raise Failure("refused, and xDSL accepts it", str(error)) from error
        return "refused"
    ours = _generic(parsed.module)
    for op in parsed.module.walk():
        _check_position(parsed.position(op), text)
    if not _OURS_ALONE.search(text):
        theirs = _theirs(text)
        if isinstance(theirs, Exception):
            # An empty text is a module, as to MLIR.
            if not isinstance(theirs, RecursionError | TimeoutError) and parsed.module.body.block.ops:
                raise Failure("accepted, and xDSL refuses it", repr(theirs)[:500])
        elif ours != theirs:
            raise Failure("not read as by xDSL", f"{ours[:2000]}\n{theirs[:2000]}")
    try:
        verify_parsed(parsed)
    except IRError as error:
        for diagnostic in error.diagnostics:
            _check_position(diagnostic.position, text)
        return "invalid"
    return "valid"


CAMPAIGN = Campaign(mutated, check)
