"""The errors of xDSL's verifiers in words for people who do not know it."""

from __future__ import annotations

import re


def verify_message(text: str) -> str:
    """What is wrong with an operation, in one line."""
    text = " ".join(text.split())
    if (match := _PART.fullmatch(text)) is not None:
        return f"{match['part']} {match['name']}: {verify_message(match['reason'])}"
    for pattern, words in _VERIFY:
        if (match := pattern.fullmatch(text)) is not None:
            return match.expand(words)
    return begun(text)


_PART = re.compile(r"(?P<part>operand|result|region|successor) '(?P<name>\w+)' at position \d+ does not verify: (?P<reason>.*)")


def begun(words: str) -> str:
    """The words with a small first letter, as messages begin."""
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


_VERIFY: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"Operation (\S*) terminates block in single-block region but is not a terminator",
            r"the block ends with \1, which is no terminator such as func.return",
        ),
        (
            r"Expected arguments to have the same types as the function output types: expected \[(.*)\], got \[(.*)\]",
            r"returns (\2), but the function is declared to return (\1)",
        ),
        (r"'(@\S*)' could not be found in symbol table", r"there is no symbol \1"),
        (r'Redefinition of symbol "(.*)"', r"the symbol @\1 is defined twice"),
        (r"'(\S*)' must be the last operation in its parent block", r"\1 must come last in its block"),
        (r"'(\S*)' expects parent op '(\S*)'", r"\1 may stand directly inside of \2 only"),
        (r"'(\S*)' expects parent op to be one of (.*)", r"\1 may stand directly inside of one of \2 only"),
        (
            r"operand type mismatch: expected operand type (.*), but provided (.*) for operand number (\d+)",
            r"operand \3 must be of type \1, got \2",
        ),
        (r"Unexpected attribute (.*)", r"\1 does not fit"),
        (r"attribute (.*) expected from variable '\w+', but got (.*)", r"it must be \1 as elsewhere in the operation, got \2"),
        (r"(.*) should be of base attribute (.*)", r"\1 must be of the kind \2"),
        (r"Expected (\d+ \w+), but got (\d+)", r"expected \1, got \2"),
        (
            r"Expected entry block arguments to have the same types as the function input types",
            r"the arguments of the first block are not of the types that the function declares",
        ),
        (r"property '(\S*)' expected in operation '(\S*)'", r"\2 needs the property '\1'"),
        (r"attribute '(\S*)' expected in operation '(\S*)'", r"\2 needs the attribute '\1'"),
    )
)
