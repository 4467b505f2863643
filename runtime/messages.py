"""The errors of a C runtime that was built with `FLAMBEAU_MESSAGES=numbers`, as the sentences that it has otherwise.

The sentences are those of `c/include/flambeau/messages.def`; `c/core/messages/numbers.c` describes and writes the numbers.
"""

import ast
import re
import struct
from collections.abc import Iterator
from importlib import resources

from flambeau.runtime.scalar_types import BY_NUMBER

_TEXT = r'("(?:[^"\\]|\\.)*")'
_TABLE = resources.files("flambeau.runtime").joinpath("c", "include", "flambeau", "messages.def").read_text(encoding="utf-8")


def _words(pattern: str) -> list[tuple[str, bytes]]:
    """Returns the columns before the text, and the text, of the rows that begin as `pattern`."""
    return [(row[1], ast.literal_eval(row[2]).encode()) for row in re.finditer(rf"^{pattern},?\s*{_TEXT}\)", _TABLE, re.MULTILINE)]


MESSAGES = {int(number): text for number, text in _words(r"FL_(?:RESULT_)?MESSAGE\((\d+), \w+, FL_\w+")}
"""The sentence of each message."""
_PHRASES = {int(number): text for number, text in _words(r"FL_PHRASE\((\d+), \w+")}
_KINDS = [text for _, text in _words(r"FL_KIND\(()")]
_TABLES = [text for _, text in _words(r"FL_TABLE\((\w+)")]
_NAMES = {
    b"$": _PHRASES,
    b"&": dict(enumerate(_KINDS)),
    b"^": dict(enumerate(_TABLES)),
    b"@": {number: row.name.encode() for number, row in BY_NUMBER.items()},
}
_UNKNOWN = {b"&": b"unknown", b"@": b"unknown dtype"}
_VALUES = 1
"""The message behind which the values of a call stand."""
_CUT = b"..."
_ROOM = 511
"""The bytes of a text in an error, without its zero."""


class _CutError(ValueError):
    """The numbers end too early: the error was longer than its memory."""


def sentence(error: bytes) -> bytes:
    """Returns the sentence of an error that is numbers; any other text as it is.

    An error that was cut has the beginning of its sentence, as far as its numbers go.
    """
    if not re.match(rb"#\d", error):
        return error
    is_cut = len(error) >= _ROOM and error.endswith(_CUT)
    reader = _Reader(error.removesuffix(_CUT) if is_cut else error)
    try:
        reader.read()
    except _CutError:
        is_cut = True
    return reader.made[: _ROOM - len(_CUT)] + _CUT if is_cut or len(reader.made) > _ROOM else reader.made


class _Reader:
    """Reads an error that is numbers, from its beginning."""

    def __init__(self, error: bytes):
        self._error = error
        self._at = 0
        self.made = b""

    def read(self) -> None:
        """Reads each message, and appends its sentence with its items to `made`."""
        while self._at < len(self._error):
            self._take(rb"#")
            number = self._number()
            items: list[bytes | int] = []
            values: list[bytes] = []
            is_whole = False
            try:
                if number == _VALUES:
                    values.extend(self._values())
                else:
                    items.extend(self._items())
                is_whole = True
            finally:
                text = MESSAGES.get(number, b"message %d, which this version does not have" % number)
                self.made += b", ".join(values) if number == _VALUES else _filled(text, items, is_whole)

    def _take(self, pattern: bytes) -> bytes:
        found = re.compile(pattern).match(self._error, self._at)
        if found is None:
            raise _CutError
        self._at = found.end()
        return found[0]

    def _number(self) -> int:
        return int(self._take(rb"-?\d+"))

    def _text(self, length: int) -> bytes:
        self._take(rb":")
        text = self._error[self._at : self._at + length]
        self._at += length
        return text

    def _items(self) -> Iterator[bytes | int]:
        while self._error.startswith(b" ", self._at):
            self._take(rb" ")
            number = self._number()
            yield self._text(number) if self._error.startswith(b":", self._at) else number

    def _values(self) -> Iterator[bytes]:
        while self._error.startswith(b" ", self._at):
            self._take(rb" ")
            if self._error.startswith(b"[", self._at):
                self._take(rb"\[")
                items: list[bytes] = []
                while not self._error.startswith(b"]", self._at):
                    items.append(self._value())
                self._take(rb"\]")
                yield b"[" + b", ".join(items) + b"]"
            else:
                yield self._value()

    def _value(self) -> bytes:
        tag = self._take(rb"[A-K]")[0] - ord("A")
        match _KINDS[tag]:
            case b"tensor":
                dtype = self._number()
                sizes = self._take(rb"(?:,-?\d+)*").split(b",")[1:]
                return _NAMES[b"@"].get(dtype, _UNKNOWN[b"@"]) + b"[" + b", ".join(sizes) + b"]"
            case b"int":
                return b"%d" % self._number()
            case b"bool":
                return b"True" if self._number() else b"False"
            case b"float":
                return _real(struct.unpack("<d", struct.pack("<q", self._number()))[0])
            case b"string":
                return b"'" + self._text(self._number()) + b"'"
            case name:
                return name


def _filled(text: bytes, items: list[bytes | int], is_whole: bool) -> bytes:
    """Replaces the signs of a sentence by items; the sentence ends where an item was cut off."""
    made = b""
    for piece in re.split(rb"([%&@$^!])", text):
        if not re.fullmatch(rb"[%&@$^!]", piece):
            made += piece
            continue
        if not items and not is_whole:
            break
        item = items.pop(0)
        if isinstance(item, int):
            made += _NAMES[piece].get(item, _UNKNOWN.get(piece, b"%d" % item)) if piece in _NAMES else b"%d" % item
        elif piece == b"!":
            made += _reason(item, items)
        else:
            made += item
    return made


def _reason(text: bytes, numbers: list[bytes | int]) -> bytes:
    """Returns the reason of a kernel or a backend, whose `%` are replaced by numbers if there are any."""
    own = re.fullmatch(rb"#(\d+)", text)
    text = MESSAGES.get(int(own[1]), text) if own else text
    for number in numbers:
        text = text.replace(b"%", b"%d" % number if isinstance(number, int) else number, 1)
    return text


def _real(x: float) -> bytes:
    """Writes a real with at most six digits after the point, as `fl_put_real` of the C runtime does."""
    sign, x = (b"-", -x) if x < 0 else (b"", x)
    if not x <= float.fromhex("0x1.fffffffffffffp1023"):
        return sign + (b"nan" if x != x else b"inf")
    exponent = 0
    if x >= 1e9 or (x != 0 and x < 1e-3):
        while x >= 10:
            x, exponent = x / 10, exponent + 1
        while x < 1:
            x, exponent = x * 10, exponent - 1
    whole, millionths = divmod(int(x * 1e6 + 0.5), 1000000)
    digits = (b"%06d" % millionths).rstrip(b"0") or b"0"
    return b"%s%d.%s" % (sign, whole, digits) + (b"e%d" % exponent if exponent else b"")
