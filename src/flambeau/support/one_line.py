"""Errors whose messages are one line, whatever they quote from a file."""

MOST_LETTERS = 1000
"""The length of a message about a file that is shown whole."""


def one_line(text: str) -> str:
    """Returns a text in which what cannot be printed, such as the end of a line, is an escape sequence of Python."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class OneLineError(ValueError):
    """Reports a mistake in a file, in one line for people. The middle of a long message is left out."""

    def __init__(self, message: str):
        if len(message) > MOST_LETTERS:
            message = f"{message[: MOST_LETTERS // 2]} … {message[-MOST_LETTERS // 2 :]}"
        super().__init__(one_line(message))
