"""Rewords the errors of xDSL's verifiers for users who do not know xDSL."""

from __future__ import annotations

import re


def verify_message(text: str) -> str:
    """Returns the message of a verifier error, reworded, in one line."""
    text = " ".join(text.split())
    if (match := _PART.fullmatch(text)) is not None:
        return f"{match['part']} {match['name']}: {verify_message(match['reason'])}"
    for pattern, words in _VERIFY:
        if (match := pattern.fullmatch(text)) is not None:
            return match.expand(words)
    return lower_first(text)


_PART = re.compile(r"(?P<part>operand|result|region|successor) '(?P<name>\w+)' at position \d+ does not verify: (?P<reason>.*)")


def lower_first(text: str) -> str:
    """Returns the text with a small first letter, as messages begin; `SSA value` and the like stay."""
    return text[:1].lower() + text[1:] if text[:2].istitle() else text


_VERIFY: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"Operation (\S*) terminates block in single-block region but is not a terminator",
            r"the block ends with \1, which is not a terminator such as func.return",
        ),
        (
            r"Expected arguments to have the same types as the function output types: expected \[(.*)\], got \[(.*)\]",
            r"returns (\2), but the function's type says (\1)",
        ),
        (r"'(@\S*)' could not be found in symbol table", r"there is no symbol \1"),
        (r'Redefinition of symbol "(.*)"', r"the symbol @\1 is defined twice"),
        (r"'(\S*)' must be the last operation in its parent block", r"\1 must come last in its block"),
        (r"'(\S*)' expects parent op '(\S*)'", r"\1 must be directly inside \2"),
        (r"'(\S*)' expects parent op to be one of (.*)", r"\1 must be directly inside one of \2"),
        (
            r"operand type mismatch: expected operand type (.*), but provided (.*) for operand number (\d+)",
            r"operand \3 must be of type \1, got \2",
        ),
        (r"Unexpected attribute (.*)", r"\1 is not allowed here"),
        (r"attribute (.*) expected from variable '\w+', but got (.*)", r"must be \1 as elsewhere in the operation, got \2"),
        (r"(.*) should be of base attribute (.*)", r"expected \2, got \1"),
        (r"Expected (\d+ \w+), but got (\d+)", r"expected \1, got \2"),
        (
            r"Expected entry block arguments to have the same types as the function input types",
            r"the types of the first block's arguments differ from those in the function's type",
        ),
        (r"Region '(.*)' at position \d+ expected a single block, but got 0 blocks", r"region \1 is empty: it needs a block"),
        (r"Region '(.*)' at position \d+ expected a single block, but got (\d+) blocks", r"region \1 has \2 blocks: it needs a single one"),
        (r"property '(\S*)' expected in operation '(\S*)'", r"\2 needs the property '\1'"),
        (r"attribute '(\S*)' expected in operation '(\S*)'", r"\2 needs the attribute '\1'"),
    )
)
