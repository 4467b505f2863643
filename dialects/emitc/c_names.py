"""Identifiers of C and C++."""

import re

_KEYWORDS = frozenset(
    "alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do double else enum explicit "
    "export extern false final float for friend goto if inline int long mutable namespace new not nullptr operator or override private "
    "protected public register restrict return short signed sizeof static struct switch template this throw true try typedef typename "
    "union unsigned using virtual void volatile while xor".split()
)


def c_name(text: str) -> str:
    """Returns `text` as an identifier of C and C++."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "value"
    # Names that begin with fl_ are the library's, and capital letters are those of macros.
    return f"v_{name}" if name[0].isdigit() or name in _KEYWORDS or name.lower().startswith("fl_") or name.isupper() else name
