"""The form of `exec.fail` in a `.pte`: a call that fails.

ExecuTorch has no operator that fails on purpose, but its gelu fails with an unknown approximation and prints it.
"""

OPERATOR = "aten::gelu.out"
"""The kernel, called with the tensor, the text in the place of its approximation, and the tensor as its out."""


def text_of(message: str) -> str:
    """Returns the text for a message. It contains a space, which distinguishes it from the names of approximations."""
    return message if " " in message else f"a condition does not hold: {message}"


def is_text(value: str) -> bool:
    """Returns whether an argument of the kernel is a text of `text_of`."""
    return " " in value
