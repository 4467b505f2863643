"""Errors whose messages are one line, whatever they quote from a file."""


def one_line(text: str) -> str:
    """Returns a text in which what cannot be printed, such as the end of a line, is an escape sequence of Python."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class OneLineError(ValueError):
    """Reports a mistake in a file, in one line for people."""

    def __init__(self, message: str):
        super().__init__(one_line(message))
