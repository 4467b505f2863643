"""Rewords the errors of xDSL's parser for users who do not know xDSL, and finds the range in the text that each is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from xdsl.context import Context
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind

from flambeau.dialects.ir.verifier_messages import lower_first, verify_message
from flambeau.dialects.schema.operators import LEVELS, level_ops, schema_table
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.lexer import SPACE, Lexer
from flambeau.dialects.text.parser import ModuleParser
from flambeau.dialects.text.source_text import Source
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tables import discovery_failures

Place: TypeAlias = tuple[int, int]
"""A range of a text: start and end."""

_CUTOFF = 0.75
"""The similarity from which a name is suggested: names of operations are long, and many are somewhat similar."""


def parse_message(error: Exception, source: Source, context: Context, parser: ModuleParser | None) -> tuple[str, Place]:
    """Returns the message for a text that does not parse, in one line, and the range that it is about.

    Args:
        error: the exception of the parser.
        source: the text.
        context: the context with the dialects.
        parser: the parser where it stopped; None when the first token was not valid.
    """
    if not isinstance(error, ParseError):
        # A check of the construct that was just parsed failed; that construct ends before the next token.
        stop = len(source.text[: parser.pos].rstrip()) if parser is not None else 0
        text = verify_message(str(error))
        place = _named_token(text, source.text, stop)
        if isinstance(error, ArithmeticError):
            return f"a number is too large here ({text})", place
        is_message = isinstance(error, ValueError | TypeError | VerifyException)
        return text if is_message else f"the parser failed here ({type(error).__name__}: {text})", place
    text, place = " ".join(error.msg.split()), (error.span.start, error.span.end)
    if _is_at_end(place, source.text):
        place = _after_last_token(source.text)
    for pattern, explain in _PARSE:
        if (match := pattern.fullmatch(text)) is not None:
            return explain(match, place, source.text, context, parser)
    return _with_found(text, place, source.text), place


_ABOUT_VALUE = re.compile(r"operand is used with type .*|SSA value %\S* is already defined", re.DOTALL)
_VALUE = re.compile(r"%(?P<name>[\w$.-]+)(?:#(?P<number>\d+))?")


def defined_before(error: Exception, source: Source, context: Context) -> tuple[str, Place] | None:
    """Returns a note for an error about a value that is already defined: its text, and the range of the definition."""
    if not isinstance(error, ParseError) or _ABOUT_VALUE.fullmatch(error.msg) is None:
        return None
    from flambeau.dialects.text.source_map import MapParser

    use = _VALUE.match(source.text, error.span.start)
    if use is None:
        return None
    # Only this slower parser records the ranges of names.
    again = MapParser(context, source)
    try:
        again.parse_module()
    except ParseError:
        values = again.ssa_values.get(use["name"], ())[int(use["number"] or 0) :]
        if values and (mention := again.source_map().definition_of(values[0])) is not None:
            return f"{use[0]} is defined here as {values[0].type}", (mention.start, mention.end)
    except (ValueError, RecursionError):
        pass  # without a note
    return None


_Explained: TypeAlias = tuple[str, Place]
_Explain: TypeAlias = Callable[[re.Match[str], Place, str, Context, ModuleParser | None], _Explained]


def _named_token(message: str, text: str, stop: int) -> Place:
    """Returns the token before `stop`, on its line, that a message names, or else the last token."""
    tokens = list(_tokens(text, text.rfind("\n", 0, stop) + 1, stop))
    words = {word: index for index, word in reversed(list(enumerate(re.findall(r"[\w.]+", message))))}
    named = [(words[word], place) for place in tokens if (word := text[slice(*place)].strip('"')) in words]
    return min(named)[1] if named else tokens[-1] if tokens else (max(0, stop - 1), stop)


def _is_at_end(place: Place, text: str) -> bool:
    space = SPACE.match(text, place[0])
    return space is not None and space.end() >= len(text)


def _after_last_token(text: str) -> Place:
    """Returns the end of a text without trailing white space and comments."""
    end = max((end for _, end in _tokens(text, 0, len(text))), default=0)
    return end, end


def _tokens(text: str, start: int, stop: int) -> Iterator[Place]:
    """Yields the ranges of the tokens between two offsets, up to the first that is not valid."""
    lexer = Lexer(Input(text[:stop], ""))
    lexer.pos = start
    try:
        while (token := lexer.lex()).kind is not MLIRTokenKind.EOF:
            yield token.start, token.end
    except ParseError:
        return


def _found(place: Place, text: str) -> str:
    if _is_at_end(place, text):
        return "the end of the text"
    word = text[place[0] : place[1]].strip() or text[place[0] :].lstrip()[:1]
    return f"'{word if len(word) <= 30 else word[:30] + '…'}'"


def _with_found(words: str, place: Place, text: str) -> str:
    words = lower_first(words).rstrip(".!")
    expects = words.startswith("expected") or words.endswith("expected")
    return f"{words}, got {_found(place, text)}" if expects and " got " not in words and " but " not in words else words


def _unknown_operation(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    start = max(0, text.rfind(name, 0, place[0] + 1))
    return unknown_operation(name, context), (start, start + len(name))


def unknown_operation(name: str, context: Context) -> str:
    """Returns the message for the name of an unknown operation, with the most similar name."""
    dialect, dot, short = name.partition(".")
    if not dot:
        return f"there is no operation '{name}': the name of an operation begins with its dialect, as in func.return"
    if dialect not in context.registered_dialect_names:
        near = did_you_mean(dialect, context.registered_dialect_names, _CUTOFF)
        return f"there is no dialect '{dialect}', which operation {name} would belong to{near}{discovery_failures()}"
    known = _operations_of(dialect, context)
    overloads = sorted(other for other in known if other.startswith(f"{name}."))
    if overloads:
        return f"there is no operation {name}, only its overloads {_listed(overloads)}"
    if dialect in ("core", "edge") and short in {other.partition(".")[2] for other in _operations_of("aten", context)}:
        return f"there is no operation {name}: {_why_not_at(dialect, short, known)}"
    return f"there is no operation {name}{did_you_mean(name, known, _CUTOFF)}{discovery_failures()}"


def _why_not_at(dialect: str, short: str, known: set[str]) -> str:
    base, dot, overload = short.partition(".")
    copy = f"{dialect}.{base}_copy{dot}{overload}"
    if copy in known:
        return f"at this level a view is a copy; use {copy}"
    return f"aten.{short} is not an operator of this level"


def _operations_of(dialect: str, context: Context) -> set[str]:
    names = {kind.name for kind in level_ops(dialect)} if dialect in LEVELS else set[str]()
    if dialect == "aten":
        names |= {f"aten.{line[: line.index('(')]}" for lines in schema_table().values() for line in lines}
    found = context.get_optional_dialect(dialect)
    return names | ({kind.name for kind in found.operations} if found is not None else set())


def _unknown_attribute(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    start = max(0, text.rfind(name, 0, place[0] + 1) - 1)
    what = "type" if text[start] == "!" else "attribute"
    dialect = name.partition(".")[0]
    if dialect not in context.registered_dialect_names:
        reason = f"there is no dialect '{dialect}'{did_you_mean(dialect, context.registered_dialect_names, _CUTOFF)}"
    else:
        found = context.get_optional_dialect(dialect)
        near = did_you_mean(name, [kind.name for kind in found.attributes] if found else (), _CUTOFF)
        reason = f"the dialect {dialect} does not define it{near}"
    return f"there is no {what} {text[start]}{name}: {reason}", (start, start + len(name) + 1)


def _undefined_values(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    uses = [use.start() for use in re.finditer(rf"%{re.escape(name)}(?![\w$.-])", text)]
    if parser is not None:
        # Another function may use the same name. So only uses from the first operation on that has this forward reference count.
        waiting = [value for values in (parser.forward_ssa_references.get(name, {}),) for value in values.values()]
        begins = [parser.offsets[use.operation] for value in waiting for use in value.uses if use.operation in parser.offsets]
        uses = [use for use in uses if not begins or use >= min(begins)]
    start = uses[0] if uses else place[0]
    others = match["others"].strip(", ")
    more = f"; nor {'are' if ',' in others else 'is'} {others}" if others else ""
    return f"%{name} is used, but never defined{more}", (start, start + len(name) + 1)


def _missing_blocks(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    start = max(0, text.rfind(f"^{name}", 0, place[0]))
    return f"there is no block ^{name} in this region", (start, start + len(name) + 1)


def _unclosed_block(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    if text[place[0] :].strip():
        return f"expected an operation, a block or '}}', got {_found(place, text)}", place
    return "the text ends inside a region: a '}' is missing", (len(text.rstrip()) - 1, len(text.rstrip()))


def _unknown_alias(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    start = max(0, text.rfind(name, 0, max(place[0], 1)))
    return f"there is no alias {name}: define it above, at the start of a line", (start, start + len(name))


def _no_tensors(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    name = match["name"]
    overloads = [other for other in sorted(_operations_of(name.partition(".")[0], context)) if other.startswith(f"{name}.")]
    if not overloads:
        return match["head"], place
    return f"{match['head']}; {_meant_overload(overloads, place[0], text, context)}its overloads are {_listed(overloads)}", place


def _meant_overload(overloads: list[str], start: int, text: str, context: Context) -> str:
    """Returns a suggestion: the overload that takes as many tensors as there are after `start`."""
    count = depth = 0
    for begin, end in _tokens(text, start, len(text)):
        word = text[begin:end]
        if depth == 0:
            if word in (")", ":", "}"):
                break
            count += word != ","
        depth += (word == "[") - (word == "]")
    for other in sorted(overloads, key=lambda name: (not name.endswith(".Tensor"), name)):
        kind = context.get_optional_op(other)
        if kind is not None and issubclass(kind, SchemaOp) and not kind.schema.mutates and len(kind.schema.operands) == count:
            return f"did you mean '{other}'? "
    return ""


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _no_module(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    return f"expected an operation, got {_found(place, text)}", place


def _say(words: str) -> _Explain:
    return lambda match, place, text, context, parser: (_with_found(match.expand(words), place, text), place)


def _plain(words: str) -> _Explain:
    return lambda match, place, text, context, parser: (match.expand(words), place)


def _before(words: str) -> _Explain:
    """Returns an explanation placed before the token in question, for errors that xDSL reports one token too late."""

    def explain(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
        stop = len(text[: place[0]].rstrip())
        return match.expand(words), (max(0, stop - 1), stop)

    return explain


def _repeated_key(match: re.Match[str], place: Place, text: str, context: Context, parser: ModuleParser | None) -> _Explained:
    places = [other for other in _tokens(text, 0, place[0]) if text[slice(*other)].strip('"') == match["name"]]
    return lower_first(match[0]), places[-1] if places else place


_PARSE: tuple[tuple[re.Pattern[str], _Explain], ...] = tuple(
    (re.compile(pattern), explain)
    for pattern, explain in (
        (r"Operation (?P<name>.*) is not registered", _unknown_operation),
        (r"'(?P<name>.*)' is not registered", _unknown_attribute),
        (r"values used but not defined: \[%(?P<name>[^,\]]*)(?P<others>[^\]]*)\]", _undefined_values),
        (r"region ends with missing block declarations for block\(s\) (?P<name>[^,\s]*).*", _missing_blocks),
        (r"in block definition", _unclosed_block),
        (r"Could not parse entire input!", _no_module),
        (r"SSA value (%\S*) is already defined", _plain(r"\1 is defined twice")),
        (r"re-declaration of block '(\S*)'", _plain(r"block ^\1 is defined twice")),
        (r"re-declaration of alias '(\S*)'", _plain(r"the alias \1 is defined twice")),
        (r"undefined symbol alias '(?P<name>\S*)'", _unknown_alias),
        (r"(?P<head>(?P<name>\S+) takes no tensors): '\)' expected", _no_tensors),
        (
            r"operand is used with type (.*), but has been previously used or defined with type (.*)",
            _plain(r"this value is of type \2, but is used here as \1"),
        ),
        (r"Operation has (\d+) results, but was given (\d+) to bind\.", _plain(r"the operation has \1 result(s), but \2 name(s) for them")),
        (r"expected (\d+) operand types but had (\d+)", _plain(r"the operation has \2 operand(s), but \1 operand type(s)")),
        (
            r"SSA value tuple index out of bounds\. Tuple is of size (\d+) but tried to access element (\d+)\.",
            _plain(r"the name has \1 value(s), counted from #0, so #\2 does not exist"),
        ),
        (r"Duplicate key '(?P<name>.*)' in .*", _repeated_key),
        (r"Expected '(.)' after builtin parameter list", _say(r"expected '\1'")),
        (
            r"Shape mismatch in dense literal\. Expected (.*) shape from the type, but got (.*) shape\.",
            _before(r"the literal has shape \2, but its type has shape \1"),
        ),
        (r"(?i:expected suffix identifier after \{first_char\})", _plain("expected a name right after the sign")),
        (r"Expected shape type\.", _say("expected a dimension such as 4x or ?x, or an element type such as f32")),
        (r"type expected", _say("expected a type")),
        (r"attribute expected", _say("expected an attribute")),
        (r"End of file reached before closing string literal\.", _plain("this string has no closing quote")),
        (r"(?i:expected three consecutive '\.' for an ellipsis)", _plain("the character '.' has no meaning here")),
        (r"(?i:expect symbol name)", _say("expected the name of a symbol, such as @f")),
        (r"Unexpected character: (.*)", _plain(r"the character '\1' has no meaning here")),
        (r"Floating point value is not valid for integer type\.", _before("a number with a fraction does not fit an integer type")),
    )
)
