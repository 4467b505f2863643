"""Identifiers of C and C++."""

import re
from collections.abc import Iterable

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


def bank_macro(bank: str) -> str:
    """Returns the macro before the variables of a bank of memory, which an application may define, as an attribute of a section."""
    return f"FLAMBEAU_BANK_{bank}"


def function_names(program: str, methods: Iterable[str]) -> dict[str, str]:
    """Returns the function of each method of a program, which has `<program>_init` too, and variables beside each function."""
    taken = {f"{program}_init"}
    found: dict[str, str] = {}
    for method in methods:
        wanted = name = f"{program}_{c_name(method)}"
        number = 0
        while taken & (own := {name, *(f"{name}_{suffix}" for suffix in ("run", "inputs", "outputs"))}):
            number += 1
            name = f"{wanted}_{number}"
        taken |= own
        found[method] = name
    return found
